// From what the server orders to what the shims of its tasks read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/local/environment.h"
#include "backend/local/shim/files.h"

namespace rota::backend {

struct OrderContext {
  std::string attempt_dir;
  std::string script_dir;      // for scripts of other accounts
  std::string checkpoint_root;
  std::string cgroup_base;     // empty: no cgroups
  std::string cluster_name;
  std::map<std::string, std::vector<std::string>> uuids;
  std::int64_t port = 0;
  std::int64_t nofile_soft = -1;
  Duration grace_default;
  std::int64_t leftover_grace_ns = 0;
};

/// Error: kInvalidArgument when there is no command or no task.
Result<shim::Order> build_order(const StartOrder& order, const OrderContext& context);

/// Argument list of a script: what its #! line names, else /bin/sh. The interpreter is called
/// directly, so the script may stand on a file system that forbids execution.
std::vector<std::string> script_command(const std::string& script, const std::string& path,
                                        const std::vector<std::string>& arguments);

}  // namespace rota::backend
