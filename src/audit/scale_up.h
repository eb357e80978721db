// When a forecast says that there will not be enough GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/forecast.h"
#include "audit/wait_forecast.h"
#include "base/result.h"

namespace rota::audit {

enum class Measure : std::uint8_t { kDemand, kWait };
enum class Band : std::uint8_t { kP50, kP90 };

/// `p90 demand > 64`, `p50 demand > capacity for 4h`, `p90 wait > 2h`.
struct ScaleUp {
  Band band = Band::kP90;
  Measure measure = Measure::kDemand;
  std::int64_t above = 0;     // thousandths of a GPU, or nanoseconds
  std::int64_t hours = 1;     // at a stretch, at least
};

/// `capacity` is what the word stands for, in thousandths of a GPU. Error: kInvalidArgument with
/// what was expected.
[[nodiscard]] Result<ScaleUp> scale_up_from(std::string_view text,
                                            std::optional<std::int64_t> capacity);

/// Hours at a stretch in which the condition holds.
struct Shortage {
  std::int64_t first_hour = 0;
  std::int64_t hours = 0;
  std::int64_t short_max = 0;  // beyond the threshold: thousandths of a GPU, or nanoseconds
  std::int64_t short_sum = 0;  // over the hours: thousandths of a GPU-hour; 0 of waits
};

/// Those of at least `rule.hours` hours, in order. Waits must be there for a rule on them.
[[nodiscard]] std::vector<Shortage> shortages_of(const ScaleUp& rule,
                                                 const DemandForecast& demand,
                                                 std::span<const HourWait> waits);

}  // namespace rota::audit
