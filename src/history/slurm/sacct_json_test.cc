#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

Result<JobHistory> read(const std::string& text) { return read_history_text(text, "s.json", {}); }

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

TEST(SacctJson, TheSampleTellsWhatTheTextTells) {
  const std::string folder = std::string(ROTA_SOURCE_DIR) + "/tests/data/slurm/";
  const auto json = read_history({folder + "sacct-22.05.json"}, {});
  ASSERT_TRUE(json) << json.error().where << json.error().message;
  EXPECT_EQ(json->notes().formats.front(), "sacct-json");
  const auto text = read_history({folder + "sacct-duplicates.psv"}, {});
  ASSERT_TRUE(text);
  EXPECT_EQ(json->jobs().size(), 13U);
  EXPECT_EQ(json->attempts().size(), 15U);
  for (const JobRecord& job : json->jobs()) {
    const std::string id = json->id_text(job.key);
    const JobRecord* other = nullptr;
    for (const JobRecord& candidate : text->jobs()) {
      if (text->id_text(candidate.key) == id) other = &candidate;
    }
    ASSERT_NE(other, nullptr) << id;
    EXPECT_EQ(job.outcome, other->outcome) << id;
    EXPECT_EQ(job.submitted, other->submitted) << id;
    EXPECT_EQ(job.time_limit, other->time_limit) << id;
    EXPECT_EQ(job.memory, other->memory) << id;
    EXPECT_EQ(json->text(job.user), text->text(other->user)) << id;
    EXPECT_EQ(gpus(*json, job.gpus), gpus(*text, other->gpus)) << id;
    ASSERT_EQ(job.attempt_count, other->attempt_count) << id;
    for (std::uint32_t i = 0; i < job.attempt_count; ++i) {
      const AttemptRecord& a = json->attempts_of(job)[i];
      const AttemptRecord& b = text->attempts_of(*other)[i];
      EXPECT_EQ(a.started, b.started) << id;
      EXPECT_EQ(a.ended, b.ended) << id;
      EXPECT_EQ(gpus(*json, a.gpus), gpus(*text, b.gpus)) << id;
      EXPECT_EQ(json->text(a.nodes), text->text(b.nodes)) << id;
      EXPECT_EQ(a.memory_used, b.memory_used) << id;
      EXPECT_EQ(a.signal, b.signal) << id;
    }
  }
}

/// The form of releases from 23.11 on: lists of states, numbers in objects.
constexpr const char* kLater = R"({"jobs": [{
  "job_id": 42, "name": "train", "user": "ann", "account": "ml", "partition": "gpu",
  "qos": "high", "cluster": "c1", "nodes": "n[1-2]", "allocation_nodes": 2,
  "association": {"account": "ml", "user": "ann", "cluster": "c1", "partition": "", "id": 4},
  "array": {"job_id": 40, "task_id": {"set": true, "infinite": false, "number": 2}},
  "state": {"current": ["OUT_OF_MEMORY"], "reason": "None"},
  "exit_code": {"status": ["SIGNALED"], "return_code": {"set": false, "infinite": false,
    "number": 0}, "signal": {"id": {"set": true, "infinite": false, "number": 9}, "name": "KILL"}},
  "priority": {"set": true, "infinite": false, "number": 77},
  "time": {"submission": 1700000000, "eligible": 1700000000, "start": 1700000060,
    "end": 1700003660, "elapsed": 3600, "suspended": 0,
    "limit": {"set": true, "infinite": %s, "number": 90}},
  "tres": {"requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 16}],
    "allocated": [{"type": "cpu", "name": "", "id": 1, "count": 64},
      {"type": "gres", "name": "gpu", "id": 1001, "count": 16},
      {"type": "gres", "name": "gpu:h100", "id": 1002, "count": 16}]},
  "steps": [{"time": {"elapsed": 3600}, "tres": {"requested": {
     "max": [{"type": "mem", "name": "", "count": 1073741824},
             {"type": "gres", "name": "gpumem", "count": 2147483648}],
     "average": [{"type": "gres", "name": "gpuutil", "count": 93}]}}}]
 }], "meta": {"plugin": {"type": "", "name": "", "data_parser": "data_parser/v0.0.41"}},
 "errors": [], "warnings": []})";

