#include "cli/whatif_changes.h"

#include <gtest/gtest.h>

#include <fstream>

namespace rota::cli {
namespace {

sim::Setup on_four_nodes() {
  sim::Setup setup;
  setup.nodes = sim::uniform_nodes(4, 8);
  sim::set_rules(setup, sim::Rules::kEasy);
  return setup;
}

sim::Setup changed(const std::vector<std::string>& changes) {
  sim::Setup setup = on_four_nodes();
  for (const std::string& text : changes) {
    const auto change = parse_change("--change", text);
    EXPECT_TRUE(change) << (change ? "" : change.error().message);
    if (!change) continue;
    const auto status = apply_change(*change, setup);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
  }
  return setup;
}

std::string refusal_of(const std::string& text) {
  const auto change = parse_change("--change", text);
  if (!change) return change.error().message;
  sim::Setup setup = on_four_nodes();
  const auto status = apply_change(*change, setup);
  return status ? "" : status.error().message;
}

TEST(WhatIfChanges, Clusters) {
  EXPECT_EQ(sim::gpus_of(changed({"gpus=+16"}).nodes), 48);
  EXPECT_EQ(sim::gpus_of(changed({"gpus=-4"}).nodes), 28);
  EXPECT_EQ(sim::gpus_of(changed({"gpus=20"}).nodes), 20);
  EXPECT_EQ(sim::gpus_of(changed({"gpus=+4:h100"}).nodes), 36);
  EXPECT_EQ(changed({"nodes=+2"}).nodes.size(), 6U);
  EXPECT_EQ(changed({"nodes=-1"}).nodes.size(), 3U);
  EXPECT_EQ(changed({"nodes=7"}).nodes.size(), 7U);
  const auto mixed = changed({"nodes=+2x4:h100"});
  ASSERT_EQ(mixed.nodes.size(), 6U);
  EXPECT_EQ(mixed.nodes.back().devices.size(), 4U);
  EXPECT_EQ(mixed.nodes.back().devices[0].model, "h100");
  EXPECT_EQ(sim::gpus_of(changed({"on=2x4", "gpus=+4"}).nodes), 12) << "one after the other";
}

TEST(WhatIfChanges, Rules) {
  EXPECT_EQ(changed({"policy=fifo"}).policy.backfill, Backfill::kOff);
  EXPECT_EQ(changed({"backfill=greedy"}).policy.backfill, Backfill::kGreedy);
  EXPECT_EQ(changed({"order=priority"}).policy.order, Order::kPriority);
  EXPECT_EQ(changed({"placement=spread"}).policy.placement, Placement::kSpread);
  EXPECT_EQ(changed({"spill=cheapest"}).policy.spill, Spill::kCheapest);
  const auto contracts = changed({"policy=contracts", "contract=4h", "checkpoint=none"});
  EXPECT_EQ(contracts.contract, Duration::hours(4));
  EXPECT_FALSE(contracts.checkpoint);
  EXPECT_EQ(contracts.policy.order, Order::kFair);
  const auto fair = changed({"fairness=half_life:3d"});
  EXPECT_EQ(fair.policy.fairness, FairnessKind::kHalfLife);
  EXPECT_EQ(fair.policy.fairness_span, Duration::days(3));
  const auto slurm = changed({"policy=slurm-like", "backfill-every=10s", "main-after=0s",
                              "backfill=easy", "launch=2s"});
  ASSERT_TRUE(slurm.passes);
  EXPECT_EQ(slurm.passes->long_every, Duration::seconds(10));
  EXPECT_EQ(slurm.passes->after_event, Duration());
  EXPECT_EQ(slurm.passes->in_long, Backfill::kEasy);
  EXPECT_EQ(slurm.passes->launch, Duration::seconds(2));
  EXPECT_EQ(changed({"time-limit-factor=1.5"}).limit_permille, 1500);
  EXPECT_EQ(changed({"reaction=0.2"}).reaction_permille, 200);
}

TEST(WhatIfChanges, Owners) {
  const auto setup = changed({"weights=a=3:b=2", "quota=a:16", "limit=b:0.5", "debug=2:5m",
                              "debug-gpus=4", "debug-weight=0.1"});
  EXPECT_EQ(setup.shares.at("a").weight, 3);
  EXPECT_EQ(setup.shares.at("a").quota, whole_gpus(16));
  EXPECT_EQ(setup.shares.at("b").limit, MilliGpu(500));
  ASSERT_TRUE(setup.short_class);
  EXPECT_EQ(setup.short_class->milli_max, 2000);
  EXPECT_EQ(setup.short_class->runtime_max, Duration::minutes(5));
  EXPECT_EQ(setup.short_class->gpus_kept, 4);
  EXPECT_EQ(setup.short_class->part_milli, 100);
}

TEST(WhatIfChanges, AConfigurationIsAPolicy) {
  const std::string file = testing::TempDir() + "whatif_rota.yaml";
  std::ofstream(file) << "policy: {order: fair, fairness: instant}\n"
                         "queues: {vision: {weight: 3, limit: 8}}\n"
                         "defaults: {min_runtime: 1h}\n";
  const auto setup = changed({"policy=" + file});
  EXPECT_EQ(setup.policy.fairness, FairnessKind::kInstant);
  EXPECT_EQ(setup.contract, Duration::hours(1));
  ASSERT_EQ(setup.queues.size(), 1U);
  EXPECT_EQ(setup.queues[0].limit, whole_gpus(8));
  EXPECT_FALSE(setup.classes.empty());
  EXPECT_NE(refusal_of("policy=./nowhere.yaml").find("nowhere.yaml"), std::string::npos);
}

TEST(WhatIfChanges, RefusalsSayWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpus", "expected KEY=VALUE"},
      {"gpu=+3", "did you mean 'gpus'"},
      {"zzz=1", "expected one of policy"},
      {"policy=time-fare", "did you mean 'time-fair'"},
      {"backfill=eazy", "did you mean 'easy'"},
      {"gpus=many", "GPUs to add (+16"},
      {"gpus=-32", "to leave some"},
      {"gpus=+999999", "1,000,000"},
      {"nodes=-4", "to leave some"},
      {"nodes=2x4", "nodes to add"},
      {"nodes=+1x0", "nodes to add"},
      {"on=many", "a cluster"},
      {"contract=soon", "or none"},
      {"grace=-1s", "a duration like"},
      {"fairness=window", "window:7d"},
      {"weights=a", "team=WEIGHT"},
      {"quota=16", "TEAM:GPUS"},
      {"limit=a:-1", "TEAM:GPUS"},
      {"debug=15m", "GPUS:TIME"},
      {"debug-gpus=32", "below those of the cluster"},
      {"reaction=much", "a number like"},
      {"backfill-every=10s", "policy=slurm-like before it"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(refusal_of(text).find(expected), std::string::npos)
        << text << ": " << refusal_of(text);
  }
}

}  // namespace
}  // namespace rota::cli
