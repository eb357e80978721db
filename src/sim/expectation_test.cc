#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace rota::sim {
namespace {

using testing::ElementsAre;

const char* const kStage =
    "node n[1-3] gpus=4\nqueue q\nqueue r\nuser ann\nat 0s\nsubmit A array=4 queue=q\n"
    "submit J queue=q user=bob\n";

std::vector<std::string> errors_of(const std::string& line) {
  std::vector<std::string> lines;
  for (const auto& error : parse_scenario(kStage + line + "\n", "f").errors) {
    lines.push_back(error.text());
  }
  return lines;
}

Expectation read(const std::string& line) {
  auto parsed = parse_scenario(kStage + line + "\n", "f");
  for (const auto& error : parsed.errors) ADD_FAILURE() << error.text();
  if (!parsed.ok()) return {};
  return std::get<ExpectStatement>(parsed.scenario.blocks[0].statements.back().body).expectation;
}

TEST(Expect, KnowsWhomItIsAbout) {
  EXPECT_EQ(read("expect J state=pending").subject, Subject::kJob);
  EXPECT_EQ(read("expect A.2 state=pending").subject, Subject::kJob);
  EXPECT_EQ(read("expect A.[1-2] pending=2").subject, Subject::kMany);
  EXPECT_EQ(read("expect J,A.1 pending=2").subject, Subject::kMany);
  EXPECT_EQ(read("expect cluster pending=2").subject, Subject::kCluster);
  EXPECT_THAT(read("expect node n[1-2] state=up").things, ElementsAre("n1", "n2"));
  EXPECT_THAT(read("expect queue q fair_share=3").things, ElementsAre("q"));
  EXPECT_THAT(read("expect user bob running=0").things, ElementsAre("bob"));
  const auto group = read("expect A pending=4");
  EXPECT_TRUE(group.by_group);
  EXPECT_EQ(group.jobs.size(), 4U);
}

TEST(Expect, ReadsValuesByTheirKind) {
  const auto expectation = read(
      "expect J started=10m30s wait<=1h nodes=n3,n1 devices=n1:0-1,n1:0 attempts>=2 "
      "gpu_hours!=1.5 cost=16 evicted_by=A.1 state!=done explain~\"no room\"");
  const auto& checks = expectation.checks;
  ASSERT_EQ(checks.size(), 10U);
  EXPECT_EQ(checks[0].number, Duration::seconds(630).ns());
  EXPECT_EQ(checks[1].op, Operator::kAtMost);
  EXPECT_THAT(checks[2].items, ElementsAre("n1", "n3"));
  EXPECT_THAT(checks[3].items, ElementsAre("n1:0", "n1:0", "n1:1"));
  EXPECT_EQ(checks[4].op, Operator::kAtLeast);
  EXPECT_EQ(checks[5].number, 1'500'000);
  EXPECT_EQ(checks[6].number, 16'000'000);
  EXPECT_EQ(checks[8].op, Operator::kNotEqual);
  EXPECT_EQ(checks[9].op, Operator::kContains);
}

TEST(Expect, KeepsTheNumbersOfAReasonWithIt) {
  const auto expectation = read(
      "expect J state=pending reason=fragmented need=0.2 free=24576MiB within=node by=q until=1h "
      "resource=gpu reason!=behind");
  ASSERT_EQ(expectation.checks.size(), 3U);
  ASSERT_EQ(expectation.reason_numbers.size(), 6U);
  EXPECT_EQ(expectation.reason_numbers[0].number, 200);
  EXPECT_FALSE(expectation.reason_numbers[0].in_bytes);
  EXPECT_EQ(expectation.reason_numbers[1].number, mebibytes(24576).value());
  EXPECT_TRUE(expectation.reason_numbers[1].in_bytes);
}

TEST(Expect, AllowsBoundsFromBothSides) {
  EXPECT_EQ(read("expect J gpu_hours_lost<=1.34 gpu_hours_lost>=1.33").checks.size(), 2U);
}

TEST(Expect, RefusesWhatCannotBeChecked) {
  EXPECT_THAT(errors_of("expect J stat=done"),
              ElementsAre("f:8:10: unknown key of a job 'stat'; did you mean 'state'?"));
  EXPECT_THAT(errors_of("expect J running=1"),
              ElementsAre("f:8:10: 'running' counts over a group, list or range; of one job say "
                          "state=running"));
  EXPECT_THAT(errors_of("expect queue q state=up"),
              ElementsAre("f:8:16: unknown key of a queue 'state': expected one of running, "
                          "pending, gpus_used, evictions, gpu_hours, gpu_hours_lost, charged, "
                          "usage, fair_share, owed, delivered"));
  EXPECT_THAT(errors_of("expect J state=runing"),
              ElementsAre("f:8:16: unknown state 'runing'; did you mean 'running'?"));
  EXPECT_THAT(errors_of("expect J state<=done"),
              ElementsAre("f:8:10: 'state' is compared by = or !=, not by <="));
  EXPECT_THAT(errors_of("expect J started~10m"),
              ElementsAre("f:8:10: 'started' is compared by =, !=, <= or >=, not by ~"));
  EXPECT_THAT(errors_of("expect J explain=x"),
              ElementsAre("f:8:10: 'explain' is compared by ~, not by ="));
  EXPECT_THAT(errors_of("expect J reason=framented"),
              ElementsAre("f:8:17: unknown reason 'framented'; did you mean 'fragmented'?"));
  EXPECT_THAT(errors_of("expect J need=4"),
              ElementsAre("f:8:10: 'need' is a number of a reason: expected one reason=CODE on "
                          "this line"));
  EXPECT_THAT(errors_of("expect J reason=held reason=drained need=4"),
              ElementsAre("f:8:37: 'need' is a number of a reason: expected one reason=CODE on "
                          "this line"));
  EXPECT_THAT(errors_of("expect J started=1m started=2m"),
              ElementsAre("f:8:21: key 'started' is given twice"));
  EXPECT_THAT(errors_of("expect K state=done"),
              ElementsAre("f:8:8: unknown job 'K': expected one of A, A.1, A.2, A.3, A.4, J"));
  EXPECT_THAT(errors_of("expect node n7 state=up"),
              ElementsAre("f:8:13: unknown node 'n7'; did you mean 'n1'?"));
  EXPECT_THAT(errors_of("expect user eve running=0"),
              ElementsAre("f:8:13: unknown user 'eve': expected one of ann, bob"));
  EXPECT_THAT(errors_of("expect queue q,"),
              ElementsAre("f:8:14: 'q,' has an empty name in its list"));
  EXPECT_THAT(errors_of("expect"),
              ElementsAre("f:8:7: expected a job, 'cluster', 'queue NAME', 'node NAME' or 'user "
                          "NAME'"));
  EXPECT_THAT(errors_of("expect J"),
              ElementsAre("f:8:9: expected at least one key=value that must be true"));
  EXPECT_THAT(errors_of("expect J reason=held by=nobody"),
              ElementsAre("f:8:25: unknown job, queue or user 'nobody': expected one of A.1, A.2, "
                          "A.3, A.4, J, ann, bob, q, r"));
}

}  // namespace
}  // namespace rota::sim