std::string later(const char* infinite) {
  std::string text = kLater;
  return text.replace(text.find("%s"), 2, infinite);
}

TEST(SacctJson, TheFormOfLaterReleases) {
  const auto history = read(later("false"));
  ASSERT_TRUE(history) << history.error().message;
  const JobRecord& job = history->jobs().front();
  const AttemptRecord& attempt = history->attempts().front();
  EXPECT_EQ(history->id_text(job.key), "40_2");
  EXPECT_EQ(job.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(attempt.exit_code, -1);
  EXPECT_EQ(attempt.signal, 9);
  EXPECT_EQ(*job.priority, 77);
  EXPECT_EQ(*job.time_limit, Duration::minutes(90));
  EXPECT_EQ(attempt.wait_time(), Duration::seconds(60));
  EXPECT_EQ(gpus(*history, attempt.gpus), "h100:16");
  EXPECT_EQ(attempt.gpu_busy_permille, 930);
  EXPECT_EQ(attempt.memory_used.optional(), gibibytes(1));
  EXPECT_EQ(attempt.gpu_memory_used.optional(), gibibytes(2));
  const auto unlimited = read(later("true"));
  ASSERT_TRUE(unlimited);
  EXPECT_EQ(unlimited->jobs().front().limit_kind, TimeLimit::kNone);
}

TEST(SacctJson, DamagedTextNamesThePlace) {
  std::string text = later("false");
  const ReadOptions options{.format = "sacct-json", .map = {}};
  const auto history = read_history_text(text.substr(0, text.size() / 2), "s.json", options);
  ASSERT_FALSE(history);
  EXPECT_TRUE(history.error().where.starts_with("s.json:")) << history.error().where;
  EXPECT_NE(history.error().message.find("no sound JSON"), std::string::npos);
}

TEST(SacctJson, ItemsThatAreNoJobsAreCounted) {
  std::string text = later("false");
  text.insert(text.find("{\n  \"job_id\""), "{\"name\": \"x\"}, ");
  const auto history = read(text);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->notes().kinds.size(), 1U);
  EXPECT_EQ(history->notes().kinds[0].places.front(), "s.json: item 1");
}

TEST(Jobcomp, NamesWithBlanksAndRefusedJobs) {
  const std::string tail =
      " WorkDir=/home/ann/my dir ReservationName= Tres=cpu=8,node=1,gres/gpu=2,gres/gpu:a100=2 "
      "Account=ml QOS=normal WcKey= Cluster=c1 SubmitTime=2026-03-02T10:00:00 "
      "EligibleTime=2026-03-02T10:00:00 DerivedExitCode=0:0 ExitCode=3:0 \n";
  const auto history = read(
      "JobId=7 UserId=ann(1001) GroupId=ann(1001) Name=my job=1 JobState=FAILED Partition=gpu "
      "TimeLimit=60 StartTime=2026-03-02T10:01:00 EndTime=2026-03-02T10:11:00 NodeList=n1 "
      "NodeCnt=1 ProcCnt=8" + tail +
      "JobId=8 UserId=ann(1001) GroupId=ann(1001) Name=x JobState=CANCELLED Partition=gpu "
      "TimeLimit=UNLIMITED StartTime=Unknown EndTime=2026-03-02T10:11:00 NodeList=(null) "
      "NodeCnt=0 ProcCnt=0" + tail);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->notes().formats.front(), "jobcomp");
  ASSERT_EQ(history->jobs().size(), 2U);
  const JobRecord& job = history->jobs().front();
  EXPECT_EQ(history->text(job.name), "my job=1");
  EXPECT_EQ(history->text(job.user), "ann");
  EXPECT_EQ(*job.time_limit, Duration::hours(1));
  EXPECT_EQ(history->attempts()[0].exit_code, 3);
  EXPECT_EQ(gpus(*history, history->attempts()[0].gpus), "a100:2");
  EXPECT_EQ(history->attempts()[0].wait_time(), Duration::minutes(1));
  EXPECT_FALSE(history->attempts()[1].started);
  EXPECT_EQ(history->jobs()[1].limit_kind, TimeLimit::kNone);
}

}  // namespace
}  // namespace rota::history
