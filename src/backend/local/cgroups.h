// Control groups of tasks: only as a way to kill everything at once; no limits are set.
#pragma once

#include <cstdint>
#include <string>

namespace rota::backend {

/// The folder below which task groups may be made (`<cgroup2>/<our own group>/rota-<key>`), made
/// and tried out; empty: this machine does not let us, and process trees have to do. `key` tells
/// daemons of one machine apart.
std::string usable_cgroup_base(const std::string& key);

/// Removes empty groups that a crash left below the base.
void sweep_cgroups(const std::string& base);

}  // namespace rota::backend
