// The thread that learns from shims: notices through the FIFO, ends through process descriptors.
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "backend/local/local_impl.h"
#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"

namespace rota::backend {
namespace {

constexpr std::uint64_t kStopWatch = 0;
constexpr std::uint64_t kNotifyWatch = 1;

void add_to_epoll(int epoll_fd, int fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

void LocalBackend::Impl::begin_threads() {
  add_to_epoll(epoll_fd, stop_fd, kStopWatch);
  add_to_epoll(epoll_fd, notify_fd, kNotifyWatch);
  device_watch->begin();
  watcher = std::thread([this] { watch_loop(); });
}

void LocalBackend::Impl::watch(Attempt& attempt, AttemptTask& task, int pidfd) {
  task.pidfd = pidfd;
  const std::uint64_t id = kNotifyWatch + ++last_watch;
  watches[id] = {{attempt.job, attempt.number}, task.rank, pidfd};
  add_to_epoll(epoll_fd, pidfd, id);
  if (!task.status.begun) check_launch_later(attempt, task);
}

void LocalBackend::Impl::watch_loop() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    int patience = -1;
    {
      const std::lock_guard lock(mutex);
      patience = wait_milliseconds();
    }
    const int count =
        ::epoll_wait(epoll_fd, events.data(), static_cast<int>(events.size()), patience);
    bool stop = false;
    {
      const std::lock_guard lock(mutex);
      for (int i = 0; i < count; ++i) {
        const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
        if (id == kStopWatch) {
          stop = true;
        } else if (id == kNotifyWatch) {
          read_notices();
        } else {
          handle_pidfd(id);
        }
      }
      run_checks();
    }
    if (stop) return;
    wake_caller();
  }
}

void LocalBackend::Impl::read_notices() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = ::read(notify_fd, buffer.data(), buffer.size());
    if (n <= 0) break;
    notice_rest.append(buffer.data(), static_cast<std::size_t>(n));
  }
  std::size_t begin = 0;
  for (std::size_t end = notice_rest.find('\n'); end != std::string::npos;
       end = notice_rest.find('\n', begin)) {
    handle_notice(notice_rest.substr(begin, end - begin));
    begin = end + 1;
  }
  notice_rest.erase(0, begin);
}

void LocalBackend::Impl::handle_notice(const std::string& line) {
  std::istringstream words(line);
  std::uint64_t job = 0;
  std::int64_t number = 0;
  std::int64_t rank = 0;
  if (!(words >> job >> number >> rank)) return;
  const auto found = attempts.find({JobId(job), number});
  if (found == attempts.end()) return;
  for (AttemptTask& task : found->second.tasks) {
    if (task.rank != rank || task.gone) continue;
    refresh(found->second, task);
    evaluate(found->second);
    return;
  }
}

void LocalBackend::Impl::handle_pidfd(std::uint64_t watch_id) {
  const auto watched = watches.find(watch_id);
  if (watched == watches.end()) return;
  const Watch watch = watched->second;
  watches.erase(watched);
  reap(watch.pidfd);
  // Closing alone is not enough while a shim is being started: it has a copy for a moment.
  ::epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch.pidfd, nullptr);
  ::close(watch.pidfd);
  const auto found = attempts.find(watch.attempt);
  if (found == attempts.end()) return;
  for (AttemptTask& task : found->second.tasks) {
    if (task.rank != watch.rank || task.pidfd != watch.pidfd) continue;
    task.pidfd = -1;
    if (!task.gone) shim_ended(found->second, task);
    evaluate(found->second);
    return;
  }
}

/// Reads the task's status again: the latest phase that is written.
void LocalBackend::Impl::refresh(Attempt& attempt, AttemptTask& task) {
  using shim::Phase;
  for (const Phase phase : {Phase::kEnded, Phase::kRunning, Phase::kStarting}) {
    std::string text;
    const std::string name = shim::task_file(task.rank, shim::file_of(phase));
    if (!shim::read_file(attempt.dir + "/" + name, text)) continue;
    try {
      task.status = shim::status_from(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception&) {
      continue;  // being written; the next notice or the shim's end brings us back
    }
    task.has_status = true;
    if (task.status.shim.pid != 0) task.shim_pid = task.status.shim.pid;
    task.gone = task.status.phase == Phase::kEnded;
    return;
  }
}

void LocalBackend::Impl::shim_ended(Attempt& attempt, AttemptTask& task) {
  refresh(attempt, task);
  if (task.gone) return;
  // Not the one that holds the task? Then that one goes on.
  const pid_t holder = shim_holding(attempt.dir, task.rank);
  const int pidfd = holder > 0 ? open_pidfd(holder) : -1;
  if (pidfd >= 0) {
    task.shim_pid = holder;
    watch(attempt, task, pidfd);
    return;
  }
  refresh(attempt, task);
  if (task.gone) return;
  declare_lost(attempt, task, task.has_status ? "its parent process rota-shim was killed"
                                              : "rota-shim ended before it began the task");
}

void LocalBackend::Impl::wake_caller() {
  {
    const std::lock_guard lock(mutex);
    if (facts.empty()) return;
  }
  const std::lock_guard lock(wake_mutex);
  if (wake) wake();
}

}  // namespace rota::backend
