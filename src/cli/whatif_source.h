// Past jobs and today's cluster as a what-if takes them from a history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "cli/history_options.h"
#include "history/history.h"
#include "model/cluster.h"
#include "sim/past_jobs.h"

namespace rota::cli {

/// Jobs of a history that are not replayed, by reason.
struct LeftOut {
  std::int64_t never_ran = 0;   // cancelled while waiting, refused, or still waiting
  std::int64_t no_gpu = 0;      // of no GPU, or the history does not say how many
  std::int64_t no_time = 0;     // no submit time
  [[nodiscard]] std::int64_t all() const { return never_ran + no_gpu + no_time; }
};

/// Where today's nodes are known from.
enum class ClusterFrom { kOption, kNodesOfHistory, kMostHeld };

struct WhatIfSource {
  sim::PastJobs past;
  std::vector<NodeSpec> nodes;
  ClusterFrom cluster_from = ClusterFrom::kOption;
  std::string files;            // names and formats
  bool from_slurm = false;
  LeftOut left_out;
  std::int64_t rows_skipped = 0;      // on reading
  std::int64_t stopped_attempts = 0;  // runs that the system stopped: their work is not replayed
  std::int64_t limits_guessed = 0;    // jobs whose time limit is not told
};

/// Jobs that ran on GPUs, by the instant from which they could have started. A job is replayed
/// once, for as long as all its attempts ran together that were not stopped by the system
/// (preempted, requeued, node lost); if all were, for as long as its last. O(n log n).
[[nodiscard]] sim::PastJobs past_jobs_of(const history::JobHistory& history, LeftOut& left_out,
                                         std::int64_t& stopped_attempts);

/// The nodes that the attempts name, each with the most GPUs ever held at once on it or on a node
/// of its kind (the same name but for the number, the same model). Empty when fewer than half of
/// the GPU jobs name their nodes.
[[nodiscard]] std::vector<NodeSpec> nodes_named_in(const history::JobHistory& history);
/// Nodes of eight GPUs that hold the most ever held at once, by model.
[[nodiscard]] std::vector<NodeSpec> nodes_for_most_held(const sim::PastJobs& past);

/// Reads the files; the history itself is dropped, since it is the larger part of memory. `on`
/// empty: the cluster is found in the history.
[[nodiscard]] Result<WhatIfSource> whatif_source(Context& context, const HistoryOptions& options,
                                                 const std::string& on);

}  // namespace rota::cli
