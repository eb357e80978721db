// The shape of the cluster, derived from its nodes: models, sites, domains in declared order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state.h"

namespace rota::engine {

/// A set of places: whole nodes, or some devices of one node (islands, sockets).
struct Domain {
  std::vector<NodeIndex> nodes;
  std::vector<std::int32_t> devices;  // of nodes[0]; empty: all devices of all nodes
};

class Topology {
 public:
  /// Registers a node of `spec`; returns its ledger record. Call in declaration order.
  NodeCap add(const NodeSpec& spec);

  [[nodiscard]] std::int32_t model_index(std::string_view model) const;  // kNone: unknown
  [[nodiscard]] const std::vector<std::string>& models() const { return models_; }
  [[nodiscard]] std::int32_t site_index(std::string_view site) const;
  [[nodiscard]] const std::vector<std::string>& sites() const { return sites_; }
  /// The node has devices of more than one model.
  [[nodiscard]] bool mixed(NodeIndex node) const { return node_mixed_[node]; }
  [[nodiscard]] std::int32_t site_of(NodeIndex node) const { return node_site_[node]; }
  /// Cheapest GPU-hour of the site, in micro-money.
  [[nodiscard]] std::int64_t site_cost(std::int32_t site) const { return site_cost_[site]; }
  /// Domains of a level in declared order. A node that states no rack (block) is one of its own; a
  /// node without islands (sockets) is one island (socket).
  [[nodiscard]] const std::vector<Domain>& domains(TopologyLevel level) const;
  /// The domain of a level that holds this device of the node; null: none does. With kNone for the
  /// device, the node's last one.
  [[nodiscard]] const Domain* domain_of(TopologyLevel level, NodeIndex node,
                                        std::int32_t device) const;
  [[nodiscard]] const std::vector<Domain>& islands_of(NodeIndex node) const {
    return node_islands_[node];
  }
  [[nodiscard]] const std::vector<Domain>& sockets_of(NodeIndex node) const {
    return node_sockets_[node];
  }

 private:
  std::int32_t add_named_domain(std::vector<Domain>& domains, std::vector<std::string>& names,
                                const std::string& name, NodeIndex node);

  std::vector<std::string> models_;
  std::vector<std::string> sites_;
  std::vector<std::int64_t> site_cost_;
  std::vector<std::int32_t> node_site_;
  std::vector<bool> node_mixed_;
  std::vector<std::int32_t> node_rack_;
  std::vector<std::int32_t> node_block_;
  std::vector<std::vector<Domain>> node_islands_;
  std::vector<std::vector<Domain>> node_sockets_;
  std::vector<Domain> node_domains_;
  std::vector<Domain> island_domains_;
  std::vector<Domain> socket_domains_;
  std::vector<Domain> rack_domains_;
  std::vector<Domain> block_domains_;
  std::vector<std::string> rack_names_;
  std::vector<std::string> block_names_;
  std::vector<Domain> all_;  // one domain: every node
};

}  // namespace rota::engine
