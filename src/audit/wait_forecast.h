// How long jobs will wait, from how long they waited in past hours that were as full.
//
// The pressure of an hour is what it has to serve over what the cluster can serve in it: the
// demand of the hour (demand.h) and the work left over from before, which falls by what fits (a
// fluid queue: left = max(0, left + wanted - capacity); D. V. Lindley, "The theory of queues with
// a single server", 1952). The hours of the past are parted by pressure into at most twenty
// groups of about as many hours (equal pressures stay together); an hour to come waits as the
// group of its pressure did. Its median follows the expected demand. Its 90th percentile is the
// larger of that group's and of the group of the pressure if all hours before had been at the
// upper end of their bands.
//
// What it does not see: shapes of jobs and nodes, limits, priorities, whose jobs they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "audit/demand.h"
#include "audit/forecast.h"

namespace rota::audit {

struct HourWait {
  std::int64_t p50 = 0;  // nanoseconds
  std::int64_t p90 = 0;
};

/// Over the runs that could have started as many days ahead.
struct WaitErrors {
  std::int64_t runs = 0;
  Int128 off = 0;              // sum of |wait - p50|, nanoseconds
  Int128 off_last_week = 0;    // the same with the median wait of the week before the forecast
  std::int64_t below_p90 = 0;
  [[nodiscard]] std::optional<std::int64_t> mean_off() const;
  [[nodiscard]] std::optional<std::int64_t> mean_off_last_week() const;
  [[nodiscard]] std::optional<std::int64_t> below_p90_permille() const;
  void add(const WaitErrors& other);
};

struct WaitForecast {
  std::vector<HourWait> hours;       // as DemandForecast::hours
  std::vector<WaitErrors> days;      // by day ahead
  WaitErrors all;
  std::int64_t left_over = 0;        // now, in thousandths of a GPU-hour: work beyond the capacity
};

/// `capacity` in thousandths of a GPU, above 0. Absent when no wait is told in the hours before the
/// first test. The tests of one week share what was known at its begin. O(weeks of tests x (n +
/// hours log hours)).
[[nodiscard]] std::optional<WaitForecast> forecast_waits(const Demand& demand,
                                                         const HourWaits& waits,
                                                         const TestedForecast& tested,
                                                         std::int64_t capacity);

}  // namespace rota::audit
