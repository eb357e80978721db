// GPUs wanted hour by hour: what a cluster would have to hold if every job started at once.
//
// A run wants its GPUs from the instant at which it could have started, for as long as it ran. So
// a queue does not stretch demand, and the hours add up to the GPU time of the runs. What still
// runs or waits wants them until the end of the window. One that left the queue without a start
// wants nothing: how long it would have run is not known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/timeline.h"
#include "audit/work.h"

namespace rota::audit {

constexpr std::int64_t kHourLength = 3'600'000'000'000;
constexpr int kHoursOfDay = 24;

struct Demand {
  std::int64_t first_hour = 0;        // hours since the axis' zero; may be negative
  std::vector<GpuTime> hours;         // whole hours of the window alone
  std::int64_t runs = 0;              // that wanted GPUs in one of them
  std::int64_t gpus_unknown = 0;      // runs left out: GPUs not told
  std::int64_t length_unknown = 0;    // ... how long it ran not told
  std::int64_t place_unknown = 0;     // ... neither submit nor start told
  std::int64_t never_started = 0;     // ... left the queue

  [[nodiscard]] std::int64_t begin_of(std::size_t hour) const {
    return (first_hour + static_cast<std::int64_t>(hour)) * kHourLength;
  }
  /// Mean of each hour in thousandths of a GPU, rounded.
  [[nodiscard]] std::vector<std::int64_t> means() const;
};

/// Monday 0:00 UTC is 0; without dates the start of the trace counts as a Thursday.
[[nodiscard]] int hour_of_week(std::int64_t hour);

/// O(n + hours).
[[nodiscard]] Demand measure_demand(const Work& work, const Window& window);

/// Waits of runs with GPUs by the hour in which they could have started, as Demand::hours.
struct HourWaits {
  std::vector<std::uint32_t> first;     // by hour, one more than hours: places in `lengths`
  std::vector<std::int64_t> lengths;    // nanoseconds
  [[nodiscard]] std::span<const std::int64_t> of(std::size_t hour) const {
    return std::span(lengths).subspan(first[hour], first[hour + 1] - first[hour]);
  }
  [[nodiscard]] bool told() const { return !lengths.empty(); }
  /// Adds those of `hour` that are known for certain when the hour `now` begins: the run has
  /// started by then.
  void add_known(std::size_t hour, std::size_t now, std::vector<std::int64_t>& to) const;
};
/// O(n + hours). Runs whose wait is not told, or that never started, are left out.
[[nodiscard]] HourWaits measure_hour_waits(const Work& work, const Demand& demand);

}  // namespace rota::audit
