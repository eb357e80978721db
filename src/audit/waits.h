// How long runs waited until they started, by class, team and size.
//
// A wait is from the instant at which a run could have started (submit; begin time or dependency
// where later) to its start. Only runs with GPUs, and whose wait begins inside the window, count.
// Runs that never started have no wait; they are counted apart, as are runs without the times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

/// Nearest-rank percentiles, in nanoseconds.
struct WaitFigures {
  std::int64_t count = 0;     // runs whose wait is known
  std::int64_t unknown = 0;   // started, but the source does not tell since when they waited
  std::int64_t never = 0;     // left the queue or still wait without a start
  std::int64_t p50 = 0;       // these four: only with count > 0
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
  Int128 sum = 0;
  GpuTime gpu_time = 0;       // held by the runs of this group
};

struct WaitGroup {
  std::string name;           // empty: the source does not tell
  WaitFigures figures;
};

/// `1`, `2-4`, `5-8`, `9+` GPUs, and parts of one (`<1`).
constexpr int kSizes = 5;
[[nodiscard]] int size_of(std::int32_t milli);
[[nodiscard]] std::string_view size_name(int size);

struct Waits {
  WaitFigures all;
  std::vector<WaitGroup> by_class;  // with runs only; most runs first, ties by name
  std::vector<WaitGroup> by_team;
  std::vector<WaitGroup> by_size;   // in the order of size
};

/// O(n log n), 16 bytes a run.
[[nodiscard]] Waits measure_waits(const Work& work, const Window& window);

}  // namespace rota::audit
