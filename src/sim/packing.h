// How much of a cluster a placement policy can use: the experiments of Weng et al., "Beware of
// Fragmentation" (USENIX ATC 2023), on any list of nodes and tasks.
//
// Filling: the task list is shuffled by seed; when it is used up, tasks drawn from it follow. Each
// is placed at once or dropped; nothing ends. Measured when the arrived GPU demand reaches the load
// (a share of the capacity).
// Departures: tasks drawn from the list arrive as a Poisson process and stay for exponential times,
// so that the demand present would be the load on average; what fits nowhere is lost. Arrivals are
// counted from five mean lifetimes on, when the demand has come up to the load.
// Placement sees the popularity of all tasks of the list, as a history would tell it. A task that
// fits no empty node is infeasible and never arrives. Pure: no clock, no files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/policy.h"

namespace rota::sim {

struct PackingRun {
  Placement placement = Placement::kPack;
  std::uint64_t seed = 0;
  std::vector<double> loads;      // shares of the capacity, ascending; one with departures
  std::int64_t arrivals = 0;      // with departures: how many are counted; 0: filling
  std::int64_t moves_max = 0;     // residents that may move for one task; 0: none
};

/// Percentages are of GPU time or GPUs, 0 to 100.
struct PackingResult {
  double load = 0;
  double demand_percent = 0;      // GPUs asked for; with departures the mean over time, had all run
  double allocated_percent = 0;   // held GPUs; with departures the mean over time
  double fragment_percent = 0;    // idle GPUs that the mix of tasks cannot use, on average
  double lost_demand_percent = 0;  // GPUs asked for by tasks that were refused
  std::map<std::string, double> refused_percent;  // of the tasks by size: "part", "1", "2", ...
  double moves_per_1000 = 0;      // moved residents for 1,000 arrivals
  std::int64_t arrived = 0;
  std::int64_t infeasible = 0;    // tasks of the list that no node could ever hold
};

/// Called now and then with the share that is done, 0 to 1.
using PackingProgress = std::function<void(double done)>;

/// One result for each load. Errors: kInvalidArgument (no nodes with GPUs, no task that fits, a
/// load that is no positive number).
[[nodiscard]] Result<std::vector<PackingResult>> run_packing(const std::vector<NodeSpec>& nodes,
                                                             const std::vector<JobShape>& tasks,
                                                             const PackingRun& run,
                                                             const PackingProgress& progress);

}  // namespace rota::sim
