// What is free, device by device, and the only way to change it.
//
// The ledger holds the free parts of every device and host, kept up to date by take() and give().
// Changes between checkpoint() and rollback() are undone exactly; commit() keeps them. Marks nest.
// A copy of a ledger is an independent hypothetical future.
// Cost: take/give O(devices of the task); rollback O(changes); copy O(devices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/allocation.h"
#include "model/fields.h"

namespace rota::engine {

/// One task's devices and host resources by node index; `rank` is the task's number.
struct TaskAlloc {
  std::int32_t node = 0;
  std::int32_t rank = 0;
  std::vector<DeviceShare> devices;
  std::int64_t cpus = 0;
  std::int64_t memory = 0;

  [[nodiscard]] std::int64_t milli() const;
  friend bool operator==(const TaskAlloc&, const TaskAlloc&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node);
    visit("rank", self.rank);
    visit("devices", self.devices);
    visit("cpus", self.cpus);
    visit("memory", self.memory);
  }
};
using Tasks = std::vector<TaskAlloc>;

std::int64_t milli_of(const Tasks& tasks);

enum class DeviceMode : std::uint8_t { kUnused, kWhole, kFraction, kSlots, kMig };

/// Why a device may not be given out, as bits.
enum DeviceOut : std::uint8_t { kUnhealthy = 1, kForeign = 2, kHeldByLeftovers = 4 };

struct DeviceCap {
  std::int64_t memory_free = 0;
  std::int64_t memory_total = 0;
  std::int32_t milli_free = 1000;
  std::int32_t holders = 0;
  std::int16_t slots_free = 0;
  std::int16_t slots_total = 0;
  std::int16_t model = 0;
  std::uint8_t mig_used = 0;  // bit i: memory slice i is taken
  std::uint8_t out = 0;       // DeviceOut bits
  DeviceMode mode = DeviceMode::kUnused;
  bool mig = false;

  [[nodiscard]] bool usable() const { return out == 0; }
  /// Can be given out as a whole GPU.
  [[nodiscard]] bool whole_free() const {
    return out == 0 && mode == DeviceMode::kUnused && !mig;
  }
  /// Free part in sums, in milli-GPU.
  [[nodiscard]] std::int32_t part_free() const;
  friend bool operator==(const DeviceCap&, const DeviceCap&) = default;
};

/// The counted part of a node; changes with every take and give.
struct NodeFree {
  std::int64_t milli = 0;       // parts of usable devices
  std::int64_t cpus = 0;
  std::int64_t cpus_for_cpu_jobs = 0;  // what jobs without GPUs may still use
  std::int64_t memory = 0;
  std::int32_t whole = 0;       // usable untouched devices
  std::int32_t tasks = 0;       // tasks on it
  friend bool operator==(const NodeFree&, const NodeFree&) = default;
};

struct NodeCap {
  std::vector<DeviceCap> devices;
  NodeFree free;
  std::int64_t cpus_total = 0;
  std::int64_t memory_total = 0;
  std::int64_t cpus_reserved = 0;  // kept from jobs without GPUs
  bool open = true;                // takes new work
  friend bool operator==(const NodeCap&, const NodeCap&) = default;
};

class Ledger {
 public:
  /// Adds an empty node; returns its index. Not inside a transaction.
  std::int32_t add_node(NodeCap node);
  /// Adds a node as it is, with what is taken on it.
  void adopt(NodeCap node) {
    if (node.open) milli_free_open_ += node.free.milli;
    nodes_.push_back(std::move(node));
  }
  [[nodiscard]] const std::vector<NodeCap>& nodes() const { return nodes_; }
  [[nodiscard]] const NodeCap& node(std::int32_t index) const { return nodes_[index]; }
  /// Parts free on open nodes, in milli-GPU.
  [[nodiscard]] std::int64_t milli_free_open() const { return milli_free_open_; }

  void take(const TaskAlloc& task);
  void give(const TaskAlloc& task);
  void take(const Tasks& tasks) { for (const auto& t : tasks) take(t); }
  void give(const Tasks& tasks) { for (const auto& t : tasks) give(t); }
  /// True when take(tasks) would be lawful.
  [[nodiscard]] bool can_take(const Tasks& tasks);
  /// Takes of `wanted` only what is still free; returns what was taken.
  TaskAlloc take_rest(const TaskAlloc& wanted);

  /// Lowers what is free where `task` lies to what `other` has free there, by `least(mine, theirs)`
  /// device by device. Not inside a transaction.
  template <class Least>
  void lower_to(const TaskAlloc& task, const Ledger& other, Least&& least) {
    NodeCap& node = nodes_[task.node];
    const NodeCap& theirs = other.nodes_[task.node];
    const std::int64_t before = node.free.milli;
    for (const DeviceShare& share : task.devices) {
      DeviceCap& device = open_device(task.node, share.device);
      least(device, theirs.devices[share.device]);
      close_device(task.node, device);
    }
    node.free.cpus = node.free.cpus < theirs.free.cpus ? node.free.cpus : theirs.free.cpus;
    if (theirs.free.cpus_for_cpu_jobs < node.free.cpus_for_cpu_jobs) {
      node.free.cpus_for_cpu_jobs = theirs.free.cpus_for_cpu_jobs;
    }
    if (theirs.free.memory < node.free.memory) node.free.memory = theirs.free.memory;
    if (node.open) milli_free_open_ += node.free.milli - before;
  }

  /// Facts, never inside a transaction.
  void set_open(std::int32_t node, bool open);
  void set_out(std::int32_t node, std::int32_t device, std::uint8_t bits);
  void set_reserved(std::int32_t node, std::int64_t cpus);

  using Mark = std::size_t;
  [[nodiscard]] Mark checkpoint();
  void rollback(Mark mark);
  void commit(Mark mark);

  friend bool operator==(const Ledger& a, const Ledger& b) { return a.nodes_ == b.nodes_; }

 private:
  struct Undo {
    std::int32_t node = 0;
    std::int32_t device = -1;  // -1: the node's counts
    DeviceCap device_before;
    NodeFree free_before;
  };
  void remember(std::int32_t node);
  void remember(std::int32_t node, std::int32_t device);
  DeviceCap& open_device(std::int32_t node, std::int32_t device);
  void close_device(std::int32_t node, const DeviceCap& device);

  std::vector<NodeCap> nodes_;
  std::int64_t milli_free_open_ = 0;
  std::vector<Undo> undo_;
  std::int32_t open_marks_ = 0;
};

}  // namespace rota::engine
