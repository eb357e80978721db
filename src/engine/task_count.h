// How many tasks of whole devices a ledger would hold if some left, kept in step while they come
// and go.
//
// Two ways. On the ledger itself everything can leave. By counting alone the ledger stays as it
// is: a tenth of the work, for tasks that hold whole devices to themselves. The number is exact
// for a countable request, a bound for others of whole devices, and says nothing of the rest.
// Cost: O(nodes) to open; a task O(its devices).
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/ledger.h"
#include "engine/request.h"

namespace rota::engine {

/// What counts of a node for tasks of whole devices.
struct NodeRoom {
  std::int64_t whole = 0;
  std::int64_t cpus = 0;
  std::int64_t memory = 0;

  static NodeRoom free_on(const NodeCap& node) {
    return {node.free.whole, node.free.cpus, node.free.memory};
  }
  /// Tasks of the request, one of whole devices, that fit.
  [[nodiscard]] std::int64_t tasks(const Request& request) const {
    if (whole < request.whole) return 0;
    const TaskShape& task = request.shape.task;
    std::int64_t most = request.whole == 1 ? whole : whole / request.whole;
    if (task.cpus > 0) most = std::min(most, cpus / task.cpus);
    if (task.memory.value() > 0) most = std::min(most, memory / task.memory.value());
    return std::max<std::int64_t>(0, most);
  }
};

/// One task of whole devices, as it counts.
struct WholeTask {
  NodeIndex node = kNone;
  std::int32_t devices = 0;
  std::int64_t cpus = 0;
  std::int64_t memory = 0;
};

class TaskCount {
 public:
  enum class Way : std::uint8_t { kOnLedger, kByCounting };

  /// By counting only for a countable request. Both must outlive it; the ledger may not change
  /// otherwise meanwhile.
  TaskCount(const Request& request, Ledger& ledger, Way way);

  [[nodiscard]] Way way() const { return way_; }
  [[nodiscard]] bool exact() const { return request_.countable; }
  /// What a node must have for others of its devices to count at once.
  [[nodiscard]] bool plain(NodeIndex node) const {
    return no_instances_ && !ledger_.impaired().contains(node);
  }
  [[nodiscard]] bool may_hold(std::int64_t tasks) const { return !bounds() || tasks_ >= tasks; }
  /// False: counting cannot tell what these tasks would leave free. Then nothing is given.
  [[nodiscard]] bool give(const Tasks& tasks);
  void take(const Tasks& tasks);
  /// By counting, of a task on a plain node.
  void give(const WholeTask& task) { count(task, 1); }
  void take(const WholeTask& task) { count(task, -1); }
  /// By counting: what tasks() would be if it were taken.
  [[nodiscard]] std::int64_t tasks_without(const WholeTask& task);
  /// What has been given on the ledger is as it was at that number.
  [[nodiscard]] std::int64_t tasks() const { return tasks_; }
  void reset(std::int64_t tasks) { tasks_ = tasks; }

 private:
  [[nodiscard]] bool bounds() const { return request_.kind == NeedKind::kWhole; }
  [[nodiscard]] bool counts(NodeIndex node) const;
  [[nodiscard]] NodeRoom& room(NodeIndex node);
  [[nodiscard]] std::int64_t on(NodeIndex node) const;
  void count(const WholeTask& task, std::int64_t sign);
  template <class Change>
  void change(const TaskAlloc& task, Change&& change);

  const Request& request_;
  Ledger& ledger_;
  Way way_;
  bool no_instances_;
  std::int64_t tasks_ = 0;
  std::vector<std::int32_t> place_of_;  // by node: its place in rooms_; -1: untouched
  std::vector<NodeRoom> rooms_;
};

/// At least as many tasks of whole devices as nodes would hold if some of what is on them were
/// gone, whatever it is. Cost: as above.
class RoomBound {
 public:
  /// Both must outlive it; the ledger may not change meanwhile.
  RoomBound(const Request& request, const Ledger& ledger);
  [[nodiscard]] std::int64_t tasks() const { return tasks_; }
  void free(const Tasks& tasks);
  void free(const WholeTask& task);

 private:
  [[nodiscard]] std::int64_t devices_of(NodeIndex node, const DeviceShare& share);

  const Request& request_;
  const Ledger& ledger_;
  std::int64_t tasks_ = 0;
  std::vector<std::int32_t> place_of_;  // by node: its place in rooms_; -1: untouched
  std::vector<NodeRoom> rooms_;
  std::set<std::pair<NodeIndex, std::int32_t>> shared_;  // devices that several share
};

}  // namespace rota::engine
