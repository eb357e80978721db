#include "history/slurm/verdict.h"

#include <algorithm>
#include <array>

namespace rota::history {

bool is_slurm_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 6> kNothing{"",    "Unknown", "None",
                                                     "N/A", "(null)",  "None assigned"};
  return std::find(kNothing.begin(), kNothing.end(), text) != kNothing.end();
}

void settle_unstarted(JobRow& row, bool had_nodes) {
  const bool no_time = !row.started || !row.ended || *row.ended <= *row.started;
  if (had_nodes || !no_time) return;
  row.started.reset();
  row.run_told.reset();
  if (row.outcome == Outcome::kFailed) row.outcome = Outcome::kRejected;
}

StepId step_id(std::string_view id) {
  const std::size_t dot = id.find('.');
  return {.job = id.substr(0, dot), .is_step = dot != std::string_view::npos};
}

}  // namespace rota::history
