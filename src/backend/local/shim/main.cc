// rota-shim ATTEMPT_DIR TASK: the parent of one task. Started by the daemon, outlives it.
//
// Exit: 0 the task's end is written, or the task belongs to another shim; 2 usage; 3 the order
// cannot be read (nothing was begun).
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "backend/local/shim/files.h"
#include "backend/local/shim/supervisor.h"
#include "backend/local/shim/system.h"

namespace rota::backend::shim {
namespace {

void detach() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // An ignored SIGCHLD would have children reaped behind our back.
  ::signal(SIGCHLD, SIG_DFL);
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::close_range(3, ~0U, 0);
  if (::chdir("/") != 0) return;  // else it would keep a file system busy; the paths are absolute
}

/// Takes the lock that says "this task's shim lives"; held until the process ends. The descriptor
/// stays open, and no other one of this file may ever be closed here: that would drop the lock.
int open_and_lock(const std::string& path, std::int64_t task) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = task;
  lock.l_len = 1;
  return ::fcntl(fd, F_SETLK, &lock) == 0 ? fd : -1;
}

bool read_order(int fd, Order& order) {
  std::string text;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  try {
    order = order_from(nlohmann::json::parse(text));
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

int run(const std::string& attempt_dir, std::int64_t rank) {
  detach();
  const int fd = open_and_lock(attempt_dir + "/" + order_file(), rank);
  if (fd < 0) return 0;
  Order order;
  if (!read_order(fd, order)) return 3;
  const TaskOrder* task = nullptr;
  for (const TaskOrder& candidate : order.tasks) {
    if (candidate.rank == rank) task = &candidate;
  }
  if (task == nullptr || task->argv.empty()) return 3;
  TaskStatus status;
  status.boot = boot_id();
  status.shim = {::getpid(), process_facts(::getpid()).start};
  StatusWriter writer(attempt_dir, static_cast<std::int64_t>(order.job), order.attempt, rank);
  if (!writer.claim(status)) return 0;
  supervise(order, *task, attempt_dir, writer, status);
  return 0;
}

}  // namespace
}  // namespace rota::backend::shim

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: rota-shim ATTEMPT_DIR TASK\n(started by rota serve, not by people)\n",
               stderr);
    return 2;
  }
  return rota::backend::shim::run(argv[1], std::atoll(argv[2]));
}
