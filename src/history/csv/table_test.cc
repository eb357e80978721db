#include "history/csv/table.h"

#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

Result<JobHistory> read(const std::string& text, const std::string& map = "") {
  ReadOptions options;
  auto columns = parse_column_map(map);
  if (!columns) return columns.error();
  options.map = *columns;
  return read_history_text(text, "t.csv", options);
}

TEST(Table, KnownNamesWithUnitsInThem) {
  const auto history = read(
      "id,gpus,type,dur_s,limit_min,submit_s,start_s,end_s,state,nodes\n"
      "0,1,,6.0,2,0,1,7,COMPLETED,a1\n"
      "1,2,,12.5,1,3,4,16.5,TIMEOUT,h1\n");
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->jobs().size(), 2U);
  const AttemptRecord& second = history->attempts()[1];
  EXPECT_EQ(second.run_time(), Duration::milliseconds(12500));
  EXPECT_EQ(second.wait_time(), Duration::seconds(1));
  EXPECT_EQ(second.outcome, Outcome::kTimeLimit);
  EXPECT_EQ(*history->jobs()[1].time_limit, Duration::minutes(1));
  EXPECT_EQ(history->gpus().whole(history->gpus_of(second)), whole_gpus(2));
}

TEST(Table, AMapNamesColumnsAndUnits) {
  const auto history = read(
      "created;ngpu;took;who;card;ram\n"
      "1500000;0.5;2000;\"a \"\"b\"\"; c\";NVIDIA A100;16\n",
      "submit=created,gpus=ngpu,run=took,user=who,model=card,memory=ram,time_unit=ms,"
      "memory_unit=GiB");
  ASSERT_TRUE(history) << history.error().message;
  const JobRecord& job = history->jobs().front();
  EXPECT_EQ(job.submitted, Maybe<Instant>(Instant(1'500'000'000'000)));
  EXPECT_EQ(history->attempts().front().run_time(), Duration::seconds(2));
  EXPECT_FALSE(history->attempts().front().started);  // when it started is not told
  EXPECT_EQ(history->text(job.user), "a \"b\"; c");
  EXPECT_EQ(gpu_set_text(history->gpus(), history->names(), job.gpus), "NVIDIA A100:0.5");
  EXPECT_EQ(*job.memory, gibibytes(16));
}

TEST(Table, TimesAreDerivedFromWaitAndRunTime) {
  const auto history = read("id,submit,wait,run\na,100,20,30\n");
  ASSERT_TRUE(history);
  const AttemptRecord& attempt = history->attempts().front();
  EXPECT_EQ(attempt.started, Maybe<Instant>(Instant(120'000'000'000)));
  EXPECT_EQ(attempt.ended, Maybe<Instant>(Instant(150'000'000'000)));
  EXPECT_FALSE(attempt.run_told);
}

TEST(Table, OffsetsOfTimeZonesAndFractions) {
  const auto history = read(
      "id,submit,start,end\n"
      "a,2023-05-17 11:00:58+08:00,2023-05-17T03:01:08.25Z,2023-05-17 03:02:08\n");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->attempts().front().wait_time(), Duration::milliseconds(10250));
}

TEST(Table, JobsAreOrderedBySubmitThenRow) {
  const auto history = read("id,submit,run\nc,30,1\nb,10,1\na,10,1\nd,,1\n");
  ASSERT_TRUE(history);
  std::string order;
  for (const JobRecord& job : history->jobs()) order += history->id_text(job.key);
  EXPECT_EQ(order, "bacd");
  for (const JobRecord& job : history->jobs()) {
    ASSERT_EQ(history->attempts_of(job).size(), 1U);
    EXPECT_EQ(&history->jobs()[history->attempts_of(job)[0].job], &job);
  }
}

struct BadTable {
  const char* text;
  const char* map;
  const char* message;
};
class TableErrors : public ::testing::TestWithParam<BadTable> {};

TEST_P(TableErrors, SayWhatIsWrongAndWhatToDo) {
  const auto history = read(GetParam().text, GetParam().map);
  ASSERT_FALSE(history);
  EXPECT_NE(history.error().message.find(GetParam().message), std::string::npos)
      << history.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TableErrors,
    ::testing::Values(
        BadTable{"a,b\n1,2\n", "submit=create", "there is no column 'create'"},
        BadTable{"created,b\n1,2\n", "submit=creatd", "did you mean 'created'"},
        BadTable{"a,b\n1,2\n", "submti=a", "did you mean 'submit'"},
        BadTable{"a,b\n1,2\n", "submit", "expected WHAT=COLUMN"},
        BadTable{"a,b\n1,2\n", "submit=a,submit=b", "given twice"},
        BadTable{"a,b\n1,2\n", "submit=a,time_unit=weeks", "expected s, ms"},
        BadTable{"a,b\n1,2\n", "submit=a", "lacks a column for the run time"},
        BadTable{"id,submit,run\n", "", "there is no job in it"},
        BadTable{"id,submit,run\nx,soon,1\n", "", "t.csv:2:3: submit 'soon'"}));

TEST(Table, DirtyRowsAreCountedByKind) {
  const auto history = read(
      "id,submit,run,gpus,state,cpus\n"
      "a,1,2,1,done,4\n"
      "b,1,2,1\n"
      "c,1,2,many,done,4\n"
      "d,1,\"2,1,done,4\n"
      "e,1,2,1,strange,x\n");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->jobs().size(), 2U);
  EXPECT_EQ(history->notes().count_of(RowFate::kSkipped), 3);
  EXPECT_EQ(history->notes().count_of(RowFate::kKept), 2);
  for (const RowKind& kind : history->notes().kinds) EXPECT_FALSE(kind.places.empty());
}

TEST(Detect, NamesWhatIsKnownWhenNothingFits) {
  const auto unknown = read("alpha,beta\n1,2\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().where, "t.csv:1:1");
  EXPECT_NE(unknown.error().message.find("alpha,beta"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("sacct"), std::string::npos);
  const auto empty = read("  \n");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("empty"), std::string::npos);
  ReadOptions options;
  options.format = "sact";
  const auto typo = read_history_text("a\n", "t", options);
  ASSERT_FALSE(typo);
  EXPECT_NE(typo.error().message.find("did you mean 'sacct'"), std::string::npos);
}

}  // namespace
}  // namespace rota::history
