// Demand and waits of the next days, with how well the same method did in the past beside them.
//
// The past is told again day by day (a rolling origin): at each past instant only what lay before
// it is used to choose a shape and a band, and to forecast; then it is compared with what came.
//
// Shape: of those in seasonal.h the one with the least error over the forecasts that had come true
// by then, at most the last 56. Band: the 10th and 90th percentile (nearest rank) of what these
// missed by, for each day ahead apart. Errors are WAPE: the sum of absolute errors over the sum of
// what was wanted; the baseline is the same hour of the last week.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/demand.h"
#include "audit/seasonal.h"
#include "base/result.h"

namespace rota::audit {

constexpr std::int64_t kForecastDaysMax = 28;
/// Forecasts that must have come true before one is tested, and the most that are looked at.
constexpr std::size_t kTriesMin = 7;
constexpr std::size_t kTriesMax = 56;
/// Days of history that a forecast of `days` needs: two weeks, and tests of it.
[[nodiscard]] constexpr std::int64_t days_needed(std::int64_t days) {
  return static_cast<std::int64_t>(kPastMin) / kHoursOfDay +
         static_cast<std::int64_t>(kTriesMin) - 1 + 2 * days;
}

/// Of one hour to come, in thousandths of a GPU. low <= expected <= high.
struct HourForecast {
  std::int64_t low = 0;       // one hour in ten lies below
  std::int64_t expected = 0;
  std::int64_t high = 0;      // one in ten lies above
};

/// How forecasts as many days ahead did. Amounts are sums over hours, thousandths of a GPU.
struct DayErrors {
  std::int64_t hours = 0;
  std::int64_t wanted = 0;
  std::int64_t off = 0;            // sum of absolute errors
  std::int64_t off_last_week = 0;  // the same of the baseline
  std::int64_t below_high = 0;     // hours at most at the upper end of the band
  std::int64_t inside = 0;         // of them not below the lower end

  /// Permille, rounded; absent when nothing was wanted.
  [[nodiscard]] std::optional<std::int64_t> error() const;
  [[nodiscard]] std::optional<std::int64_t> error_last_week() const;
  [[nodiscard]] std::int64_t below_high_permille() const;
  [[nodiscard]] std::int64_t inside_permille() const;
  void add(const DayErrors& other);
};

struct DemandForecast {
  std::int64_t first_hour = 0;        // of the hours to come
  std::vector<HourForecast> hours;    // days x 24
  std::vector<DayErrors> days;        // by day ahead
  DayErrors all;
  std::int64_t tests = 0;             // forecasts of the past that were tested
  std::int64_t first_test_hour = 0;   // where the first of them began
  Shape shape;                        // of what is to come
  std::int64_t growth = 0;            // thousandths of a GPU a week; 0 unless the shape has growth

  /// Sum over the hours of one day, in thousandths of a GPU-hour.
  [[nodiscard]] std::int64_t expected_of_day(std::size_t day) const;
};

/// A forecast made at one instant.
struct PastForecast {
  std::size_t origin = 0;             // hours of the past before it
  std::vector<HourForecast> hours;
};

/// The forecast, and those of the past it was tested by. Error: kInvalidArgument when the history
/// is shorter than days_needed, naming what is needed. O(days of history x shapes x horizon).
struct TestedForecast {
  DemandForecast forecast;
  std::vector<PastForecast> tests;    // oldest first
};
[[nodiscard]] Result<TestedForecast> forecast_demand(const Demand& demand, std::int64_t days);

/// Days on which much more work came in than usual, by GPU time submitted.
struct Bursts {
  std::int64_t days = 0;              // of the window; 0: submits or run times are not told
  std::int64_t bursts = 0;            // with at least twice the mean of all days
  double largest = 0;                 // times the mean
  std::int64_t largest_at = 0;        // begin of that day
};
[[nodiscard]] Bursts find_bursts(const Work& work, const Window& window);

}  // namespace rota::audit
