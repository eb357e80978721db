#include "sim/drain_one.h"

#include <gtest/gtest.h>

#include <memory>

namespace rota::sim {
namespace {

/// Two nodes of four GPUs and 32 CPUs, and tasks put on them by hand.
class TwoNodes {
 public:
  TwoNodes() {
    for (const char* name : {"a", "b"}) {
      engine::NodeRec rec;
      rec.spec.name = name;
      rec.spec.cpus = 32;
      rec.spec.memory = gibibytes(64);
      rec.spec.devices.resize(4);
      rec.devices.resize(4);
      ledger_.add_node(topology_.add(rec.spec));
      state_.nodes.push_back(std::move(rec));
    }
  }
  const engine::Request& wish(std::int64_t milli, std::int64_t cpus) {
    JobShape shape;
    shape.task.gpus = MilliGpu(milli);
    shape.task.cpus = cpus;
    const engine::ShapeIndex index = requests_.intern(shape);
    requests_.compile(index, state_, topology_, ledger_);
    return requests_.at(index);
  }
  /// A task on the first devices of the node that hold it.
  std::int64_t put(engine::NodeIndex node, std::int64_t milli, std::int64_t cpus) {
    wishes_.push_back(std::make_unique<engine::Request>(wish(milli, cpus)));
    auto held = placer_.fit_on_node(ledger_, *wishes_.back(), node, engine::kNone, nullptr);
    EXPECT_TRUE(held.has_value());
    ledger_.take(*held);
    residents_[static_cast<std::size_t>(node)].push_back({++last_, *held, wishes_.back().get()});
    return last_;
  }
  std::optional<DrainPlan> drain(std::int64_t milli, std::int64_t cpus, std::int64_t moves_max) {
    const engine::Request request = wish(milli, cpus);
    EXPECT_FALSE(placer_.place(ledger_, request, 1).has_value()) << "it fits as it is";
    const engine::Ledger before = ledger_;
    auto plan = drain_one(placer_, ledger_, request, residents_, moves_max);
    EXPECT_EQ(ledger_, before);
    return plan;
  }

 private:
  engine::State state_;
  engine::Topology topology_;
  engine::RequestTable requests_;
  engine::Ledger ledger_;
  engine::Placer placer_{state_, topology_};
  std::vector<std::vector<Resident>> residents_ = std::vector<std::vector<Resident>>(2);
  std::vector<std::unique_ptr<engine::Request>> wishes_;
  std::int64_t last_ = 0;
};

TEST(DrainOne, MovesTheFewestThatMakeRoom) {
  TwoNodes nodes;
  nodes.put(0, 1000, 1);
  nodes.put(0, 1000, 1);
  const std::int64_t alone = nodes.put(1, 1000, 1);
  const auto plan = nodes.drain(4000, 1, 8);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->moves[0].first, alone);
  EXPECT_EQ(plan->moves[0].second.node, 0);
  EXPECT_EQ(plan->place.node, 1);
  EXPECT_FALSE(nodes.drain(4000, 1, 0).has_value());
}

TEST(DrainOne, MovesATaskWithoutGpusWhereOnlyCpusAreShort) {
  TwoNodes nodes;
  nodes.put(0, 0, 4);
  const std::int64_t large = nodes.put(0, 0, 12);
  nodes.put(1, 2000, 8);
  const auto plan = nodes.drain(4000, 24, 8);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->moves[0].first, large);
  EXPECT_EQ(plan->moves[0].second.node, 1);
  EXPECT_EQ(plan->place.node, 0);
}

TEST(DrainOne, LeavesTasksOfSeveralGpusWhereTheyAre) {
  TwoNodes nodes;
  nodes.put(0, 2000, 1);
  nodes.put(1, 2000, 1);
  EXPECT_FALSE(nodes.drain(4000, 1, 8).has_value());
}

TEST(DrainOne, MovesNobodyWhoFindsNoOtherPlace) {
  TwoNodes nodes;
  nodes.put(0, 1000, 2);
  nodes.put(1, 2000, 31);  // one CPU is left there
  EXPECT_FALSE(nodes.drain(4000, 1, 8).has_value());
}

}  // namespace
}  // namespace rota::sim
