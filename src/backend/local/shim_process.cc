#include "backend/local/shim_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <system_error>

#include "backend/local/shim/system.h"

// The daemon's own environment; the job's is in the order file.
extern char** environ;

namespace rota::backend {
namespace {

constexpr int kKillPasses = 100;
constexpr int kKillPauseMilliseconds = 10;

bool has_entry(const std::string& environment, const std::string& entry) {
  for (std::size_t at = environment.find(entry); at != std::string::npos;
       at = environment.find(entry, at + 1)) {
    const std::size_t end = at + entry.size();
    if ((at == 0 || environment[at - 1] == 0) &&
        (end == environment.size() || environment[end] == 0)) {
      return true;
    }
  }
  return false;
}

std::string entry_of(const shim::TaskOrder& task, const std::string& name) {
  for (const std::string& entry : task.env) {
    if (entry.starts_with(name + "=")) return entry;
  }
  return {};
}

std::vector<std::int64_t> find_strays(const shim::TaskOrder& task, const shim::TaskStatus& status) {
  // The folder for checkpoints tells daemons apart, the attempt's number attempts.
  const std::string folder = entry_of(task, "ROTA_CHECKPOINT_DIR");
  const std::string attempt = entry_of(task, "ROTA_ATTEMPT");
  const std::string rank = entry_of(task, "ROTA_NODE_RANK");
  std::vector<std::int64_t> strays;
  std::string environment;
  for (const std::int64_t pid : shim::numbered_entries("/proc")) {
    const shim::ProcessFacts facts = shim::process_facts(pid);
    if (facts.pid == 0 || facts.state == 'Z' || pid == ::getpid()) continue;
    const bool in_session = status.main.pid != 0 && facts.session == status.main.pid &&
                            facts.start >= status.main.start;
    bool named = false;
    if (!folder.empty() && shim::read_file("/proc/" + std::to_string(pid) + "/environ",
                                           environment)) {
      named = has_entry(environment, folder) && has_entry(environment, attempt) &&
              has_entry(environment, rank);
    }
    if (in_session || named) strays.push_back(pid);
  }
  return strays;
}

void kill_cgroup(const std::string& cgroup) {
  if (cgroup.empty()) return;
  const int fd = ::open((cgroup + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  shim::write_all(fd, "1");
  ::close(fd);
}

}  // namespace

Result<pid_t> spawn_shim(const std::filesystem::path& program, const std::string& attempt_dir,
                         std::int64_t task) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int fd = 0; fd <= 2; ++fd) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  }
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                             POSIX_SPAWN_SETSID));
  std::string name = program.string();
  std::string dir = attempt_dir;
  std::string rank = std::to_string(task);
  char* argv[] = {name.data(), dir.data(), rank.data(), nullptr};
  pid_t pid = 0;
  const int fault = ::posix_spawn(&pid, name.c_str(), &actions, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (fault == 0) return pid;
  return Error{ErrorCode::kUnavailable, "cannot start " + name + ": " + std::strerror(fault)};
}

pid_t shim_holding(const std::string& attempt_dir, std::int64_t task) {
  const std::string path = attempt_dir + "/" + shim::order_file();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = task;
  lock.l_len = 1;
  const bool asked = ::fcntl(fd, F_GETLK, &lock) == 0;
  ::close(fd);
  return asked && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

bool signal_pidfd(int pidfd, int signal_number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal_number, nullptr, 0) == 0;
}

void reap(int pidfd) {
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
}

std::vector<shim::Process> kill_strays(const shim::TaskOrder& task,
                                       const shim::TaskStatus& status) {
  std::vector<std::int64_t> strays;
  for (int pass = 0; pass < kKillPasses; ++pass) {
    kill_cgroup(task.cgroup);
    strays = find_strays(task, status);
    if (strays.empty()) break;
    for (const std::int64_t pid : strays) ::kill(static_cast<pid_t>(pid), SIGKILL);
    ::poll(nullptr, 0, kKillPauseMilliseconds);
  }
  if (!task.cgroup.empty()) ::rmdir(task.cgroup.c_str());
  std::vector<shim::Process> left;
  left.reserve(strays.size());
  for (const std::int64_t pid : strays) left.push_back({pid, shim::process_facts(pid).start});
  return left;
}

bool is_shim_of(pid_t pid, const std::string& attempt_dir, std::int64_t task) {
  std::string line;
  if (!shim::read_file("/proc/" + std::to_string(pid) + "/cmdline", line)) return false;
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size(); at += words.back().size() + 1) {
    words.push_back(line.substr(at, line.find('\0', at) - at));
  }
  std::error_code fault;
  return words.size() == 3 && words[0].ends_with("rota-shim") &&
         words[2] == std::to_string(task) &&
         std::filesystem::equivalent(words[1], attempt_dir, fault);
}

bool is_alive(const shim::Process& process) {
  const shim::ProcessFacts facts = shim::process_facts(process.pid);
  return facts.pid != 0 && facts.state != 'Z' && facts.state != 'X' &&
         facts.start == process.start;
}

}  // namespace rota::backend
