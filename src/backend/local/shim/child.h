// Begins a task's command as the job's user.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "backend/local/shim/files.h"

namespace rota::backend::shim {

struct Launch {
  pid_t pid = 0;           // 0: nothing was begun
  std::int64_t exit_code = 0;  // when nothing was begun: what a shell would return
  bool node_fault = false;     // ... and it is no fault of the job
  std::string detail;
  std::vector<Process> leftovers;  // could not be killed
};

/// Forks, and waits until the command has replaced the child (or could not). In the child: own
/// session, cgroup, limits, account, folder, output files (made with their parent folders, as the
/// user), end time in the environment; killed should this process die. Signals of the caller may be
/// blocked or ignored; the command gets the defaults. A child that takes a minute over it is
/// killed, as it is once `stop_wanted` says so; that is asked when `signals`, a signalfd, has one.
Launch launch_task(const Order& order, const TaskOrder& task, std::int64_t started_ns, int signals,
                   const std::function<bool()>& stop_wanted);

/// Makes the folder for checkpoints and the script file, both for the job's user. Empty: done; else
/// what went wrong.
std::string prepare_files(const Order& order);

}  // namespace rota::backend::shim
