// Clusters with more, fewer or other nodes. Names stay unique; the order of nodes is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace rota::sim {

/// Nodes of one make.
struct NodeKind {
  std::int64_t gpus = 8;
  std::string model;
};

/// The make that most nodes have, among those of `model` when it is not empty; none: no node.
[[nodiscard]] NodeKind usual_kind(const std::vector<NodeSpec>& nodes, const std::string& model);
void add_nodes(std::vector<NodeSpec>& nodes, std::int64_t count, const NodeKind& kind);
/// Adds whole nodes of the kind, and one with the rest.
void add_gpus(std::vector<NodeSpec>& nodes, std::int64_t gpus, const NodeKind& kind);
/// Takes GPUs from the last nodes on, those of `model` alone when it is not empty; empty nodes
/// go. Returns how many there were to take.
std::int64_t take_gpus(std::vector<NodeSpec>& nodes, std::int64_t gpus, const std::string& model);
/// So many nodes in the same mix: each is a copy of the one at its part of the list.
[[nodiscard]] std::vector<NodeSpec> with_node_count(const std::vector<NodeSpec>& nodes,
                                                    std::int64_t count);

}  // namespace rota::sim
