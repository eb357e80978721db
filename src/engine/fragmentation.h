// Which free devices stay useful: fragmentation gradient descent (Weng et al., USENIX ATC 2023).
//
// A type of task is what it asks for in GPUs, models and CPUs; host memory makes no type and no
// fragment, as in the paper. The fragment of a node for a type is all its idle GPU if the type
// cannot run there, else the idle parts of those devices that are too small for it; averaged over
// the most popular types that cover 95 % of the tasks seen (at most kTypesMax), weighted by
// popularity. The score of a choice is 100 times the logistic function of how much the fragment
// falls, rounded down to 0..100; ties are left to the caller. Amounts in milli-GPU.
//
// Scarcity: the pressure of a model is what tasks pinned to it demand over its capacity, with all
// demand scaled to all capacity, capped at 1.5. A task that names no model pays 10 points of score
// per unit of pressure, one that names several pays 5, so it takes the least contested model.
// Cost: O(devices of the node) for a node of one model, whatever the number of types, once for all
// its devices (Prospect); else O(types x devices).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/ledger.h"
#include "engine/mix_table.h"
#include "engine/topology.h"

namespace rota::engine {

class Fragmentation {
 public:
  static constexpr std::size_t kTypesMax = 256;
  /// No score is above; in thousandths of a point.
  static constexpr std::int64_t kScoreMax = 100'000;
  /// Below every score.
  static constexpr std::int64_t kScoreMin = -15'000;

  /// Takes the mix as it is now; cheap when it has not changed (`version`).
  void update(const std::map<TaskKind, std::int64_t>& mix, std::uint64_t version,
              const Topology& topology, const Ledger& ledger);
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Score of taking `task` on its node, in thousandths of a point; higher is better.
  [[nodiscard]] std::int64_t score(const NodeCap& node, const TaskAlloc& task,
                                   std::size_t models_named) const;
  /// Milli-GPU of the node that the mix cannot use, on average.
  [[nodiscard]] std::int64_t fragment(const NodeCap& node) const;

  /// What the host part of a task takes, and how many models it names.
  struct Host {
    std::int64_t cpus = 0;
    std::size_t models_named = 0;
  };
  /// Scores of the ways in which one task may use a node whose devices are of one model; the same
  /// as score() gives. Valid until the next update().
  class Prospect {
   public:
    [[nodiscard]] std::int64_t no_device() const;
    [[nodiscard]] std::int64_t whole(std::int32_t devices) const;
    /// So much of this device, which is unused or shared already.
    [[nodiscard]] std::int64_t part(const DeviceCap& device, std::int32_t milli) const;

   private:
    friend class Fragmentation;
    [[nodiscard]] std::int64_t score(std::int64_t useful_then, std::int64_t taken) const;
    const Fragmentation* all_ = nullptr;
    MixTable::Row row_{};            // of what the task leaves
    std::int32_t whole_ = 0;         // untouched devices now
    std::int64_t useful_ = 0;        // of all free parts now, times weight
    std::int64_t useful_parts_ = 0;  // of the free parts beside the task, times weight
    std::int64_t penalty_ = 0;
  };
  /// None: the node's devices are of several models.
  [[nodiscard]] std::optional<Prospect> prospect(const NodeCap& node, const Host& host) const;

 private:
  /// What the usable devices of a node have free.
  struct Idle {
    struct Device {
      std::int32_t milli = 0;
      std::int16_t model = 0;
      bool whole = false;
    };
    std::vector<Device> devices;
    std::int64_t milli = 0;
    std::int64_t cpus = 0;
    void count(const NodeCap& node, const TaskAlloc* taken);
  };
  void add_types(const std::map<TaskKind, std::int64_t>& mix, const Topology& topology);
  void weigh_models(const Topology& topology, const Ledger& ledger);
  void keep_popular();
  [[nodiscard]] static std::int64_t useful_for(const Idle& idle, const MixKind& type);
  [[nodiscard]] std::int64_t useful(const Idle& idle) const;
  [[nodiscard]] std::int64_t penalty(std::size_t models_named, std::int32_t model) const;

  mutable Idle before_;                 // scratch
  mutable Idle after_;
  std::vector<MixKind> types_;
  MixTable table_;
  std::int64_t weight_sum_ = 0;
  std::vector<std::int64_t> pressure_;  // by model, in thousandths
  std::uint64_t version_ = 0;
  bool ready_ = false;
};

}  // namespace rota::engine
