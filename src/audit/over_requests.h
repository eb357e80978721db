// GPUs and memory that were asked for and not needed, where the source tells what was used.
//
// A run that tells no use counts as such, never as one that used nothing.
#pragma once

#include <cstdint>
#include <string>

#include "audit/work.h"

namespace rota::audit {

/// Runs of two and more whole GPUs that ended well and took ten minutes and more. Needed are the
/// GPUs that its busy time would have filled without a gap, rounded up to whole ones: a lower
/// bound. What it held beyond them counts as excess where they are at most half.
struct GpuUse {
  static constexpr std::int64_t kLengthMin = 600'000'000'000;
  std::int64_t runs = 0;
  std::int64_t measured = 0;     // of them with utilisation
  std::int64_t over = 0;         // of them with an excess
  GpuTime held = 0;              // by the measured ones
  GpuTime over_held = 0;         // by those with an excess
  GpuTime excess = 0;
  std::string user;              // with the most excess; empty: none, or not told
  GpuTime user_excess = 0;
};

/// Main memory of runs that ended well on one node: asked for against the most that a task held.
struct MemoryUse {
  std::int64_t runs = 0;         // with GPUs, ended well
  std::int64_t told = 0;         // of them: asked and used are told, on one node
  std::int64_t several_nodes = 0;  // used is told, but for one node of several
  std::int64_t used_p50 = 0;     // permille of what was asked for, nearest rank; with told > 0
  std::int64_t below_half = 0;   // runs
  std::int64_t below_tenth = 0;
  Int128 asked = 0;              // MiB times nanoseconds
  Int128 excess = 0;             // of it, beyond what was used
};

/// Memory of devices.
struct GpuMemoryUse {
  static constexpr std::uint32_t kPartMib = 10 * 1024;
  static constexpr std::int16_t kPartBusy = 250;  // permille
  std::int64_t told = 0;         // runs with GPUs whose use of device memory is told
  std::int64_t used_p50 = 0;     // MiB, nearest rank; with told > 0
  std::int64_t used_max = 0;
  /// Of one whole GPU, at most kPartMib of its memory, busy less than kPartBusy, ended well, ten
  /// minutes and more: a quarter would have done.
  std::int64_t small = 0;
  GpuTime small_held = 0;
};

struct OverRequests {
  GpuUse gpus;
  MemoryUse memory;
  GpuMemoryUse gpu_memory;
};
/// O(n). Runs inside the window.
[[nodiscard]] OverRequests measure_over_requests(const Work& work, const Window& window);

}  // namespace rota::audit
