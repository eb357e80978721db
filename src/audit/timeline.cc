#include "audit/timeline.h"

#include <algorithm>

namespace rota::audit {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;
/// The Unix epoch was a Thursday: three days after a Monday.
constexpr std::int64_t kEpochHour = 72;

enum class Step : std::uint32_t { kEnd, kLeave, kWait, kStart };  // in this order at one instant

struct Happening {
  std::int64_t at;
  std::uint32_t run;
  Step step;
};

bool waits(const WorkRun& run, const Window& window) {
  if (run.waiting_since == kNotTold || run.waiting_since >= window.end) return false;
  if (run.started != kNotTold) {
    return run.started > run.waiting_since && run.started > window.begin;
  }
  if (run.left != kNotTold) return run.left > run.waiting_since && run.left > window.begin;
  return run.end == End::kPending;
}

bool holds(const WorkRun& run, const Window& window) {
  return run.is_placed() && run.held_milli > 0 && inside(window, run.started, run.run) > 0;
}

std::vector<Happening> happenings_of(const Work& work, const Window& window, bool with_waits) {
  std::vector<Happening> out;
  out.reserve(work.runs.size() * (with_waits ? 3 : 2));
  const auto add = [&](std::int64_t at, std::uint32_t run, Step step) {
    out.push_back({std::clamp(at, window.begin, window.end), run, step});
  };
  for (std::uint32_t i = 0; i < work.runs.size(); ++i) {
    const WorkRun& run = work.runs[i];
    if (with_waits && work.wanted_of(run) > 0 && waits(run, window)) {
      add(run.waiting_since, i, Step::kWait);
      if (run.started == kNotTold) {
        add(run.left == kNotTold ? window.end : run.left, i, Step::kLeave);
      } else if (!holds(run, window)) {
        add(run.started, i, Step::kLeave);
      }
    }
    if (!holds(run, window)) continue;
    add(run.started, i, Step::kStart);
    add(run.started + run.run, i, Step::kEnd);
  }
  std::sort(out.begin(), out.end(), [](const Happening& a, const Happening& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.step != b.step ? a.step < b.step : a.run < b.run;
  });
  return out;
}

/// How many runs of each size wait; few sizes make up a history.
class WaitingSizes {
 public:
  explicit WaitingSizes(const Work& work) {
    for (const WorkRun& run : work.runs) {
      const std::int32_t wanted = work.wanted_of(run);
      if (wanted > 0 && (sizes_.empty() || sizes_.back() != wanted)) sizes_.push_back(wanted);
      if (sizes_.size() > 4096) shrink();
    }
    shrink();
    counts_.resize(sizes_.size());
  }
  void change(std::int32_t size, std::int64_t by) {
    const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), size) - sizes_.begin();
    counts_[static_cast<std::size_t>(at)] += by;
    total_ += by;
  }
  [[nodiscard]] std::int64_t total() const { return total_; }
  /// What of `free` those who wait could take, the smallest first.
  [[nodiscard]] std::int64_t fitting(std::int64_t free) const {
    std::int64_t left = free;
    for (std::size_t i = 0; total_ > 0 && i < sizes_.size() && sizes_[i] <= left; ++i) {
      left -= std::min(counts_[i], left / sizes_[i]) * sizes_[i];
    }
    return free - left;
  }

 private:
  void shrink() {
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }
  std::vector<std::int32_t> sizes_;
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

/// One team between two of its happenings: its figures change only then.
struct TeamState {
  std::int64_t since = 0;
  std::int64_t held = 0;
  std::int64_t waiting = 0;
};

class Sweep {
 public:
  Sweep(const Work& work, const Window& window, const TimelineOptions& options)
      : work_(work), window_(window), options_(options), sizes_(work), at_(window.begin),
        states_(work.owners.size(), TeamState{.since = window.begin}) {
    out_.teams.resize(work.owners.size());
  }

