#include "sim/what_if.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;

/// Four jobs of four GPUs for ten minutes, a minute apart, on four GPUs, as FIFO ran them.
PastJobs queue_of_four() {
  PastJobs past;
  past.teams = {"", "a", "b"};
  for (std::int64_t i = 0; i < 4; ++i) {
    PastJob job{.submitted = i * kMinute, .runtime = 10 * kMinute, .milli = 4000};
    job.started = i * 10 * kMinute;
    job.ended = job.started + job.runtime;
    job.team = i % 2 == 0 ? 1 : 2;
    past.jobs.push_back(job);
  }
  return past;
}

Setup setup_on(std::int64_t nodes, Rules rules) {
  sim::Setup setup;
  setup.nodes = uniform_nodes(nodes, 4);
  set_rules(setup, rules);
  return setup;
}

constexpr Measure kMeasure{.wide_milli = 4000};

TEST(WhatIf, AReplayOfWhatHappenedIsExact) {
  const PastJobs past = queue_of_four();
  const sim::Setup setup = setup_on(1, Rules::kFifo);
  const Outcome observed = observed_outcome(past, setup.nodes, kMeasure);
  const auto replayed = run_setup(past, setup, kMeasure, {});
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(observed.wait.max, Duration::minutes(27));
  EXPECT_EQ(replayed->wait.max, Duration::minutes(27));
  EXPECT_EQ(observed.makespan, Duration::minutes(40));
  EXPECT_EQ(replayed->makespan, Duration::minutes(40));
  EXPECT_TRUE(observed.held == observed.capacity);
  EXPECT_TRUE(replayed->held == replayed->capacity);
  EXPECT_EQ(replayed->wide.jobs, 4);
  const Fidelity fidelity = fidelity_of(observed, *replayed);
  EXPECT_EQ(fidelity.trust, Trust::kGood);
  EXPECT_EQ(fidelity.mean, 0);
  EXPECT_EQ(fidelity.makespan, 0);
}

TEST(WhatIf, TwiceTheClusterHalvesTheQueue) {
  const auto outcome = run_setup(queue_of_four(), setup_on(2, Rules::kFifo), kMeasure, {});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->wait.max, Duration::minutes(8)) << "0, 0, 8 and 8 minutes";
  EXPECT_EQ(outcome->wait.mean, Duration::minutes(4));
  EXPECT_EQ(outcome->gpus, 8);
  ASSERT_EQ(outcome->teams.size(), 2U);
  EXPECT_EQ(outcome->teams[0].name, "a");
  EXPECT_EQ(outcome->teams[0].jobs, 2);
}

TEST(WhatIf, WideJobsThatAreStoppedAreCounted) {
  // a holds all from 0 for ten hours; b is owed its half and gets it when the contract ends.
  PastJobs past = queue_of_four();
  past.jobs.resize(2);
  past.jobs[0].runtime = 600 * kMinute;
  sim::Setup setup = setup_on(1, Rules::kContracts);
  setup.policy.reclaim = Reclaim::kShare;
  past.jobs[1].milli = 2000;
  const auto outcome = run_setup(past, setup, kMeasure, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->preemptions, 1);
  EXPECT_EQ(outcome->wide_stopped, 1);
  EXPECT_EQ(outcome->wait.max, Duration::minutes(119) + Duration::seconds(30))
      << "two hours after the first start, and the grace";
}

TEST(WhatIf, TrustFollowsTheMeanWait) {
  Outcome observed;
  observed.jobs = observed.started = 10;
  observed.wait.mean = Duration::seconds(100);
  Outcome replayed = observed;
  const auto trust_at = [&](std::int64_t seconds) {
    replayed.wait.mean = Duration::seconds(seconds);
    return fidelity_of(observed, replayed).trust;
  };
  EXPECT_EQ(trust_at(110), Trust::kGood);
  EXPECT_EQ(trust_at(88), Trust::kFair);
  EXPECT_EQ(trust_at(126), Trust::kPoor);
  observed.wait.mean = Duration::milliseconds(200);
  EXPECT_EQ(trust_at(1), Trust::kGood) << "off by less than a second";
  observed.started = 4;
  EXPECT_EQ(trust_at(1), Trust::kUnknown) << "waits of fewer than half are told";
}

TEST(WhatIf, AReplayInWhichJobsNeverStartIsNotTrusted) {
  Outcome observed;
  observed.jobs = observed.started = 100;
  Outcome replayed = observed;
  const auto trust_at = [&](std::int64_t started) {
    replayed.started = started;
    return fidelity_of(observed, replayed).trust;
  };
  EXPECT_EQ(trust_at(99), Trust::kGood);
  EXPECT_EQ(trust_at(98), Trust::kFair);
  EXPECT_EQ(trust_at(90), Trust::kFair);
  EXPECT_EQ(trust_at(89), Trust::kPoor);
  EXPECT_DOUBLE_EQ(fidelity_of(observed, replayed).never, 0.11);
}

TEST(WhatIf, WaitsOfAllHaveThoseThatNeverStartAtTheirEnd) {
  PastJobs past = queue_of_four();  // on one node they wait 0, 9, 18 and 27 minutes
  past.jobs[1].milli = 5000;
  past.jobs[1].tasks = 1;
  sim::Setup setup = setup_on(1, Rules::kGreedy);
  const auto outcome = run_setup(past, setup, kMeasure, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->started, 3);
  EXPECT_EQ(outcome->wait.p50, Duration::minutes(8)) << "0, 8 and 17 minutes";
  EXPECT_EQ(outcome->wait_of_all.p50, Duration::minutes(8)) << "the second of four";
  EXPECT_EQ(outcome->wait_of_all.p90, std::nullopt) << "the fourth never starts";
  ASSERT_EQ(outcome->teams.size(), 2U);
  EXPECT_EQ(outcome->teams[0].wait_of_all.p90, Duration::minutes(8));
  EXPECT_EQ(outcome->teams[1].wait_of_all.p50, Duration::minutes(17));
}

TEST(WhatIf, PeopleReactToWaits) {
  const PastJobs past = queue_of_four();
  const auto factor = [&](std::int64_t after_minutes, std::int64_t permille) {
    return reaction_factor(past, Duration::minutes(10), Duration::minutes(after_minutes),
                           permille);
  };
  EXPECT_EQ(factor(0, 0), 1) << "no reaction";
  EXPECT_DOUBLE_EQ(factor(0, 1000), 2) << "done in 10 and not in 20 minutes";
  EXPECT_DOUBLE_EQ(factor(10, 1000), 1);
  EXPECT_DOUBLE_EQ(factor(1000, 1000), 0.5) << "at most halved";
  EXPECT_EQ(with_demand(past, 1.5).jobs.size(), 6U);
  EXPECT_EQ(with_demand(past, 0.5).jobs.size(), 2U);
  EXPECT_EQ(with_demand(past, 1).jobs.size(), 4U);
}

}  // namespace
}  // namespace rota::sim
