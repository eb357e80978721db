#include "sim/packing.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

NodeSpec node(const std::string& name, std::int64_t gpus, const std::string& model = "h100") {
  NodeSpec spec;
  spec.name = name;
  spec.cpus = 1000;
  spec.memory = gibibytes(1000);
  spec.devices.resize(static_cast<std::size_t>(gpus));
  for (DeviceSpec& device : spec.devices) device.model = model;
  return spec;
}

JobShape task(std::int64_t milli, std::vector<std::string> models = {}) {
  JobShape shape;
  shape.task.gpus = MilliGpu(milli);
  shape.task.cpus = 1;
  shape.models = std::move(models);
  return shape;
}

std::vector<PackingResult> run(const std::vector<NodeSpec>& nodes,
                               const std::vector<JobShape>& tasks, const PackingRun& how) {
  const auto results = run_packing(nodes, tasks, how, [](double) {});
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().message);
  return results.ok() ? *results : std::vector<PackingResult>();
}

TEST(Packing, AFullClusterIsFullAndTheRestIsLost) {
  const auto results = run({node("a", 4), node("b", 4)}, {task(1000)},
                           {.placement = Placement::kPack, .seed = 1, .loads = {0.5, 1.0, 2.0}});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_DOUBLE_EQ(results[0].allocated_percent, 50);
  EXPECT_DOUBLE_EQ(results[0].lost_demand_percent, 0);
  EXPECT_DOUBLE_EQ(results[1].allocated_percent, 100);
  EXPECT_DOUBLE_EQ(results[2].allocated_percent, 100);
  EXPECT_EQ(results[2].arrived, 16);
  EXPECT_DOUBLE_EQ(results[2].lost_demand_percent, 50);
  EXPECT_DOUBLE_EQ(results[2].refused_percent.at("1"), 50);
}

// Pairs come between single ones: spreading breaks the pairs of devices, packing keeps them.
TEST(Packing, PackingKeepsRoomForLargeTasksAndSpreadingDoesNot) {
  std::vector<NodeSpec> nodes;
  nodes.reserve(nodes.size() + 16);
  for (int i = 0; i < 16; ++i) nodes.push_back(node("n" + std::to_string(i), 4));
  const std::vector<JobShape> tasks{task(1000), task(1000), task(4000)};
  double packed = 0;
  double spread = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    packed += run(nodes, tasks, {.placement = Placement::kPack, .seed = seed, .loads = {1.0}})[0]
                  .allocated_percent;
    spread += run(nodes, tasks, {.placement = Placement::kSpread, .seed = seed, .loads = {1.0}})[0]
                  .allocated_percent;
  }
  EXPECT_GT(packed, spread + 50);
}

TEST(Packing, AnImpossibleTaskNeverArrives) {
  const auto results = run({node("a", 4)}, {task(1000), task(8000), task(1000, {"t4"})},
                           {.placement = Placement::kPack, .seed = 1, .loads = {1.0}});
  EXPECT_EQ(results[0].infeasible, 2);
  EXPECT_FALSE(results[0].refused_percent.contains("8"));
  EXPECT_DOUBLE_EQ(results[0].allocated_percent, 100);
}

// A third of the demand can only use the few t4: those who may go anywhere must leave them alone.
TEST(Packing, LeastFragmentationKeepsAContestedModelForThoseWhoNeedIt) {
  std::vector<NodeSpec> nodes;
  nodes.reserve(nodes.size() + 4);
  for (int i = 0; i < 4; ++i) nodes.push_back(node("t" + std::to_string(i), 4, "t4"));
  nodes.reserve(nodes.size() + 8);
  for (int i = 0; i < 8; ++i) nodes.push_back(node("h" + std::to_string(i), 4, "h100"));
  const std::vector<JobShape> tasks{task(1000), task(1000), task(1000, {"t4"})};
  const auto lost = [&](Placement placement) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      sum += run(nodes, tasks, {.placement = placement, .seed = seed, .loads = {0.9}})[0]
                 .lost_demand_percent;
    }
    return sum / 5;
  };
  EXPECT_LT(lost(Placement::kLeastFragmentation), 2);
  EXPECT_GT(lost(Placement::kPack), 10);
}

