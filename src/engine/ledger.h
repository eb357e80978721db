// What is free, device by device, and the only way to change it.
//
// The ledger holds the free parts of every device and host, kept up to date by take() and give().
// An index of where something is free is kept in step with them.
// Changes between checkpoint() and rollback() are undone exactly; commit() keeps them. Marks nest.
// A copy of a ledger is an independent hypothetical future.
// Cost: take/give O(devices of the task); rollback O(changes); copy O(devices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/change_log.h"
#include "engine/free_index.h"
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

/// Takes the share of the device, which must have it; the counts of its node are the caller's.
void take_share(DeviceCap& device, const DeviceShare& share);

class Ledger {
 public:
  /// Adds an empty node; returns its index. Not inside a transaction.
  std::int32_t add_node(NodeCap node);
  /// Adds a node as it is, with what is taken on it.
  void adopt(NodeCap node);
  [[nodiscard]] const std::vector<NodeCap>& nodes() const { return nodes_; }
  [[nodiscard]] const NodeCap& node(std::int32_t index) const { return nodes_[index]; }
  /// Parts free on open nodes, in milli-GPU.
  [[nodiscard]] std::int64_t milli_free_open() const { return index_.milli(); }
  /// Some device is cut into time slices, whose parts of it are rounded down.
  [[nodiscard]] bool sliced() const { return sliced_; }
  /// Where something is free, in step with the nodes at every moment.
  [[nodiscard]] const FreeIndex& index() const { return index_; }
  /// Nodes that are closed or have a device that is out.
  [[nodiscard]] const NodeSet& impaired() const { return impaired_; }

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
    ++changes_;
    NodeCap& node = nodes_[task.node];
    const NodeCap& theirs = other.nodes_[task.node];
    index_.remove(task.node, node);
    for (const DeviceShare& share : task.devices) {
      DeviceCap& device = node.devices[share.device];
      uncount(node, device);
      least(device, theirs.devices[share.device]);
      count(node, device);
    }
    node.free.cpus = node.free.cpus < theirs.free.cpus ? node.free.cpus : theirs.free.cpus;
    if (theirs.free.cpus_for_cpu_jobs < node.free.cpus_for_cpu_jobs) {
      node.free.cpus_for_cpu_jobs = theirs.free.cpus_for_cpu_jobs;
    }
    if (theirs.free.memory < node.free.memory) node.free.memory = theirs.free.memory;
    index_.add(task.node, node);
    log_.note(task.node);
  }

  /// Facts, never inside a transaction.
  void set_open(std::int32_t node, bool open);
  void set_out(std::int32_t node, std::int32_t device, std::uint8_t bits);
  void set_reserved(std::int32_t node, std::int64_t cpus);

  /// Which nodes changed, by every way above and by rollback(); once somebody watches.
  [[nodiscard]] ChangeLog& log() const { return log_; }

  /// Moves with every change that is not rolled back.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

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
  void note_impaired(std::int32_t node);
  template <class Usual, class Other>
  void change(const TaskAlloc& task, std::int32_t sign, Usual&& usual, Other&& other);
  void remember(std::int32_t node) {
    if (open_marks_ > 0) undo_.push_back({node, -1, {}, nodes_[node].free});
  }
  void remember(std::int32_t node, std::int32_t device) {
    if (open_marks_ > 0) undo_.push_back({node, device, nodes_[node].devices[device], {}});
  }
  static void uncount(NodeCap& node, const DeviceCap& device) {
    node.free.milli -= device.part_free();
    node.free.whole -= device.whole_free() ? 1 : 0;
  }
  static void count(NodeCap& node, const DeviceCap& device) {
    node.free.milli += device.part_free();
    node.free.whole += device.whole_free() ? 1 : 0;
  }

  std::vector<NodeCap> nodes_;
  FreeIndex index_;
  mutable ChangeLog log_;  // of no meaning to the state
  NodeSet impaired_;
  std::vector<Undo> undo_;
  std::int32_t open_marks_ = 0;
  bool sliced_ = false;
  std::uint64_t changes_ = 0;
};

}  // namespace rota::engine
