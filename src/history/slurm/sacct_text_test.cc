#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

Result<JobHistory> read(const std::string& text) { return read_history_text(text, "s.psv", {}); }

const JobRecord* job_of(const JobHistory& history, const std::string& id) {
  for (const JobRecord& job : history.jobs()) {
    if (history.id_text(job.key) == id) return &job;
  }
  return nullptr;
}

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

std::int64_t count_of(const JobHistory& history, const std::string& kind) {
  for (const RowKind& known : history.notes().kinds) {
    if (known.kind == kind) return known.count;
  }
  return 0;
}

class SacctSample : public ::testing::Test {
 protected:
  void SetUp() override {
    auto read = read_history({std::string(ROTA_SOURCE_DIR) + "/tests/data/slurm/" +
                              "sacct-duplicates.psv"}, {});
    ASSERT_TRUE(read) << read.error().where << read.error().message;
    history_ = std::move(*read);
  }
  JobHistory history_;
};

TEST_F(SacctSample, AttemptsOfOneIdAreOneJob) {
  EXPECT_EQ(history_.jobs().size(), 28U);
  EXPECT_EQ(history_.attempts().size(), 30U);
  const JobRecord* job = job_of(history_, "149");
  ASSERT_NE(job, nullptr);
  const auto attempts = history_.attempts_of(*job);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, Outcome::kPreempted);
  EXPECT_EQ(attempts[0].run_time(), Duration::seconds(3));
  EXPECT_EQ(gpus(history_, attempts[0].gpus), "h100:8");
  EXPECT_EQ(attempts[1].outcome, Outcome::kCompleted);
  EXPECT_EQ(history_.text(attempts[1].reason), "BeginTime");
  EXPECT_EQ(attempts[1].wait_time(), Duration::seconds(121));
  EXPECT_EQ(job->outcome, Outcome::kCompleted);
  EXPECT_EQ(job->submitted, attempts[0].queued);
  EXPECT_EQ(count_of(history_, "a step of a job"), 32);
}

TEST_F(SacctSample, WhatWasHeldDecidesAndTypesAreNotAddedToTheSum) {
  const JobRecord* wide = job_of(history_, "171");
  ASSERT_NE(wide, nullptr);
  const AttemptRecord& attempt = history_.attempts_of(*wide).front();
  EXPECT_EQ(gpus(history_, attempt.gpus), "a100:4");
  EXPECT_EQ(gpus(history_, wide->gpus), "4");  // it did not ask for a model
  EXPECT_EQ(history_.text(attempt.nodes), "a[1-2]");
  EXPECT_EQ(attempt.node_count, 2U);
  EXPECT_EQ(history_.gpus().whole(attempt.gpus), whole_gpus(4));
}

TEST_F(SacctSample, ShardsArePartitionsAndNoGpus) {
  const JobRecord* shard = job_of(history_, "163");
  ASSERT_NE(shard, nullptr);
  const GpuSetId held = history_.attempts_of(*shard).front().gpus;
  EXPECT_EQ(gpus(history_, held), "/shard:3");
  EXPECT_EQ(history_.gpus().whole(held), MilliGpu(0));
  EXPECT_EQ(history_.gpus().partitions_milli(held), 3000);
}

TEST_F(SacctSample, ARefusedSubmitIsNoFailureAndAWaitingJobHasNoStart) {
  for (const char* id : {"159", "160"}) {
    const JobRecord* job = job_of(history_, id);
    ASSERT_NE(job, nullptr);
    EXPECT_EQ(job->outcome, Outcome::kRejected);
    EXPECT_FALSE(history_.attempts_of(*job).front().started);
  }
  const JobRecord* waits = job_of(history_, "155");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->outcome, Outcome::kPending);
  const AttemptRecord& attempt = history_.attempts_of(*waits).front();
  EXPECT_FALSE(attempt.started || attempt.ended || attempt.gpus.known());
  EXPECT_EQ(history_.text(attempt.reason), "AssocGrpGRES");
  EXPECT_EQ(gpus(history_, history_.gpus_of(attempt)), "a100:8");
}

