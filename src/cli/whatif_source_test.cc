#include "cli/whatif_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cli/test_world.h"
#include "cli/whatif_run.h"
#include "history/read.h"

namespace rota::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct ReadJobs {
  sim::PastJobs past;
  LeftOut left_out;
  std::int64_t stopped = 0;
  std::vector<NodeSpec> nodes;
};

ReadJobs jobs_from(const std::string& text) {
  const auto history = history::read_history_text(text, "jobs.csv", {});
  EXPECT_TRUE(history) << (history ? "" : history.error().message);
  ReadJobs out;
  out.past = past_jobs_of(*history, out.left_out, out.stopped);
  out.nodes = nodes_named_in(*history);
  return out;
}

TEST(WhatIfSource, WhatARowTells) {
  const ReadJobs read = jobs_from(
      "id,queue,class,submit,eligible,start,end,state,gpus,limit,nodes,priority\n"
      "7,vision,debug,100,110,160,200,COMPLETED,h100:2,1h,n1,5\n");
  ASSERT_EQ(read.past.jobs.size(), 1U);
  const sim::PastJob& job = read.past.jobs[0];
  EXPECT_EQ(job.submitted, 110 * kSecond);
  EXPECT_EQ(job.wait(), 50 * kSecond);
  EXPECT_EQ(job.runtime, 40 * kSecond);
  EXPECT_EQ(job.ended, 200 * kSecond);
  EXPECT_EQ(job.time_limit, 3600 * kSecond);
  EXPECT_EQ(job.milli, 2000);
  EXPECT_EQ(job.priority, 5);
  EXPECT_EQ(read.past.teams[job.team], "vision");
  EXPECT_EQ(read.past.classes[job.job_class], "debug");
  EXPECT_EQ(read.past.models[job.model], "h100");
  EXPECT_TRUE(read.past.tells_waits());
}

TEST(WhatIfSource, WithoutASubmitTimeNoWaitIsTold) {
  const ReadJobs read = jobs_from(
      "id,start,end,state,gpus\n1,100,200,COMPLETED,1\n2,150,250,COMPLETED,1\n");
  ASSERT_EQ(read.past.jobs.size(), 2U);
  EXPECT_EQ(read.past.jobs[1].submitted, 150 * kSecond) << "its start is the best there is";
  EXPECT_EQ(read.past.jobs[1].ended, 250 * kSecond);
  EXPECT_FALSE(read.past.jobs[1].tells_wait());
  EXPECT_FALSE(read.past.tells_waits());
}

TEST(WhatIfSource, WhatTheSystemStoppedIsNotReplayed) {
  // 50 s are lost by a preemption; 30 s fail and 20 s complete.
  const ReadJobs read = jobs_from(
      "id,submit,start,end,state,gpus\n"
      "1,0,0,50,PREEMPTED,1\n1,50,60,90,FAILED,1\n1,90,90,110,COMPLETED,1\n"
      "2,0,10,40,NODE_FAIL,1\n");
  ASSERT_EQ(read.past.jobs.size(), 2U);
  EXPECT_EQ(read.past.jobs[0].runtime, 50 * kSecond);
  EXPECT_EQ(read.past.jobs[0].ended, 110 * kSecond);
  EXPECT_EQ(read.past.jobs[1].runtime, 30 * kSecond) << "nothing but what was stopped";
  EXPECT_EQ(read.stopped, 2);
}

TEST(WhatIfSource, JobsThatCannotBeReplayedAreCounted) {
  const ReadJobs read = jobs_from(
      "id,submit,start,end,state,gpus\n"
      "1,0,,5,CANCELLED,1\n2,0,1,2,COMPLETED,0\n3,0,1,2,COMPLETED,\n4,0,1,2,COMPLETED,1\n");
  EXPECT_EQ(read.past.jobs.size(), 1U);
  EXPECT_EQ(read.left_out.never_ran, 1);
  EXPECT_EQ(read.left_out.no_gpu, 2);
}

