#include "sim/setup.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;

PastJobs past_of_two_teams() {
  PastJobs past;
  past.teams = {"", "vision", "speech"};
  past.classes = {"", "train"};
  past.models = {"", "h100", "tpu"};
  PastJob job{.submitted = 0, .runtime = 10 * kMinute, .milli = 1000, .team = 1};
  past.jobs.push_back(job);
  job.submitted = kMinute;
  job.milli = 16'000;
  job.tasks = 2;
  job.team = 2;
  job.model = 1;
  job.job_class = 1;
  job.time_limit = 60 * kMinute;
  job.priority = 7;
  past.jobs.push_back(job);
  return past;
}

Setup setup_with(Rules rules) {
  sim::Setup setup;
  setup.nodes = uniform_nodes(2, 8);
  for (NodeSpec& node : setup.nodes) {
    for (DeviceSpec& device : node.devices) device.model = "h100";
  }
  set_rules(setup, rules);
  return setup;
}

TEST(Setup, JobsAreShapedAsTheyRan) {
  const PastJobs past = past_of_two_teams();
  sim::Setup setup = setup_with(Rules::kEasy);
  const SetupJobs jobs(past, setup);
  EXPECT_EQ(jobs.job(0).spec.shape.tasks, 1);
  EXPECT_EQ(jobs.job(0).spec.queue, "vision");
  EXPECT_EQ(jobs.job(0).spec.time_limit, Duration::minutes(20)) << "not told: twice the run time";
  const TrialJob wide = jobs.job(1);
  EXPECT_EQ(wide.spec.shape.tasks, 2);
  EXPECT_EQ(wide.spec.shape.task.gpus, whole_gpus(8));
  EXPECT_EQ(wide.spec.shape.models, std::vector<std::string>{"h100"});
  EXPECT_EQ(wide.spec.time_limit, Duration::minutes(60));
  EXPECT_FALSE(wide.spec.min_runtime) << "nobody is stopped";
}

TEST(Setup, WideJobsAreCutToTheNodesThereAre) {
  PastJobs past = past_of_two_teams();
  past.jobs[1].model = 2;  // a model that the cluster does not have is no rule
  sim::Setup setup = setup_with(Rules::kEasy);
  setup.nodes = uniform_nodes(8, 4);
  const TrialJob wide = SetupJobs(past, setup).job(1);
  EXPECT_EQ(wide.spec.shape.tasks, 4);
  EXPECT_EQ(wide.spec.shape.task.gpus, whole_gpus(4));
  EXPECT_TRUE(wide.spec.shape.models.empty());
}

TEST(Setup, LimitsAndPriorities) {
  PastJobs past = past_of_two_teams();
  sim::Setup setup = setup_with(Rules::kPriority);
  EXPECT_EQ(SetupJobs(past, setup).job(1).spec.priority, 7);
  setup.priorities = Priorities::kOfWeights;
  setup.shares["speech"].weight = 3;
  setup.limit_permille = 500;
  EXPECT_EQ(SetupJobs(past, setup).job(1).spec.priority, 3);
  EXPECT_EQ(SetupJobs(past, setup).job(1).spec.time_limit, Duration::minutes(30));
  past.jobs[1].time_limit = kMinute;  // it ran for ten
  setup.limit_permille = 1000;
  EXPECT_EQ(SetupJobs(past, setup).job(1).spec.time_limit, Duration::minutes(10));
  past.jobs[0].unlimited = true;
  EXPECT_FALSE(SetupJobs(past, setup).job(0).spec.time_limit);
}

