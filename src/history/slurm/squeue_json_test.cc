#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

Result<JobHistory> read(const std::string& text) { return read_history_text(text, "q.json", {}); }

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

class SqueueSample : public ::testing::Test {
 protected:
  void SetUp() override {
    auto read = read_history({folder_ + "squeue-22.05.json"}, {});
    ASSERT_TRUE(read) << read.error().where << read.error().message;
    history_ = std::move(*read);
  }
  const JobRecord& job(const std::string& id) {
    for (const JobRecord& job : history_.jobs()) {
      if (history_.id_text(job.key) == id) return job;
    }
    ADD_FAILURE() << "no job " << id;
    return history_.jobs().front();
  }
  const AttemptRecord& attempt(const std::string& id) {
    return history_.attempts_of(job(id)).front();
  }
  const std::string folder_ = std::string(ROTA_SOURCE_DIR) + "/tests/data/slurm/";
  JobHistory history_;
};

TEST_F(SqueueSample, WhatRunsHasAStartAndNoEnd) {
  EXPECT_EQ(history_.notes().formats.front(), "squeue-json");
  const AttemptRecord& runs = attempt("141");
  EXPECT_EQ(runs.outcome, Outcome::kRunning);
  EXPECT_EQ(runs.started, Maybe<Instant>(Instant(1796063600LL * 1'000'000'000)));
  EXPECT_FALSE(runs.ended);
  EXPECT_EQ(gpus(history_, runs.gpus), "a100:2");
  EXPECT_EQ(history_.text(runs.nodes), "a1");
  EXPECT_EQ(*job("141").time_limit, Duration::minutes(1));
  EXPECT_EQ(*job("141").memory, mebibytes(100));
  EXPECT_EQ(history_.text(job("141").user), "alice");
  EXPECT_EQ(attempt("148_4").outcome, Outcome::kRunning);
  EXPECT_EQ(attempt("148_5").outcome, Outcome::kRunning);  // ends at this moment
  EXPECT_FALSE(attempt("148_5").ended);
  EXPECT_EQ(gpus(history_, attempt("162").gpus), "/shard:2");
}

TEST_F(SqueueSample, WhatWaitsHasAReasonAndNoStart) {
  for (const auto& [id, reason] : {std::pair("149", "BeginTime"), std::pair("155", "AssocGrpGRES"),
                                   std::pair("156", "Dependency")}) {
    EXPECT_EQ(attempt(id).outcome, Outcome::kPending) << id;
    EXPECT_FALSE(attempt(id).started) << id;
    EXPECT_FALSE(attempt(id).ended) << id;
    EXPECT_EQ(history_.text(attempt(id).reason), reason);
  }
  EXPECT_EQ(gpus(history_, job("149").gpus), "h100:8");
  EXPECT_FALSE(attempt("149").gpus.known());
}

TEST_F(SqueueSample, WhatHasJustEndedTellsHow) {
  EXPECT_EQ(attempt("32").outcome, Outcome::kCompleted);
  EXPECT_EQ(attempt("32").run_time(), Duration::seconds(3));
  EXPECT_EQ(attempt("142").outcome, Outcome::kFailed);
  EXPECT_EQ(attempt("142").exit_code, 3);  // 768 as a wait status
  EXPECT_EQ(attempt("142").signal, 0);
  EXPECT_EQ(attempt("15").outcome, Outcome::kCancelled);
  EXPECT_FALSE(attempt("15").started);  // Slurm writes its end there
}

TEST_F(SqueueSample, TellsWhatTheAccountsTell) {
  const auto text = read_history({folder_ + "sacct-duplicates.psv"}, {});
  ASSERT_TRUE(text);
  int compared = 0;
  for (const JobRecord& other : text->jobs()) {
    for (const JobRecord& job : history_.jobs()) {
      if (history_.id_text(job.key) != text->id_text(other.key)) continue;
      ++compared;
      const std::string id = history_.id_text(job.key);
      EXPECT_EQ(history_.text(job.user), text->text(other.user)) << id;
      EXPECT_EQ(history_.text(job.queue), text->text(other.queue)) << id;
      EXPECT_EQ(gpus(history_, job.gpus), gpus(*text, other.gpus)) << id;
      EXPECT_EQ(job.time_limit, other.time_limit) << id;
      EXPECT_EQ(job.memory, other.memory) << id;
    }
  }
  EXPECT_GE(compared, 5);
}

TEST_F(SqueueSample, AccountsOfLaterCompleteIt) {
  const auto both = read_history({folder_ + "squeue-22.05.json", folder_ + "sacct-duplicates.psv"},
                                 {});
  ASSERT_TRUE(both) << both.error().message;
  for (const JobRecord& job : both->jobs()) {
    if (both->id_text(job.key) != "148_5") continue;
    EXPECT_EQ(job.attempt_count, 1U);
    EXPECT_EQ(job.outcome, Outcome::kFailed);
    EXPECT_TRUE(both->attempts_of(job).front().ended);
  }
}

/// The form of releases from 23.11 on.
constexpr const char* kLaterQueue = R"json({"jobs": [{
  "job_id": 51, "name": "train", "user_name": "ann", "account": "ml", "partition": "gpu",
  "qos": "high", "cluster": "c1", "nodes": "n[1-2]", "job_state": ["RUNNING"],
  "array_job_id": {"set": true, "infinite": false, "number": 50},
  "array_task_id": {"set": true, "infinite": false, "number": 0},
  "array_task_string": "", "state_reason": "None",
  "submit_time": {"set": true, "infinite": false, "number": 1700000000},
  "eligible_time": {"set": true, "infinite": false, "number": 1700000001},
  "start_time": {"set": true, "infinite": false, "number": 1700000060},
  "end_time": {"set": true, "infinite": false, "number": 1700086460},
  "time_limit": {"set": true, "infinite": %s, "number": 90},
  "priority": {"set": true, "infinite": false, "number": 4294901000},
  "node_count": {"set": true, "infinite": false, "number": 2},
  "tres_req_str": "cpu=8,mem=1G,node=2,billing=8",
  "tres_alloc_str": "cpu=8,mem=1G,node=2,billing=8", "tres_per_node": "gres/gpu:h100:8",
  "gres_detail": ["gpu:h100:8(IDX:0-3,4-7)", "gpu:h100:8(IDX:0-7)"],
  "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false,
    "number": 0}, "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}}
 }, {
  "job_id": 60, "name": "sweep", "user_name": "bob", "job_state": ["PENDING"],
  "array_job_id": {"set": true, "infinite": false, "number": 60},
  "array_task_id": {"set": false, "infinite": false, "number": 0},
  "array_task_string": "1-9%%2", "state_reason": "Resources",
  "submit_time": {"set": true, "infinite": false, "number": 1700000100},
  "start_time": {"set": true, "infinite": false, "number": 1700090000},
  "time_limit": {"set": false, "infinite": false, "number": 0},
  "priority": {"set": false, "infinite": true, "number": 4294967295},
  "tasks": {"set": true, "infinite": false, "number": 4}, "tres_per_task": "gres/gpu:2",
  "tres_req_str": "cpu=8,node=1", "tres_alloc_str": ""
 }, {
  "job_id": 61, "name": "gone", "user_name": "bob", "job_state": ["FAILED"], "nodes": "n1",
  "submit_time": 1700000100, "start_time": 1700000200, "end_time": 1700000260,
  "time_limit": 4294967295, "tres_alloc_str": "cpu=1,node=1,gres/gpu=1",
  "exit_code": {"status": ["SIGNALED"], "return_code": {"set": false, "number": 0},
    "signal": {"signal_id": 9, "name": "KILL"}}
 }], "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}}, "errors": []})json";

