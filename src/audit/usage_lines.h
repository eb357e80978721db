// Where the GPU time of a cluster went: lines that add up exactly to capacity x time.
//
// Amounts are milli-GPU-nanoseconds. A pool is what has one capacity and one price: as a rule the
// devices of one model. A group is whoever held GPU time: a queue, a user, a job. Of each pool
//
//   sum of all groups' held time + idle + drained - beyond == capacity x (end - begin)
//
// at every partition into groups, whatever the input holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"

namespace rota::audit {

/// What became of the time that somebody held.
enum class HeldKind : std::uint8_t {
  kUsed,       // ended well, was stopped at its limit or by a person, or still runs
  kFailed,     // ended with an error, or its node was lost
  kPreempted,  // stopped for another job, or requeued
  kUnknown,    // the input does not say how it ended
};
constexpr std::size_t kHeldKinds = 4;
constexpr auto names_of(HeldKind) {
  return std::array<std::string_view, kHeldKinds>{"used", "failed", "preempted", "unknown"};
}

/// Part of a pool that somebody held from `begin` to before `end`.
struct UsageHold {
  Instant begin;
  Instant end;
  MilliGpu gpus;
  std::uint32_t pool = 0;
  std::uint32_t group = 0;
  HeldKind kind = HeldKind::kUsed;
};

/// Part of a pool that was drained or down.
struct UsageOutage {
  Instant begin;
  Instant end;
  MilliGpu gpus;
  std::uint32_t pool = 0;
};

/// What somebody waited for.
struct UsageWait {
  Instant begin;
  Instant end;
  MilliGpu gpus;
  std::optional<std::uint32_t> pool;  // absent: any
};

struct UsageInput {
  Instant begin;
  Instant end;
  std::vector<MilliGpu> capacity;  // of each pool
  std::uint32_t groups = 0;
  std::vector<UsageHold> holds;      // what lies outside the period is left out
  std::vector<UsageOutage> outages;  // likewise
  std::vector<UsageWait> waits;      // likewise
};

using HeldTime = std::array<Int128, kHeldKinds>;
[[nodiscard]] Int128 sum_of(const HeldTime& held);

struct PoolLines {
  Int128 capacity = 0;     // x time
  Int128 idle = 0;         // in service and held by nobody
  Int128 idle_wanted = 0;  // of it while as much was waited for
  Int128 drained = 0;      // out of service, as far as nobody held it
  Int128 beyond = 0;       // held above the capacity: the input contradicts itself
  MilliGpu held_max;       // most held at once
};

struct UsageLines {
  std::size_t pool_count = 0;
  std::vector<HeldTime> held;  // by group, then by pool
  std::vector<PoolLines> pools;
  [[nodiscard]] const HeldTime& of(std::size_t group, std::size_t pool) const {
    return held[group * pool_count + pool];
  }
};

/// Groups and pools of holds, outages and waits must be below the counts given; begin <= end.
/// O(n log n) for n stretches, times the number of pools.
[[nodiscard]] UsageLines measure_usage(const UsageInput& input);

/// The part of one device that a MIG profile `<n>g...` takes, rounded down: n quarters on cards
/// with four slices (A30, RTX PRO 6000), else n sevenths. Absent for other kinds of part, whose
/// size their name does not tell.
[[nodiscard]] std::optional<MilliGpu> partition_size(std::string_view model,
                                                     std::string_view profile);

}  // namespace rota::audit