TEST(WhatIfSource, NodesHaveTheMostEverHeldOnTheirKind) {
  // a1 is seen with 4 at once and a2 with 1: both are nodes of 4. A job on two lists both.
  const ReadJobs read = jobs_from(
      "id,submit,start,end,state,gpus,nodes\n"
      "1,0,0,10,COMPLETED,a100:2,a1\n2,0,5,10,COMPLETED,a100:2,a1\n"
      "3,0,10,20,COMPLETED,1,a2\n4,0,20,30,COMPLETED,h100:16,h1+h2\n");
  ASSERT_EQ(read.nodes.size(), 4U);
  EXPECT_EQ(read.nodes[0].name, "a1");
  EXPECT_EQ(read.nodes[1].devices.size(), 4U);
  EXPECT_EQ(read.nodes[1].devices[0].model, "a100") << "as the others of its name";
  EXPECT_EQ(read.nodes[3].devices.size(), 8U);
  EXPECT_EQ(read.nodes[3].devices[0].model, "h100");
}

TEST(WhatIfSource, WithoutNodesTheMostHeldIsTheCluster) {
  const ReadJobs read = jobs_from(
      "id,submit,start,end,state,gpus\n1,0,0,10,COMPLETED,9\n2,0,10,20,COMPLETED,8\n");
  EXPECT_TRUE(read.nodes.empty());
  const auto nodes = nodes_for_most_held(read.past);
  ASSERT_EQ(nodes.size(), 2U) << "9 GPUs in nodes of 8";
  EXPECT_EQ(nodes[0].devices.size(), 8U);
}

WhatIfSource real_run(TestWorld& world, const std::string& on) {
  HistoryOptions options;
  options.files = {std::string(ROTA_SOURCE_DIR) + "/tests/data/slurm/trace40n_slurm_out.csv"};
  auto source = whatif_source(world.context, options, on);
  EXPECT_TRUE(source) << (source ? "" : source.error().message);
  return source ? std::move(*source) : WhatIfSource{};
}

TEST(WhatIfSource, TheClusterOfARealRun) {
  TestWorld world;
  const WhatIfSource source = real_run(world, "");
  EXPECT_EQ(source.past.jobs.size(), 700U);
  EXPECT_EQ(source.cluster_from, ClusterFrom::kNodesOfHistory);
  ASSERT_EQ(source.nodes.size(), 40U);
  std::int64_t a100 = 0;
  for (const NodeSpec& node : source.nodes) {
    EXPECT_EQ(node.devices.size(), 8U) << node.name;
    a100 += node.devices[0].model == "a100" ? 1 : 0;
    EXPECT_EQ(node.devices[0].model, node.name[0] == 'a' ? "a100" : "h100");
  }
  EXPECT_EQ(a100, 20);
}

// A run of 700 jobs on a real Slurm: a replay under Slurm's documented defaults, with the back-fill
// interval that it was run with, reproduces what was observed. No figure was fitted to it.
TEST(WhatIfSource, AReplayReproducesARealRunOfSlurm) {
  TestWorld world;
  const WhatIfSource source = real_run(world, "");
  const auto today = find_today(world.context, source, "slurm-like,backfill-every=10s",
                                measure_of(source));
  ASSERT_TRUE(today) << today.error().message;
  EXPECT_EQ(today->observed.wait.mean.whole_seconds(), 14);
  EXPECT_EQ(today->observed.makespan, Duration::seconds(255));
  EXPECT_LT(std::abs(today->fidelity.mean), 0.10) << today->fidelity.mean;
  EXPECT_LT(std::abs(today->fidelity.p50), 0.10);
  EXPECT_LT(std::abs(today->fidelity.p90), 0.10);
  EXPECT_LT(std::abs(today->fidelity.makespan), 0.03) << today->fidelity.makespan;
  EXPECT_EQ(today->fidelity.trust, sim::Trust::kGood);
  EXPECT_EQ(today->replayed.started, 700);
}

TEST(WhatIfSource, AWrongPolicyIsNotTrusted) {
  TestWorld world;
  const WhatIfSource source = real_run(world, "");
  const auto today = find_today(world.context, source, "greedy", measure_of(source));
  ASSERT_TRUE(today);
  EXPECT_EQ(today->fidelity.trust, sim::Trust::kPoor);
}

TEST(WhatIfSource, TodaysPolicyIsTheNearestOfAFew) {
  TestWorld world;
  const WhatIfSource source = real_run(world, "");
  const auto today = find_today(world.context, source, "", measure_of(source));
  ASSERT_TRUE(today);
  ASSERT_EQ(today->tried.size(), 4U);
  for (const TodayTry& one : today->tried) {
    EXPECT_GE(std::abs(one.fidelity.mean), std::abs(today->fidelity.mean)) << one.name;
  }
}

}  // namespace
}  // namespace rota::cli
