#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

namespace rota::cli {
namespace {

Error system_error(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

/// Only async-signal-safe calls: this runs between fork and exec.
[[noreturn]] void become(char* const* argv, int log) {
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(argv[0], argv);
  ::_exit(127);
}

/// A file without a name that holds `text`, at its beginning; -1: errno says why.
int file_of(const std::string& text) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  for (std::size_t at = 0; file >= 0 && at < text.size();) {
    const ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      ::close(file);
      return -1;
    }
    at += static_cast<std::size_t>(count);
  }
  if (file >= 0) ::lseek(file, 0, SEEK_SET);
  return file;
}

/// A zombie of ours counts as gone.
bool is_gone(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) == pid) return true;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t paren = text.rfind(')');
  return paren != std::string::npos && paren + 2 < text.size() && text[paren + 2] == 'Z';
}

/// Variables of this process with those of `changes` set, or taken away.
std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  const auto name_of = [](const std::string& text) { return text.substr(0, text.find('=')); };
  std::vector<std::string> variables;
  for (char** at = ::environ; *at != nullptr; ++at) {
    const std::string name = name_of(*at);
    const bool changed =
        std::any_of(changes.begin(), changes.end(),
                    [&](const std::string& change) { return name_of(change) == name; });
    if (!changed) variables.emplace_back(*at);
  }
  for (const std::string& change : changes) {
    if (change.find('=') != std::string::npos) variables.push_back(change);
  }
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// All that comes through the pipe, as far as it is kept; false when it is open beyond the end.
bool read_pipe(int pipe, std::chrono::steady_clock::time_point end, std::string& text) {
  constexpr std::size_t kKept = 64 * 1024;
  char piece[4096];
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waits{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(std::min<std::int64_t>(left.count(),
                                                                                1'000'000)));
    if (ready <= 0) continue;
    const ssize_t got = ::read(pipe, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(piece, std::min(static_cast<std::size_t>(got), kKept - text.size()));
  }
}

Result<pid_t> spawn_program(const std::vector<std::string>& argv, int output, int errors,
                            const std::vector<std::string>& environment) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::vector<std::string> variables = changed_environment(environment);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv.front().c_str(), &files, &attributes,
                                    pointers_to(argv).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed == 0) return pid;
  const ErrorCode code = failed == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
  return Error{code, "cannot run " + argv.front() + ": " + std::strerror(failed)};
}

}  // namespace

Result<ProgramEnd> run_program(const std::vector<std::string>& argv, int output,
                               const std::vector<std::string>& environment,
                               std::chrono::seconds patience) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  const auto pid = spawn_program(argv, output, ends[1], environment);
  ::close(ends[1]);
  ProgramEnd end;
  const bool over = pid && read_pipe(ends[0], std::chrono::steady_clock::now() + patience,
                                     end.errors);
  ::close(ends[0]);
  if (!pid) return pid.error();
  if (!over) ::kill(*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!over) {
    return Error{ErrorCode::kTimeout, argv.front() + " gave no end within " +
                                          std::to_string(patience.count()) + " s"};
  }
  end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

std::string own_program() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "rota";
}

Result<pid_t> spawn_detached(const std::vector<std::string>& argv, const std::string& log) {
  const int log_file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_file < 0) return system_error("cannot write " + log);
  std::vector<char*> words = pointers_to(argv);
  const pid_t pid = ::fork();
  if (pid == 0) become(words.data(), log_file);
  ::close(log_file);
  if (pid < 0) return system_error("cannot start a process");
  return pid;
}

Result<int> run_shell(const std::string& command, const std::string& input,
                      std::chrono::milliseconds patience) {
  const int file = file_of(input);
  if (file < 0) return system_error("cannot pass " + std::to_string(input.size()) + " bytes on");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // A group of its own, so that what it starts can be ended with it; it goes when we do.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(file, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(file);
  errno = fork_error;
  if (child < 0) return system_error("cannot start /bin/sh");
  ::setpgid(child, child);  // whoever of the two is first
  const auto end = std::chrono::steady_clock::now() + patience;
  int status = 0;
  for (pid_t over = 0; over != child;) {
    over = ::waitpid(child, &status, WNOHANG);
    if (over < 0 && errno != EINTR) return system_error("cannot wait for /bin/sh");
    if (over == 0 && std::chrono::steady_clock::now() >= end) {
      ::kill(-child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return Error{ErrorCode::kTimeout, "'" + command + "' gave no end and was killed"};
    }
    if (over == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<pid_t> listener_of(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || socket_path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument, "'" + socket_path + "' is no path of a socket"};
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error("cannot make a socket");
  ucred peer{};
  socklen_t length = sizeof peer;
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int connect_error = errno;
  const bool known =
      connected && ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0;
  ::close(fd);
  if (known) return peer.pid;
  if (connect_error == EACCES) {
    return Error{ErrorCode::kDenied, "you may not open the socket " + socket_path};
  }
  return Error{ErrorCode::kUnavailable, "nobody listens at " + socket_path};
}

bool wait_until_gone(pid_t pid, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_gone(pid)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace rota::cli
