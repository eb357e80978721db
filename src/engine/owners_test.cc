#include "engine/owners.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace rota::engine {
namespace {

struct Want {
  std::int64_t weight = 1;
  std::int64_t demand = 0;                // whole GPUs that wait
  std::optional<std::int64_t> quota = {};
  std::optional<std::int64_t> limit = {};
  QueueIndex parent = 0;
};

/// A tree of queues with a demand each.
class Tree {
 public:
  explicit Tree(const std::vector<Want>& wants) : owners_(state_) {
    state_.queues.emplace_back();
    demand_.push_back(0);
    for (const Want& want : wants) {
      QueueRec rec;
      const auto index = static_cast<QueueIndex>(state_.queues.size());
      rec.spec.name = "q" + std::to_string(index);
      rec.spec.weight = want.weight;
      if (want.quota) rec.spec.quota = whole_gpus(*want.quota);
      if (want.limit) rec.spec.limit = whole_gpus(*want.limit);
      rec.parent = want.parent;
      state_.queues.push_back(rec);
      state_.queues[want.parent].children.push_back(index);
      demand_.push_back(want.demand * 1000);
    }
  }
  std::vector<std::int64_t> shares(std::int64_t gpus) {
    owners_.divide(Instant(), demand_, gpus);
    std::vector<std::int64_t> out;
    for (QueueIndex q = 1; q < std::ssize(state_.queues); ++q) {
      out.push_back(owners_.fair_share(q));
    }
    return out;
  }
  State& state() { return state_; }
  Owners& owners() { return owners_; }

 private:
  State state_;
  Owners owners_;
  Demand demand_;
};

using Shares = std::vector<std::int64_t>;

TEST(FairShare, IsSplitByWeightAmongThoseWhoWant) {
  EXPECT_EQ(Tree({{.weight = 1, .demand = 20}, {.weight = 3, .demand = 20}}).shares(16),
            (Shares{4, 12}));
  EXPECT_EQ(Tree({{.weight = 1, .demand = 20}, {.weight = 3, .demand = 2}}).shares(16),
            (Shares{14, 2}));
  EXPECT_EQ(Tree({{.weight = 1, .demand = 16}, {.weight = 1, .demand = 1}}).shares(16),
            (Shares{15, 1}));
}

TEST(FairShare, TiesGoToTheQueueDeclaredFirst) {
  EXPECT_EQ(Tree({{.demand = 9}, {.demand = 9}, {.demand = 9}}).shares(8), (Shares{3, 3, 2}));
}

TEST(FairShare, WeightZeroGetsWhatNobodyElseWants) {
  EXPECT_EQ(Tree({{.weight = 0, .demand = 9}, {.weight = 1, .demand = 5}}).shares(8),
            (Shares{3, 5}));
}

TEST(FairShare, AQuotaComesFirstUpToTheDemand) {
  EXPECT_EQ(Tree({{.weight = 1, .demand = 9, .quota = 6}, {.weight = 3, .demand = 9}}).shares(8),
            (Shares{6, 2}));
  EXPECT_EQ(Tree({{.weight = 1, .demand = 2, .quota = 6}, {.weight = 3, .demand = 9}}).shares(8),
            (Shares{2, 6}));
}

TEST(FairShare, ALimitBoundsTheDemand) {
  EXPECT_EQ(Tree({{.demand = 9, .limit = 3}, {.demand = 9}}).shares(8), (Shares{3, 5}));
}

TEST(FairShare, AParentDividesItsOwnShareAmongItsChildren) {
  // q1 has the children q3 and q4; q2 is a leaf of equal weight.
  const Shares shares =
      Tree({{.weight = 1}, {.weight = 1, .demand = 16}, {.weight = 3, .demand = 16, .parent = 1},
            {.weight = 1, .demand = 16, .parent = 1}})
          .shares(16);
  EXPECT_EQ(shares, (Shares{8, 8, 6, 2}));
}

TEST(FairShare, WithHistoryTheLeastServedTakesAllItWants) {
  Tree tree({{.weight = 1, .demand = 6}, {.weight = 1, .demand = 6}});
  tree.state().policy.fairness = FairnessKind::kWindow;
  tree.state().policy.fairness_span = Duration::days(7);
  tree.state().queues[1].usage.add_past(Instant(-5), Instant(-5), 1000);
  EXPECT_EQ(tree.shares(8), (Shares{2, 6}));
}

/// Whether i with share[i] is served less than j with share[j].
bool less_served(const std::vector<Want>& wants, const Shares& share, std::size_t i,
                 std::size_t j) {
  const std::int64_t wi = wants[i].weight;
  const std::int64_t wj = wants[j].weight;
  if (wi == 0 || wj == 0) return (wi == 0) != (wj == 0) ? wj == 0 : share[i] < share[j];
  return share[i] * wj < share[j] * wi;
}

/// Quotas first, less what is not there; then one GPU at a time; looking at every queue every time.
Shares slow_shares(const std::vector<Want>& wants, std::int64_t gpus) {
  Shares share;
  Shares demand;
  std::int64_t left = gpus;
  for (const Want& want : wants) {
    demand.push_back(want.limit ? std::min(want.demand, *want.limit) : want.demand);
    share.push_back(std::min(want.quota.value_or(0), demand.back()));
    left -= share.back();
  }
  for (; left < 0; ++left) {
    std::size_t most = wants.size();
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (share[i] == 0) continue;
      if (most == wants.size() || !less_served(wants, share, i, most)) most = i;
    }
    --share[most];
  }
  for (; left > 0; --left) {
    std::size_t best = wants.size();
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (share[i] >= demand[i]) continue;
      if (best == wants.size() || less_served(wants, share, i, best)) best = i;
    }
    if (best == wants.size()) break;
    ++share[best];
  }
  return share;
}

