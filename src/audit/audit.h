// All measures of an audit at once: the door of this module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/classes.h"
#include "audit/failures.h"
#include "audit/ledger.h"
#include "audit/lemons.h"
#include "audit/over_requests.h"
#include "audit/requests.h"
#include "audit/timeline.h"
#include "audit/waits.h"
#include "audit/work.h"
#include "base/result.h"

namespace rota::audit {

struct AuditOptions {
  std::optional<std::int64_t> capacity;  // thousandths of a GPU; absent: the peak of GPUs held
  /// Parts of the teams, in any unit; empty: all that asked for GPUs get the same.
  std::vector<std::pair<std::string, std::int64_t>> shares;
};

struct TeamShare {
  std::string name;               // empty: the source does not tell
  std::int64_t part = 0;          // of `parts`
  std::int64_t parts = 1;         // of all teams together
  TeamTime time;                  // all 0 unless runs are placed
  GpuTime held = 0;               // placed or not
  GpuTime end_told = 0;           // of it with a known end
  GpuTime lost = 0;               // of that

  /// Its part of an amount, cut.
  [[nodiscard]] GpuTime part_of(GpuTime amount) const { return amount * part / parts; }
};

struct Audit {
  Window window;
  std::int64_t jobs = 0;
  std::int64_t runs = 0;
  std::int64_t jobs_rejected = 0;
  std::int64_t jobs_without_gpus = 0;  // asked for none and held none
  std::int64_t capacity = 0;           // thousandths of a GPU; 0: cannot be known
  bool capacity_given = false;         // else the peak of GPUs held
  bool shares_given = false;
  Timeline timeline;
  Waits waits;
  Ledgers ledgers;
  std::vector<TeamShare> teams;        // most GPU time first, ties by name
  Failures failures;
  Lemons lemons;
  LimitUse limits;
  OverRequests over;
  Sessions sessions;
  Arrivals arrivals;
  ClassProposal classes;

  /// Capacity over the whole window.
  [[nodiscard]] GpuTime capacity_time() const { return GpuTime{capacity} * window.length(); }
  /// Average GPUs over the window that this time amounts to: GPU-equivalents.
  [[nodiscard]] double equivalents(GpuTime gpu_time) const;
};

/// Window from the first to the last instant of the work; absent when there is none.
[[nodiscard]] std::optional<Window> window_of(const Work& work);

/// O(n log n). Error: kInvalidArgument when a share names a team that the work does not have.
[[nodiscard]] Result<Audit> audit_work(const Work& work, const Window& window,
                                       const AuditOptions& options);

}  // namespace rota::audit
