// Stops that do not come about by themselves: a shim that was stopped or hangs, and processes of
// which no file tells.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "backend/local/local_impl.h"
#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"

namespace rota::backend {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// After the grace. A shim gives itself ten seconds to kill what does not want to go.
constexpr std::chrono::seconds kIfStopped{3};
constexpr std::chrono::seconds kInAnyCase{15};
constexpr std::chrono::seconds kOrphanPeriod{1};
// A shim gives its child a minute to begin the command.
constexpr std::chrono::seconds kLaunchPatience{90};
constexpr int kForcePasses = 3;

/// Under a debugger, or stopped by a signal.
bool is_stopped(std::int64_t pid) {
  const char state = shim::process_facts(pid).state;
  return state == 'T' || state == 't';
}

}  // namespace

void LocalBackend::Impl::check_later(const Attempt& attempt, const AttemptTask& task,
                                     std::int64_t grace_ns) {
  const auto grace = nanoseconds(std::clamp<std::int64_t>(
      grace_ns, 0, std::chrono::duration_cast<nanoseconds>(std::chrono::years(1)).count()));
  const Check check{{attempt.job, attempt.number}, task.rank};
  checks.emplace(Clock::now() + grace + kIfStopped, check);
  // The watcher may sleep for longer than that: it finds out by itself only when it is woken.
  [[maybe_unused]] const ssize_t woken = ::write(notify_fd, "\n", 1);
}

void LocalBackend::Impl::check_launch_later(const Attempt& attempt, const AttemptTask& task) {
  checks.emplace(Clock::now() + kLaunchPatience,
                 Check{.attempt = {attempt.job, attempt.number},
                       .rank = task.rank,
                       .is_launch = true});
  [[maybe_unused]] const ssize_t woken = ::write(notify_fd, "\n", 1);
}

int LocalBackend::Impl::wait_milliseconds() const {
  if (checks.empty()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(checks.begin()->first - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void LocalBackend::Impl::run_checks() {
  const Clock::time_point now = Clock::now();
  while (!checks.empty() && checks.begin()->first <= now) {
    const Check check = checks.begin()->second;
    checks.erase(checks.begin());
    const auto found = attempts.find(check.attempt);
    if (found == attempts.end() || found->second.ended) continue;
    if (found->second.orphan) {
      check_orphan(found->second);
      continue;
    }
    for (AttemptTask& task : found->second.tasks) {
      if (task.rank == check.rank && !task.gone) {
        check_task(found->second, task, check, now);
        break;
      }
    }
  }
}

void LocalBackend::Impl::check_task(Attempt& attempt, AttemptTask& task, const Check& check,
                                    Clock::time_point now) {
  if (check.is_launch) {
    const bool begun = task.has_status && (task.status.begun ||
                                           task.status.phase == shim::Phase::kRunning);
    if (begun) return;
    if (task.lost_detail.empty()) task.lost_detail = "its launch hung and was ended";
    force(attempt, task);
    return;
  }
  if (check.is_last || is_stopped(task.shim_pid)) {
    force(attempt, task);
    return;
  }
  checks.emplace(now + (kInAnyCase - kIfStopped),
                 Check{{attempt.job, attempt.number}, task.rank, true});
}

/// What the shim was to do, and then the shim itself; its end brings us back.
void LocalBackend::Impl::force(Attempt& attempt, AttemptTask& task) {
  for (int pass = 0; pass < kForcePasses; ++pass) {
    for (const std::int64_t pid : shim::descendants_of(task.shim_pid)) {
      ::kill(static_cast<pid_t>(pid), SIGKILL);
    }
  }
  if (task.pidfd >= 0) {
    signal_pidfd(task.pidfd, SIGKILL);
    return;
  }
  declare_lost(attempt, task, "its parent process rota-shim cannot be reached");
  evaluate(attempt);
}

void LocalBackend::Impl::check_orphan(Attempt& attempt) {
  std::erase_if(attempt.strays, [](const shim::Process& p) { return !is_alive(p); });
  if (attempt.strays.empty()) {
    attempt.ended = true;
    add_fact(attempt.end);
    return;
  }
  for (const shim::Process& process : attempt.strays) {
    ::kill(static_cast<pid_t>(process.pid), SIGKILL);
  }
  checks.emplace(Clock::now() + kOrphanPeriod, Check{{attempt.job, attempt.number}});
}

}  // namespace rota::backend
