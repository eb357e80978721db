// What teams wanted and held, from a history or from a table by the hour, and what they own.
#pragma once

#include <string>
#include <vector>

#include "audit/usage_owed.h"
#include "base/result.h"
#include "cli/report/input.h"

namespace rota::cli::reports {

struct Demand {
  audit::OwedInput owed;
  std::vector<std::string> teams;  // names, as owed.parts; empty: not told
  std::optional<MilliGpu> capacity;  // absent: teams own numbers of GPUs
  std::vector<std::string> notes;
  std::string import_notes;
};

/// Reads the input that the options name and gives each team its part: --allocation names GPUs
/// and leaves other teams out, --shares names weights where others have 1. A table of demand has
/// columns hour (a number, or the time at which it begins), queue (or team), demand_gpus and
/// used_gpus. Errors: kInvalidArgument.
[[nodiscard]] Result<Demand> read_demand(Context& context, const ReportOptions& options, By by);

}  // namespace rota::cli::reports