  void take(const Happening& happening) {
    if (happening.at > at_) pass_to(happening.at);
    const WorkRun& run = work_.runs[happening.run];
    const std::int32_t wanted = work_.wanted_of(run);
    const std::uint32_t owner = work_.job_of(run).owner;
    settle(owner);
    TeamState& team = states_[owner];
    const auto leave_queue = [&] {
      sizes_.change(wanted, -1);
      waiting_ -= wanted;
      team.waiting -= wanted;
    };
    switch (happening.step) {
      case Step::kEnd: held_ -= run.held_milli; team.held -= run.held_milli; return;
      case Step::kLeave: leave_queue(); return;
      case Step::kWait:
        sizes_.change(wanted, 1);
        waiting_ += wanted;
        team.waiting += wanted;
        return;
      case Step::kStart:
        if (waits(run, window_)) leave_queue();
        held_ += run.held_milli;
        team.held += run.held_milli;
    }
  }

  Timeline finish() {
    pass_to(window_.end);
    for (std::uint32_t owner = 0; owner < states_.size(); ++owner) settle(owner);
    for (const TeamTime& team : out_.teams) out_.wanted += team.wanted;
    return std::move(out_);
  }

 private:
  void pass_to(std::int64_t next) {
    const std::int64_t length = next - at_;
    if (length <= 0) return;
    out_.held += GpuTime{held_} * length;
    out_.held_peak = std::max(out_.held_peak, held_);
    out_.wanted_peak = std::max(out_.wanted_peak, held_ + waiting_);
    out_.waiting_peak = std::max(out_.waiting_peak, sizes_.total());
    if (options_.capacity) {
      const std::int64_t free = *options_.capacity - held_;
      if (free > 0) {
        out_.free += GpuTime{free} * length;
        out_.idle_while_wanted += GpuTime{sizes_.fitting(free)} * length;
      } else {
        out_.beyond += GpuTime{-free} * length;
      }
    }
    while (at_ < next) {
      const std::int64_t hour = at_ >= 0 ? at_ / kHour : (at_ - kHour + 1) / kHour;
      const std::int64_t end = std::min(next, (hour + 1) * kHour);
      const std::int64_t turned = (hour + kEpochHour) % kHoursOfWeek;
      const auto slot = static_cast<std::size_t>(turned < 0 ? turned + kHoursOfWeek : turned);
      out_.held_by_hour[slot] += GpuTime{held_} * (end - at_);
      out_.length_by_hour[slot] += end - at_;
      at_ = end;
    }
  }

  void settle(std::uint32_t owner) {
    TeamState& state = states_[owner];
    const std::int64_t length = at_ - state.since;
    state.since = at_;
    if (length <= 0) return;
    TeamTime& time = out_.teams[owner];
    const std::int64_t wanted = state.held + state.waiting;
    time.held += GpuTime{state.held} * length;
    time.wanted += GpuTime{wanted} * length;
    if (owner >= options_.parts.size()) return;
    const std::int64_t owed = std::min(wanted, options_.parts[owner]);
    time.owed += GpuTime{owed} * length;
    time.delivered += GpuTime{std::min(state.held, owed)} * length;
  }

  const Work& work_;
  const Window& window_;
  const TimelineOptions& options_;
  WaitingSizes sizes_;
  Timeline out_;
  std::int64_t at_;
  std::int64_t held_ = 0;
  std::int64_t waiting_ = 0;
  std::vector<TeamState> states_;
};

}  // namespace

std::int64_t peak_held(const Work& work, const Window& window) {
  std::int64_t held = 0;
  std::int64_t peak = 0;
  for (const Happening& happening : happenings_of(work, window, false)) {
    const std::int64_t milli = work.runs[happening.run].held_milli;
    held += happening.step == Step::kStart ? milli : -milli;
    peak = std::max(peak, held);  // ends come before starts of the same instant
  }
  return peak;
}

Timeline measure_timeline(const Work& work, const Window& window,
                          const TimelineOptions& options) {
  Sweep sweep(work, window, options);
  for (const Happening& happening : happenings_of(work, window, true)) sweep.take(happening);
  Timeline out = sweep.finish();
  for (const WorkRun& run : work.runs) {
    if (run.is_placed() && run.held_milli >= 0) ++out.placed;
    else if (run.run != kNotTold && run.held_milli != 0) ++out.unplaced;
  }
  return out;
}

}  // namespace rota::audit
