// The cluster of a report: GPUs and prices by model, and when nodes were out of service.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/input.h"
#include "model/cluster.h"

namespace rota::cli::reports {

/// The nodes that --on names (see cluster_of), without those of the future; none for an empty text.
/// Error: kInvalidArgument; also of nodes without any GPU.
[[nodiscard]] Result<std::vector<NodeSpec>> report_cluster_of(const std::string& on);

/// Adds a pool for each model, with the price of its nodes where they all have the same. A node
/// that is drained, quarantined or down counts as out of service for the whole period.
void add_cluster(const std::vector<NodeSpec>& nodes, ReportInput& input);

/// Adds the times of a table with columns node, start and end (also as `sacctmgr -P list events`
/// prints them: NodeName, TimeStart, TimeEnd; rows without a node are passed over). Without an end
/// it lasts. Times of one node that overlap count once. Nodes that are not in the cluster are
/// counted in a note. Error: kInvalidArgument with file:line.
[[nodiscard]] Status add_outages(const std::string& file, const std::vector<NodeSpec>& nodes,
                                 ReportInput& input);

}  // namespace rota::cli::reports
