#include "audit/seasonal.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/demand.h"
#include "report/words.h"

namespace rota::audit {
namespace {

constexpr std::size_t kWeek = kHoursOfWeek;
constexpr std::size_t kSeasonWeeks = 8;
constexpr std::size_t kLevelWeeks = 4;
constexpr std::size_t kRecentHours = 6;
constexpr std::array<int, 3> kHalfLives{24, 96, 336};

constexpr std::array<Shape, 18> all_shapes() {
  std::array<Shape, 18> out{};
  std::size_t at = 0;
  for (const Growth growth : {Growth::kOff, Growth::kOn}) {
    for (const Season season : {Season::kNone, Season::kDay, Season::kWeek}) {
      for (const int half_life : kHalfLives) out[at++] = {season, growth, half_life};
    }
  }
  return out;
}
constexpr std::array<Shape, 18> kShapes = all_shapes();

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// The last hours of a series, of which growth is taken away; its last value is that before now.
struct Flat {
  std::vector<double> values;
  std::int64_t first_hour = 0;
};

Flat flattened(std::span<const std::int64_t> past, std::int64_t first_hour, double growth) {
  const std::size_t count = std::min(past.size() / kWeek, kSeasonWeeks) * kWeek;
  const std::size_t from = past.size() - count;
  Flat flat{std::vector<double>(count), first_hour + static_cast<std::int64_t>(from)};
  for (std::size_t i = 0; i < count; ++i) {
    const double ahead = static_cast<double>(count - i) / kWeek;
    flat.values[i] = static_cast<double>(past[from + i]) + growth * ahead;
  }
  return flat;
}

/// By hour of the week.
std::array<double, kWeek> season_of(const Flat& flat, Season season) {
  std::array<double, kWeek> out{};
  if (season == Season::kNone) return out;
  const std::size_t period = season == Season::kWeek ? kWeek : kHoursOfDay;
  std::vector<std::vector<double>> apart(period);
  for (std::size_t begin = 0; begin < flat.values.size(); begin += period) {
    const auto block = std::span(flat.values).subspan(begin, period);
    const double mean = mean_of(block);
    for (std::size_t i = 0; i < period; ++i) {
      const int hour = hour_of_week(flat.first_hour + static_cast<std::int64_t>(begin + i));
      apart[static_cast<std::size_t>(hour) % period].push_back(block[i] - mean);
    }
  }
  for (std::size_t i = 0; i < period; ++i) {
    const double middle = median_of(std::move(apart[i]));
    for (std::size_t hour = i; hour < kWeek; hour += period) out[hour] = middle;
  }
  return out;
}

/// Forecasts of one season and growth, for all half-lives.
void continue_flat(const Flat& flat, Season season, double growth, std::size_t horizon,
                   std::vector<std::vector<double>>& out) {
  const std::array<double, kWeek> by_hour = season_of(flat, season);
  const auto season_at = [&](std::int64_t hour) {
    return by_hour[static_cast<std::size_t>(hour_of_week(hour))];
  };
  std::vector<double> plain = flat.values;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i] -= season_at(flat.first_hour + static_cast<std::int64_t>(i));
  }
  const double level = mean_of(std::span(plain).last(std::min(plain.size(), kLevelWeeks * kWeek)));
  const double recent = mean_of(std::span(plain).last(kRecentHours)) - level;
  const std::int64_t now = flat.first_hour + static_cast<std::int64_t>(plain.size());
  for (const int half_life : kHalfLives) {
    std::vector<double> ahead(horizon);
    for (std::size_t i = 0; i < horizon; ++i) {
      const auto hours = static_cast<double>(i);
      const double fading = std::exp2(-(hours + kRecentHours / 2.0) / half_life);
      ahead[i] = std::max(0.0, level + growth * hours / kWeek + recent * fading +
                                   season_at(now + static_cast<std::int64_t>(i)));
    }
    out.push_back(std::move(ahead));
  }
}

}  // namespace

std::span<const Shape> shapes() { return kShapes; }

std::string shape_words(const Shape& shape) {
  std::string text = shape.season == Season::kWeek  ? "shape of the week"
                     : shape.season == Season::kDay ? "shape of the day"
                                                    : "no shape of day or week";
  if (shape.growth == Growth::kOn) text += ", growth";
  return text + ", last hours fade with a half-life of " +
         report::short_duration(Duration::hours(shape.half_life));
}

double weekly_growth(std::span<const std::int64_t> past) {
  const std::size_t weeks = std::min(past.size() / kWeek, kSeasonWeeks);
  if (weeks < 4) return 0;
  std::vector<double> means;
  for (std::size_t week = weeks; week > 0; --week) {
    double sum = 0;
    for (const std::int64_t hour : past.subspan(past.size() - week * kWeek, kWeek)) {
      sum += static_cast<double>(hour);
    }
    means.push_back(sum / kWeek);
  }
  std::vector<double> slopes;
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (std::size_t j = i + 1; j < means.size(); ++j) {
      slopes.push_back((means[j] - means[i]) / static_cast<double>(j - i));
    }
  }
  return median_of(std::move(slopes));
}

std::vector<std::vector<double>> continued(std::span<const std::int64_t> past,
                                           std::int64_t first_hour, std::size_t horizon) {
  std::vector<std::vector<double>> out;
  for (const Growth growth : {Growth::kOff, Growth::kOn}) {
    const double slope = growth == Growth::kOn ? weekly_growth(past) : 0;
    const Flat flat = flattened(past, first_hour, slope);
    for (const Season season : {Season::kNone, Season::kDay, Season::kWeek}) {
      continue_flat(flat, season, slope, horizon, out);
    }
  }
  return out;
}

}  // namespace rota::audit
