#include "sim/trial.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

Instant at_minute(std::int64_t m) { return Instant() + Duration::minutes(m); }

TrialJob job(std::int64_t submit_m, std::int64_t runtime_m, std::int64_t gpus,
             const std::string& queue) {
  TrialJob out;
  out.submitted = at_minute(submit_m);
  out.runtime = Duration::minutes(runtime_m);
  out.spec.queue = queue;
  out.spec.shape.task.gpus = whole_gpus(gpus);
  out.spec.time_limit = Duration::minutes(2 * runtime_m);
  out.spec.min_runtime = Duration::minutes(60);
  out.spec.checkpoint = Duration::minutes(30);
  return out;
}

TrialPlan plan_of_four_gpus() {
  TrialPlan plan;
  plan.policy.quarantine_after.reset();
  plan.nodes = uniform_nodes(1, 4);
  plan.queues = {{.name = "a"}, {.name = "b"}};
  plan.until = at_minute(600);
  return plan;
}

Int128 gpu_minutes(std::int64_t n) {
  return Int128{Duration::minutes(n).ns()} * kWholeGpu.value();
}

TEST(Trial, AQueueGetsWhatItIsOwedWhenContractsEnd) {
  // a holds all four from 0 on, one GPU a job; b is owed two from minute 10 on and gets them at 60.
  std::vector<TrialJob> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(job(0, 200, 1, "a"));
  jobs.push_back(job(10, 40, 1, "b"));
  jobs.back().kind = 1;
  jobs.push_back(job(10, 40, 1, "b"));
  jobs.back().kind = 1;
  const auto result = run_trial(plan_of_four_gpus(), jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->jobs, 6);
  EXPECT_EQ(result->started, 6);
  EXPECT_EQ(result->finished, 6);
  EXPECT_EQ(result->evictions, 2);
  ASSERT_EQ(result->queues.size(), 2U);
  const TrialQueue& b = result->queues[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.wait.max, Duration::minutes(50));
  EXPECT_TRUE(b.owed == gpu_minutes(2 * 90)) << "from 10 to 100";
  EXPECT_TRUE(b.delivered == gpu_minutes(2 * 40));
  ASSERT_EQ(result->wait_of_kind.size(), 2U);
  EXPECT_EQ(result->wait_of_kind[0].max, Duration());
  EXPECT_EQ(result->wait_of_kind[1].max, Duration::minutes(50));
  EXPECT_TRUE(result->lost == 0) << "stopped at 60, a checkpoint";
  EXPECT_TRUE(result->held == gpu_minutes(4 * 200 + 2 * 40));
}

TEST(Trial, WorkSinceTheLastCheckpointIsDoneAgain) {
  std::vector<TrialJob> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(job(0, 200, 1, "a"));
    jobs.back().spec.checkpoint = Duration::minutes(50);
  }
  jobs.push_back(job(10, 40, 1, "b"));
  const auto result = run_trial(plan_of_four_gpus(), jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->evictions, 1);
  EXPECT_TRUE(result->lost == gpu_minutes(10));
  EXPECT_TRUE(result->held == gpu_minutes(4 * 200 + 40 + 10));
}

TEST(Trial, EndsAtItsEnd) {
  TrialPlan plan = plan_of_four_gpus();
  plan.until = at_minute(100);
  const auto result = run_trial(
      plan, {job(0, 200, 4, "a"), job(5, 10, 4, "a"), job(100, 1, 1, "b")}, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->jobs, 2);
  EXPECT_EQ(result->started, 1);
  EXPECT_EQ(result->finished, 0);
  EXPECT_TRUE(result->capacity == gpu_minutes(400));
  EXPECT_TRUE(result->held == gpu_minutes(400));
}

TEST(Trial, RefusesWhatIsNoTrial) {
  EXPECT_FALSE(run_trial(plan_of_four_gpus(), {job(5, 1, 1, "a"), job(0, 1, 1, "a")}, {}));
  EXPECT_FALSE(run_trial(plan_of_four_gpus(), {job(5, 0, 1, "a")}, {}));
  const auto unknown = run_trial(plan_of_four_gpus(), {job(5, 1, 1, "zzz")}, {});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->refused, 1);
}

}  // namespace
}  // namespace rota::sim
