// The tree of queues: who holds what, who is owed what, whose turn it is.
//
// Fair share: quota up to demand, then a GPU at a time to the queue with the smallest share/weight
// that wants more; with history the queue with the least use/weight takes all it wants first. A
// parent's share is divided among its children in the same way. All comparisons cross-multiply.
// Cost: shares O(queues), independent of the number of GPUs; kept until something they depend on
// changes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serving.h"
#include "engine/state.h"

namespace rota::engine {

/// What the jobs that wait to run would hold, by leaf queue, in milli-GPU (charged ones only).
using Demand = std::vector<std::int64_t>;

class Owners {
 public:
  explicit Owners(State& state) : state_(state) {}

  [[nodiscard]] QueueIndex find(std::string_view name) const;  // kNone: unknown
  [[nodiscard]] bool is_leaf(QueueIndex queue) const;
  /// Queue and its ancestors without the root, from the leaf up.
  [[nodiscard]] std::vector<QueueIndex> path(QueueIndex queue) const;

  /// Counts for shares and limits (claims included, victims not), along the path to the root.
  void hold(QueueIndex queue, std::int64_t milli, bool charged);
  /// Physical holding changes by `milli` at `now`: integrals and usage along the path.
  void use(QueueIndex queue, Instant now, std::int64_t milli, bool charged);
  /// Brings the integrals of all queues up to `now`.
  void settle(Instant now);

  /// Recomputes what queues have used, as fairness counts it at `now`. Changes no queue.
  void count_use(Instant now);
  /// The same for these queues and their parents alone.
  void count_use(Instant now, const std::vector<QueueIndex>& queues);
  /// Recomputes demand and what is owed from what waits in each leaf. Changes no queue.
  void count_owed(const Demand& waiting, std::int64_t gpus_healthy);
  /// The same where nothing has changed since the last time but what leaves hold, which is known
  /// here, and what waits in those of `waiting_changed`. O(depth) for each of them.
  void count_owed(const Demand& waiting, const std::vector<QueueIndex>& waiting_changed);
  /// Quotas, limits, weights or the tree itself have changed: all must be counted anew.
  void tree_changed() { known_ = false; }
  /// Whether the shorter count is good for so many GPUs.
  [[nodiscard]] bool knows(std::int64_t gpus_healthy) const {
    return known_ && part_[0] == gpus_healthy * 1000 && use_.size() == state_.queues.size();
  }
  /// Recomputes the shares from what was counted last.
  void divide();
  /// Counts all anew and recomputes the shares. Changes no queue.
  void divide(Instant now, const Demand& waiting, std::int64_t gpus_healthy);
  /// From `now` on queues are owed what was found last.
  void note_owed(Instant now);
  [[nodiscard]] std::int64_t fair_share(QueueIndex queue) const { return share_[queue]; }
  [[nodiscard]] std::int64_t quota_share(QueueIndex queue) const { return quota_share_[queue]; }
  [[nodiscard]] std::int64_t demand(QueueIndex queue) const { return demand_[queue]; }
  /// The share that reclaim goes by, in milli-GPU.
  [[nodiscard]] std::int64_t reclaim_share_milli(QueueIndex queue) const;
  [[nodiscard]] Int128 use_now(QueueIndex queue) const { return use_[queue]; }

  /// True when the turn goes to `a` before its sibling `b`.
  [[nodiscard]] bool before(QueueIndex a, QueueIndex b, QueueIndex holder) const;
  /// Orders two queues by how far they are over their share, per weight, as victims: greater is
  /// taken first. Compared where their branches meet.
  [[nodiscard]] std::strong_ordering excess(QueueIndex a, QueueIndex b) const;
  [[nodiscard]] bool contains(QueueIndex ancestor, QueueIndex queue) const;
  /// The first limit on the path that `milli` more would pass; kNone: none.
  [[nodiscard]] QueueIndex limit_hit(QueueIndex queue, std::int64_t milli) const;

 private:
  void make_room();
  void count_leaf(QueueIndex leaf, std::int64_t waiting);
  void divide_children(QueueIndex parent);
  void divide_by_quota(const std::vector<QueueIndex>& children, std::int64_t capacity,
                       std::vector<std::int64_t>& share);
  void divide_rest(const std::vector<QueueIndex>& children, std::int64_t capacity);
  void divide_by_use(const std::vector<QueueIndex>& children, std::int64_t capacity);
  void settle_queue(QueueRec& queue, Instant now);

  State& state_;
  mutable std::map<std::string, QueueIndex, std::less<>> by_name_;
  mutable std::size_t named_ = 1;          // queues in it; the root has no name
  bool known_ = false;                     // the counts below are right but for `touched_`
  std::vector<QueueIndex> touched_;        // leaves whose holding has changed since
  bool all_owed_changed_ = false;          // since note_owed()
  std::vector<QueueIndex> owed_changed_;   // if not all: these
  std::vector<std::int64_t> wanted_;       // demand without the queue's own limit
  std::vector<std::int64_t> demand_;       // whole GPUs
  std::vector<std::int64_t> share_;        // whole GPUs
  std::vector<std::int64_t> quota_share_;  // whole GPUs
  std::vector<Int128> use_;
  std::vector<std::uint64_t> use_round_;   // of count_use() for some, when it came by last
  std::uint64_t round_ = 0;
  std::vector<std::int64_t> owed_rate_;    // milli-GPU
  std::vector<std::int64_t> part_;         // milli-GPU by weight alone
  std::vector<std::int64_t> weight_;       // as declared, side by side
  std::vector<std::int64_t> quota_;        // whole GPUs; none: 0
  std::vector<Taker> takers_;              // of the level being divided
  std::vector<QueueIndex> order_;          // the same
};

}  // namespace rota::engine
