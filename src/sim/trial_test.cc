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

TEST(Trial, ALongerSpanMakesUpForAShortOne) {
  // b holds all four until 50. a is owed two of them from 10 on, gets them at 50 and has done at
  // 90; from 100 on it has all four for 100 minutes, though two are its part.
  std::vector<TrialJob> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(job(0, 50, 1, "b"));
  for (int i = 0; i < 2; ++i) jobs.push_back(job(10, 40, 1, "a"));
  for (int i = 0; i < 4; ++i) jobs.push_back(job(100, 100, 1, "a"));
  TrialPlan plan = plan_of_four_gpus();
  plan.spans = {Duration::minutes(100), Duration::minutes(600), Duration::days(7)};
  for (const Instant until : {at_minute(600), TrialPlan::kWhenAllIsOver}) {
    plan.until = until;
    const auto result = run_trial(plan, jobs, {});
    ASSERT_TRUE(result) << result.error().message;
    const TrialQueue& a = result->queues[0];
    EXPECT_TRUE(a.owed == gpu_minutes(2 * 80 + 2 * 100));
    EXPECT_TRUE(a.delivered == gpu_minutes(2 * 40 + 2 * 100));
    ASSERT_EQ(a.delivered_over.size(), 3U);
    EXPECT_TRUE(a.delivered_over[0] == gpu_minutes(2 * 40 + 2 * 100));
    EXPECT_TRUE(a.delivered_over[1] == a.owed);
    EXPECT_TRUE(a.delivered_over[2] == a.owed);
    EXPECT_TRUE(result->delivered_over[0] == gpu_minutes(2 * 50) + a.delivered_over[0]);
  }
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

TrialPlan slurm_like_plan() {
  TrialPlan plan = plan_of_four_gpus();
  plan.policy.order = Order::kFifo;
  plan.policy.backfill = Backfill::kOff;
  plan.until = TrialPlan::kWhenAllIsOver;
  plan.passes = PassTimes{.after_event = Duration::seconds(3), .long_every = Duration::minutes(5)};
  return plan;
}

Duration wait_of(const TrialResult& result, const std::vector<TrialJob>& jobs, std::size_t at) {
  return Duration(result.times[at].started - jobs[at].submitted.ns());
}

TEST(Trial, ShortPassesStopAtTheFirstJobThatCannotStart) {
  // The second wants all four and waits for the first until 20. The third would fit at once, but
  // no short pass passes the second; it ends by 20, hence the long pass of minute 5 starts it.
  const std::vector<TrialJob> jobs{job(0, 10, 2, "a"), job(0, 10, 4, "a"), job(1, 4, 1, "a")};
  const auto result = run_trial(slurm_like_plan(), jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(wait_of(*result, jobs, 0), Duration());
  EXPECT_EQ(wait_of(*result, jobs, 1), Duration::minutes(10));
  EXPECT_EQ(wait_of(*result, jobs, 2), Duration::minutes(4));
  EXPECT_EQ(result->times[1].ended, at_minute(20).ns());
  EXPECT_EQ(result->finished, 3);
}

TEST(Trial, ShortPassesKeepTheirDistance) {
  // Submitted one second after a pass: the next is due three seconds after it.
  std::vector<TrialJob> jobs{job(0, 10, 1, "a"), job(0, 10, 1, "a")};
  jobs[1].submitted = at_minute(0) + Duration::seconds(1);
  const auto result = run_trial(slurm_like_plan(), jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(wait_of(*result, jobs, 1), Duration::seconds(2));
}

TEST(Trial, LaunchAndReleaseHoldTheGpusLonger) {
  TrialPlan plan = slurm_like_plan();
  plan.passes->launch = Duration::seconds(2);
  plan.passes->release = Duration::seconds(1);
  std::vector<TrialJob> jobs{job(0, 10, 4, "a"), job(1, 10, 4, "a")};
  const auto result = run_trial(plan, jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->times[0].ended, (at_minute(10) + Duration::seconds(2)).ns());
  EXPECT_EQ(result->times[1].started, (at_minute(10) + Duration::seconds(3)).ns());
}

TEST(Trial, EndsWhenAllIsOverThoughOneJobNeverStarts) {
  for (const bool passes : {false, true}) {
    TrialPlan plan = slurm_like_plan();
    plan.policy.backfill = Backfill::kEasy;
    if (!passes) plan.passes.reset();
    const std::vector<TrialJob> jobs{job(0, 10, 8, "a"), job(1, 10, 4, "a")};
    const auto result = run_trial(plan, jobs, {});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->started, 1);
    EXPECT_EQ(result->times[0].started, TrialTimes::kNever);
    EXPECT_EQ(result->times[1].ended, at_minute(11).ns()) << passes;
    EXPECT_EQ(result->finished, 1);
  }
}

TEST(Trial, AJobIsCutAtItsTimeLimit) {
  TrialPlan plan = plan_of_four_gpus();
  std::vector<TrialJob> jobs{job(0, 10, 4, "a")};
  jobs[0].spec.time_limit = Duration::minutes(6);
  const auto result = run_trial(plan, jobs, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->times[0].cut);
  EXPECT_EQ(result->times[0].ended, at_minute(6).ns());
  EXPECT_EQ(result->times[0].attempts, 1);
}

TEST(Trial, RefusesPassesWithoutDistance) {
  TrialPlan plan = slurm_like_plan();
  plan.passes->long_every = Duration();
  const auto result = run_trial(plan, {job(0, 10, 4, "a")}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("between passes"), std::string::npos);
}

}  // namespace
}  // namespace rota::sim
