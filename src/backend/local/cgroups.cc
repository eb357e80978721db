#include "backend/local/cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <system_error>

#include "backend/local/shim/system.h"

namespace rota::backend {
namespace {

std::string cgroup2_mount() {
  std::string text;
  shim::read_file("/proc/self/mounts", text);
  std::istringstream lines(text);
  std::string device;
  std::string where;
  std::string type;
  std::string rest;
  while (lines >> device >> where >> type && std::getline(lines, rest)) {
    if (type == "cgroup2") return where;
  }
  return {};
}

std::string own_group() {
  std::string text;
  shim::read_file("/proc/self/cgroup", text);
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

}  // namespace

std::string usable_cgroup_base(const std::string& key) {
  const std::string mount = cgroup2_mount();
  const std::string own = own_group();
  if (mount.empty() || own.empty()) return {};
  const std::string group = mount + (own == "/" ? "" : own);
  // A process may move into a child only if it may write the group it comes from.
  if (::access((group + "/cgroup.procs").c_str(), W_OK) != 0) return {};
  const std::string base = group + "/rota-" + key;
  if (::mkdir(base.c_str(), 0755) != 0 && errno != EEXIST) return {};
  const std::string trial = base + "/trial";
  if (::mkdir(trial.c_str(), 0755) != 0 && errno != EEXIST) return {};
  const bool good = ::access((trial + "/cgroup.procs").c_str(), W_OK) == 0 &&
                    ::access((trial + "/cgroup.kill").c_str(), W_OK) == 0;
  ::rmdir(trial.c_str());
  if (!good) ::rmdir(base.c_str());
  return good ? base : std::string();
}

void sweep_cgroups(const std::string& base) {
  if (base.empty()) return;
  std::error_code fault;
  for (std::filesystem::directory_iterator at(base, fault), end; !fault && at != end;
       at.increment(fault)) {
    ::rmdir(at->path().c_str());  // refused while processes are in it
  }
}

}  // namespace rota::backend