TEST(FairShare, AgreesWithOneGpuAtATime) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Want> wants(random.between(1, 6));
    const std::int64_t gpus = random.between(0, 60);
    for (Want& want : wants) {
      want.weight = random.between(0, 5);
      want.demand = random.between(0, 40);
      if (random.chance(1, 3)) want.limit = random.between(0, 30);
      if (random.chance(1, 3)) want.quota = random.between(0, 30);
    }
    ASSERT_EQ(Tree(wants).shares(gpus), slow_shares(wants, gpus)) << "round " << round;
  }
}

TEST(FairShare, WithHistoryAgreesWithServingInOrder) {
  Random random(13);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Want> wants(random.between(1, 9));
    for (Want& want : wants) {
      want.weight = random.between(0, 4);
      want.demand = random.between(0, 20);
    }
    Tree tree(wants);
    tree.state().policy.fairness = FairnessKind::kWindow;
    tree.state().policy.fairness_span = Duration::days(7);
    std::vector<std::pair<Int128, std::size_t>> order;  // use/weight in a common unit
    constexpr std::int64_t kCommon = 12;                // divisible by every weight but 0
    for (std::size_t i = 0; i < wants.size(); ++i) {
      const std::int64_t use = random.between(0, 6);
      tree.state().queues[i + 1].usage.add_past(Instant(-5), Instant(-5), use);
      const std::int64_t weight = wants[i].weight;
      order.push_back({weight == 0 ? 1000 + use : use * kCommon / weight, i});
    }
    std::sort(order.begin(), order.end());
    const std::int64_t gpus = random.between(0, 60);
    Shares expected(wants.size(), 0);
    std::int64_t left = gpus;
    for (const auto& [use, i] : order) {
      expected[i] = std::min(left, wants[i].demand);
      left -= expected[i];
    }
    ASSERT_EQ(tree.shares(gpus), expected) << "round " << round;
  }
}

TEST(FairShare, NeverPassesDemandOrCapacityAndWastesNothing) {
  Random random(12);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Want> wants(random.between(2, 8));
    for (std::size_t i = 0; i < wants.size(); ++i) {
      wants[i].weight = random.between(0, 4);
      wants[i].demand = random.between(0, 20);
      if (random.chance(1, 2)) wants[i].quota = random.between(0, 20);
      // Any earlier queue may be the parent; parents take no jobs themselves.
      if (i > 0 && random.chance(1, 2)) {
        wants[i].parent = static_cast<QueueIndex>(random.between(1, static_cast<int>(i)));
        wants[static_cast<std::size_t>(wants[i].parent) - 1].demand = 0;
      }
    }
    const std::int64_t gpus = random.between(0, 40);
    Tree tree(wants);
    const Shares shares = tree.shares(gpus);
    for (QueueIndex q = 0; q < std::ssize(tree.state().queues); ++q) {
      const auto& children = tree.state().queues[q].children;
      if (children.empty()) continue;
      std::int64_t given = 0;
      std::int64_t wanted = 0;
      for (const QueueIndex c : children) {
        ASSERT_GE(shares[c - 1], 0);
        ASSERT_LE(shares[c - 1], tree.owners().demand(c));
        given += shares[c - 1];
        wanted += tree.owners().demand(c);
      }
      const std::int64_t own = q == 0 ? gpus : shares[q - 1];
      ASSERT_EQ(given, std::min(own, wanted)) << "round " << round << " below queue " << q;
    }
  }
}

