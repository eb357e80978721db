// Small pieces of the operating system that the daemon and the shim both need: files that are
// replaced atomically, clocks, and the process table.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace rota::backend::shim {

// ---- files ----

/// False: absent or unreadable; `text` is then empty.
inline bool read_file(const std::string& path, std::string& text) {
  text.clear();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return n == 0;
}

inline bool write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// Writes `path` with mode 0600 through `path.new`; readers see the old or the new file, never half
/// of one. It outlives the end of any process, but not a power failure. False: errno says why.
inline bool replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool good = write_all(fd, text);
  const int saved = errno;
  ::close(fd);
  errno = saved;
  return good && ::rename(fresh.c_str(), path.c_str()) == 0;
}

/// Makes a file that must not be there yet. False: it is, or errno says why.
inline bool create_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool good = write_all(fd, text);
  ::close(fd);
  return good;
}

/// Has the file, its name included, outlive a power failure too.
inline void make_durable(const std::string& path) {
  for (const std::string& name : {path, path.substr(0, path.rfind('/'))}) {
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ::fsync(fd);
    ::close(fd);
  }
}

// ---- clocks ----

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

inline std::string boot_id() {
  std::string text;
  read_file("/proc/sys/kernel/random/boot_id", text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// When the machine was started, in nanoseconds since the epoch; 0: not known.
inline std::int64_t booted_ns() {
  std::string text;
  if (!read_file("/proc/stat", text)) return 0;
  const std::size_t at = text.find("\nbtime ");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + 7) * 1'000'000'000;
}

// ---- processes ----

/// State letter, parent and start time from /proc/<pid>/stat. pid 0: no such process.
struct ProcessFacts {
  std::int64_t pid = 0;
  char state = 0;
  std::int64_t parent = 0;
  std::int64_t session = 0;
  std::int64_t start = 0;
};

inline ProcessFacts process_facts(std::int64_t pid) {
  ProcessFacts facts;
  std::string stat;
  if (!read_file("/proc/" + std::to_string(pid) + "/stat", stat)) return facts;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return facts;
  // After the name: state ppid pgrp session tty ... ; start time is the 20th of these.
  const char* at = stat.c_str() + name_end + 1;
  std::vector<std::string> words;
  while (*at != 0 && words.size() < 20) {
    while (*at == ' ') ++at;
    const char* end = at;
    while (*end != 0 && *end != ' ') ++end;
    words.emplace_back(at, end);
    at = end;
  }
  if (words.size() < 20) return facts;
  facts.pid = pid;
  facts.state = words[0].empty() ? '?' : words[0][0];
  facts.parent = std::atoll(words[1].c_str());
  facts.session = std::atoll(words[3].c_str());
  facts.start = std::atoll(words[19].c_str());
  return facts;
}

inline std::vector<std::int64_t> numbers_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.c_str();
  char* end = nullptr;
  for (std::int64_t n = std::strtoll(at, &end, 10); end != at; n = std::strtoll(at, &end, 10)) {
    numbers.push_back(n);
    at = end;
  }
  return numbers;
}

/// Names of `folder` that are numbers.
inline std::vector<std::int64_t> numbered_entries(const std::string& folder) {
  std::vector<std::int64_t> numbers;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
      numbers.push_back(std::atoll(entry->d_name));
    }
  }
  ::closedir(dir);
  return numbers;
}

/// The children of every process at this moment, by one pass over /proc.
inline std::vector<std::pair<std::int64_t, std::int64_t>> parents_and_children() {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const std::int64_t pid : numbered_entries("/proc")) {
    const ProcessFacts facts = process_facts(pid);
    if (facts.pid != 0) pairs.emplace_back(facts.parent, pid);
  }
  return pairs;
}

inline std::vector<std::int64_t> children_of(std::int64_t pid) {
  std::vector<std::int64_t> children;
  std::string text;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const std::int64_t thread : numbered_entries(tasks)) {
    if (!read_file(tasks + "/" + std::to_string(thread) + "/children", text)) continue;
    const std::vector<std::int64_t> more = numbers_in(text);
    children.insert(children.end(), more.begin(), more.end());
  }
  return children;
}

/// All processes below `root`, without it, parents first; zombies too. One pass: what forks
/// meanwhile may be missed, so a caller that kills repeats until nothing is left. Kernels without
/// the list of children (CONFIG_PROC_CHILDREN) cost a pass over the whole process table.
inline std::vector<std::int64_t> descendants_of(std::int64_t root) {
  static const bool kHasLists = ::access("/proc/thread-self/children", F_OK) == 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  if (!kHasLists) pairs = parents_and_children();
  std::vector<std::int64_t> found;
  std::vector<std::int64_t> open = {root};
  while (!open.empty()) {
    const std::int64_t pid = open.back();
    open.pop_back();
    std::vector<std::int64_t> children;
    if (kHasLists) {
      children = children_of(pid);
    } else {
      for (const auto& [parent, child] : pairs) {
        if (parent == pid) children.push_back(child);
      }
    }
    found.insert(found.end(), children.begin(), children.end());
    open.insert(open.end(), children.begin(), children.end());
  }
  return found;
}

}  // namespace rota::backend::shim
