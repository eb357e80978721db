#include "backend/local/shim/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "backend/local/shim/child.h"
#include "backend/local/shim/system.h"

namespace rota::backend::shim {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kKillAgain = 50 * kMillisecond;
constexpr std::int64_t kKillPatience = 10 * kSecond;  // then what still lives is a leftover
constexpr std::int64_t kWarnAgain = 200 * kMillisecond;
constexpr int kBlockedLooks = 4;
constexpr std::int64_t kWarnPatience = 5 * kSecond;
constexpr std::int64_t kLimitSlack = 5 * kSecond;  // for the daemon, which is to end it
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

enum class Listening { kNo, kBlocked, kHandler };

/// Whether the process has a handler for the signal or blocks it to wait for it; the default action
/// of most signals would end it.
Listening listening_for(std::int64_t pid, int signal) {
  std::string text;
  if (!read_file("/proc/" + std::to_string(pid) + "/status", text)) return Listening::kNo;
  const std::uint64_t bit = 1ULL << static_cast<unsigned>(signal - 1);
  const auto has = [&](const char* field) {
    const std::size_t at = text.find(field);
    return at != std::string::npos &&
           (std::strtoull(text.c_str() + at + 8, nullptr, 16) & bit) != 0;
  };
  if (has("\nSigCgt:")) return Listening::kHandler;
  return has("\nSigBlk:") ? Listening::kBlocked : Listening::kNo;
}

class Supervisor {
 public:
  Supervisor(const Order& order, const TaskOrder& task, const std::string& attempt_dir,
             StatusWriter& writer, TaskStatus status)
      : order_(order),
        task_(task),
        stop_path_(attempt_dir + "/" + task_file(task.rank, "stop")),
        limit_path_(attempt_dir + "/" + limit_file()),
        writer_(writer),
        status_(std::move(status)) {}

  TaskStatus run() {
    open_signals();
    read_stop();  // it may have been asked for before we were there
    if (!stopping_) begin();
    if (status_.begun) watch();
    finish();
    return status_;
  }

 private:
  void open_signals() {
    sigset_t all;
    ::sigfillset(&all);
    signals_ = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  void begin() {
    const std::string fault = prepare_files(order_);
    if (!fault.empty()) {
      status_.node_fault = true;
      status_.detail = fault;
      return;
    }
    if (!task_.cgroup.empty()) make_cgroup();
    status_.started_ns = clock_ns(CLOCK_REALTIME);
    const Launch launch = launch_task(order_, task_, status_.started_ns, signals_, [this] {
      read_signals();
      return stopping_;
    });
    status_.begun = launch.pid != 0;
    status_.exit_code = launch.exit_code;
    status_.node_fault = launch.node_fault;
    status_.detail = launch.detail;
    status_.leftovers = launch.leftovers;
    if (!status_.begun) return;
    status_.main = {launch.pid, process_facts(launch.pid).start};
    status_.phase = Phase::kRunning;
    began_at_ = now_ns();
    take_limit(order_.time_limit_ns);
    writer_.write(status_);
  }

  void take_limit(std::optional<std::int64_t> limit) {
    limit_ = limit;
    limit_at_ = limit ? began_at_ + *limit + order_.grace_ns + kLimitSlack : kNever;
    if (order_.warn_signal == 0) return;
    warn_at_ = limit ? std::max(began_at_ + *limit - order_.warn_before_ns, began_at_) : kNever;
    warn_until_ = limit ? warn_at_ + kWarnPatience : kNever;
  }

  /// The limit may have been changed since the order.
  void read_limit() {
    std::string text;
    if (!read_file(limit_path_, text)) return;
    try {
      const TimeLimit limit = limit_from(nlohmann::json::parse(text, nullptr, false));
      if (limit.ns != limit_) take_limit(limit.ns);
    } catch (const nlohmann::json::exception&) {
      return;  // unreadable: what was known holds
    }
  }

  /// Nobody has ended the task in time, so there is no daemon.
  void end_by_limit(std::int64_t now) {
    read_limit();
    if (limit_at_ > now) return;
    limit_at_ = kNever;
    if (stopping_ || main_gone_) return;
    status_.detail = "over its time limit while no daemon ran";
    begin_stop({order_.stop_signal, order_.grace_ns, false});
  }

  void make_cgroup() {
    std::string parent = task_.cgroup.substr(0, task_.cgroup.rfind('/'));
    ::mkdir(parent.c_str(), 0755);
    has_cgroup_ = ::mkdir(task_.cgroup.c_str(), 0755) == 0 || errno == EEXIST;
  }

  void watch() {
    for (;;) {
      reap();
      if (tree_gone_) return;
      const std::int64_t now = now_ns();
      if (warn_at_ <= now) warn(now);
      if (limit_at_ <= now) end_by_limit(now);
      if (main_gone_ && kill_at_ == kNever) begin_leftovers(now);
      if (kill_at_ <= now) {
        if (killing_since_ == kNever) killing_since_ = now;
        if (now - killing_since_ > kKillPatience) {
          note_leftovers();
          return;
        }
        if (stopping_) status_.forced = true;
        kill_tree();
        kill_at_ = now_ns() + kKillAgain;
        reap();
        if (tree_gone_) return;
      }
      wait_until(std::min({kill_at_, warn_at_, limit_at_}));
      read_signals();
    }
  }

  void wait_until(std::int64_t deadline) const {
    pollfd wait{signals_, POLLIN, 0};
    if (deadline == kNever) {
      ::ppoll(&wait, 1, nullptr, nullptr);
      return;
    }
    const std::int64_t left = std::max<std::int64_t>(deadline - now_ns(), 0);
    const timespec timeout{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    ::ppoll(&wait, 1, &timeout, nullptr);
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGUSR1) {
        if (status_.begun) read_limit();
        read_stop();
      } else if (info.ssi_signo == SIGTERM) {
        begin_stop({order_.stop_signal, order_.grace_ns, false});  // the machine shuts down
      }
    }
  }

