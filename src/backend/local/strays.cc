#include "backend/local/strays.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "backend/local/shim/system.h"
#include "base/text.h"

namespace rota::backend {
namespace {

constexpr int kStrayPasses = 50;
constexpr int kStrayPauseMilliseconds = 20;

/// The entry's value in a block of NAME=value texts that each end with a zero byte.
std::string_view value_in(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
  }
  return {};
}

std::optional<AttemptKey> marked_as(std::int64_t pid, const StrayPlaces& places) {
  std::string block;
  if (!shim::read_file("/proc/" + std::to_string(pid) + "/environ", block)) return std::nullopt;
  const std::string_view folder = value_in(block, "ROTA_CHECKPOINT_DIR");
  const std::string root = places.checkpoint_root + "/";
  if (!folder.starts_with(root)) return std::nullopt;
  AttemptKey key;
  const std::string name = std::string(folder.substr(root.size())) + "." +
                           std::string(value_in(block, "ROTA_ATTEMPT"));
  return parse_key(name, key) ? std::optional(key) : std::nullopt;
}

/// Of which attempt the process is a shim: its command line names the attempt's folder.
std::optional<AttemptKey> shim_of(std::int64_t pid, const StrayPlaces& places) {
  std::string line;
  if (!shim::read_file("/proc/" + std::to_string(pid) + "/cmdline", line)) return std::nullopt;
  const std::size_t first = line.find('\0');
  if (first == std::string::npos) return std::nullopt;
  const std::string program = line.substr(0, first);
  const std::string folder = line.substr(first + 1, line.find('\0', first + 1) - first - 1);
  const std::string root = places.attempts_dir + "/";
  AttemptKey key;
  const bool is_shim = program.ends_with("rota-shim") && folder.starts_with(root) &&
                       parse_key(folder.substr(root.size()), key);
  return is_shim ? std::optional(key) : std::nullopt;
}

std::set<std::int64_t> own_line() {
  std::set<std::int64_t> line;
  for (std::int64_t pid = ::getpid(); pid > 1; pid = shim::process_facts(pid).parent) {
    line.insert(pid);
  }
  return line;
}

/// Groups are named <job>.<attempt>.<task>.
void add_groups(const StrayPlaces& places, std::map<AttemptKey, std::set<std::int64_t>>& found) {
  if (places.cgroup_base.empty()) return;
  std::error_code fault;
  for (std::filesystem::directory_iterator at(places.cgroup_base, fault), end; !fault && at != end;
       at.increment(fault)) {
    const std::string name = at->path().filename().string();
    AttemptKey key;
    std::string text;
    if (!parse_key(name.substr(0, name.rfind('.')), key)) continue;
    if (!shim::read_file(at->path().string() + "/cgroup.procs", text)) continue;
    for (const std::int64_t pid : shim::numbers_in(text)) found[key].insert(pid);
  }
}

}  // namespace

bool parse_key(const std::string& name, AttemptKey& key) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  const auto job = parse_int(name.substr(0, dot));
  const auto attempt = parse_int(name.substr(dot + 1));
  if (!job.ok() || !attempt.ok() || *job <= 0 || *attempt <= 0) return false;
  key = {JobId(static_cast<std::uint64_t>(*job)), *attempt};
  return true;
}

Strays find_strays(const StrayPlaces& places) {
  std::map<AttemptKey, std::set<std::int64_t>> found;
  std::set<std::int64_t> spared = own_line();
  for (const std::int64_t pid : shim::numbered_entries("/proc")) {
    if (const auto shim = shim_of(pid, places)) {
      spared.insert(pid);
      for (const std::int64_t child : shim::descendants_of(pid)) found[*shim].insert(child);
    } else if (const auto marked = marked_as(pid, places)) {
      found[*marked].insert(pid);
    }
  }
  add_groups(places, found);
  Strays strays;
  for (const auto& [key, pids] : found) {
    for (const std::int64_t pid : pids) {
      const shim::ProcessFacts facts = shim::process_facts(pid);
      if (facts.pid == 0 || facts.state == 'Z' || spared.contains(pid)) continue;
      strays[key].push_back({pid, facts.start});
    }
  }
  return strays;
}

std::vector<shim::Process> kill_attempt(const StrayPlaces& places, AttemptKey key) {
  std::vector<shim::Process> left;
  for (int pass = 0; pass < kStrayPasses; ++pass) {
    Strays strays = find_strays(places);
    left = std::move(strays[key]);
    if (left.empty()) break;
    for (const shim::Process& process : left) {
      ::kill(static_cast<pid_t>(process.pid), SIGKILL);
    }
    ::poll(nullptr, 0, kStrayPauseMilliseconds);
  }
  return left;
}

}  // namespace rota::backend
