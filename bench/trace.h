// The made-up trace of the replay benchmarks, and the peak of memory. Same seed, same trace:
// Poisson arrivals at a load of 0.9 on 500 nodes of eight GPUs, log-normal run times from ten
// seconds to seven days, 55 % one-GPU jobs, up to 512 GPUs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/replay.h"

namespace rota::bench {

constexpr std::uint64_t kTraceSeed = 20'261'130;
constexpr std::int64_t kTraceNodes = 500;
constexpr double kTraceLoad = 0.9;

/// Uniform in (0, 1).
inline double uniform(Random& random) {
  return (static_cast<double>(random.below(1ULL << 53)) + 0.5) / static_cast<double>(1ULL << 53);
}

inline double normal(Random& random) {
  return std::sqrt(-2.0 * std::log(uniform(random))) *
         std::cos(2.0 * std::numbers::pi * uniform(random));
}

inline std::int64_t trace_gpus(Random& random) {
  const std::uint64_t roll = random.below(1000);
  if (roll < 550) return 1;
  if (roll < 700) return 2;
  if (roll < 830) return 4;
  if (roll < 940) return 8;
  std::int64_t gpus = 16;  // 16 to 512, each half as likely as the one before
  while (gpus < 512 && random.chance(1, 2)) gpus *= 2;
  return gpus;
}

inline std::vector<sim::ReplayJob> made_up_trace(std::int64_t count, double load = kTraceLoad) {
  Random root(kTraceSeed);
  Random sizes = root.child("sizes");
  Random runtimes = root.child("runtimes");
  Random arrivals = root.child("arrivals");
  std::vector<sim::ReplayJob> jobs(static_cast<std::size_t>(count));
  double work = 0;
  for (sim::ReplayJob& job : jobs) {
    job.gpus = trace_gpus(sizes);
    const double seconds = std::exp(std::log(900.0) + 2.0 * normal(runtimes));
    job.runtime = Duration::seconds(
        static_cast<std::int64_t>(std::clamp(seconds, 10.0, 7 * 86400.0)));
    work += static_cast<double>(job.gpus) * static_cast<double>(job.runtime.whole_seconds());
  }
  const double gap = work / (kTraceNodes * 8 * load) / static_cast<double>(count);
  double now = 0;
  for (sim::ReplayJob& job : jobs) {
    now += -std::log(uniform(arrivals)) * gap;
    job.submitted = Instant(static_cast<std::int64_t>(now * 1e9));
  }
  return jobs;
}

/// Starts the count of the peak anew; Linux counts it for each process.
inline void reset_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

inline double peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace rota::bench
