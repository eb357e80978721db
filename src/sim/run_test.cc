#include "sim/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ScenarioReport run(std::string_view text, RunOptions options = {}) {
  return run_scenario_text(text, "f", options);
}

std::vector<std::string> failures(std::string_view text) {
  std::vector<std::string> lines;
  const auto report = run(text);
  for (const auto& failure : report.failures) lines.push_back(failure.text());
  for (const auto& problem : report.problems) lines.push_back(problem.text());
  for (const auto& broken : report.broken) lines.push_back(broken);
  return lines;
}

TEST(Run, PassesWhenAllIsTrue) {
  const auto report = run("node n1 gpus=2\nat 0s\nsubmit J gpus=2 time=10m\n"
                          "expect J started=0s devices=n1:0-1 nodes=n1 tasks=1 state=running\n"
                          "at 10m\nexpect J state=done ended=10m gpu_hours<=0.334 attempts=1\n");
  EXPECT_TRUE(report.passed) << report_text(report);
  EXPECT_EQ(report.checks, 9);
  EXPECT_EQ(report.jobs, 1);
  EXPECT_EQ(report.digest.size(), 16U);
  EXPECT_EQ(report_text(report), "f: passed, 9 checks\n");
}

TEST(Run, ReportsAFailureWithPlaceValuesAndExplanation) {
  EXPECT_THAT(failures("node n1 gpus=2\nat 0s\nsubmit J gpus=2\nsubmit K\nat 90s\n"
                       "expect K state=running started=0s\n"),
              ElementsAre(AllOf(HasSubstr("f:6:10: at 1m30s K: expected state=running, but it is "
                                          "pending\n    "),
                                HasSubstr("Needs 1 GPU, but none is free")),
                          HasSubstr("f:6:24: at 1m30s K: expected started=0s, but it is never")));
}

TEST(Run, ComparesEveryKindOfValue) {
  EXPECT_THAT(failures("node n1 gpus=4 cost=2\nat 0s\nsubmit J gpus=0.5 runs=1h\nat 30m\n"
                       "expect J gpu_hours=0.25 gpu_hours!=0.3 gpu_hours<=0.25 cost=0.5\n"
                       "expect node n1 gpus_used=0.5 gpus_free=3.5 running=1 state!=down\n"
                       "expect queue default running=1 gpus_used<=1 gpu_hours=0.25\n"
                       "expect cluster largest_hole=3 occupancy=0.125 cost=4 cost_idle=3.5\n"
                       "expect J gpu_hours=0.26 cost>=1\nexpect cluster occupancy>=0.2\n"),
              ElementsAre(HasSubstr("expected gpu_hours=0.26, but it is 0.25"),
                          HasSubstr("expected cost>=1, but it is 0.5"),
                          HasSubstr("expected occupancy>=0.2, but it is 0.125")));
}

TEST(Run, MatchesNumbersWithTheReasonTheyBelongTo) {
  const std::string begin = "node n1 gpus=4\nat 0s\nsubmit A gpus=3\nsubmit B gpus=2\n";
  EXPECT_THAT(failures(begin + "expect B reason=insufficient_free need=2 free=1 short=1 "
                               "resource=gpu reason!=held\n"),
              ElementsAre());
  EXPECT_THAT(failures(begin + "expect B reason=insufficient_free need=3\n"),
              ElementsAre(HasSubstr("expected reason=insufficient_free need=3, but it is "
                                    "insufficient_free resource=gpu")));
  EXPECT_THAT(failures(begin + "expect B reason!=insufficient_free\n"),
              ElementsAre(HasSubstr("expected reason!=insufficient_free, but it is ")));
  EXPECT_THAT(failures(begin + "expect A reason=held\n"),
              ElementsAre(HasSubstr("but it is no reason")));
}

TEST(Run, CountsOverGroupsAndHoldsForEach) {
  const std::string begin = "node n1 gpus=2\nat 0s\nsubmit A array=3 runs=10m\n";
  EXPECT_THAT(failures(begin + "expect A running=2 pending=1 done=0\nat 20m\n"
                               "expect A done=3\nexpect A.[1-2],A.3 state=done attempts=1\n"),
              ElementsAre());
  EXPECT_THAT(failures(begin + "expect A state=running\n"),
              ElementsAre(HasSubstr("A.3: expected state=running, but it is pending")));
}

TEST(Run, TheEndComesBeforeTheLimitOfTheSameInstant) {
  EXPECT_THAT(failures("node n1 gpus=2\nat 0s\nsubmit J time=2m runs=2m\nsubmit K time=2m runs=3m\n"
                       "at 5m\nexpect J state=done ended=2m\nexpect K state=timeout ended=2m\n"),
              ElementsAre());
}

