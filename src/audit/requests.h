// What was asked for against what was needed: time limits, sessions that hold GPUs and hardly use
// them, and how unevenly work arrives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

/// Limits against run times, of jobs with GPUs that ended well and have a limit.
struct LimitUse {
  std::int64_t jobs = 0;          // such jobs
  std::int64_t without_limit = 0;  // ended well, but have no limit or the source does not tell it
  std::int64_t used_p50 = 0;      // permille of the limit, nearest rank; only with jobs > 0
  std::int64_t below_half = 0;    // jobs that used less than half
  std::int64_t below_tenth = 0;
  GpuTime asked = 0;              // GPUs times limit
  GpuTime used = 0;               // GPUs times run time
};
/// O(n). Over last runs that ended inside the window.
[[nodiscard]] LimitUse measure_limits(const Work& work, const Window& window);

/// A group of sessions or idle runs, by user.
struct SessionGroup {
  std::string user;           // empty: not told
  std::int64_t runs = 0;
  GpuTime held = 0;
  GpuTime idle = 0;           // measured; 0 where nothing was measured
};

struct Sessions {
  static constexpr std::int64_t kLong = 4LL * 3'600'000'000'000;
  static constexpr std::int16_t kBusyMin = 100;      // permille
  std::int64_t interactive = 0;   // runs known to be sessions
  GpuTime interactive_held = 0;
  std::int64_t interactive_long = 0;  // of them of kLong and more
  GpuTime interactive_long_held = 0;  // of which busy or not is not told
  std::int64_t squatting = 0;     // runs of kLong and more that were measured below kBusyMin
  GpuTime squatting_held = 0;
  GpuTime squatting_idle = 0;
  std::int64_t measured = 0;      // runs with utilisation
  std::vector<SessionGroup> by_user;  // squatting, else long interactive ones; most held first
};
/// O(n).
[[nodiscard]] Sessions find_sessions(const Work& work, const Window& window);

/// GPU time by the day on which it was submitted: demand that the wait has not smoothed.
struct Arrivals {
  std::int64_t days = 0;       // of the window, begun ones counted; 0: submits are not told
  GpuTime all = 0;
  GpuTime day_max = 0;
  std::int64_t day_max_at = 0;  // begin of that day
  /// day_max over the mean of all days; 0 when nothing arrived.
  [[nodiscard]] double burst() const;
};
/// O(n). Days are UTC, or since the start of a trace without dates.
[[nodiscard]] Arrivals measure_arrivals(const Work& work, const Window& window);

}  // namespace rota::audit