TEST(Setup, ShortJobsHaveAQueueUnderContracts) {
  const PastJobs past = past_of_two_teams();
  const sim::Setup setup = setup_with(Rules::kContracts);
  const SetupJobs jobs(past, setup);
  EXPECT_EQ(jobs.job(0).spec.queue, kShortQueue);
  EXPECT_EQ(jobs.job(0).spec.min_runtime, Duration::minutes(15));
  EXPECT_EQ(jobs.job(1).spec.queue, "speech");
  EXPECT_EQ(jobs.job(1).spec.min_runtime, Duration::hours(2));
  const TrialPlan plan = plan_of(past, setup);
  ASSERT_EQ(plan.queues.size(), 4U);
  EXPECT_EQ(plan.queues[0].name, kTeamsQueue);
  EXPECT_EQ(plan.queues[1].name, kShortQueue);
  EXPECT_EQ(plan.queues[2].parent, kTeamsQueue);
}

TEST(Setup, SweepsAreNoShortJobs) {
  PastJobs past = past_of_two_teams();
  past.jobs[1].milli = 1000;
  past.jobs[1].team = 1;  // a minute after the other one
  EXPECT_EQ(short_jobs(past, ShortClass{}), (std::vector<bool>{true, false}));
  EXPECT_EQ(short_jobs(past, ShortClass{.apart = Duration()}), (std::vector<bool>{true, true}));
  EXPECT_EQ(short_jobs(past, std::nullopt), (std::vector<bool>{false, false}));
}

TEST(Setup, DeclaredQueuesAndClassesHold) {
  const PastJobs past = past_of_two_teams();
  sim::Setup setup = setup_with(Rules::kContracts);
  setup.short_class.reset();
  setup.queues = {{.name = "research"}, {.name = "speech", .parent = "research", .weight = 4}};
  setup.shares["speech"].limit = whole_gpus(8);
  setup.classes = {{.name = "train", .min_runtime = Duration::hours(6), .charge = false}};
  const TrialPlan plan = plan_of(past, setup);
  ASSERT_EQ(plan.queues.size(), 3U) << "speech is declared; vision gets one beside";
  EXPECT_EQ(plan.queues[1].weight, 4);
  EXPECT_EQ(plan.queues[1].limit, whole_gpus(8));
  EXPECT_EQ(plan.queues[2].name, "vision");
  const TrialJob job = SetupJobs(past, setup).job(1);
  EXPECT_EQ(job.spec.min_runtime, Duration::hours(6));
  EXPECT_FALSE(job.spec.charge);
}

TEST(Setup, JobsGoToAnotherSiteWherePolicyLetsThem) {
  // Both jobs are at home in west, whose one node the first fills for an hour.
  PastJobs past = past_of_two_teams();
  past.sites = {"", "west", "nowhere"};
  for (PastJob& job : past.jobs) {
    job = {.submitted = job.submitted, .runtime = 60 * kMinute, .milli = 8000, .home = 1};
  }
  sim::Setup setup = setup_with(Rules::kEasy);
  setup.nodes[0].site = "west";
  setup.nodes[1].site = "east";
  EXPECT_EQ(SetupJobs(past, setup).job(0).spec.shape.data, "west");
  const auto wait_with = [&](Spill spill) {
    setup.policy.spill = spill;
    const auto result = run_trial(plan_of(past, setup), SetupJobs(past, setup), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? result->wait.max : Duration();
  };
  EXPECT_EQ(wait_with(Spill::kOff), Duration::minutes(59));
  EXPECT_EQ(wait_with(Spill::kCheapest), Duration());
  past.jobs[0].home = 2;  // a site that the cluster does not have is no home
  EXPECT_EQ(SetupJobs(past, setup).job(0).spec.shape.data, "");
}

TEST(Setup, EveryNamedPolicyRuns) {
  const PastJobs past = past_of_two_teams();
  for (const std::string_view name : names_of(Rules{})) {
    const sim::Setup setup = setup_with(*enum_from<Rules>(name));
    const auto result = run_trial(plan_of(past, setup), SetupJobs(past, setup), {});
    ASSERT_TRUE(result) << name << ": " << result.error().message;
    EXPECT_EQ(result->finished, 2) << name;
  }
}

}  // namespace
}  // namespace rota::sim
