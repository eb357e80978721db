#include "history/whole_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "history/read.h"

namespace rota::history {
namespace {

WholeJobs jobs_of(const std::string& text, const ReadOptions& options = {}) {
  const auto history = read_history_text(text, "jobs.csv", options);
  EXPECT_TRUE(history) << history.error().message;
  return history ? whole_jobs(*history) : WholeJobs{};
}

TEST(WholeJobs, StandBySubmitTimeThenRow) {
  const WholeJobs whole = jobs_of(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
      "2017-10-09 06:13:03,2951.0,2,2951.0,6214e9\n"
      "2017-10-09 06:13:03,0.5,128,1,6214e9\n"
      "2017-10-09 06:13:03,5,0,0,6214e9\n");
  ASSERT_EQ(whole.jobs.size(), 4U);
  EXPECT_EQ(whole.jobs[0].row, 2);
  EXPECT_EQ(whole.jobs[1].row, 3);
  EXPECT_EQ(whole.jobs[2].row, 4);
  EXPECT_EQ(whole.jobs[3].row, 1);
  EXPECT_EQ(whole.jobs[1].runtime, Duration::milliseconds(500));
  EXPECT_EQ(whole.jobs[1].gpus, 128);
  EXPECT_EQ(whole.jobs[2].gpus, 0);  // known to be none
  EXPECT_EQ(whole.jobs[3].team, "11cb48");
  EXPECT_EQ((whole.jobs[3].submitted - whole.jobs[0].submitted).whole_seconds(), 48 * 60 + 52);
  EXPECT_EQ(whole.never_ran + whole.no_time + whole.no_gpus + whole.parts, 0);
}

TEST(WholeJobs, NumbersOfTimeFollowTheUnit) {
  const std::string text = "job_id,num_gpu,submit_time,duration\n0,8,1534000,281000\n";
  const WholeJobs millis =
      jobs_of(text, {.format = {}, .map = {.columns = {}, .time_unit = TimeUnit::kMilliseconds}});
  ASSERT_EQ(millis.jobs.size(), 1U);
  EXPECT_EQ(millis.jobs[0].submitted, Instant(1'534'000'000'000));
  EXPECT_EQ(millis.jobs[0].runtime, Duration::seconds(281));
  EXPECT_EQ(jobs_of(text).jobs.at(0).runtime, Duration::seconds(281'000));
}

TEST(WholeJobs, QuotesCarriageReturnsByteOrderMarkAndComments) {
  const WholeJobs whole = jobs_of(
      "\xef\xbb\xbfteam,\"gpus\",submitted,runtime\r\n# a note\r\n\r\n"
      "\"a \"\"b\"\", c\",2,10,5\r\n");
  ASSERT_EQ(whole.jobs.size(), 1U);
  EXPECT_EQ(whole.jobs[0].team, "a \"b\", c");
}

struct DirtyRow {
  const char* row;
  const char* place;
};

class WholeJobRows : public ::testing::TestWithParam<DirtyRow> {};

TEST_P(WholeJobRows, ThatAreDirtyAreSkippedWithTheirPlace) {
  const auto history = read_history_text("timestamp,duration,num_gpus\n5,2,1\n" +
                                             std::string(GetParam().row) + "\n",
                                         "jobs.csv", {});
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(whole_jobs(*history).jobs.size(), 1U);
  ASSERT_EQ(history->notes().kinds.size(), 1U);
  EXPECT_EQ(history->notes().kinds[0].fate, RowFate::kSkipped);
  EXPECT_TRUE(history->notes().kinds[0].places.front().starts_with(GetParam().place))
      << history->notes().kinds[0].places.front();
}

INSTANTIATE_TEST_SUITE_P(Cases, WholeJobRows,
                         ::testing::Values(DirtyRow{"1,2", "jobs.csv:3:1"},
                                           DirtyRow{"soon,2,1", "jobs.csv:3:1"},
                                           DirtyRow{"1,-2,1", "jobs.csv:3:3"},
                                           DirtyRow{"1,99999999999999,1", "jobs.csv:3:3"},
                                           DirtyRow{"1,3500000000,1", "jobs.csv:3:3"},
                                           DirtyRow{"1,2,-1", "jobs.csv:3:5"},
                                           DirtyRow{"1,2,9999999", "jobs.csv:3:5"},
                                           DirtyRow{"1,2,\"1", "jobs.csv:3:5"},
                                           DirtyRow{"1,2,\"1\"x", "jobs.csv:3:8"}));

TEST(WholeJobs, TheSampleOfTheProjectIsWhole) {
  const auto history =
      read_history({std::string(ROTA_SOURCE_DIR) + "/tests/data/philly-500.csv"}, {});
  ASSERT_TRUE(history) << history.error().message;
  const WholeJobs whole = whole_jobs(*history);
  EXPECT_EQ(whole.jobs.size(), 500U);
  EXPECT_TRUE(history->notes().kinds.empty());
  EXPECT_TRUE(std::is_sorted(whole.jobs.begin(), whole.jobs.end(),
                             [](const WholeJob& a, const WholeJob& b) {
                               return a.submitted < b.submitted;
                             }));
}

TEST(WholeJobs, WorkThatTheSystemStoppedIsNotReplayed) {
  const std::string header = "id,queue,submit,start,end,state,gpus\n";
  const WholeJobs whole = jobs_of(header +
                                  "1,ml,0,10,40,PREEMPTED,2\n"
                                  "1,ml,40,50,60,FAILED,2\n"
                                  "1,ml,60,70,170,COMPLETED,4\n"
                                  "2,ml,5,10,40,PREEMPTED,1\n"
                                  "2,ml,40,50,57,NODE_FAIL,1\n");
  ASSERT_EQ(whole.jobs.size(), 2U);
  EXPECT_EQ(whole.jobs[0].runtime, Duration::seconds(110));  // the two that were not preempted
  EXPECT_EQ(whole.jobs[0].gpus, 4);                          // the most
  EXPECT_EQ(whole.jobs[0].submitted, Instant());
  EXPECT_EQ(whole.jobs[0].team, "ml");
  EXPECT_EQ(whole.jobs[1].runtime, Duration::seconds(7));  // the last of those that were stopped
}

TEST(WholeJobs, WhatCannotBeReplayedIsCounted) {
  const WholeJobs whole = jobs_of(
      "id,cluster,submit,start,end,run,state,gpus\n"
      "1,c1,0,,,,PENDING,2\n"
      "2,c1,0,10,,,RUNNING,2\n"
      "3,c1,0,10,20,,COMPLETED,\n"
      "4,c1,,10,20,,COMPLETED,1\n"
      "5,c1,0,10,20,,COMPLETED,2.5\n"
      "6,c1,0,10,20,,COMPLETED,a100/3g.20gb:2\n"
      "7,c1,0,10,20,,COMPLETED,a100/3g.20gb:3\n"
      "8,c1,0,10,20,,COMPLETED,/shard:3\n");
  EXPECT_EQ(whole.never_ran, 2);
  EXPECT_EQ(whole.no_gpus, 1);
  EXPECT_EQ(whole.no_time, 1);
  EXPECT_EQ(whole.parts, 4);
  ASSERT_EQ(whole.jobs.size(), 4U);
  EXPECT_EQ(whole.jobs[0].gpus, 3);
  EXPECT_EQ(whole.jobs[1].gpus, 1);  // six sevenths
  EXPECT_EQ(whole.jobs[2].gpus, 2);
  EXPECT_EQ(whole.jobs[3].gpus, 1);  // a shard's part is not told
  EXPECT_EQ(whole.jobs[0].team, "c1");  // no queue is told
}

}  // namespace
}  // namespace rota::history
