// Owed and delivered: what a team was entitled to and wanted, and how much of that it got.
//
// At each instant a team is owed its part of the cluster, or what it wants where that is less;
// delivered is what it holds, up to what it is owed. So a team that wants nothing is owed nothing,
// and GPUs lent to it beyond its part do not make up for an hour in which it went short.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "base/units.h"

namespace rota::audit {

/// Wanted or held by a team from `begin` to before `end`. A job that runs both wants and holds.
struct TeamStretch {
  Instant begin;
  Instant end;
  MilliGpu gpus;
  std::uint32_t team = 0;
};

struct OwedInput {
  Instant begin;
  Instant end;
  /// Of each team: its part of the cluster in milli-GPU, times `denominator`.
  std::vector<Int128> parts;
  std::int64_t denominator = 1;  // > 0
  std::vector<TeamStretch> wanted;  // what lies outside the period is left out
  std::vector<TeamStretch> held;    // likewise
};

/// Milli-GPU-nanoseconds.
struct Owed {
  Int128 wanted = 0;
  Int128 held = 0;
  Int128 owed = 0;       // rounded down, once
  Int128 delivered = 0;  // likewise
};

/// One for each team. Teams of stretches must be below parts.size(). O(n log n).
[[nodiscard]] std::vector<Owed> measure_owed(const OwedInput& input);

}  // namespace rota::audit
