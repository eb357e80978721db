#include "audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "audit/findings.h"
#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(Audit, CapacityIsGivenOrThePeak) {
  const Work work = work_of({{.run = 10, .gpus = 3}, {.start = 5, .run = 10, .gpus = 2}});
  const auto guessed = audit_work(work, *window_of(work), {});
  ASSERT_TRUE(guessed);
  EXPECT_EQ(guessed->capacity, 5000);
  EXPECT_FALSE(guessed->capacity_given);
  EXPECT_EQ(guessed->capacity_time(), gpu_seconds(75));
  const auto given = audit_work(work, *window_of(work), {.capacity = 8000, .shares = {}});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->capacity, 8000);
  EXPECT_EQ(given->timeline.free, gpu_seconds(8 * 15 - 50));
  EXPECT_DOUBLE_EQ(given->equivalents(gpu_seconds(15)), 1);
}

TEST(Audit, SharesAreEqualOrGiven) {
  const Work work = work_of({{.run = 10, .gpus = 2, .owner = 1}, {.run = 10, .owner = 2}});
  const auto equal = audit_work(work, seconds(0, 10), {.capacity = 4000, .shares = {}});
  ASSERT_TRUE(equal);
  ASSERT_EQ(equal->teams.size(), 2U);
  EXPECT_EQ(equal->teams[0].name, "a");
  EXPECT_EQ(equal->teams[0].part_of(1000), 500);
  const auto given =
      audit_work(work, seconds(0, 10), {.capacity = 4000, .shares = {{"a", 1}, {"b", 3}}});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->teams[0].part_of(1000), 250);
  EXPECT_EQ(given->teams[0].time.owed, gpu_seconds(10));
  EXPECT_EQ(given->teams[1].time.owed, gpu_seconds(10));
  const auto wrong = audit_work(work, seconds(0, 10), {.capacity = {}, .shares = {{"zz", 1}}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "--shares: no job of a team 'zz'");
}

TEST(Audit, ThirdsAreNotCutToThousandths) {
  const Work work = work_of({{.run = 10, .gpus = 8, .owner = 1}, {.run = 10, .owner = 2},
                             {.run = 10, .owner = 3}});
  const auto audit = audit_work(work, seconds(0, 10), {.capacity = 9'000, .shares = {}});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->teams[0].part_of(9'000), 3'000);
  EXPECT_EQ(audit->teams[0].time.owed, gpu_seconds(30));
}

TEST(Audit, JobsAreCountedByKind) {
  const Work work = work_of({{.run = 10}, {.run = 10, .gpus = 0},
                             {.start = -1, .run = -1, .end = End::kRejected}});
  const auto audit = audit_work(work, seconds(0, 20), {});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->jobs, 3);
  EXPECT_EQ(audit->jobs_without_gpus, 1);
  EXPECT_EQ(audit->jobs_rejected, 1);
}

TEST(Audit, TheWindowIsFromTheFirstToTheLastInstant) {
  const Work work = work_of({{.submit = 5, .start = 7, .run = 10}, {.submit = 2, .start = -1,
                                                                    .run = 100}});
  const auto window = window_of(work);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->begin, 2 * kSecond);
  EXPECT_EQ(window->end, 17 * kSecond);
  EXPECT_FALSE(window_of(work_of({})));
}

TEST(Findings, GainsAreGpuEquivalentsGreatestFirst) {
  const Work work = work_of({{.run = 100, .gpus = 4},
                             {.run = 50, .gpus = 4, .end = End::kFailed, .user = 1},
                             {.run = 100, .gpus = 1, .end = End::kPreempted}});
  const auto audit = audit_work(work, seconds(0, 100), {.capacity = 9000, .shares = {}});
  ASSERT_TRUE(audit);
  const auto findings = findings_of(*audit);
  ASSERT_GE(findings.size(), 2U);
  EXPECT_EQ(findings[0].id, "failed_runs");
  EXPECT_DOUBLE_EQ(findings[0].gain.value_or(0), 2);
  EXPECT_EQ(findings[1].id, "stopped_runs");
  EXPECT_DOUBLE_EQ(findings[1].gain.value_or(0), 1);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.figure.empty() || finding.how.empty() || finding.because.empty() ||
                 finding.action.empty()) << finding.id;
  }
}

TEST(Findings, IdleWhileWantedIsSurerWithAGivenCapacity) {
  const Work work = work_of({{.run = 100, .gpus = 4}, {.submit = 0, .start = 50, .run = 10}});
  const auto given = audit_work(work, seconds(0, 100), {.capacity = 5000, .shares = {}});
  const auto guessed = audit_work(work, seconds(0, 100), {});
  ASSERT_TRUE(given && guessed);
  const auto sure = findings_of(*given);
  const auto unsure = findings_of(*guessed);
  ASSERT_NE(find(sure, "idle_while_wanted"), nullptr);
  ASSERT_NE(find(unsure, "idle_while_wanted"), nullptr);
  EXPECT_EQ(find(sure, "idle_while_wanted")->confidence, Confidence::kMedium);
  EXPECT_EQ(find(unsure, "idle_while_wanted")->confidence, Confidence::kLow);
  EXPECT_DOUBLE_EQ(find(sure, "idle_while_wanted")->gain.value_or(0), 0.5);
}

TEST(Findings, ShortJobsThatWaitAreSaid) {
  Work work = work_of({});
  for (int i = 0; i < 30; ++i) {
    add(work, {.submit = 0, .start = 1200, .run = 120, .gpus = 1});
    add(work, {.submit = 0, .start = 1200, .run = 86'400, .gpus = 8});
  }
  const auto audit = audit_work(work, seconds(0, 90'000), {});
  ASSERT_TRUE(audit);
  const auto findings = findings_of(*audit);
  const Finding* found = find(findings, "short_jobs_wait");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->figure,
            "one in ten of the 30 short jobs waited 20m and more; half of them run at most 2m");
}

TEST(Findings, NothingToldIsNothingFound) {
  const Work work = work_of({{.submit = 0, .start = -1, .run = 10, .gpus = -1,
                              .end = End::kUnknown}});
  const auto audit = audit_work(work, seconds(0, 100), {});
  ASSERT_TRUE(audit);
  EXPECT_TRUE(findings_of(*audit).empty());
  EXPECT_GE(unknowns_of(*audit).size(), 5U);
}

}  // namespace
}  // namespace rota::audit