TEST(Turn, GoesToTheQueueBelowItsQuotaThenToTheLeastServed) {
  Tree tree({{.weight = 1}, {.weight = 2}, {.weight = 1, .quota = 4}});
  Owners& owners = tree.owners();
  tree.shares(8);
  EXPECT_TRUE(owners.before(3, 1, kNone));   // below its quota
  owners.hold(3, 4000, true);
  EXPECT_TRUE(owners.before(1, 3, kNone));   // quota reached, and it holds more
  owners.hold(1, 1000, true);
  owners.hold(2, 1000, true);
  EXPECT_TRUE(owners.before(2, 1, kNone));   // 1/2 is less than 1/1
  owners.hold(2, 1000, true);
  EXPECT_TRUE(owners.before(1, 2, kNone));   // a tie: declared first
  EXPECT_TRUE(owners.before(2, 1, 2));       // a tie: it holds the reservation
}

TEST(Turn, UnchargedWorkCountsForLimitsOnly) {
  const std::vector<Want> wants{{.limit = 3}};
  Tree tree(wants);
  tree.owners().hold(1, 2000, false);
  EXPECT_EQ(tree.state().queues[1].held, 0);
  EXPECT_EQ(tree.state().queues[1].held_all, 2000);
  EXPECT_EQ(tree.owners().limit_hit(1, 1000), kNone);
  EXPECT_EQ(tree.owners().limit_hit(1, 1001), 1);
}

TEST(Turn, ExcessIsComparedWhereTheBranchesMeet) {
  // q1 (children q3, q4) and q2: q3 is far over its share, but its parent is not.
  Tree tree({{.weight = 1}, {.weight = 1, .demand = 0}, {.weight = 1, .parent = 1},
             {.weight = 1, .parent = 1}});
  tree.owners().hold(3, 5000, true);
  tree.owners().hold(2, 6000, true);
  tree.shares(8);   // demand 5 and 6: shares 4 and 4
  EXPECT_TRUE(tree.owners().excess(2, 3) > 0);
  EXPECT_TRUE(tree.owners().excess(3, 4) > 0);
  EXPECT_TRUE(tree.owners().excess(3, 3) == 0);
  EXPECT_TRUE(tree.owners().contains(1, 3));
  EXPECT_FALSE(tree.owners().contains(2, 3));
}

TEST(Owed, GrowsWithDemandUpToTheWeightsPart) {
  Tree tree({{.weight = 1, .demand = 6}, {.weight = 1, .demand = 1}});
  tree.shares(8);
  tree.owners().note_owed(Instant());
  EXPECT_EQ(tree.state().queues[1].owed_rate, 4000);
  EXPECT_EQ(tree.state().queues[2].owed_rate, 1000);
}

TEST(Owed, CountedLeafByLeafIsAsIfCountedAnew) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Want> wants;
    const std::int64_t queues = random.between(1, 12);
    for (std::int64_t q = 0; q < queues; ++q) {
      Want want;
      want.weight = random.between(0, 4);
      want.parent = static_cast<QueueIndex>(random.between(0, std::min<std::int64_t>(q, 4)));
      if (random.chance(1, 3)) want.limit = random.between(0, 6);
      wants.push_back(want);
    }
    Tree tree(wants);
    Owners& owners = tree.owners();
    std::vector<QueueIndex> leaves;
    for (QueueIndex q = 1; q < std::ssize(tree.state().queues); ++q) {
      if (owners.is_leaf(q)) leaves.push_back(q);
    }
    Demand waiting(tree.state().queues.size(), 0);
    owners.count_owed(waiting, 16);
    for (int step = 0; step < 40; ++step) {
      std::vector<QueueIndex> changed;
      for (std::int64_t i = random.between(0, 3); i > 0; --i) {
        const QueueIndex leaf = leaves[random.below(leaves.size())];
        if (random.chance(1, 2)) {
          waiting[leaf] = random.between(0, 9) * 500;
          changed.push_back(leaf);
        } else {
          const std::int64_t held = tree.state().queues[leaf].held;
          owners.hold(leaf, random.between(0, 8) * 500 - held, true);
        }
      }
      if (!owners.knows(16)) owners.count_owed(waiting, 16);
      owners.count_owed(waiting, changed);
      owners.note_owed(Instant(step));
      Owners anew(tree.state());
      anew.count_owed(waiting, 16);
      std::vector<std::int64_t> noted;
      for (const QueueRec& queue : tree.state().queues) noted.push_back(queue.owed_rate);
      anew.note_owed(Instant(step));
      for (QueueIndex q = 0; q < std::ssize(tree.state().queues); ++q) {
        ASSERT_EQ(owners.demand(q), anew.demand(q)) << "round " << round << " queue " << q;
        ASSERT_EQ(noted[q], tree.state().queues[q].owed_rate) << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace rota::engine
