#include "audit/classes.h"

#include <gtest/gtest.h>

#include <array>

#include "audit/split.h"
#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(BestCut, PartsTwoHeaps) {
  std::array<Moments, 4> groups{};
  for (int i = 0; i < 10; ++i) {
    groups[0].add(1);
    groups[1].add(1.1);
    groups[3].add(9);
  }
  const auto cut = best_cut(groups, 50);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->after, 1U);
  EXPECT_FALSE(cut->falls);
  EXPECT_GE(cut->explained, 999);
}

TEST(BestCut, NothingToPart) {
  std::array<Moments, 3> groups{};
  EXPECT_FALSE(best_cut(groups, 50));
  groups[0].add(2);
  groups[2].add(2);
  EXPECT_FALSE(best_cut(groups, 50));  // equal values
  for (int i = 0; i < 98; ++i) groups[0].add(1);
  EXPECT_FALSE(best_cut(groups, 50));  // a side would be too small
}

constexpr std::int64_t kMinutes = 60;

/// 60 short jobs that wait an hour, 30 of three hours on one GPU, 20 of ten hours on 8 GPUs.
Work three_kinds() {
  Work work = work_of({});
  const auto add_some = [&](int count, std::int64_t run, std::int64_t gpus) {
    for (int i = 0; i < count; ++i) {
      add(work, {.submit = 0, .start = 3600, .run = run + i, .gpus = gpus});
    }
  };
  add_some(60, 8 * kMinutes, 1);
  add_some(30, 180 * kMinutes, 1);
  add_some(20, 600 * kMinutes, 8);
  return work;
}

TEST(Classes, ThreeKindsAreFound) {
  const ClassProposal proposal = propose_classes(three_kinds(), seconds(0, 100'000));
  EXPECT_EQ(proposal.jobs, 110);
  EXPECT_TRUE(proposal.by_wait);
  EXPECT_EQ(proposal.short_run_max, 10 * kMinutes * kSecond);
  EXPECT_EQ(proposal.large_above, 1000);
  ASSERT_EQ(proposal.classes.size(), 3U);
  EXPECT_EQ(proposal.classes[0].jobs, 60);
  EXPECT_EQ(proposal.classes[0].time_limit_max, 10 * kMinutes * kSecond);
  EXPECT_EQ(proposal.classes[0].wait_p90, kHour);
  EXPECT_EQ(proposal.classes[1].jobs, 30);
  EXPECT_EQ(proposal.classes[1].time_limit, 4 * kHour);
  EXPECT_EQ(proposal.classes[1].min_runtime, 2 * kHour);
  EXPECT_EQ(proposal.classes[2].jobs, 20);
  EXPECT_EQ(proposal.classes[2].min_runtime, 8 * kHour);
  EXPECT_EQ(rule_of(proposal, Behaviour::kShort), "runs at most 10m");
  EXPECT_EQ(rule_of(proposal, Behaviour::kUsual), "runs longer than 10m, at most 1 GPU");
  EXPECT_EQ(rule_of(proposal, Behaviour::kLarge), "runs longer than 10m, more than 1 GPU");
}

TEST(Classes, AsAPartOfTheConfiguration) {
  EXPECT_EQ(classes_yaml(propose_classes(three_kinds(), seconds(0, 100'000))),
            "classes:\n"
            "  debug:\n"
            "    help: \"runs at most 10m: 55 % of jobs, <1 % of GPU time\"\n"
            "    time_limit: 10m\n"
            "    time_limit_max: 10m\n"
            "    min_runtime: 10m\n"
            "  batch:\n"
            "    help: \"runs longer than 10m, at most 1 GPU: 27 % of jobs, 5 % of GPU time\"\n"
            "    time_limit: 4h\n"
            "    min_runtime: 2h\n"
            "  training:\n"
            "    help: \"runs longer than 10m, more than 1 GPU: 18 % of jobs, 94 % of GPU time\"\n"
            "    time_limit: 12h\n"
            "    min_runtime: 8h\n"
            "    requeue: on\n"
            "default_class: batch\n");
}

TEST(Classes, WithoutWaitsRunTimesDecide) {
  Work work = three_kinds();
  for (WorkRun& run : work.runs) run.waiting_since = kNotTold;
  const ClassProposal proposal = propose_classes(work, seconds(0, 100'000));
  EXPECT_FALSE(proposal.by_wait);
  EXPECT_EQ(proposal.short_run_max, 10 * kMinutes * kSecond);
  EXPECT_EQ(proposal.classes[0].waits, 0);
}

TEST(Classes, KnownSessionsAreAClass) {
  Work work = three_kinds();
  add(work, {.run = 7200, .interactive = true});
  const ClassProposal proposal = propose_classes(work, seconds(0, 100'000));
  ASSERT_EQ(proposal.classes.size(), 4U);
  EXPECT_EQ(proposal.classes[1].behaviour, Behaviour::kSession);
  EXPECT_NE(classes_yaml(proposal).find("interactive: on"), std::string::npos);
}

TEST(Classes, AFewJobsMakeNoClass) {
  Work work = work_of({});
  for (int i = 0; i < 19; ++i) add(work, {.run = i < 9 ? 10 : 90'000, .gpus = i < 9 ? 1 : 8});
  EXPECT_TRUE(propose_classes(work, seconds(0, 100'000)).classes.empty());
  add(work, {.run = 90'000, .gpus = 8});
  EXPECT_EQ(propose_classes(work, seconds(0, 100'000)).classes.size(), 2U);
}

TEST(Classes, EqualJobsAreOneKind) {
  Work work = work_of({});
  for (int i = 0; i < 50; ++i) add(work, {.start = 10, .run = 100});
  const ClassProposal proposal = propose_classes(work, seconds(0, 1000));
  EXPECT_EQ(proposal.classes.size(), 1U);
  EXPECT_EQ(classes_yaml(proposal), "");
}

}  // namespace
}  // namespace rota::audit