TEST_F(SacctSample, EndsSignalsLimitsAndOwners) {
  const JobRecord* killed = job_of(history_, "144");
  ASSERT_NE(killed, nullptr);
  EXPECT_EQ(killed->outcome, Outcome::kFailed);  // it held a GPU: a real failure within a second
  EXPECT_EQ(history_.attempts_of(*killed).front().signal, 9);
  EXPECT_EQ(history_.attempts_of(*killed).front().exit_code, 0);
  const JobRecord* timeout = job_of(history_, "141");
  ASSERT_NE(timeout, nullptr);
  EXPECT_EQ(timeout->outcome, Outcome::kTimeLimit);
  EXPECT_EQ(timeout->limit_kind, TimeLimit::kSet);
  EXPECT_EQ(*timeout->time_limit, Duration::minutes(1));
  EXPECT_EQ(history_.text(timeout->user), "alice");
  EXPECT_EQ(history_.text(timeout->queue), "ml");
  EXPECT_EQ(history_.text(timeout->pool), "gpu");
  EXPECT_EQ(history_.text(timeout->job_class), "normal");
  EXPECT_EQ(*timeout->memory, mebibytes(100));
  EXPECT_EQ(timeout->cpus_milli, 1000);
  EXPECT_EQ(history_.attempts_of(*timeout).front().memory_used.optional(), Bytes(3160 * 1024));
  EXPECT_EQ(job_of(history_, "147")->outcome, Outcome::kCancelled);
  EXPECT_EQ(job_of(history_, "148_3")->outcome, Outcome::kCompleted);
}

TEST(Sacct, AnyColumnsInAnyOrder) {
  const auto history = read(
      "State|JobIDRaw|Start|Planned|Elapsed|AllocTRES\n"
      "COMPLETED|7|2026-03-02T10:00:30|00:00:30|1-00:00:00|cpu=8,gres/gpu=4\n");
  ASSERT_TRUE(history) << history.error().message;
  const AttemptRecord& attempt = history->attempts().front();
  EXPECT_EQ(attempt.wait_time(), Duration::seconds(30));
  EXPECT_EQ(attempt.run_time(), Duration::days(1));
  EXPECT_EQ(gpus(*history, attempt.gpus), "4");
}

TEST(Sacct, MigInstancesKeepTheirProfileAndModel) {
  const auto history = read(
      "JobID|Submit|Start|End|State|AllocTRES\n"
      "1|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|COMPLETED|"
      "gres/gpu:a100_3g.20gb=1,gres/gpu:a100=2,gres/gpu=4\n");
  ASSERT_TRUE(history);
  const GpuSetId held = history->attempts().front().gpus;
  EXPECT_EQ(gpus(*history, held), "1;a100:2;a100/3g.20gb:1");
  EXPECT_EQ(history->gpus().whole(held), whole_gpus(3));
  EXPECT_EQ(history->gpus().equivalent(held), MilliGpu(3000 + 428));
}

TEST(Sacct, UtilisationOfTheLongestStep) {
  const auto history = read(
      "JobID|Submit|Start|End|Elapsed|State|AllocTRES|TRESUsageInAve|TRESUsageInMax\n"
      "1|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|01:00:00|COMPLETED|"
      "gres/gpu=1||\n"
      "1.batch|||||COMPLETED||cpu=1,gres/gpumem=10M,gres/gpuutil=3|gres/gpumem=10M\n"
      "1.0||||00:59:00|COMPLETED||gres/gpumem=40960M,gres/gpuutil=87|gres/gpumem=40960M\n"
      "1.1||||00:01:00|COMPLETED||gres/gpuutil=5|\n");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->attempts().front().gpu_busy_permille, 870);
  EXPECT_EQ(history->attempts().front().gpu_memory_used.optional(), gibibytes(40));
}

TEST(Sacct, OlderColumnsAndMemoryPerCpu) {
  const auto history = read(
      "JobID|Submit|Start|End|State|AllocGRES|AllocCPUS|NNodes|ReqMem\n"
      "1|2019-03-02T10:00:00|2019-03-02T10:00:00|2019-03-02T11:00:00|CANCELLED by 1001|"
      "gpu:tesla:2|8|1|4000Mc\n");
  ASSERT_TRUE(history);
  EXPECT_EQ(gpus(*history, history->attempts().front().gpus), "tesla:2");
  EXPECT_EQ(*history->jobs().front().memory, mebibytes(32000));
  EXPECT_EQ(history->jobs().front().outcome, Outcome::kCancelled);
}

