// One way to continue an hourly series: a level, the shape of a day or a week around it, growth,
// and how fast the last hours stop to matter.
//
//   x(i) = level + growth x i + season(hour) + recent x 2^-((i + 3) / half_life),  i hours ahead
//
// The season is the median over the last eight weeks (or 56 days) of how far each hour lay from
// the mean of its week (day); growth is the median of slopes between weekly means (P. K. Sen,
// "Estimates of the regression coefficient based on Kendall's tau", 1968); the level is the mean
// of the last four weeks without season and growth; `recent` is how far the last six hours lay
// from it. Medians keep a single burst from bending the shape of every week to come.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rota::audit {

enum class Season : std::uint8_t { kNone, kDay, kWeek };
enum class Growth : std::uint8_t { kOff, kOn };

struct Shape {
  Season season = Season::kNone;
  Growth growth = Growth::kOff;
  int half_life = 96;  // hours
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// All that are tried, from the plainest on: ties go to the first.
[[nodiscard]] std::span<const Shape> shapes();
/// `shape of the week, growth, last hours fade with a half-life of 4d`.
[[nodiscard]] std::string shape_words(const Shape& shape);

/// Hours that a series needs before its end: two weeks.
constexpr std::size_t kPastMin = 336;

/// Forecasts by all shapes, in their order, each of `horizon` hours, never below 0. `past` holds
/// at least kPastMin hours, the first of them `first_hour`. O(8 weeks + shapes x horizon).
[[nodiscard]] std::vector<std::vector<double>> continued(std::span<const std::int64_t> past,
                                                         std::int64_t first_hour,
                                                         std::size_t horizon);
/// Growth a week that shapes with growth use. 0 with less than four weeks.
[[nodiscard]] double weekly_growth(std::span<const std::int64_t> past);

}  // namespace rota::audit
