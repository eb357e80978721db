// Replays a list of past jobs through the engine under a virtual clock, with the runtimes they
// really had, and measures waits.
//
// Rules: all jobs are in one queue; each job's time limit is its true runtime and nobody is
// preempted. At one instant completions come first (by end, then number), then arrivals (in the
// order given), then one scheduling pass. Pure: no clock, no files.
// Cost: one engine pass for each instant at which a job arrives or ends.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/cluster.h"
#include "model/policy.h"

namespace rota::sim {

struct ReplayJob {
  Instant submitted;
  Duration runtime;
  std::int64_t gpus = 0;
};

struct ReplayPolicy {
  Order order = Order::kFifo;      // kShortest knows the true runtimes: a bound, not a policy
  Backfill backfill = Backfill::kEasy;
};

/// Percentiles are nearest-rank: the smallest value that at least p percent do not exceed.
struct Spread {
  Duration mean;
  Duration p50;
  Duration p90;
  Duration p99;
  Duration max;
};

struct ReplayResult {
  std::int64_t jobs = 0;        // given
  std::int64_t finished = 0;    // measured below
  std::int64_t infeasible = 0;  // larger than the cluster: never started
  std::int64_t rounded_up = 0;  // jobs that got more GPUs than they asked for (whole nodes)
  Spread wait;                  // submit to start
  Spread completion;            // submit to end
  Int128 gpu_time_held = 0;     // milli-GPU-nanoseconds
  Int128 gpu_time_capacity = 0;  // from the first submit to the last end
  std::int64_t cycles = 0;
};

/// Called now and then with the number of finished jobs; returning is all it may do.
using ReplayProgress = std::function<void(std::int64_t finished)>;

/// `count` nodes n1, n2, ... of `gpus` devices each.
[[nodiscard]] std::vector<NodeSpec> uniform_nodes(std::int64_t count, std::int64_t gpus);

/// `jobs` must be sorted by submit time; ties keep their order. A job larger than the largest node
/// becomes a gang of tasks of that size, rounded up to whole tasks. Errors: kInvalidArgument (not
/// sorted, no GPUs in the cluster), or what the engine refused.
[[nodiscard]] Result<ReplayResult> replay(const std::vector<NodeSpec>& nodes,
                                          const std::vector<ReplayJob>& jobs,
                                          ReplayPolicy policy, const ReplayProgress& progress);

/// Exposed for tests: `values` is sorted in place. All zero for an empty list.
[[nodiscard]] Spread spread_of(std::vector<std::int64_t>& values);

}  // namespace rota::sim
