#include "cli/whatif_check.h"

#include <gtest/gtest.h>

namespace rota::cli {
namespace {

sim::PastJobs jobs_of_two_teams() {
  sim::PastJobs past;
  past.teams = {"", "vision", "speech"};
  past.classes = {"", "debug"};
  past.jobs = {{.runtime = 1, .milli = 1000, .team = 1, .job_class = 1},
               {.runtime = 1, .milli = 1000, .team = 2}};
  return past;
}

QueueSpec queue_below(std::string name, std::string parent) {
  QueueSpec queue;
  queue.name = std::move(name);
  queue.parent = std::move(parent);
  return queue;
}

TEST(WhatIfCheck, SharesAreOfTeamsOrDeclaredQueues) {
  const sim::PastJobs past = jobs_of_two_teams();
  sim::Setup setup;
  EXPECT_TRUE(check_share_names(past, setup).ok());
  setup.shares["vision"].weight = 3;
  EXPECT_TRUE(check_share_names(past, setup).ok());
  setup.shares["visoin"].weight = 3;
  const Status wrong = check_share_names(past, setup);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "weights, quota or limit of 'visoin': no job of a team of that name; there are speech, "
            "vision (did you mean 'vision'?)");
  setup.queues = {queue_below("visoin", "")};
  EXPECT_TRUE(check_share_names(past, setup).ok());
  setup.shares[std::string(sim::kNoTeam)].quota = MilliGpu(1000);
  EXPECT_FALSE(check_share_names(past, setup).ok()) << "every job has a team";
}

TEST(WhatIfCheck, AJobWithoutATeamIsOfTheDefaultOne) {
  sim::PastJobs past = jobs_of_two_teams();
  past.jobs.push_back({.runtime = 1, .milli = 1000});
  sim::Setup setup;
  setup.shares[std::string(sim::kNoTeam)].weight = 2;
  EXPECT_TRUE(check_share_names(past, setup).ok());
}

TEST(WhatIfCheck, DeclaredQueuesAndClassesOfNobodyAreTold) {
  const sim::PastJobs past = jobs_of_two_teams();
  sim::Setup setup;
  set_rules(setup, sim::Rules::kEasy);
  EXPECT_TRUE(remarks_on(past, setup, {"gpus=+4"}).empty());
  setup.queues = {queue_below("research", ""), queue_below("vision", "research"),
                  queue_below("video", "research")};
  setup.classes = {{.name = "debug"}, {.name = "inference"}, {.name = "train"}};
  const std::vector<std::string> expected{
      "1 queue of 2 in the configuration is of no team of the history: video",
      "1 team of 2 in the history has no queue in the configuration, and one of weight 1 here: "
      "speech",
      "1 class of 1 in the configuration: no job of the history is of train"};
  EXPECT_EQ(remarks_on(past, setup, {}), expected);
}

TEST(WhatIfCheck, ContractsDoNothingWhereNobodyIsStopped) {
  const sim::PastJobs past = jobs_of_two_teams();
  const std::vector<std::string> changes{"gpus=+16", "contract=4h", "grace=5s"};
  sim::Setup setup;
  for (const sim::Rules rules : {sim::Rules::kFifo, sim::Rules::kEasy, sim::Rules::kSlurmLike}) {
    set_rules(setup, rules);
    const auto remarks = remarks_on(past, setup, changes);
    ASSERT_EQ(remarks.size(), 1U);
    EXPECT_TRUE(remarks[0].starts_with("contract=4h, grace=5s changes nothing")) << remarks[0];
  }
  for (const sim::Rules rules : {sim::Rules::kContracts, sim::Rules::kTimeFair,
                                 sim::Rules::kPriority}) {
    set_rules(setup, rules);
    EXPECT_TRUE(remarks_on(past, setup, changes).empty());
  }
}

}  // namespace
}  // namespace rota::cli
