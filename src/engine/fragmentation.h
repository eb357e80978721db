// Which free devices stay useful: fragmentation gradient descent (Weng et al., USENIX ATC 2023).
//
// The fragment of a node for a task type is all its idle GPU if the type cannot run there, else the
// idle parts of those devices that are too small for it; averaged over the most popular types that
// cover 95 % of the tasks seen, weighted by popularity. The score of a choice is 100 times the
// logistic function of how much the fragment falls, rounded down to 0..100; ties are left to the
// caller. Amounts in milli-GPU.
//
// Scarcity: the pressure of a model is what tasks pinned to it demand over its capacity, with all
// demand scaled to all capacity, capped at 1.5. A task that names no model pays 10 points of score
// per unit of pressure, one that names several pays 5, so it takes the least contested model.
// Cost: a score is O(types) for whole devices of one model, else O(types x devices of the node).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/ledger.h"
#include "engine/topology.h"

namespace rota::engine {

class Fragmentation {
 public:
  /// Takes the mix as it is now; cheap when it has not changed (`version`).
  void update(const std::map<TaskKind, std::int64_t>& mix, std::uint64_t version,
              const Topology& topology, const Ledger& ledger);
  /// Score of taking `task` on its node, in thousandths of a point; higher is better.
  [[nodiscard]] std::int64_t score(const NodeCap& node, const TaskAlloc& task,
                                   std::size_t models_named) const;
  /// Milli-GPU of the node that the mix cannot use, on average.
  [[nodiscard]] std::int64_t fragment(const NodeCap& node) const;

 private:
  struct Type {
    std::int64_t milli = 0;
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
    std::vector<std::int32_t> models;  // empty: any
    std::int64_t weight = 0;
  };
  /// What the usable devices of a node have free.
  struct Idle {
    struct Device {
      std::int32_t milli = 0;
      std::int16_t model = 0;
      bool whole = false;
    };
    std::vector<Device> devices;
    std::int64_t milli = 0;
    std::int64_t whole = 0;      // devices that can be given out whole
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
    bool one_model = true;
    void count(const NodeCap& node, const TaskAlloc* taken);
  };
  [[nodiscard]] static std::int64_t fragment_for(const Idle& idle, const Type& type);
  [[nodiscard]] std::int64_t fragment(const Idle& idle) const;
  mutable Idle before_;                 // scratch
  mutable Idle after_;
  std::vector<Type> types_;
  std::int64_t weight_sum_ = 0;
  std::vector<std::int64_t> pressure_;  // by model, in thousandths
  std::uint64_t version_ = 0;
  bool ready_ = false;
};

}  // namespace rota::engine