  void read_stop() {
    std::string text;
    if (!read_file(stop_path_, text)) return;
    const nlohmann::json j = nlohmann::json::parse(text, nullptr, false);
    StopRequest stop{order_.stop_signal, order_.grace_ns, false};
    try {
      stop = stop_from(j);
    } catch (const nlohmann::json::exception&) {
      // Unreadable, but somebody wants it to stop: the order's own values do.
    }
    begin_stop(stop);
  }

  /// A repeated request may shorten the grace, never lengthen it.
  void begin_stop(const StopRequest& stop) {
    const std::int64_t kill_at = now_ns() + std::max<std::int64_t>(stop.grace_ns, 0);
    if (stopping_) {
      kill_at_ = std::min(kill_at_, kill_at);
      return;
    }
    stopping_ = true;
    // Once the main process has ended by itself its own end is the truth.
    status_.stopped = !main_gone_;
    kill_at_ = std::min(kill_at_, kill_at);
    if (stop.grace_ns > 0) signal_tree(static_cast<int>(stop.signal));
  }

  void begin_leftovers(std::int64_t now) {
    kill_at_ = now + order_.leftover_grace_ns;
    if (order_.leftover_grace_ns > 0) signal_tree(SIGTERM);
  }

  std::vector<std::int64_t> tree() const { return descendants_of(::getpid()); }

  void signal_tree(int signal) {
    const std::vector<std::int64_t> pids = tree();
    for (const std::int64_t pid : pids) ::kill(static_cast<pid_t>(pid), SIGCONT);
    for (const std::int64_t pid : pids) ::kill(static_cast<pid_t>(pid), signal);
  }

  void kill_tree() {
    if (has_cgroup_) {
      const int fd = ::open((task_.cgroup + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC);
      if (fd >= 0) {
        write_all(fd, "1");
        ::close(fd);
      }
    }
    for (const std::int64_t pid : tree()) ::kill(static_cast<pid_t>(pid), SIGKILL);
  }

  /// Only who listens gets it: without a handler the signal would end the process early. A process
  /// that has just begun may need a moment to install its handler, and one that starts others again
  /// and again blocks every signal for moments: blocking counts when it lasts for several looks.
  void warn(std::int64_t now) {
    bool heard = false;
    const int signal = static_cast<int>(order_.warn_signal);
    std::map<std::int64_t, int> blocking;
    for (const std::int64_t pid : tree()) {
      const Listening listening = listening_for(pid, signal);
      if (listening == Listening::kNo) continue;
      if (listening == Listening::kBlocked) {
        const auto before = blocking_.find(pid);
        const int looks = before == blocking_.end() ? 1 : before->second + 1;
        blocking[pid] = looks;
        if (looks < kBlockedLooks) continue;
      }
      heard = true;
      ::kill(static_cast<pid_t>(pid), signal);
    }
    blocking_ = std::move(blocking);
    warn_at_ = heard || now >= warn_until_ ? kNever : now + kWarnAgain;
  }

  /// As a subreaper we inherit every orphan of the tree: when no child is left, nothing is.
  void reap() {
    int state = 0;
    for (;;) {
      const pid_t pid = ::waitpid(-1, &state, WNOHANG);
      if (pid == 0) return;
      if (pid < 0) {
        if (errno == EINTR) continue;
        tree_gone_ = true;
        return;
      }
      if (pid != status_.main.pid || main_gone_) continue;
      main_gone_ = true;
      status_.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
      status_.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    }
  }

  void note_leftovers() {
    for (const std::int64_t pid : tree()) {
      const ProcessFacts facts = process_facts(pid);
      if (facts.pid == 0 || facts.state == 'Z') continue;
      status_.leftovers.push_back({pid, facts.start});
    }
    if (!main_gone_) status_.signal = SIGKILL;
    if (status_.leftovers.empty()) return;
    status_.detail = "process " + std::to_string(status_.leftovers.front().pid) +
                     " cannot be killed";
  }

  void finish() {
    if (has_cgroup_) ::rmdir(task_.cgroup.c_str());
    if (stopping_ && !status_.begun) status_.stopped = true;
    status_.phase = Phase::kEnded;
    status_.ended_ns = clock_ns(CLOCK_REALTIME);
    writer_.write(status_);
    ::close(signals_);
  }

  const Order& order_;
  const TaskOrder& task_;
  std::string stop_path_;
  std::string limit_path_;
  StatusWriter& writer_;
  TaskStatus status_;
  int signals_ = -1;
  bool has_cgroup_ = false;
  bool stopping_ = false;
  bool main_gone_ = false;
  bool tree_gone_ = false;
  std::int64_t began_at_ = 0;
  std::optional<std::int64_t> limit_;
  std::int64_t limit_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  std::int64_t killing_since_ = kNever;
  std::int64_t warn_at_ = kNever;
  std::int64_t warn_until_ = kNever;
  std::map<std::int64_t, int> blocking_;  // looks in a row at which a pid blocked the warning
};

}  // namespace

TaskStatus supervise(const Order& order, const TaskOrder& task, const std::string& attempt_dir,
                     StatusWriter& writer, TaskStatus status) {
  return Supervisor(order, task, attempt_dir, writer, std::move(status)).run();
}

}  // namespace rota::backend::shim
