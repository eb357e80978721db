// One sweep over all instants: GPUs held, GPUs wanted, GPUs free while somebody waited, and what
// each team was owed and got.
//
// Only placed runs (start and length told) with known GPUs take part; `unplaced` counts the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

constexpr int kHoursOfWeek = 168;

struct TeamTime {
  GpuTime held = 0;
  GpuTime wanted = 0;       // held and waited for
  GpuTime owed = 0;         // min(wanted, its part of the capacity), over time
  GpuTime delivered = 0;    // min(held, that), over time
};

struct Timeline {
  std::int64_t placed = 0;       // runs
  std::int64_t unplaced = 0;     // runs with GPU time (or unknown GPUs) that have no place in time
  GpuTime held = 0;              // by placed runs inside the window
  GpuTime wanted = 0;
  std::int64_t held_peak = 0;    // thousandths of a GPU, at one instant
  std::int64_t wanted_peak = 0;
  std::int64_t waiting_peak = 0;  // runs
  /// Free by count while runs waited that would have fitted: smallest first, whole runs only.
  /// Needs a capacity.
  GpuTime idle_while_wanted = 0;
  GpuTime free = 0;              // capacity not held; 0 where more was held than there is
  GpuTime beyond = 0;            // held above the capacity: it is larger than what was said
  std::array<GpuTime, kHoursOfWeek> held_by_hour{};        // Monday 0:00 UTC first
  std::array<std::int64_t, kHoursOfWeek> length_by_hour{};  // ns of the window in that hour
  std::vector<TeamTime> teams;   // by number of owner
};

/// `capacity` in thousandths of a GPU; absent: idle_while_wanted, free, owed and delivered stay 0.
/// `parts` are teams' parts of the capacity in thousandths of a GPU, by number of owner; empty:
/// nothing is owed.
struct TimelineOptions {
  std::optional<std::int64_t> capacity;
  std::vector<std::int64_t> parts;
};

/// O(n log n + n s) with s distinct sizes of requests; 16 bytes an event, at most three a run.
[[nodiscard]] Timeline measure_timeline(const Work& work, const Window& window,
                                        const TimelineOptions& options);
/// Only held_peak: what to take as capacity when nobody says it. O(n log n).
[[nodiscard]] std::int64_t peak_held(const Work& work, const Window& window);

}  // namespace rota::audit
