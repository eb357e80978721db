#include "store/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rota::store {
namespace {

Error unavailable(const std::string& path, const std::string& what) {
  return {.code = ErrorCode::kUnavailable,
          .message = what + ": " + std::strerror(errno) +
                     "; name another state folder with --state",
          .where = path};
}

/// Empty, or a state folder of before: not one that somebody keeps other things in.
bool is_for_state(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_empty(folder, error)) return true;
  for (const char* ours : {"lock", "local.lock", "daemon.log"}) {
    if (std::filesystem::exists(folder / ours, error)) return true;
  }
  return false;
}

/// What is private inside has modes of its own, so a mode that cannot be set is no error.
void set_mode(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return;
  const mode_t wanted = ::geteuid() == 0 ? 0711 : 0700;
  if ((info.st_mode & 07777) == wanted || !is_for_state(folder)) return;
  ::chmod(folder.c_str(), wanted);
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path(folder);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return unavailable(folder, "the state folder cannot be made");
  }
  set_mode(path);
  return {};
}

std::string owner_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<std::unique_ptr<FolderLock>> FolderLock::take(const std::string& folder) {
  const Status made = make_folder(folder);
  if (!made.ok()) return made.error();
  const std::string path = folder + "/lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return unavailable(path, "the lock file cannot be opened");
  std::unique_ptr<FolderLock> lock(new FolderLock(descriptor));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unavailable(path, "the state folder cannot be locked");
    return Error{.code = ErrorCode::kConflict,
                 .message = owner_of(descriptor) + " serves this state folder already: stop it "
                            "first, or name another folder with --state",
                 .where = folder};
  }
  // The pid is for people only; a full disk must not keep the daemon from starting.
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor, pid.data(), pid.size(), 0);
  }
  return lock;
}

Status make_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return unavailable(path, "the file cannot be opened");
  struct stat info {};
  const bool is_private = ::fstat(file, &info) == 0 && (info.st_mode & 0077) == 0;
  const bool done = is_private || ::fchmod(file, info.st_mode & 0700) == 0;
  const Status status = done ? Status() : unavailable(path, "the file cannot be made private");
  ::close(file);
  return status;
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace rota::store
