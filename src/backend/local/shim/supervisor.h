// Stays with one task until nothing of it is left.
#pragma once

#include <string>

#include "backend/local/shim/files.h"

namespace rota::backend::shim {

/// Writes the task's status files and tells the daemon, when there is one, through the FIFO.
class StatusWriter {
 public:
  StatusWriter(const std::string& attempt_dir, std::int64_t job, std::int64_t attempt,
               std::int64_t task);
  /// The task is ours now: false when somebody wrote a status before.
  bool claim(const TaskStatus& status);
  /// Writes kRunning or kEnded and tells the daemon; without one, kEnded is made to outlive a power
  /// failure as well. A full disk is waited out: the end of a task is never dropped. A folder that
  /// is gone, or cannot take the file for any other reason, is given up after ten seconds.
  void write(const TaskStatus& status);

 private:
  /// False: nobody listens.
  [[nodiscard]] bool notify(const char* word) const;

  [[nodiscard]] std::string path_of(Phase phase) const;

  std::string attempt_dir_;
  std::int64_t task_;
  std::string notify_path_;
  std::string line_;
};

/// Runs the task to its end: launch, stop on request, grace, kill, verification. Without anybody to
/// ask for it the task is stopped when its time limit, its grace and five seconds are over. The
/// caller has blocked all signals and is a subreaper. Returns the final status, already written.
TaskStatus supervise(const Order& order, const TaskOrder& task, const std::string& attempt_dir,
                     StatusWriter& writer, TaskStatus status);

}  // namespace rota::backend::shim
