#include "backend/local/script_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "backend/local/shim/system.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;

/// Any process has the folder's path among its words.
bool is_named_by_a_process(const std::string& folder) {
  std::string line;
  for (const std::int64_t pid : shim::numbered_entries("/proc")) {
    if (!shim::read_file("/proc/" + std::to_string(pid) + "/cmdline", line)) continue;
    if (line.find(folder + "/") != std::string::npos) return true;
  }
  return false;
}

bool is_ours(const std::string& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid();
}

/// Named as key_of() names them: eight hexadecimal digits.
bool is_key(const std::string& name) {
  return name.size() == 8 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

int lock_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

void sweep_dead_folders(const std::string& own) {
  std::error_code fault;
  std::vector<std::string> folders;
  for (fs::directory_iterator at(fs::path(own).parent_path(), fault), end; !fault && at != end;
       at.increment(fault)) {
    const std::string path = at->path().string();
    if (path != own && is_key(at->path().filename().string()) && is_ours(path)) {
      folders.push_back(path);
    }
  }
  for (const std::string& folder : folders) {
    const int fd = lock_folder(folder);
    if (fd < 0) continue;
    if (::rmdir(folder.c_str()) != 0 && !is_named_by_a_process(folder)) {
      fs::remove_all(folder, fault);
    }
    ::close(fd);
  }
}

}  // namespace rota::backend
