#include "audit/forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "audit/words.h"

namespace rota::audit {
namespace {

constexpr std::size_t kDayHours = kHoursOfDay;
/// Origins beyond these would change neither choice nor what a reader believes.
constexpr std::size_t kOriginsMax = 400;

/// Percentile by nearest rank of a list that is not empty.
std::int64_t percentile(std::vector<std::int64_t>& values, std::size_t percent) {
  const std::size_t rank = std::max<std::size_t>(1, (values.size() * percent + 99) / 100);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

struct DayBand {
  std::int64_t down = 0;  // at most 0
  std::int64_t up = 0;    // at least 0
};

/// What one shape said at one origin.
struct Try {
  std::size_t origin = 0;
  std::vector<std::vector<std::int64_t>> said;  // by shape, by hour
  std::vector<std::int64_t> off;                // by shape: sum of absolute errors
};

class BackTest {
 public:
  BackTest(const Demand& demand, std::size_t days)
      : demand_(demand), series_(demand.means()), days_(days), horizon_(days * kDayHours) {
    const std::size_t first = series_.size() - horizon_ - kPastMin;
    const std::size_t count = std::min(first / kDayHours + 1, kOriginsMax);
    for (std::size_t i = count; i > 0; --i) {
      tries_.push_back(tried(series_.size() - horizon_ - (i - 1) * kDayHours));
    }
  }

  TestedForecast run() {
    TestedForecast out;
    DemandForecast& result = out.forecast;
    result.days.resize(days_);
    for (const Try& one : tries_) {
      const auto known = known_at(one.origin);
      if (known.size() < kTriesMin) continue;
      if (out.tests.empty()) {
        result.first_test_hour = demand_.first_hour + static_cast<std::int64_t>(one.origin);
      }
      const std::size_t shape = best_of(known);
      out.tests.push_back({one.origin, with_band(one.said[shape], bands_of(known, shape))});
      for (std::size_t day = 0; day < days_; ++day) compare(out.tests.back(), day, result);
    }
    for (const DayErrors& day : result.days) result.all.add(day);
    result.tests = std::ssize(out.tests);
    forecast_next(result);
    return out;
  }

 private:
  Try tried(std::size_t origin) const {
    Try one{.origin = origin, .said = {}, .off = {}};
    const auto past = std::span(series_).first(origin);
    for (const std::vector<double>& said : continued(past, demand_.first_hour, horizon_)) {
      std::vector<std::int64_t> rounded(horizon_);
      std::int64_t off = 0;
      for (std::size_t i = 0; i < horizon_; ++i) {
        rounded[i] = std::llround(said[i]);
        if (origin < series_.size()) off += std::abs(rounded[i] - series_[origin + i]);
      }
      one.said.push_back(std::move(rounded));
      one.off.push_back(off);
    }
    return one;
  }

  /// Forecasts that have come true by then.
  [[nodiscard]] std::span<const Try> known_at(std::size_t origin) const {
    std::size_t count = 0;
    while (count < tries_.size() && tries_[count].origin + horizon_ <= origin) ++count;
    const std::size_t from = count > kTriesMax ? count - kTriesMax : 0;
    return std::span(tries_).subspan(from, count - from);
  }

  static std::size_t best_of(std::span<const Try> known) {
    std::vector<std::int64_t> off(shapes().size(), 0);
    for (const Try& one : known) {
      for (std::size_t shape = 0; shape < off.size(); ++shape) off[shape] += one.off[shape];
    }
    return static_cast<std::size_t>(std::min_element(off.begin(), off.end()) - off.begin());
  }

  [[nodiscard]] std::vector<DayBand> bands_of(std::span<const Try> known, std::size_t shape) const {
    std::vector<DayBand> bands;
    for (std::size_t day = 0; day < days_; ++day) {
      std::vector<std::int64_t> missed;
      for (const Try& one : known) {
        for (std::size_t i = day * kDayHours; i < (day + 1) * kDayHours; ++i) {
          missed.push_back(series_[one.origin + i] - one.said[shape][i]);
        }
      }
      const std::int64_t down = percentile(missed, 10);
      bands.push_back({std::min<std::int64_t>(0, down),
                       std::max<std::int64_t>(0, percentile(missed, 90))});
    }
    return bands;
  }

  static std::vector<HourForecast> with_band(const std::vector<std::int64_t>& said,
                                             const std::vector<DayBand>& bands) {
    std::vector<HourForecast> out;
    for (std::size_t i = 0; i < said.size(); ++i) {
      const DayBand& band = bands[i / kDayHours];
      out.push_back({std::max<std::int64_t>(0, said[i] + band.down), said[i], said[i] + band.up});
    }
    return out;
  }

  void compare(const PastForecast& test, std::size_t day, DemandForecast& result) const {
    DayErrors& errors = result.days[day];
    for (std::size_t i = day * kDayHours; i < (day + 1) * kDayHours; ++i) {
      const std::int64_t wanted = series_[test.origin + i];
      const std::int64_t last_week =
          series_[test.origin - kHoursOfWeek + i % kHoursOfWeek];
      ++errors.hours;
      errors.wanted += wanted;
      errors.off += std::abs(test.hours[i].expected - wanted);
      errors.off_last_week += std::abs(last_week - wanted);
      if (wanted > test.hours[i].high) continue;
      ++errors.below_high;
      if (wanted >= test.hours[i].low) ++errors.inside;
    }
  }

  void forecast_next(DemandForecast& result) const {
    const std::size_t now = series_.size();
    const auto known = known_at(now);
    const std::size_t shape = best_of(known);
    const Try next = tried(now);
    result.first_hour = demand_.first_hour + static_cast<std::int64_t>(now);
    result.hours = with_band(next.said[shape], bands_of(known, shape));
    result.shape = shapes()[shape];
    if (result.shape.growth == Growth::kOn) result.growth = std::llround(weekly_growth(series_));
  }

  const Demand& demand_;
  const std::vector<std::int64_t> series_;
  const std::size_t days_;
  const std::size_t horizon_;
  std::vector<Try> tries_;
};

std::optional<std::int64_t> permille(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<std::int64_t>((Int128{part} * 1000 + whole / 2) / whole);
}

}  // namespace

std::optional<std::int64_t> DayErrors::error() const { return permille(off, wanted); }
std::optional<std::int64_t> DayErrors::error_last_week() const {
  return permille(off_last_week, wanted);
}
std::int64_t DayErrors::below_high_permille() const {
  return permille(below_high, hours).value_or(0);
}
std::int64_t DayErrors::inside_permille() const { return permille(inside, hours).value_or(0); }

void DayErrors::add(const DayErrors& other) {
  hours += other.hours;
  wanted += other.wanted;
  off += other.off;
  off_last_week += other.off_last_week;
  below_high += other.below_high;
  inside += other.inside;
}

std::int64_t DemandForecast::expected_of_day(std::size_t day) const {
  std::int64_t sum = 0;
  for (std::size_t i = day * kDayHours; i < (day + 1) * kDayHours; ++i) sum += hours[i].expected;
  return sum;
}

Result<TestedForecast> forecast_demand(const Demand& demand, std::int64_t days) {
  const std::int64_t needed = days_needed(days) * kHoursOfDay;
  const std::int64_t have = std::ssize(demand.hours);
  if (have < needed) {
    const std::int64_t fewer = (have / kHoursOfDay - days_needed(0)) / 2;
    return Error{ErrorCode::kInvalidArgument,
                 "a forecast of " + counted(days, "day") + " needs " +
                     std::to_string(days_needed(days)) + " days of history to learn from and to be "
                     "tested on; this one has " + std::to_string(have / kHoursOfDay) +
                     (fewer > 0 ? ": ask for at most " + counted(fewer, "day") + " (--days)"
                                : "; export more (a forecast of one day needs " +
                                      std::to_string(days_needed(1)) + ")")};
  }
  if (demand.runs == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "no run of this history tells GPUs, a time and how long it ran: there is no "
                 "demand to continue; `rota import` shows what it holds"};
  }
  return BackTest(demand, static_cast<std::size_t>(days)).run();
}

Bursts find_bursts(const Work& work, const Window& window) {
  constexpr std::int64_t kDay = kHoursOfDay * kHourLength;
  const std::int64_t days = window.length() / kDay;
  Bursts out;
  if (days < 1) return out;
  std::vector<GpuTime> by_day(static_cast<std::size_t>(days), 0);
  GpuTime all = 0;
  for (const WorkJob& job : work.jobs) {
    if (job.submitted == kNotTold || job.submitted < window.begin) continue;
    const std::int64_t day = (job.submitted - window.begin) / kDay;
    if (day >= days) continue;
    for (const WorkRun& run : work.runs_of(job)) {
      if (!run.has_gpu_time()) continue;
      by_day[static_cast<std::size_t>(day)] += run.gpu_time();
      all += run.gpu_time();
    }
  }
  if (all <= 0) return out;
  out.days = days;
  for (std::size_t i = 0; i < by_day.size(); ++i) {
    if (by_day[i] * days >= all * 2) ++out.bursts;
    const double times = static_cast<double>(by_day[i] * days) / static_cast<double>(all);
    if (times <= out.largest) continue;
    out.largest = times;
    out.largest_at = window.begin + static_cast<std::int64_t>(i) * kDay;
  }
  return out;
}

}  // namespace rota::audit
