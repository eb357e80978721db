// From the attempts of a history to stretches of held and wanted GPUs.
#pragma once

#include "cli/report/input.h"
#include "history/history.h"

namespace rota::cli::reports {

enum class Capacity {
  kTold,         // the pools are there
  kFromHistory,  // they are made: the most that was held at once of each model
};

/// From the first to the last instant that the attempts tell or imply; absent when there is none.
[[nodiscard]] std::optional<Period> period_of_history(const history::JobHistory& history);

/// Adds groups, holds and waits of all attempts, and notes on what could not be counted. A model
/// that the pools do not have goes to the pool without a model, else it is a pool without capacity
/// and what is held of it stands beyond the capacity. O(n log n).
///
/// Where it ran is taken from start and end; without a start from the length before the end, or
/// behind the submit. What still ran counts until the last instant that the history tells.
void collect(const history::JobHistory& history, By by, Capacity capacity, ReportInput& input);

}  // namespace rota::cli::reports
