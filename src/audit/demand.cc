#include "audit/demand.h"

#include <algorithm>
#include <optional>

namespace rota::audit {
namespace {

std::int64_t hour_at(std::int64_t at) {
  return at >= 0 ? at / kHourLength : (at - kHourLength + 1) / kHourLength;
}

struct Stretch {
  std::int64_t begin;
  std::int64_t end;
};

/// Whole hours inside: differences; the two ends by themselves.
class HourSums {
 public:
  explicit HourSums(Demand& demand)
      : demand_(demand), steps_(demand.hours.size() + 1, 0) {}

  /// False when nothing of it lies in the hours.
  bool add(Stretch stretch, std::int64_t milli) {
    const std::int64_t begin = demand_.begin_of(0);
    const std::int64_t end = demand_.begin_of(demand_.hours.size());
    stretch = {std::max(stretch.begin, begin), std::min(stretch.end, end)};
    if (stretch.begin >= stretch.end) return false;
    const std::int64_t first = hour_at(stretch.begin);
    const std::int64_t last = hour_at(stretch.end - 1);
    if (first == last) {
      at(first) += GpuTime{milli} * (stretch.end - stretch.begin);
      return true;
    }
    at(first) += GpuTime{milli} * ((first + 1) * kHourLength - stretch.begin);
    at(last) += GpuTime{milli} * (stretch.end - last * kHourLength);
    steps_[place(first + 1)] += milli;
    steps_[place(last)] -= milli;
    return true;
  }

  void finish() {
    std::int64_t level = 0;
    for (std::size_t i = 0; i < demand_.hours.size(); ++i) {
      level += steps_[i];
      demand_.hours[i] += GpuTime{level} * kHourLength;
    }
  }

 private:
  [[nodiscard]] std::size_t place(std::int64_t hour) const {
    return static_cast<std::size_t>(hour - demand_.first_hour);
  }
  GpuTime& at(std::int64_t hour) { return demand_.hours[place(hour)]; }
  Demand& demand_;
  std::vector<std::int64_t> steps_;
};

/// When the run wanted its GPUs; counts in `demand` why that cannot be said.
std::optional<Stretch> stretch_of(const Work& work, const WorkRun& run, const Window& window,
                                  Demand& demand) {
  std::int64_t since = run.waiting_since;
  if (since == kNotTold) since = run.started;
  if (since == kNotTold) since = work.job_of(run).submitted;
  if (since == kNotTold) {
    ++demand.place_unknown;
    return std::nullopt;
  }
  if (run.end == End::kRunning || run.end == End::kPending) return Stretch{since, window.end};
  if (run.run == kNotTold) {
    ++(run.started == kNotTold ? demand.never_started : demand.length_unknown);
    return std::nullopt;
  }
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
  const bool is_beyond = since > 0 && run.run > kLatest - since;
  return Stretch{since, is_beyond ? kLatest : since + run.run};
}

}  // namespace

int hour_of_week(std::int64_t hour) {
  constexpr std::int64_t kEpochDay = 72;  // the Unix epoch was a Thursday, three days after Monday
  const std::int64_t turned = (hour + kEpochDay) % kHoursOfWeek;
  return static_cast<int>(turned < 0 ? turned + kHoursOfWeek : turned);
}

std::vector<std::int64_t> Demand::means() const {
  std::vector<std::int64_t> out;
  out.reserve(hours.size());
  for (const GpuTime hour : hours) {
    out.push_back(static_cast<std::int64_t>((hour + kHourLength / 2) / kHourLength));
  }
  return out;
}

Demand measure_demand(const Work& work, const Window& window) {
  Demand demand;
  demand.first_hour = hour_at(window.begin + kHourLength - 1);
  const std::int64_t last = hour_at(window.end);
  if (last <= demand.first_hour) return demand;
  demand.hours.resize(static_cast<std::size_t>(last - demand.first_hour), 0);
  HourSums sums(demand);
  for (const WorkRun& run : work.runs) {
    const std::int32_t milli = work.wanted_of(run);
    if (milli == 0 || run.end == End::kRejected) continue;
    if (milli < 0) {
      ++demand.gpus_unknown;
      continue;
    }
    const auto stretch = stretch_of(work, run, window, demand);
    if (stretch && sums.add(*stretch, milli)) ++demand.runs;
  }
  sums.finish();
  return demand;
}

void HourWaits::add_known(std::size_t hour, std::size_t now,
                          std::vector<std::int64_t>& to) const {
  const std::int64_t longest = static_cast<std::int64_t>(now - hour - 1) * kHourLength;
  for (const std::int64_t length : of(hour)) {
    if (length <= longest) to.push_back(length);
  }
}

HourWaits measure_hour_waits(const Work& work, const Demand& demand) {
  const auto hours = static_cast<std::int64_t>(demand.hours.size());
  HourWaits out;
  out.first.resize(demand.hours.size() + 1, 0);
  const auto hour_of = [&](const WorkRun& run) -> std::int64_t {
    if (run.waiting_since == kNotTold || run.started == kNotTold) return -1;
    if (work.wanted_of(run) <= 0) return -1;
    const std::int64_t hour = hour_at(run.waiting_since) - demand.first_hour;
    return hour < hours ? hour : -1;
  };
  for (const WorkRun& run : work.runs) {
    if (const std::int64_t hour = hour_of(run); hour >= 0) {
      ++out.first[static_cast<std::size_t>(hour) + 1];
    }
  }
  for (std::size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
  out.lengths.resize(out.first.back());
  std::vector<std::uint32_t> next(out.first.begin(), out.first.end() - 1);
  for (const WorkRun& run : work.runs) {
    const std::int64_t hour = hour_of(run);
    if (hour < 0) continue;
    out.lengths[next[static_cast<std::size_t>(hour)]++] =
        std::max<std::int64_t>(0, run.started - run.waiting_since);
  }
  return out;
}

}  // namespace rota::audit