TEST(Run, AppliesWhatFallsDueBeforeStatements) {
  // J ends at 10m, so it cannot be finished then any more.
  EXPECT_THAT(failures("node n1 gpus=2\nat 0s\nsubmit J runs=10m\nat 10m\nfinish J\n"),
              ElementsAre("f:5:1: J does not run at this instant, so it cannot finish"));
}

TEST(Run, SubmitsPeriodicMembersInTheirTime) {
  EXPECT_THAT(failures("node n1 gpus=8\nat 1m\nsubmit P every=2m until=7m gpus=1\n"
                       "expect P running=1\nat 4m\nexpect P running=2\nexpect P.2 started=3m\n"
                       "at 7m\nexpect P running=4\nat 20m\nexpect P running=4 pending=0\n"),
              ElementsAre());
  EXPECT_THAT(failures("node n1 gpus=8\nat 0s\nsubmit P every=2m until=4m\n"
                       "expect P.3 state=done\n"),
              ElementsAre("f:4:1: P.3 is not submitted yet"));
}

TEST(Run, ScalesServices) {
  EXPECT_THAT(failures("node n1 gpus=8\nat 0s\nservice S min=2 max=4 gpus=1\nexpect S running=2\n"
                       "at 1m\nscale S to=4\nexpect S running=4\nat 2m\nscale S to=3\n"
                       "expect S running=3 cancelled=1\nexpect S.4 state=cancelled\n"),
              ElementsAre());
}

TEST(Run, HoldsTheWaitingMembersOfAGroup) {
  EXPECT_THAT(failures("node n1 gpus=2\nat 0s\nsubmit A array=3 runs=10m\nat 1m\nhold A\n"
                       "expect A.3 reason=held\nat 11m\nexpect A done=2 pending=1\nat 12m\n"
                       "release A\nexpect A.3 started=12m\n"),
              ElementsAre());
}

TEST(Run, AdoptsWhatRunsAtTheStart) {
  EXPECT_THAT(failures("node n[1-2] gpus=4\nrunning R on=n1 devices=n1:2-3 gpus=2 time=1h "
                       "started=-50m\nrunning G on=n[1-2] gpus=2 tasks=2\nat 0s\n"
                       "expect R devices=n1:2-3 started=-50m\n"
                       "expect G devices=n1:0-1,n2:0-1\nat 20m\nexpect R state=done ended=10m\n"),
              ElementsAre());
  EXPECT_THAT(failures("node n1 gpus=4\nrunning R[1-3] on=n1 gpus=2\nat 0s\n"),
              ElementsAre("f:2:1: R3 has no room on n1"));
}

TEST(Run, AProblemEndsTheRun) {
  const auto report = run("node n1 gpus=2\nat 0s\nsubmit J runs=1m\nat 2m\ncancel J\nat 3m\n"
                          "expect J state=pending\n");
  EXPECT_FALSE(report.passed);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.problems[0].text(), "f:5:1: J has ended (done)");
  EXPECT_EQ(report.checks, 0) << "what comes after a problem means nothing";
  EXPECT_EQ(report_text(report), "f: not run\nf:5:1: J has ended (done)\n");
}

TEST(Run, DoesNotRunWhatDoesNotParse) {
  const auto report = run("nodes n1\n");
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.cycles, 0);
  EXPECT_EQ(report_text(report),
            "f: not run\nf:1:1: unknown verb 'nodes'; did you mean 'node'?\n");
}

TEST(Run, TracesEventsAndDecisions) {
  const auto report = run("node n1 gpus=1\nat 0s\nsubmit J runs=1m\nat 1m\nexpect J state=done\n",
                          {.trace = true});
  EXPECT_THAT(report.trace,
              testing::IsSupersetOf({"        0s  J is submitted: gpus=1 queue=default",
                                     "        0s  -> start J on n1:0",
                                     "        1m  J ends, exit=0"}));
  EXPECT_TRUE(run("node n1 gpus=1\nat 0s\nsubmit J\n").trace.empty());
}

TEST(Run, TheDigestSeesDecisions) {
  const auto one = run("node n1 gpus=1\nat 0s\nsubmit J runs=1m\nat 2m\n");
  const auto same = run("# other words\nnode n1 gpus=1\nat 0s\nsubmit J runs=1m\nat 2m\n");
  const auto other = run("node n1 gpus=1\nat 0s\nsubmit J runs=2m\nat 3m\n");
  EXPECT_EQ(one.digest, same.digest);
  EXPECT_NE(one.digest, other.digest);
}

TEST(Run, ExplanationsAreMatchedWithoutRegardToCase) {
  EXPECT_THAT(failures("node n1 gpus=1\nat 0s\nsubmit J gpus=1\nsubmit K gpus=1\n"
                       "expect K explain~\"NONE is free\" explain~needs\n"
                       "expect K explain~unicorns\n"),
              ElementsAre(HasSubstr("expected explain~unicorns, but it is \"Needs 1 GPU")));
}

}  // namespace
}  // namespace rota::sim
