#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "engine/engine.h"

namespace rota::engine {
namespace {

/// Gangs of whole GPUs on one node that run exactly to their limits, or sometimes end before.
class Replay {
 public:
  Replay(std::uint64_t seed, bool forgetful) : random_(seed), forgetful_(forgetful) {
    Policy policy;
    constexpr Order kOrders[] = {Order::kShortest, Order::kPriority, Order::kFifo};
    policy.order = kOrders[random_.below(3)];
    policy.backfill = Backfill::kConservative;
    tell(PolicySet{policy});
    tell(QueueSet{QueueSpec{.name = "default"}});
    NodeSpec node;
    node.name = "n";
    node.devices.resize(6 + random_.below(5));
    tell(NodeReported{node});
  }

  /// Who starts when, in order.
  std::vector<std::pair<std::int64_t, std::uint64_t>> starts() {
    for (std::uint64_t id = 1; id <= 60; ++id) {
      JobSpec spec;
      spec.shape.task.gpus = whole_gpus(random_.between(1, 2));
      spec.shape.tasks = random_.chance(1, 2) ? 1 : random_.between(1, 3);
      spec.priority = random_.between(0, 2);
      spec.time_limit = Duration::seconds(random_.between(1, 40));
      spec.true_runtime = spec.time_limit;
      runtimes_[id] = random_.chance(1, 12) ? Duration::seconds(1) : *spec.time_limit;
      tell(JobSubmitted{JobId(id), spec});
      if (random_.chance(1, 20)) tell(JobCommanded{JobId(1 + random_.below(id)), JobVerb::kHold});
      cycle();
      for (std::int64_t seconds = random_.between(0, 6); seconds > 0; --seconds) second();
    }
    for (int i = 0; i < 2000; ++i) second();
    return out_;
  }

 private:
  void tell(const Event& event) { (void)engine_.apply(now_, event); }
  void second() {
    now_ = now_ + Duration::seconds(1);
    bool any = false;
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      AttemptEnded ended;
      ended.job = ends_.begin()->second;
      ended.attempt = 1;
      ends_.erase(ends_.begin());
      tell(ended);
      any = true;
    }
    const auto due = engine_.next_wakeup();
    if (any || (due && *due <= now_)) cycle();
  }
  void cycle() {
    // Setting a queue anew, even as it is, makes the engine plan everything anew.
    if (forgetful_) tell(QueueSet{QueueSpec{.name = "default"}});
    for (const Decision& decision : engine_.run_cycle(now_).decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start == nullptr) continue;
      out_.push_back({now_.ns(), start->job.value()});
      tell(AttemptStarted{start->job, start->attempt});
      ends_.insert({now_ + runtimes_.at(start->job.value()), start->job});
    }
  }

  Random random_;
  bool forgetful_;
  Engine engine_;
  Instant now_;
  std::map<std::uint64_t, Duration> runtimes_;
  std::multimap<Instant, JobId> ends_;
  std::vector<std::pair<std::int64_t, std::uint64_t>> out_;
};

TEST(CountedPlan, KeptFromCycleToCycleIsThePlanMadeAnew) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto kept = Replay(seed, false).starts();
    const auto anew = Replay(seed, true).starts();
    const auto differ = std::mismatch(kept.begin(), kept.end(), anew.begin(), anew.end());
    ASSERT_TRUE(kept == anew) << "seed " << seed << " from start "
                              << differ.first - kept.begin() << " on: job "
                              << differ.first->second << " at " << differ.first->first
                              << " against job " << differ.second->second << " at "
                              << differ.second->first;
    ASSERT_GT(kept.size(), 50U) << "seed " << seed;
  }
}

/// Four GPUs, two of them held until 100; the first in line wants all, the second two for `limit`.
std::vector<JobId> started_under(const std::vector<Backfill>& rules, std::int64_t limit) {
  Engine engine;
  const auto tell = [&](const Event& event) { EXPECT_TRUE(engine.apply(Instant(), event)); };
  const auto rule = [&](Backfill backfill) {
    Policy policy;
    policy.order = Order::kFifo;
    policy.backfill = backfill;
    tell(PolicySet{policy});
  };
  rule(Backfill::kOff);
  tell(QueueSet{QueueSpec{.name = "default"}});
  NodeSpec node;
  node.name = "n";
  node.devices.resize(4);
  tell(NodeReported{node});
  std::vector<JobId> out;
  const auto cycle = [&] {
    for (const Decision& decision : engine.run_cycle(Instant()).decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start == nullptr) continue;
      out.push_back(start->job);
      tell(AttemptStarted{start->job, start->attempt});
    }
  };
  const auto submit = [&](std::uint64_t id, std::int64_t gpus, std::int64_t seconds) {
    JobSpec spec;
    spec.shape.task.gpus = whole_gpus(gpus);
    spec.time_limit = Duration::seconds(seconds);
    tell(JobSubmitted{JobId(id), spec});
  };
  submit(1, 2, 100);
  cycle();
  submit(2, 4, 100);
  submit(3, 2, limit);
  for (const Backfill backfill : rules) {
    rule(backfill);
    cycle();
  }
  EXPECT_TRUE(engine.check_invariants().empty());
  return out;
}

TEST(BackfillRule, AnotherBackfillRuleHoldsFromTheNextCycleOn) {
  using Jobs = std::vector<JobId>;
  const Jobs first{JobId(1)};
  const Jobs both{JobId(1), JobId(3)};
  EXPECT_EQ(started_under({Backfill::kOff}, 50), first);
  EXPECT_EQ(started_under({Backfill::kOff, Backfill::kConservative}, 50), both);
  EXPECT_EQ(started_under({Backfill::kOff, Backfill::kConservative, Backfill::kOff}, 200), first);
  EXPECT_EQ(started_under({Backfill::kConservative, Backfill::kEasy}, 200), first);
  EXPECT_EQ(started_under({Backfill::kConservative, Backfill::kGreedy}, 200), both);
}

}  // namespace
}  // namespace rota::engine
