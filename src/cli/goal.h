// A goal of `rota capacity`: `p90 wait of debug < 1m`, `delivered of all > 95%`, `occupancy > 80%`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/what_if.h"

namespace rota::cli {

enum class GoalFigure { kMean, kP50, kP90, kP99, kMax, kDelivered, kOccupancy };

struct Goal {
  std::string text;
  GoalFigure figure = GoalFigure::kP90;
  std::string of = "all";        // all, wide, debug, or a team or class
  bool below = true;             // the figure must be below the bound; else above
  Duration wait;                 // the bound of waits
  std::int64_t permille = 0;     // ... of parts
};

/// Error: what was expected, with the nearest word.
[[nodiscard]] Result<Goal> parse_goal(const std::string& text);

/// How an outcome stands to the goal.
struct GoalStanding {
  bool met = false;
  double value = 0;              // seconds, or a part
  std::int64_t never = 0;        // jobs of those asked for that never started
  std::string words;             // `12.3s`, `96.1%`, `never`; `-`: nothing to measure it by
};
/// A team goes before a class of that name. Jobs that never started count as waiting for ever, and
/// no part is met where there are any: nothing was delivered to them.
/// Error: no job of that name, with those there are.
[[nodiscard]] Result<GoalStanding> standing_of(const Goal& goal, const sim::Outcome& outcome);

}  // namespace rota::cli
