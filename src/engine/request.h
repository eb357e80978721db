// A job's shape, compiled against the cluster: what one task needs, where it may run at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/topology.h"

namespace rota::engine {

enum class NeedKind : std::uint8_t { kNoDevice, kWhole, kFraction, kSlots, kMig };

struct Request {
  JobShape shape;
  NeedKind kind = NeedKind::kWhole;
  std::int32_t whole = 0;               // devices of one task (kWhole)
  std::int64_t milli = 0;               // what one task counts in sums, wherever it is, at least
  std::int64_t milli_most = 0;          // and at most: what limits and shares go by
  std::vector<std::int32_t> models;     // options in order; {kNone}: devices of any model, mixed
  std::vector<std::int32_t> sites;      // options in order
  std::vector<NodeIndex> nodes;         // where one task could run if the node were empty and well
  NodeSet node_set;                     // the same
  NodeSet hosts;                        // where names, labels and sites let it run, fitting or not
  std::vector<NodeSet> options;         // of each site by each model; empty: all are `node_set`
  std::vector<std::int32_t> elsewhere;  // sites it may not use, for data_locality
  bool countable = false;               // whole GPUs; nodes hold what their free amounts divide to
  bool plain = false;                   // whole GPUs of any device and nothing else

  /// Where one task could run at most, for options by their places in `sites` and `models`.
  [[nodiscard]] const NodeSet& nodes_for(std::size_t site, std::size_t model) const {
    return options.empty() ? node_set : options[site * models.size() + model];
  }
};

/// Shapes by index; equal shapes share one Request. Recompiled when nodes or the policy change.
class RequestTable {
 public:
  ShapeIndex intern(const JobShape& shape);
  [[nodiscard]] const Request& at(ShapeIndex shape) const { return requests_[shape]; }
  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  [[nodiscard]] bool all_plain() const { return not_plain_ == 0; }
  void compile_all(const State& state, const Topology& topology, const Ledger& ledger);
  void compile(ShapeIndex shape, const State& state, const Topology& topology,
               const Ledger& ledger);

 private:
  std::map<JobShape, ShapeIndex> index_;
  std::vector<Request> requests_;
  std::int64_t not_plain_ = 0;
};

/// Memory a fraction takes of this device: as stated, else the same fraction.
std::int64_t fraction_memory(const TaskShape& task, const DeviceCap& device);
/// Names, labels and exclusions let the task run on this node.
bool node_may_host(const State& state, const JobShape& shape, NodeIndex node);

}  // namespace rota::engine
