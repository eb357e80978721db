#include <gtest/gtest.h>

#include <fstream>

#include "history/read.h"

namespace rota::history {
namespace {

constexpr const char* kHeader =
    "JobID|Submit|Start|End|State|AllocTRES|MaxRSS|Timelimit|Cluster\n";

std::string path_with(const std::string& name, const std::string& rows) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << kHeader << rows;
  return path;
}

/// `before` was read; then sacct tells `now`.
Continued continued(const std::string& before, const std::string& now) {
  auto both = continue_history({.path = path_with("before.psv", before), .name = "before",
                                .format = "sacct"},
                               {.path = path_with("now.psv", now), .name = "now",
                                .format = "sacct"});
  EXPECT_TRUE(both) << both.error().message;
  return std::move(*both);
}

std::vector<std::string> ids(const JobHistory& history) {
  std::vector<std::string> list;
  for (const JobRecord& job : history.jobs()) list.push_back(history.id_text(job.key));
  return list;
}

TEST(ContinueHistory, WaitingTasksOfAnArrayGetRowsOfTheirOwn) {
  const Continued both = continued(
      "5_[1-3]|2026-03-02T10:00:00|Unknown|Unknown|PENDING|||01:00:00|c\n"
      "6_[0-8%2]|2026-03-02T10:00:05|Unknown|Unknown|PENDING|||01:00:00|c\n"
      "7|2026-03-02T10:00:06|Unknown|Unknown|PENDING|||01:00:00|c\n",
      "5_1|2026-03-02T10:00:00|2026-03-02T11:00:00|Unknown|RUNNING|gres/gpu=1||01:00:00|c\n"
      "5_[2-3]|2026-03-02T10:00:00|Unknown|Unknown|PENDING|||01:00:00|c\n"
      "6_[0-8%2]|2026-03-02T10:00:05|Unknown|Unknown|PENDING|||01:00:00|c\n");
  EXPECT_EQ(ids(both.history), (std::vector<std::string>{"5_1", "5_[2-3]", "6_[0-8%2]", "7"}));
  EXPECT_EQ(both.history.attempts().size(), 4U);
  for (const AttemptRecord& attempt : both.history.attempts()) {
    const JobRecord& job = both.history.jobs()[attempt.job];
    EXPECT_EQ(&both.history.attempts_of(job).front(), &attempt);
  }
  EXPECT_EQ(both.kept_rows, 3);
  EXPECT_EQ(both.untold, 1);  // 7
}

TEST(ContinueHistory, AStepGoesToTheAttemptOfItsRow) {
  const std::string first =
      "8|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T10:02:00|PREEMPTED|gres/gpu=1|||c\n";
  const std::string step =
      "8.batch|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T10:02:00|CANCELLED|cpu=1|900K||c"
      "\n";
  const std::string second =
      "8|2026-03-02T10:02:00|2026-03-02T10:05:00|2026-03-02T10:06:00|COMPLETED|gres/gpu=1|||c\n"
      "8.batch|2026-03-02T10:02:00|2026-03-02T10:05:00|2026-03-02T10:06:00|COMPLETED|cpu=1|7K||c\n";
  const Continued both = continued(first + step + second, first + step + second);
  ASSERT_EQ(both.history.attempts().size(), 2U);
  EXPECT_EQ(both.history.attempts()[0].memory_used.optional(), Bytes(900 * 1024));
  EXPECT_EQ(both.history.attempts()[1].memory_used.optional(), Bytes(7 * 1024));
}

TEST(ContinueHistory, WhatAJobAsksForIsWhatWasToldLast) {
  const Continued both = continued(
      "9|2026-03-02T10:00:00|2026-03-02T10:01:00|Unknown|RUNNING|gres/gpu=1||01:00:00|c\n",
      "9|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T11:31:00|COMPLETED|gres/gpu=1||"
      "02:00:00|c\n");
  ASSERT_EQ(both.history.attempts().size(), 1U);
  EXPECT_EQ(both.history.jobs()[0].time_limit.optional(), Duration::hours(2));
  EXPECT_EQ(both.history.jobs()[0].outcome, Outcome::kCompleted);
  EXPECT_EQ(both.untold, 0);
}

TEST(ContinueHistory, NothingKeptAndNothingToldIsNoError) {
  auto none = continue_history({}, {.path = path_with("now.psv", ""), .name = "sacct",
                                    .format = "sacct"});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->history.jobs().empty());
  const auto bad = continue_history({}, {.path = "/nowhere/at/all", .name = "sacct",
                                         .format = "sacct"});
  EXPECT_FALSE(bad);
}

}  // namespace
}  // namespace rota::history
