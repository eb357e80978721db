// Jobs that wait and may be considered, in order, with the means to skip many of them at once.
//
// A lane is what takes turns: a leaf queue under order=fair, else one lane for all. Inside a lane
// jobs stand in classes: equal queue, shape, priority and charge, so that what cannot start for one
// cannot start for the others. A class is an ordered list of blocks; each knows its least limit.
// Cost: insert and erase O(sqrt n); next candidate O(classes + blocks).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "engine/state.h"

namespace rota::engine {

/// Position in a lane: lower comes first. Uncharged jobs are asked for apart. A job its deadline
/// moved up stands right before its anchor; every other job is its own anchor.
struct OrderKey {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::uint64_t anchor = 0;
  bool in_place = true;
  std::uint64_t id = 0;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("first", self.first);
    visit("second", self.second);
    visit("anchor", self.anchor);
    visit("in_place", self.in_place);
    visit("id", self.id);
  }
};

OrderKey order_key(const JobRec& job, Order order);

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Jobs of one class in order.
class OrderedJobs {
 public:
  struct Entry {
    OrderKey key;
    std::int64_t limit = kNoLimit;  // time limit in ns
  };
  void insert(const Entry& entry);
  void erase(const OrderKey& key);
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The first of all. There must be one.
  [[nodiscard]] const Entry& front() const { return front_; }
  /// The first entry after `from` (none: from the start) with a limit of at most `limit`.
  [[nodiscard]] const Entry* next(const std::optional<OrderKey>& from, std::int64_t limit) const;
  [[nodiscard]] std::size_t count_before(const OrderKey& key) const;

 private:
  struct Block {
    std::vector<Entry> entries;
    std::int64_t limit_min = kNoLimit;
  };
  void refresh(Block& block);
  void note_front() {
    if (!blocks_.empty()) front_ = blocks_.front().entries.front();
  }
  Entry front_;  // at hand for those who look at many classes
  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

struct ClassKey {
  QueueIndex queue = 0;
  ShapeIndex shape = 0;
  std::int64_t priority = 0;
  bool charge = true;
  friend auto operator<=>(const ClassKey&, const ClassKey&) = default;
};

struct JobClass {
  ClassKey key;
  OrderedJobs jobs;
};

struct Lane {
  QueueIndex queue = 0;            // 0: all queues
  std::map<ClassKey, JobClass> classes;
  std::size_t size = 0;
};

/// Demand of members of throttled groups, which counts only up to the throttle.
struct ThrottledDemand {
  QueueIndex queue = 0;
  std::int64_t waiting = 0;
  std::int64_t milli_each = 0;
};

class Waiting {
 public:
  explicit Waiting(const State& state) : state_(state) {}
  void clear();
  void insert(const JobRec& job);
  void erase(const JobRec& job);
  /// Between open_pass() and close_pass() emptied classes and lanes stay, so references to them
  /// hold.
  void open_pass() { in_pass_ = true; }
  void close_pass();
  [[nodiscard]] const std::map<QueueIndex, Lane>& lanes() const { return lanes_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool any_throttled() const { return !throttled_.empty(); }
  /// Queues whose demand has changed since forget_changed(); some may be named twice.
  [[nodiscard]] const std::vector<QueueIndex>& changed() const { return changed_; }
  void forget_changed() { changed_.clear(); }
  /// Whether one of them, once started, is something that preemption may take at some time.
  [[nodiscard]] bool any_takeable() const { return takeable_ > 0; }
  /// Up to `most` waiting jobs of one lane in order, charged ones first.
  [[nodiscard]] std::vector<JobId> in_order(const Lane& lane, std::size_t most) const;
  /// What all of them would hold, by queue (charged only, throttles respected). Good until the
  /// next change or call.
  [[nodiscard]] const std::vector<std::int64_t>& demand() const;
  /// Jobs of the same lane that come before it.
  [[nodiscard]] std::int64_t ahead(const JobRec& job) const;
  [[nodiscard]] QueueIndex lane_of(const JobRec& job) const;

 private:
  void count(const JobRec& job, std::int64_t sign);
  const State& state_;
  std::map<QueueIndex, Lane> lanes_;
  std::size_t size_ = 0;
  bool in_pass_ = false;
  bool emptied_ = false;
  std::int64_t takeable_ = 0;
  mutable std::vector<std::int64_t> demand_;     // of those without a throttle, by queue
  mutable std::vector<std::int64_t> with_throttled_;
  std::vector<QueueIndex> changed_;
  std::map<GroupId, ThrottledDemand> throttled_;
};

}  // namespace rota::engine
