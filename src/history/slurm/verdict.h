// What Slurm's words say of an attempt; shared by the forms in which Slurm tells them.
#pragma once

#include <string_view>

#include "history/builder.h"

namespace rota::history {

/// Slurm's words for nothing: empty, Unknown, None, N/A, (null), "None assigned".
[[nodiscard]] bool is_slurm_nothing(std::string_view text);

/// Puts right what Slurm writes for attempts that never had nodes: their start is no start, and a
/// failure without one is a refused submit. `had_nodes` is whether the row shows any node or
/// device held.
void settle_unstarted(JobRow& row, bool had_nodes);

/// The part of an id before its step (`148_3.batch` -> `148_3`), and whether there was one.
struct StepId {
  std::string_view job;
  bool is_step = false;
};
[[nodiscard]] StepId step_id(std::string_view id);

}  // namespace rota::history
