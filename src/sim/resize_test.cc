#include "sim/resize.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/setup.h"

namespace rota::sim {
namespace {

std::vector<NodeSpec> three_nodes() {
  std::vector<NodeSpec> nodes;
  add_nodes(nodes, 2, {8, "a100"});
  add_nodes(nodes, 1, {4, "h100"});
  return nodes;
}

std::size_t names_of_all(const std::vector<NodeSpec>& nodes) {
  std::set<std::string> names;
  for (const NodeSpec& node : nodes) names.insert(node.name);
  return names.size();
}

TEST(Resize, TheUsualKindIsWhatMostNodesAre) {
  const auto nodes = three_nodes();
  EXPECT_EQ(usual_kind(nodes, "").gpus, 8);
  EXPECT_EQ(usual_kind(nodes, "").model, "a100");
  EXPECT_EQ(usual_kind(nodes, "h100").gpus, 4);
  EXPECT_EQ(usual_kind({}, "b200").model, "b200");
}

TEST(Resize, GpusComeInWholeNodesAndARest) {
  auto nodes = three_nodes();
  add_gpus(nodes, 18, {8, "a100"});
  ASSERT_EQ(nodes.size(), 6U);
  EXPECT_EQ(nodes.back().devices.size(), 2U);
  EXPECT_EQ(gpus_of(nodes), 38);
  EXPECT_EQ(names_of_all(nodes), 6U);
}

TEST(Resize, GpusGoFromTheLastNodes) {
  auto nodes = three_nodes();
  EXPECT_EQ(take_gpus(nodes, 6, ""), 6);
  ASSERT_EQ(nodes.size(), 2U) << "an empty node is gone";
  EXPECT_EQ(nodes.back().devices.size(), 6U);
  nodes = three_nodes();
  EXPECT_EQ(take_gpus(nodes, 6, "h100"), 4) << "there are no more of them";
  EXPECT_EQ(gpus_of(nodes), 16);
}

TEST(Resize, OtherCountsKeepTheMix) {
  const auto nodes = three_nodes();
  const auto six = with_node_count(nodes, 6);
  EXPECT_EQ(gpus_of(six), 40);
  EXPECT_EQ(names_of_all(six), 6U);
  EXPECT_EQ(gpus_of(with_node_count(nodes, 3)), 20);
  EXPECT_EQ(with_node_count(nodes, 3), nodes);
  EXPECT_EQ(with_node_count(nodes, 1).size(), 1U);
}

}  // namespace
}  // namespace rota::sim
