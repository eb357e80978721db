// The generator room, first half: cluster, owners and policy from the stage numbers of a script.
#pragma once

#include <string>
#include <vector>

#include "model/event.h"
#include "tests/property/script.h"

namespace rota::property {

/// Names of things by number. The renamed ones sort the other way round.
struct Names {
  bool renamed = false;
  [[nodiscard]] std::string node(std::size_t i) const;
  [[nodiscard]] std::string queue(std::size_t i) const;
  [[nodiscard]] std::string user(std::size_t i) const;
  /// The number of a node by its name.
  [[nodiscard]] std::size_t node_number(const std::string& name) const;
};

struct Stage {
  Policy policy;
  std::vector<NodeSpec> nodes;
  std::vector<QueueSpec> queues;          // parents first
  std::vector<std::size_t> leaves;        // numbers of queues that take jobs
  std::vector<UserSpec> users;
  Duration start_delay;                   // from the order to the fact
  Duration stop_delay;                    // beyond the grace
};

Stage stage_from(const Script& script, const Names& names);

}  // namespace rota::property
