#include "audit/usage_owed.h"

#include <algorithm>
#include <cstddef>

namespace rota::audit {
namespace {

struct OwedStep {
  Instant at;
  std::uint32_t team = 0;
  std::int64_t wanted = 0;  // changes
  std::int64_t held = 0;
};

struct TeamLevel {
  Instant since;
  std::int64_t wanted = 0;
  std::int64_t held = 0;
};

}  // namespace

std::vector<Owed> measure_owed(const OwedInput& input) {
  std::vector<OwedStep> steps;
  const auto add = [&](const TeamStretch& stretch, std::int64_t wanted, std::int64_t held) {
    const Instant begin = std::max(stretch.begin, input.begin);
    const Instant end = std::min(stretch.end, input.end);
    if (begin >= end) return;
    steps.push_back({begin, stretch.team, wanted, held});
    steps.push_back({end, stretch.team, -wanted, -held});
  };
  for (const TeamStretch& stretch : input.wanted) add(stretch, stretch.gpus.value(), 0);
  for (const TeamStretch& stretch : input.held) add(stretch, 0, stretch.gpus.value());
  std::sort(steps.begin(), steps.end(), [](const OwedStep& a, const OwedStep& b) {
    return a.at < b.at;  // steps of one instant pass no time: their order does not count
  });
  std::vector<Owed> result(input.parts.size());
  std::vector<TeamLevel> levels(input.parts.size(), {input.begin});
  for (const OwedStep& step : steps) {
    TeamLevel& level = levels[step.team];
    Owed& owed = result[step.team];
    const Int128 passed = (step.at - level.since).ns();
    const Int128 rate = std::min(Int128{level.wanted} * input.denominator, input.parts[step.team]);
    owed.wanted += passed * level.wanted;
    owed.held += passed * level.held;
    owed.owed += passed * rate;
    owed.delivered += passed * std::min(Int128{level.held} * input.denominator, rate);
    level.since = step.at;
    level.wanted += step.wanted;
    level.held += step.held;
  }
  for (Owed& owed : result) {
    owed.owed /= input.denominator;
    owed.delivered /= input.denominator;
  }
  return result;
}

}  // namespace rota::audit
