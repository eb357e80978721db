#include "backend/local/shim/child.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "backend/local/shim/system.h"

namespace rota::backend::shim {
namespace {

constexpr int kExitNotFound = 127;
constexpr int kExitNotUsable = 126;

/// What the child could not do; sent through a pipe that closes by itself when the command begins.
struct ChildFault {
  int exit_code = 0;
  int node_fault = 0;
  char text[1000] = {};
};

[[noreturn]] void give_up(int pipe_fd, int exit_code, int node_fault, const std::string& what,
                          int error_number) {
  ChildFault fault;
  fault.exit_code = exit_code;
  fault.node_fault = node_fault;
  const std::string text =
      error_number == 0 ? what : what + ": " + std::strerror(error_number);
  std::strncpy(fault.text, text.c_str(), sizeof fault.text - 1);
  if (::write(pipe_fd, &fault, sizeof fault) < 0) ::_exit(exit_code);
  ::_exit(exit_code);
}

/// Compared with the effective account: a daemon without root can start its own jobs only.
bool is_other_account(const Order& order) {
  return order.uid >= 0 && static_cast<uid_t>(order.uid) != ::geteuid();
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) ::signal(number, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void set_limits(const Order& order) {
  rlimit limit{};
  if (order.nofile_soft >= 0 && ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = static_cast<rlim_t>(order.nofile_soft);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  // RDMA and pinned memory need it; a job is held by its devices, not by locked memory.
  if (::geteuid() == 0) {
    limit.rlim_cur = RLIM_INFINITY;
    limit.rlim_max = RLIM_INFINITY;
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
  }
}

void become_user(const Order& order, int pipe_fd) {
  if (!is_other_account(order)) return;
  const std::string who = "cannot become user " + order.user + " (uid " +
                          std::to_string(order.uid) + ")";
  const auto uid = static_cast<uid_t>(order.uid);
  const auto gid = order.gid >= 0 ? static_cast<gid_t>(order.gid) : static_cast<gid_t>(order.uid);
  std::vector<gid_t> groups(order.groups.begin(), order.groups.end());
  if (groups.empty()) groups.push_back(gid);
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) {
    give_up(pipe_fd, kExitNotUsable, ::geteuid() == 0 ? 1 : 0, who, errno);
  }
}

void make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0777);
  }
}

/// What output cannot go to; empty: it can. A FIFO would hold its writer until somebody reads.
std::string unusable_kind(const struct stat& info) {
  if (S_ISREG(info.st_mode) || S_ISCHR(info.st_mode)) return {};
  if (S_ISFIFO(info.st_mode)) return "a FIFO";
  if (S_ISSOCK(info.st_mode)) return "a socket";
  if (S_ISDIR(info.st_mode)) return "a folder";
  return "a block device";
}

int open_output(const Order& order, const std::string& path, int pipe_fd) {
  const std::string failed = "cannot write the output file " + path;
  const auto refuse = [&](const struct stat& info) {
    const std::string kind = unusable_kind(info);
    if (kind.empty()) return;
    give_up(pipe_fd, kExitNotUsable, 0,
            failed + ": it is " + kind + "; name a regular file, or /dev/null", 0);
  };
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) refuse(info);
  // Not blocking, for it may have become another kind since.
  const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_APPEND | O_NONBLOCK |
                    (order.append ? 0 : O_TRUNC);
  int fd = ::open(path.c_str(), flags, 0666);
  if (fd < 0 && errno == ENOENT) {
    make_parents(path);
    fd = ::open(path.c_str(), flags, 0666);
  }
  if (fd < 0 || ::fstat(fd, &info) != 0) give_up(pipe_fd, kExitNotUsable, 0, failed, errno);
  refuse(info);
  ::fcntl(fd, F_SETFL, O_WRONLY | O_APPEND);
  return fd;
}

void redirect(const Order& order, const TaskOrder& task, int pipe_fd) {
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = open_output(order, task.out, pipe_fd);
  const int err = task.err == task.out ? out : open_output(order, task.err, pipe_fd);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const int fd : {in, out, err}) {
    if (fd > 2 && fd != pipe_fd) ::close(fd);
  }
}