TEST(Packing, MovesMakeRoomForLargeTasks) {
  std::vector<NodeSpec> nodes;
  nodes.reserve(nodes.size() + 20);
  for (int i = 0; i < 20; ++i) nodes.push_back(node("n" + std::to_string(i), 8));
  std::vector<JobShape> tasks(12, task(1000));
  tasks.push_back(task(8000));
  PackingRun how{.placement = Placement::kSpread, .seed = 7, .loads = {0.6}, .arrivals = 4000};
  const PackingResult fixed = run(nodes, tasks, how)[0];
  how.moves_max = 8;
  const PackingResult moved = run(nodes, tasks, how)[0];
  EXPECT_EQ(fixed.moves_per_1000, 0);
  EXPECT_GT(moved.moves_per_1000, 0);
  EXPECT_LT(moved.refused_percent.at("8"), fixed.refused_percent.at("8") / 2);
  EXPECT_GT(moved.allocated_percent, fixed.allocated_percent);
}

// Counting begins when the demand has come up to the load, however few arrivals are counted.
TEST(Packing, WithDeparturesTheLoadIsReached) {
  std::vector<NodeSpec> nodes;
  nodes.reserve(nodes.size() + 100);
  for (int i = 0; i < 100; ++i) nodes.push_back(node("n" + std::to_string(i), 8));
  double demand = 0;
  double held = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto results = run(nodes, {task(1000), task(500)},
                             {.seed = seed, .loads = {0.8}, .arrivals = 1500});
    demand += results[0].demand_percent / 10;
    held += results[0].allocated_percent / 10;
  }
  EXPECT_NEAR(demand, 80, 2);
  EXPECT_NEAR(held, demand, 0.1);
}

// One t4 node is full of tasks that must be there, so those that may also be elsewhere are not.
TEST(Packing, ATaskOfSeveralModelsTakesAnyNodeOfThem) {
  const auto results =
      run({node("a", 4, "t4"), node("b", 4, "h100"), node("c", 4, "a100")},
          {task(1000, {"t4"}), task(1000, {"t4", "h100"})},
          {.placement = Placement::kLeastFragmentation, .seed = 1, .loads = {10.0}});
  EXPECT_NEAR(results[0].allocated_percent, 100.0 * 8 / 12, 0.001);
}

TEST(Packing, TheSameSeedGivesTheSameNumbers) {
  std::vector<NodeSpec> nodes{node("a", 8), node("b", 4, "t4"), node("c", 8)};
  const std::vector<JobShape> tasks{task(1000), task(500), task(4000), task(250, {"t4", "h100"})};
  const PackingRun how{.placement = Placement::kLeastFragmentation, .seed = 3, .loads = {0.8},
                       .arrivals = 2000, .moves_max = 8};
  const PackingResult a = run(nodes, tasks, how)[0];
  const PackingResult b = run(nodes, tasks, how)[0];
  EXPECT_EQ(a.allocated_percent, b.allocated_percent);
  EXPECT_EQ(a.refused_percent, b.refused_percent);
  EXPECT_EQ(a.moves_per_1000, b.moves_per_1000);
}

TEST(Packing, WrongWishesAreRefused) {
  const auto code = [](const std::vector<NodeSpec>& nodes, const std::vector<JobShape>& tasks,
                       const PackingRun& how) {
    return run_packing(nodes, tasks, how, [](double) {}).ok();
  };
  EXPECT_FALSE(code({node("a", 0)}, {task(1000)}, {.loads = {1.0}}));
  EXPECT_FALSE(code({node("a", 4)}, {task(8000)}, {.loads = {1.0}}));
  EXPECT_FALSE(code({node("a", 4)}, {task(1000)}, {.loads = {}}));
  EXPECT_FALSE(code({node("a", 4)}, {task(1000)}, {.loads = {1.0, 0.5}}));
  EXPECT_FALSE(code({node("a", 4)}, {task(1000)}, {.loads = {0.5, 1.0}, .arrivals = 10}));
}

}  // namespace
}  // namespace rota::sim
