// How many tasks of whole devices a ledger would hold if some left, kept in step while they come
// and go.
//
// Two ways. On the ledger itself everything can leave. By counting alone the ledger stays as it
// is: a tenth of the work, for tasks that hold whole devices to themselves. The number is exact
// for a countable request, a bound for others of whole devices, and says nothing of the rest.
// Cost: O(nodes) to open; a task O(its devices).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ledger.h"
#include "engine/request.h"

namespace rota::engine {

class TaskCount {
 public:
  enum class Way : std::uint8_t { kOnLedger, kByCounting };

  /// By counting only for a countable request. Both must outlive it; the ledger may not change
  /// otherwise meanwhile.
  TaskCount(const Request& request, Ledger& ledger, Way way);

  [[nodiscard]] Way way() const { return way_; }
  [[nodiscard]] bool exact() const { return request_.countable; }
  [[nodiscard]] bool may_hold(std::int64_t tasks) const { return !bounds() || tasks_ >= tasks; }
  /// False: counting cannot tell what these tasks would leave free. Then nothing is given.
  [[nodiscard]] bool give(const Tasks& tasks);
  void take(const Tasks& tasks);
  /// What has been given on the ledger is as it was at that number.
  [[nodiscard]] std::int64_t tasks() const { return tasks_; }
  void reset(std::int64_t tasks) { tasks_ = tasks; }

 private:
  /// What counts of a node.
  struct Room {
    std::int64_t whole = 0;
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
  };
  [[nodiscard]] bool bounds() const { return request_.kind == NeedKind::kWhole; }
  [[nodiscard]] Room& room(NodeIndex node);
  [[nodiscard]] std::int64_t in(const Room& room) const;
  [[nodiscard]] std::int64_t on(NodeIndex node) const;
  void count(const TaskAlloc& task, std::int64_t sign);
  template <class Change>
  void change(const TaskAlloc& task, Change&& change);

  const Request& request_;
  Ledger& ledger_;
  Way way_;
  std::int64_t tasks_ = 0;
  std::vector<std::int32_t> place_of_;  // by node: its place in rooms_; -1: untouched
  std::vector<Room> rooms_;
};

}  // namespace rota::engine
