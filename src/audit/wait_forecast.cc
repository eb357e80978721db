#include "audit/wait_forecast.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace rota::audit {
namespace {

constexpr std::size_t kPressureGroups = 20;
constexpr std::size_t kHoursOfGroupMin = 12;

/// The lengths of a list that is not empty, by nearest rank; reorders it.
HourWait figures_of(std::vector<std::int64_t>& lengths) {
  const auto at = [&](std::size_t percent) {
    const std::size_t rank = std::max<std::size_t>(1, (lengths.size() * percent + 99) / 100);
    const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(lengths.begin(), place, lengths.end());
    return *place;
  };
  const std::int64_t p50 = at(50);
  return {p50, at(90)};
}

struct PressedHour {
  std::int64_t pressure = 0;  // thousandths of a GPU-hour to serve
  std::size_t hour = 0;
};

struct PressureGroup {
  std::int64_t from = 0;      // least pressure
  HourWait wait;
};

class Pressures {
 public:
  Pressures(const Demand& demand, const HourWaits& waits, std::int64_t capacity)
      : waits_(waits), capacity_(capacity), wanted_(demand.means()) {
    std::int64_t left = 0;
    for (const std::int64_t wanted : wanted_) {
      left_.push_back(left);
      left = std::max<std::int64_t>(0, left + wanted - capacity_);
    }
    left_.push_back(left);
  }

  /// Work left over when `hour` begins.
  [[nodiscard]] std::int64_t left_at(std::size_t hour) const { return left_[hour]; }

  /// Groups of the hours before `end` in which waits are told, by rising pressure.
  [[nodiscard]] std::vector<PressureGroup> groups_before(std::size_t end) const {
    std::vector<PressedHour> hours;
    for (std::size_t hour = 0; hour < end; ++hour) {
      if (!waits_.of(hour).empty()) hours.push_back({left_[hour] + wanted_[hour], hour});
    }
    std::sort(hours.begin(), hours.end(), [](const PressedHour& a, const PressedHour& b) {
      return a.pressure != b.pressure ? a.pressure < b.pressure : a.hour < b.hour;
    });
    const std::size_t count =
        std::clamp<std::size_t>(hours.size() / kHoursOfGroupMin, 1, kPressureGroups);
    std::vector<PressureGroup> groups;
    for (std::size_t i = 0, first = 0; i < count && first < hours.size(); ++i) {
      std::size_t last = std::max(first + 1, hours.size() * (i + 1) / count);
      while (last < hours.size() && hours[last].pressure == hours[last - 1].pressure) ++last;
      add_group(std::span(hours).subspan(first, last - first), end, groups);
      first = last;
    }
    return groups;
  }

  /// Waits of hours to come, of which `hours` are forecast, from `origin` on.
  [[nodiscard]] std::vector<HourWait> ahead(std::size_t origin,
                                            const std::vector<HourForecast>& hours,
                                            const std::vector<PressureGroup>& groups) const {
    std::vector<HourWait> out;
    std::int64_t left = left_[origin];
    std::int64_t left_high = left;
    for (const HourForecast& hour : hours) {
      const std::int64_t pressure = left + hour.expected;
      const std::int64_t pressure_high = left_high + hour.high;
      left = std::max<std::int64_t>(0, pressure - capacity_);
      left_high = std::max<std::int64_t>(0, pressure_high - capacity_);
      const HourWait usual = waits_at(pressure, groups);
      out.push_back({usual.p50, std::max(usual.p90, waits_at(pressure_high, groups).p90)});
    }
    return out;
  }

 private:
  static HourWait waits_at(std::int64_t pressure, const std::vector<PressureGroup>& groups) {
    auto group = std::upper_bound(groups.begin(), groups.end(), pressure,
                                  [](std::int64_t value, const PressureGroup& each) {
                                    return value < each.from;
                                  });
    if (group != groups.begin()) --group;
    return groups.empty() ? HourWait{} : group->wait;
  }

  void add_group(std::span<const PressedHour> hours, std::size_t end,
                 std::vector<PressureGroup>& groups) const {
    std::vector<std::int64_t> lengths;
    for (const PressedHour& each : hours) waits_.add_known(each.hour, end, lengths);
    if (!lengths.empty()) groups.push_back({hours.front().pressure, figures_of(lengths)});
  }

  const HourWaits& waits_;
  const std::int64_t capacity_;
  const std::vector<std::int64_t> wanted_;
  std::vector<std::int64_t> left_;
};

void compare(const HourWaits& waits, const PastForecast& test, const std::vector<HourWait>& said,
             std::vector<WaitErrors>& days) {
  std::vector<std::int64_t> last_week;
  for (std::size_t hour = test.origin - kHoursOfWeek; hour < test.origin; ++hour) {
    waits.add_known(hour, test.origin, last_week);
  }
  const std::int64_t usual = last_week.empty() ? 0 : figures_of(last_week).p50;
  for (std::size_t i = 0; i < said.size(); ++i) {
    WaitErrors& errors = days[i / kHoursOfDay];
    for (const std::int64_t wait : waits.of(test.origin + i)) {
      ++errors.runs;
      errors.off += std::abs(wait - said[i].p50);
      errors.off_last_week += std::abs(wait - usual);
      if (wait <= said[i].p90) ++errors.below_p90;
    }
  }
}

std::optional<std::int64_t> mean_of_sum(Int128 sum, std::int64_t count) {
  if (count <= 0) return std::nullopt;
  return static_cast<std::int64_t>(sum / count);
}

}  // namespace

std::optional<std::int64_t> WaitErrors::mean_off() const { return mean_of_sum(off, runs); }
std::optional<std::int64_t> WaitErrors::mean_off_last_week() const {
  return mean_of_sum(off_last_week, runs);
}
std::optional<std::int64_t> WaitErrors::below_p90_permille() const {
  return mean_of_sum(Int128{below_p90} * 1000, runs);
}

void WaitErrors::add(const WaitErrors& other) {
  runs += other.runs;
  off += other.off;
  off_last_week += other.off_last_week;
  below_p90 += other.below_p90;
}

std::optional<WaitForecast> forecast_waits(const Demand& demand, const HourWaits& waits,
                                           const TestedForecast& tested, std::int64_t capacity) {
  if (!waits.told() || tested.tests.empty()) return std::nullopt;
  if (waits.first[tested.tests.front().origin] == 0) return std::nullopt;
  const Pressures pressures(demand, waits, capacity);
  WaitForecast out;
  out.days.resize(tested.forecast.days.size());
  const std::size_t count = tested.tests.size();
  const auto tests = std::span(tested.tests).last(std::min(count, kTriesMax));
  std::vector<PressureGroup> groups;
  std::size_t grouped_at = 0;
  for (const PastForecast& test : tests) {
    if (groups.empty() || test.origin >= grouped_at + kHoursOfWeek) {
      groups = pressures.groups_before(test.origin);
      grouped_at = test.origin;
    }
    compare(waits, test, pressures.ahead(test.origin, test.hours, groups), out.days);
  }
  for (const WaitErrors& day : out.days) out.all.add(day);
  const std::size_t now = demand.hours.size();
  out.left_over = pressures.left_at(now);
  out.hours = pressures.ahead(now, tested.forecast.hours, pressures.groups_before(now));
  return out;
}

}  // namespace rota::audit