TEST(Sacct, TheSameExportTwiceAddsNothingAndALaterOneCompletes) {
  const std::string head = "JobID|Submit|Start|End|State|AllocTRES\n";
  const std::string done =
      "1|2026-03-02T10:00:00|2026-03-02T10:00:05|2026-03-02T11:00:00|COMPLETED|gres/gpu=1\n";
  const auto twice = read(head + done + done);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->attempts().size(), 1U);
  EXPECT_EQ(count_of(*twice, "the same attempt again"), 1);
  const auto later = read(head + "1|2026-03-02T10:00:00|Unknown|Unknown|PENDING|\n" +
                          "1|2026-03-02T10:00:00|2026-03-02T10:00:05|Unknown|RUNNING|gres/gpu=1\n" +
                          done);
  ASSERT_TRUE(later);
  ASSERT_EQ(later->attempts().size(), 1U);
  EXPECT_EQ(later->attempts().front().outcome, Outcome::kCompleted);
}

TEST(Sacct, RowsThatCannotBeReadAreCountedWithTheirLines) {
  const auto history = read(
      "JobID|JobName|Submit|Start|End|State\n"
      "1|a|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|COMPLETED\n"
      "2|a|b|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|COMPLETED\n"
      "3|a|soon|2026-03-02T10:00:00|later|COMPLETED\n"
      "4|a|2026-03-02T10:00:00|2026-03-02T12:00:00|2026-03-02T11:00:00|COMPLETED\n"
      "5|a|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|SLEEPING\n"
      "six|a|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|COMPLETED\n");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->jobs().size(), 2U);
  EXPECT_EQ(count_of(*history, "another number of fields than the first line"), 1);
  EXPECT_EQ(count_of(*history, "no time"), 1);
  EXPECT_EQ(count_of(*history, "the end is before the start"), 1);
  EXPECT_EQ(count_of(*history, "the state is not known"), 1);
  EXPECT_EQ(count_of(*history, "no job id"), 1);
  EXPECT_EQ(history->notes().count_of(RowFate::kSkipped), 4);
  EXPECT_EQ(history->notes().kinds[1].places.front(), "s.psv:4:5: Submit 'soon'");
}

// Berlin: 01:30 to 03:30 is an hour in March, and 02:50 to 02:10 twenty minutes in October.
TEST(Sacct, ARunAcrossTheChangeOfSummerTimeIsAsLongAsElapsedSays) {
  const std::string row = "|2026-01-01T00:00:00|";
  const auto history = read(
      "JobID|Submit|Start|End|Elapsed|Suspended|State|AllocTRES\n"
      "1" + row + "2026-03-29T01:30:00|2026-03-29T03:30:00|01:00:00|00:00:00|COMPLETED|gres/gpu=2\n"
      "2" + row + "2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00|00:00:00|FAILED|gres/gpu=2\n"
      "3" + row + "2026-05-05T10:00:00|2026-05-05T12:00:00|01:00:00|01:00:00|FAILED|gres/gpu=2\n"
      "4" + row + "2026-05-05T10:00:00|2026-05-05T12:00:00|02:00:00|00:00:00|FAILED|gres/gpu=2\n");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->attempts().size(), 4U);
  EXPECT_EQ(history->attempts()[0].run_time(), Duration::hours(1));
  EXPECT_EQ(history->attempts()[1].run_time(), Duration::minutes(20));
  EXPECT_EQ(history->attempts()[2].run_time(), Duration::hours(1)) << "suspended";
  EXPECT_EQ(*history->attempts()[2].ended - *history->attempts()[2].started, Duration::hours(2));
  EXPECT_EQ(history->attempts()[3].run_time(), Duration::hours(2));
  EXPECT_EQ(history->notes().count_of(RowFate::kKept), 2);
}

TEST(Sacct, SaysWhatAnExportCannotTell) {
  const auto history = read(
      "JobID|Submit|Start|End|State\n"
      "1|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|COMPLETED\n");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->notes().remarks.size(), 1U);
  EXPECT_NE(history->notes().remarks[0].find("AllocTRES"), std::string::npos);
  EXPECT_FALSE(history->attempts().front().gpus.known());
  const auto no_submit = read("JobID|State|User\n1|COMPLETED|a\n");
  ASSERT_FALSE(no_submit);
  EXPECT_NE(no_submit.error().message.find("sacct -a -D -P -o ALL"), std::string::npos);
}

}  // namespace
}  // namespace rota::history
