// Processes of attempts that are found by what their environment says, when no file tells of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/local/device_state.h"
#include "backend/local/shim/files.h"

namespace rota::backend {

/// Where this daemon's attempts live; tells them from those of other daemons.
struct StrayPlaces {
  std::string attempts_dir;
  std::string checkpoint_root;
  std::string cgroup_base;  // empty: no cgroups
};

using Strays = std::map<AttemptKey, std::vector<shim::Process>>;

/// `7.2` -> job 7, attempt 2.
bool parse_key(const std::string& name, AttemptKey& key);

/// All processes that carry the mark of an attempt (ROTA_CHECKPOINT_DIR below our root and
/// ROTA_ATTEMPT), stand in its cgroup, or descend from its shim; shims themselves do not count, for
/// they end with their task. Nor do this process and those it descends from. Cost: one pass over
/// the process table.
Strays find_strays(const StrayPlaces& places);

/// Sends SIGKILL to what belongs to the attempt until nothing is left, for at most a second.
/// Returns what still lives.
std::vector<shim::Process> kill_attempt(const StrayPlaces& places, AttemptKey key);

}  // namespace rota::backend
