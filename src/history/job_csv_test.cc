#include "history/job_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace rota::history {
namespace {

Result<std::vector<HistoryJob>> read(const std::string& text, TimeUnit unit = TimeUnit::kSeconds) {
  std::istringstream input(text);
  return read_job_csv(input, "jobs.csv", unit);
}

TEST(JobCsv, ReadsByNameAndSortsBySubmitTimeThenRow) {
  const auto jobs = read(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
      "2017-10-09 06:13:03,2951.0,2,2951.0,6214e9\n"
      "2017-10-09 06:13:03,0.5,128,1,6214e9\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ((*jobs)[0].row, 2);
  EXPECT_EQ((*jobs)[1].row, 3);
  EXPECT_EQ((*jobs)[2].row, 1);
  EXPECT_EQ((*jobs)[1].runtime, Duration::milliseconds(500));
  EXPECT_EQ((*jobs)[1].gpus, 128);
  EXPECT_EQ((*jobs)[2].team, "11cb48");
  EXPECT_EQ(((*jobs)[2].submitted - (*jobs)[0].submitted).whole_seconds(), 48 * 60 + 52);
}

TEST(JobCsv, NumbersOfTimeFollowTheUnit) {
  const std::string text = "job_id,num_gpu,submit_time,duration\n0,8,1534000,281000\n";
  const auto millis = read(text, TimeUnit::kMilliseconds);
  ASSERT_TRUE(millis);
  EXPECT_EQ((*millis)[0].submitted, Instant(1'534'000'000'000));
  EXPECT_EQ((*millis)[0].runtime, Duration::seconds(281));
  const auto seconds = read(text);
  ASSERT_TRUE(seconds);
  EXPECT_EQ((*seconds)[0].runtime, Duration::seconds(281000));
}

TEST(JobCsv, QuotesCarriageReturnsByteOrderMarkAndComments) {
  const auto jobs = read(
      "\xef\xbb\xbfteam,\"gpus\",submitted,runtime\r\n# a note\r\n\r\n"
      "\"a \"\"b\"\", c\",2,10,5\r\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1U);
  EXPECT_EQ((*jobs)[0].team, "a \"b\", c");
}

TEST(JobCsv, CivilTimesCountFromTheEpoch) {
  EXPECT_EQ(parse_civil_seconds("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_civil_seconds("2000-03-01T00:00:00Z"), 951868800);
  EXPECT_EQ(parse_civil_seconds("2017-10-09 07:01:55"), 1507532515);
  EXPECT_FALSE(parse_civil_seconds("2017-13-09 07:01:55"));
  EXPECT_FALSE(parse_civil_seconds("2017-10-09"));
  EXPECT_FALSE(parse_civil_seconds("2017-10-09 07:01:5x"));
}

struct BadFile {
  const char* text;
  const char* where;
  const char* message;
};

class JobCsvErrors : public ::testing::TestWithParam<BadFile> {};

TEST_P(JobCsvErrors, NameFileLineColumnAndRule) {
  const auto jobs = read(GetParam().text);
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().where, GetParam().where);
  EXPECT_NE(jobs.error().message.find(GetParam().message), std::string::npos)
      << jobs.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, JobCsvErrors,
    ::testing::Values(
        BadFile{"", "jobs.csv:0:1", "empty"},
        BadFile{"timestamp,num_gpus\n", "jobs.csv:1:1", "no column for the run time"},
        BadFile{"timestamp,duration,num_gpus,duration\n1,2,1,3\n", "jobs.csv:1:29", "there twice"},
        BadFile{"timestamp,duration,num_gpus\n1,2\n", "jobs.csv:2:1", "2 fields"},
        BadFile{"timestamp,duration,num_gpus\nsoon,2,1\n", "jobs.csv:2:1", "'soon'"},
        BadFile{"timestamp,duration,num_gpus\n1,-2,1\n", "jobs.csv:2:3", "'-2'"},
        BadFile{"timestamp,duration,num_gpus\n1,2,1.5\n", "jobs.csv:2:5", "'1.5'"},
        BadFile{"timestamp,duration,num_gpus\n1,2,9999999\n", "jobs.csv:2:5", "1000000"},
        BadFile{"timestamp,duration,num_gpus\n1,99999999999999,1\n", "jobs.csv:2:3", "no time"},
        BadFile{"timestamp,duration,num_gpus\n1,3500000000,1\n", "jobs.csv:2:3", "36500 days"},
        BadFile{"timestamp,duration,num_gpus\n1,2,\"1\n", "jobs.csv:2:5", "never closed"},
        BadFile{"timestamp,duration,num_gpus\n1,2,\"1\"x\n", "jobs.csv:2:8", "comma"}));

TEST(JobCsv, ReadsTheSampleOfTheProject) {
  std::ifstream input(std::string(ROTA_SOURCE_DIR) + "/tests/data/philly-500.csv");
  ASSERT_TRUE(input.good());
  const auto jobs = read_job_csv(input, "philly-500.csv", TimeUnit::kSeconds);
  ASSERT_TRUE(jobs) << jobs.error().where << jobs.error().message;
  EXPECT_EQ(jobs->size(), 500U);
  EXPECT_TRUE(std::is_sorted(jobs->begin(), jobs->end(), [](const auto& a, const auto& b) {
    return a.submitted < b.submitted;
  }));
}

}  // namespace
}  // namespace rota::history
