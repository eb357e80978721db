#include "engine/waiting.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace rota::engine {
namespace {

OrderKey key_of(std::int64_t first, std::int64_t second, std::uint64_t id) {
  OrderKey key;
  key.first = first;
  key.second = second;
  key.anchor = key.id = id;
  return key;
}

/// Inserts, erases and asks at random, beside an ordered map of key to limit.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) {}

  void run(int steps, std::uint32_t growth) {
    for (int i = 0; i < steps; ++i) {
      if (slow_.empty() || random_.chance(growth, 10)) {
        insert();
      } else {
        erase();
      }
      ask();
    }
    while (!slow_.empty()) erase();
    EXPECT_TRUE(fast_.empty());
  }

 private:
  void insert() {
    const OrderKey key = key_of(random_.between(-3, 3), random_.between(0, 50), ++last_id_);
    const std::int64_t limit = random_.chance(1, 4) ? kNoLimit : random_.between(1, 30);
    fast_.insert({key, limit});
    slow_[key] = limit;
  }
  void erase() {
    auto it = slow_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(slow_.size())));
    fast_.erase(it->first);
    slow_.erase(it);
  }
  void ask() {
    ASSERT_EQ(fast_.size(), slow_.size());
    const std::int64_t limit = random_.chance(1, 5) ? kNoLimit : random_.between(0, 35);
    std::optional<OrderKey> from;
    if (random_.chance(3, 4)) from = key_of(random_.between(-3, 3), random_.between(0, 50), 7);
    auto it = from ? slow_.upper_bound(*from) : slow_.begin();
    while (it != slow_.end() && it->second > limit) ++it;
    const auto* found = fast_.next(from, limit);
    ASSERT_EQ(found != nullptr, it != slow_.end());
    if (found != nullptr) {
      ASSERT_EQ(found->key, it->first);
      ASSERT_EQ(found->limit, it->second);
    }
    if (from) {
      const auto before = std::distance(slow_.begin(), slow_.lower_bound(*from));
      ASSERT_EQ(fast_.count_before(*from), static_cast<std::size_t>(before));
    }
  }

  Random random_;
  OrderedJobs fast_;
  std::map<OrderKey, std::int64_t> slow_;
  std::uint64_t last_id_ = 10;
};

TEST(OrderedJobs, AgreesWithAnOrderedMap) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) Pair(seed).run(300, 6);
}

TEST(OrderedJobs, AgreesWithAnOrderedMapOverManyBlocks) {
  Pair(99).run(6000, 9);
  Pair(100).run(3000, 5);
}

TEST(OrderedJobs, WalksThroughAllInOrder) {
  OrderedJobs jobs;
  for (std::uint64_t i = 1; i <= 2000; ++i) jobs.insert({key_of(0, 2000 - i, i), kNoLimit});
  std::optional<OrderKey> at;
  std::int64_t expected = 0;
  while (const auto* entry = jobs.next(at, kNoLimit)) {
    EXPECT_EQ(entry->key.second, expected++);
    at = entry->key;
  }
  EXPECT_EQ(expected, 2000);
}

class WaitingJobs : public testing::Test {
 protected:
  WaitingJobs() : waiting_(state_) {
    for (int i = 0; i < 4; ++i) state_.queues.emplace_back();
    for (QueueIndex q = 1; q < 4; ++q) {
      state_.queues[q].parent = 0;
      state_.queues[0].children.push_back(q);
    }
  }
  JobRec& add(QueueIndex queue, std::int64_t priority, std::int64_t submitted,
              bool charge = true) {
    JobRec& job = state_.jobs.add(JobId(++last_id_));
    job.queue = queue;
    job.shape_index = static_cast<ShapeIndex>(last_id_ % 3);
    job.task_milli = 1000;
    job.spec.priority = priority;
    job.spec.charge = charge;
    job.submitted = Instant(submitted);
    waiting_.insert(job);
    return job;
  }
  std::vector<std::uint64_t> order(QueueIndex lane) {
    std::vector<std::uint64_t> out;
    for (const JobId id : waiting_.in_order(waiting_.lanes().at(lane), 100)) {
      out.push_back(id.value());
    }
    return out;
  }
  State state_;
  Waiting waiting_;
  std::uint64_t last_id_ = 0;
};

TEST_F(WaitingJobs, StandInALaneByPriorityThenSubmitTimeThenNumber) {
  add(1, 0, 5);
  add(1, 2, 9);
  add(1, 0, 3);
  add(1, 0, 3);
  add(2, 9, 0);
  EXPECT_EQ(order(1), (std::vector<std::uint64_t>{2, 3, 4, 1}));
  EXPECT_EQ(order(2), (std::vector<std::uint64_t>{5}));
}

TEST_F(WaitingJobs, UnchargedOnesComeAfterEveryChargedOne) {
  add(1, 9, 0, false);
  add(1, 0, 5);
  EXPECT_EQ(order(1), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(waiting_.ahead(*state_.jobs.find(JobId(1))), 1);
  EXPECT_EQ(waiting_.ahead(*state_.jobs.find(JobId(2))), 0);
}

TEST_F(WaitingJobs, ShareOneLaneUnlessTheOrderIsFair) {
  state_.policy.order = Order::kFifo;
  add(1, 0, 5);
  add(2, 9, 6);
  add(3, 0, 4);
  EXPECT_EQ(order(0), (std::vector<std::uint64_t>{3, 1, 2}));
}

TEST_F(WaitingJobs, DemandCountsChargedOnesAndThrottledOnesUpToTheirThrottle) {
  add(1, 0, 0);
  add(1, 0, 0, false);
  GroupRec& group = state_.groups[GroupId(77)];
  group.throttle = 3;
  group.active = 1;
  for (int i = 0; i < 5; ++i) {
    JobRec& job = state_.jobs.add(JobId(++last_id_));
    job.queue = 2;
    job.shape_index = 0;
    job.task_milli = 500;
    job.spec.group = GroupId(77);
    waiting_.insert(job);
  }
  const std::vector<std::int64_t> demand = waiting_.demand();
  EXPECT_EQ(demand[1], 1000);
  EXPECT_EQ(demand[2], 2 * 500);
  for (std::uint64_t id = 3; id <= 7; ++id) waiting_.erase(*state_.jobs.find(JobId(id)));
  EXPECT_EQ(waiting_.demand()[2], 0);
  EXPECT_FALSE(waiting_.any_throttled());
}

TEST_F(WaitingJobs, EmptyLanesStayDuringAPassAndGoAfterIt) {
  JobRec& job = add(1, 0, 0);
  waiting_.open_pass();
  waiting_.erase(job);
  EXPECT_EQ(waiting_.lanes().size(), 1u);
  waiting_.close_pass();
  EXPECT_TRUE(waiting_.lanes().empty());
  EXPECT_EQ(waiting_.size(), 0u);
}

}  // namespace
}  // namespace rota::engine