std::string later_queue(const char* infinite) {
  std::string text = kLaterQueue;
  text.replace(text.find("%s"), 2, infinite);
  return text.replace(text.find("%%"), 2, "%");
}

TEST(SqueueJson, TheFormOfLaterReleases) {
  const auto history = read(later_queue("false"));
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->jobs().size(), 3U);
  const JobRecord& runs = history->jobs()[0];
  EXPECT_EQ(history->id_text(runs.key), "50_0");
  EXPECT_EQ(*runs.time_limit, Duration::minutes(90));
  EXPECT_EQ(*runs.priority, 4294901000);
  const AttemptRecord& attempt = history->attempts_of(runs).front();
  EXPECT_EQ(attempt.wait_time(), Duration::minutes(1));
  EXPECT_FALSE(attempt.ended);
  EXPECT_EQ(attempt.exit_code, -1);  // it has none yet
  EXPECT_EQ(gpus(*history, attempt.gpus), "h100:16");  // Slurm counts no devices here
  EXPECT_EQ(gpus(*history, runs.gpus), "h100:16");
  const JobRecord& waits = history->jobs()[1];
  EXPECT_EQ(history->id_text(waits.key), "60_[1-9%2]");
  EXPECT_EQ(waits.limit_kind, TimeLimit::kNotTold);
  EXPECT_FALSE(waits.priority);
  EXPECT_EQ(gpus(*history, waits.gpus), "8");  // four tasks of two
  EXPECT_FALSE(history->attempts_of(waits).front().started);
  const JobRecord& gone = history->jobs()[2];
  EXPECT_EQ(history->attempts_of(gone).front().signal, 9);
  EXPECT_EQ(history->attempts_of(gone).front().exit_code, -1);
  EXPECT_EQ(gone.limit_kind, TimeLimit::kNone);
  const auto unlimited = read(later_queue("true"));
  ASSERT_TRUE(unlimited);
  EXPECT_EQ(unlimited->jobs()[0].limit_kind, TimeLimit::kNone);
}

TEST(SqueueJson, NumbersThatCannotBeAreNotTold) {
  std::string text = later_queue("false");
  for (const auto& [from, to] :
       {std::pair("1700086460", "-5"), std::pair("\"number\": 1700000060", "\"number\": 1e300"),
        std::pair("\"number\": 90", "\"number\": 99999999999999999999"),
        std::pair("\"job_id\": 61", "\"job_id\": -61"),
        std::pair("\"number\": 4}", "\"number\": 9223372036854775807}")}) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
  }
  const auto history = read(text);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->jobs().size(), 2U);
  EXPECT_FALSE(history->attempts()[0].started);
  EXPECT_EQ(history->jobs()[0].limit_kind, TimeLimit::kNotTold);
  EXPECT_EQ(history->notes().count_of(RowFate::kSkipped), 1);
}

}  // namespace
}  // namespace rota::history
