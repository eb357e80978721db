// A shim seen from the daemon: begin one, find a living one, send to it, clean up after a dead one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "backend/local/shim/files.h"
#include "base/result.h"

namespace rota::backend {

/// Starts the shim of one task in a session of its own, with all signals blocked and nothing open.
/// Error: kUnavailable, with the system's reason.
Result<pid_t> spawn_shim(const std::filesystem::path& program, const std::string& attempt_dir,
                         std::int64_t task);

/// The process that holds the task's lock; 0: none. The order file must exist.
pid_t shim_holding(const std::string& attempt_dir, std::int64_t task);

/// A descriptor that becomes readable when the process ends; -1: it is gone already, or no
/// descriptors are left.
int open_pidfd(pid_t pid);

/// Sends through the descriptor, so never to another process of the same number.
bool signal_pidfd(int pidfd, int signal_number);

/// Takes the exit state of a child of this process, so that no zombie stays. Others: no effect.
void reap(int pidfd);

/// Kills what a vanished shim left behind: its cgroup, its session, and every process whose
/// environment names this attempt. Returns what could not be killed.
std::vector<shim::Process> kill_strays(const shim::TaskOrder& task,
                                       const shim::TaskStatus& status);

bool is_alive(const shim::Process& process);

/// Whether the process was begun as the shim of this task: the folder it was given is this one.
bool is_shim_of(pid_t pid, const std::string& attempt_dir, std::int64_t task);

}  // namespace rota::backend