std::string path_of(const TaskOrder& task) {
  for (const std::string& entry : task.env) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

void try_exec(const std::string& program, std::vector<char*>& argv, char** env) {
  ::execve(program.c_str(), argv.data(), env);
  if (errno != ENOEXEC) return;
  // A script without a #! line: as every shell does.
  std::vector<char*> shell = {const_cast<char*>("/bin/sh"), const_cast<char*>(program.c_str())};
  shell.insert(shell.end(), argv.begin() + 1, argv.end());
  ::execve("/bin/sh", shell.data(), env);
}

/// Returns only when it failed; errno says why.
void exec_by_path(const TaskOrder& task, std::vector<char*>& argv, char** env) {
  const std::string& name = task.argv.front();
  if (name.find('/') != std::string::npos) {
    try_exec(name, argv, env);
    return;
  }
  const std::string path = path_of(task);
  int worst = ENOENT;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    try_exec((folder.empty() ? "." : folder) + "/" + name, argv, env);
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    at = end + 1;
  }
  errno = worst;
}

/// In whole seconds since the epoch; empty without a time limit.
void add_end_time(const Order& order, std::int64_t started_ns, std::vector<std::string>& env) {
  if (!order.time_limit_ns) {
    env.emplace_back("ROTA_END_TIME=");
    return;
  }
  const bool slurm_style = std::any_of(env.begin(), env.end(), [](const std::string& entry) {
    return entry.starts_with("SLURM_JOB_ID=");
  });
  const std::string end = std::to_string((started_ns + *order.time_limit_ns) / 1'000'000'000);
  env.push_back("ROTA_END_TIME=" + end);
  if (slurm_style) env.push_back("SLURM_JOB_END_TIME=" + end);
}

[[noreturn]] void run_command(const Order& order, const TaskOrder& task, std::int64_t started_ns,
                              int pipe_fd) {
  std::vector<std::string> env = task.env;
  add_end_time(order, started_ns, env);
  std::vector<char*> argv_pointers;
  argv_pointers.reserve(task.argv.size() + 1);
  for (const std::string& word : task.argv) {
    argv_pointers.push_back(const_cast<char*>(word.c_str()));
  }
  argv_pointers.push_back(nullptr);
  std::vector<char*> env_pointers;
  env_pointers.reserve(env.size() + 1);
  for (const std::string& entry : env) env_pointers.push_back(const_cast<char*>(entry.c_str()));
  env_pointers.push_back(nullptr);
  exec_by_path(task, argv_pointers, env_pointers.data());
  const int error_number = errno;
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  give_up(pipe_fd, missing ? kExitNotFound : kExitNotUsable, 0,
          "cannot run '" + task.argv.front() + "'", error_number);
}

void join_cgroup(const TaskOrder& task) {
  if (task.cgroup.empty()) return;
  const int fd = ::open((task.cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  write_all(fd, "0");  // refused: the shim's own tracking of the tree remains
  ::close(fd);
}

[[noreturn]] void run_child(const Order& order, const TaskOrder& task, std::int64_t started_ns,
                            int pipe_fd, pid_t shim) {
  join_cgroup(task);
  ::setsid();
  reset_signals();
  set_limits(order);
  ::umask(022);
  become_user(order, pipe_fd);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(kExitNotUsable);
  if (::chdir(task.workdir.c_str()) != 0) {
    give_up(pipe_fd, kExitNotUsable, 0, "cannot enter the folder " + task.workdir, errno);
  }
  redirect(order, task, pipe_fd);
  run_command(order, task, started_ns, pipe_fd);
}

bool give_to_user(const Order& order, const std::string& path) {
  if (!is_other_account(order)) return true;
  const auto gid = order.gid >= 0 ? static_cast<gid_t>(order.gid) : static_cast<gid_t>(-1);
  return ::lchown(path.c_str(), static_cast<uid_t>(order.uid), gid) == 0;
}

}  // namespace

std::string prepare_files(const Order& order) {
  if (!order.checkpoint_dir.empty()) {
    make_parents(order.checkpoint_dir);
    const bool made = ::mkdir(order.checkpoint_dir.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) {
      return "cannot make the folder " + order.checkpoint_dir + ": " + std::strerror(errno);
    }
    if (made && !give_to_user(order, order.checkpoint_dir)) {
      return "cannot give " + order.checkpoint_dir + " to its user: " + std::strerror(errno);
    }
  }
  if (order.script.empty()) return {};
  make_parents(order.script_path);
  // Ranks of a gang write the same text; each replaces the file as a whole.
  const std::string fresh = order.script_path + "." + std::to_string(::getpid());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
  bool good = fd >= 0 && write_all(fd, order.script);
  if (fd >= 0) ::close(fd);
  good = good && give_to_user(order, fresh) &&
         ::rename(fresh.c_str(), order.script_path.c_str()) == 0;
  return good ? std::string()
              : "cannot write the script " + order.script_path + ": " + std::strerror(errno);
}

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLaunchPatience = 60 * kSecond;
constexpr std::int64_t kKillPatience = 10 * kSecond;
constexpr int kReapMilliseconds = 20;

enum class Outcome { kAnswered, kStopped, kHung };

/// Until the pipe says what has come of the child, a stop is asked for, or it takes too long.
Outcome wait_for_child(int pipe_fd, int signals, const std::function<bool()>& stop_wanted) {
  const std::int64_t end = clock_ns(CLOCK_MONOTONIC) + kLaunchPatience;
  pollfd waits[] = {{pipe_fd, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
    const std::int64_t left = end - clock_ns(CLOCK_MONOTONIC);
    if (left <= 0) return Outcome::kHung;
    ::poll(waits, 2, static_cast<int>(left / 1'000'000) + 1);
    if (waits[0].revents != 0) return Outcome::kAnswered;
    if ((waits[1].revents & POLLIN) != 0 && stop_wanted()) return Outcome::kStopped;
  }
}

/// False: it cannot be killed.
bool kill_and_reap(pid_t child) {
  const std::int64_t end = clock_ns(CLOCK_MONOTONIC) + kKillPatience;
  while (clock_ns(CLOCK_MONOTONIC) < end) {
    ::kill(child, SIGKILL);
    if (::waitpid(child, nullptr, WNOHANG) != 0) return true;
    ::poll(nullptr, 0, kReapMilliseconds);
  }
  return false;
}

/// The child has not begun the command and is not to do so any more.
void give_up_child(pid_t child, Outcome outcome, Launch& launch) {
  const std::int64_t start = process_facts(child).start;
  if (outcome == Outcome::kHung) {
    launch.node_fault = true;
    launch.detail = "its launch hung for a minute, on its folder or its output files, and was "
                    "ended";
  }
  if (kill_and_reap(child)) return;
  launch.leftovers.push_back({child, start});
  launch.detail = "process " + std::to_string(child) + " cannot be killed";
}

}  // namespace

Launch launch_task(const Order& order, const TaskOrder& task, std::int64_t started_ns, int signals,
                   const std::function<bool()>& stop_wanted) {
  Launch launch;
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    launch.node_fault = true;
    launch.detail = std::string("cannot make a pipe: ") + std::strerror(errno);
    return launch;
  }
  const pid_t shim = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(fds[0]);
    run_child(order, task, started_ns, fds[1], shim);
  }
  const int fork_error = errno;
  ::close(fds[1]);
  ChildFault fault;
  ssize_t n = 0;
  Outcome outcome = Outcome::kAnswered;
  if (child > 0) {
    outcome = wait_for_child(fds[0], signals, stop_wanted);
    while (outcome == Outcome::kAnswered) {
      n = ::read(fds[0], &fault, sizeof fault);
      if (n >= 0 || errno != EINTR) break;
    }
  }
  ::close(fds[0]);
  if (child < 0) {
    launch.node_fault = true;
    launch.detail = std::string("cannot fork: ") + std::strerror(fork_error);
  } else if (outcome != Outcome::kAnswered) {
    give_up_child(child, outcome, launch);
  } else if (n == sizeof fault) {
    ::waitpid(child, nullptr, 0);
    launch.exit_code = fault.exit_code;
    launch.node_fault = fault.node_fault != 0;
    launch.detail = fault.text;
  } else {
    launch.pid = child;
  }
  return launch;
}

}  // namespace rota::backend::shim
