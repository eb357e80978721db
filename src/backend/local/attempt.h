// One attempt as the daemon sees it, and what follows from the states of its tasks. Pure: the
// caller reads files, watches processes and carries out what `Attempt::next` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/local/device_state.h"
#include "backend/local/shim/files.h"

namespace rota::backend {

struct AttemptTask {
  std::int64_t rank = 0;
  std::string node;
  std::int64_t shim_pid = 0;
  int pidfd = -1;                 // of the shim; -1: gone, or not watched
  shim::TaskStatus status;        // the latest that was read
  bool has_status = false;
  bool gone = false;              // nothing of it runs any more
  bool lost = false;              // its shim vanished without writing how it ended
  std::string lost_detail;
  std::int64_t lost_ns = 0;       // at the latest then; 0: not known
  bool stop_sent = false;         // by an order or for the gang
  bool dropped = false;           // one of the tasks of an order that stops only some
  bool drop_told = false;
};

struct Attempt {
  JobId job;
  std::int64_t number = 0;
  std::string dir;
  shim::Order order;
  std::vector<AttemptTask> tasks;
  std::vector<shim::Process> strays;  // of an orphan: no file tells of its tasks
  bool orphan = false;
  std::optional<std::int64_t> limit_ns;  // as the shims know it
  bool stop_ordered = false;      // of all tasks, from outside
  bool started_told = false;
  bool ending = false;            // all tasks are gone; its devices are being looked at
  bool ended = false;
  AttemptEnded end;

  [[nodiscard]] bool all_gone() const;
  [[nodiscard]] bool all_begun() const;
  /// Of the last task; absent where one is not known.
  [[nodiscard]] std::optional<Instant> begun_at() const;
  [[nodiscard]] std::optional<Instant> gone_at() const;
  /// The first task, in time, that failed by itself; null: none.
  [[nodiscard]] const AttemptTask* first_failure() const;
  /// How the attempt ended; all tasks must be gone.
  [[nodiscard]] AttemptEnded compose_end() const;
  /// Dropped tasks that are gone and not told yet, once every dropped one is gone.
  [[nodiscard]] std::vector<std::int64_t> dropped_to_tell() const;
  [[nodiscard]] std::vector<shim::Process> leftovers() const;
};

/// Whether the task ended badly by itself (not because it was stopped).
bool failed_by_itself(const AttemptTask& task);

}  // namespace rota::backend
