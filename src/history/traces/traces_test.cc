#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

JobHistory read(const std::string& text, const std::string& format, const ReadOptions& how = {}) {
  auto history = read_history_text(text, "trace", how);
  EXPECT_TRUE(history) << history.error().where << " " << history.error().message;
  if (!history) return {};
  EXPECT_EQ(history->notes().formats.front(), format);
  return std::move(*history);
}

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

TEST(Traces, PhillyTable) {
  const auto read = read_history({std::string(ROTA_SOURCE_DIR) + "/tests/data/philly-500.csv"}, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->notes().formats.front(), "philly");
  EXPECT_EQ(read->jobs().size(), 500U);
  const AttemptRecord& first = read->attempts().front();
  EXPECT_TRUE(first.run_time());
  EXPECT_FALSE(first.wait_time());  // the table does not tell it
  EXPECT_FALSE(read->text(read->jobs().front().queue).empty());
}

TEST(Traces, PhillyJobLog) {
  const JobHistory history = read(R"([
    {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1_1", "user": "ce4c80",
     "submitted_time": "2017-10-07 01:00:00", "attempts": [
      {"start_time": "2017-10-07 01:01:00", "end_time": "2017-10-07 01:02:00",
       "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu3"]}]},
      {"start_time": "2017-10-07 01:05:00", "end_time": "2017-10-07 02:05:00",
       "detail": [{"ip": "m3", "gpus": ["gpu0"]}]}]},
    {"status": "Killed", "vc": "ee9e8c", "jobid": "application_1_2", "user": "ce4c80",
     "submitted_time": "2017-10-07 01:00:00", "attempts": []},
    {"status": "Failed", "vc": "a", "jobid": "application_1_3", "user": "b",
     "submitted_time": "2017-10-07 03:00:00", "attempts": [
      {"start_time": "2017-10-07 03:00:10", "end_time": null, "detail": []}]}])",
                                  "philly-json");
  ASSERT_EQ(history.jobs().size(), 3U);
  const auto attempts = history.attempts_of(history.jobs()[0]);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, Outcome::kFailed);
  EXPECT_EQ(gpus(history, attempts[0].gpus), "3");
  EXPECT_EQ(history.text(attempts[0].nodes), "m1,m2");
  EXPECT_EQ(attempts[1].outcome, Outcome::kCompleted);
  EXPECT_EQ(attempts[1].wait_time(), Duration::minutes(3));
  EXPECT_EQ(history.jobs()[1].outcome, Outcome::kCancelled);
  EXPECT_FALSE(history.attempts_of(history.jobs()[1]).front().started);
  EXPECT_FALSE(history.attempts_of(history.jobs()[2]).front().ended);
}

TEST(Traces, OpenbFractionsModelsAndPhases) {
  const JobHistory history = read(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n"
      "p0,6000,12288,1,460,,LS,Running,10,110,12\n"
      "p1,12000,16384,2,1000,T4,BE,Succeeded,20,120,20\n"
      "p2,12000,16384,1,1000,V100M16|V100M32,BE,Failed,30,120,40\n"
      "p3,12000,16384,0,0,,Burstable,Pending,40,,\n",
      "openb");
  ASSERT_EQ(history.jobs().size(), 4U);
  const auto job = [&](std::size_t i) { return history.jobs()[i]; };
  EXPECT_EQ(gpus(history, job(0).gpus), "0.46");
  EXPECT_EQ(gpus(history, job(1).gpus), "T4:2");
  EXPECT_EQ(gpus(history, job(2).gpus), "1");
  EXPECT_EQ(job(3).gpus, kNoGpus);
  EXPECT_EQ(job(0).outcome, Outcome::kUnknown);
  EXPECT_EQ(job(1).outcome, Outcome::kCompleted);
  EXPECT_EQ(job(3).outcome, Outcome::kPending);
  EXPECT_EQ(job(0).cpus_milli, 6000);
  EXPECT_EQ(*job(0).memory, mebibytes(12288));
  EXPECT_EQ(history.text(job(1).job_class), "BE");
  EXPECT_EQ(history.attempts()[0].wait_time(), Duration::seconds(2));
  EXPECT_EQ(history.attempts()[0].run_time(), Duration::seconds(98));
}

TEST(Traces, DlrmInstancesWithAndWithoutTimes) {
  const JobHistory history = read(
      "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,memory_request,"
      "max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
      "instance_0,HN,app_0,12,12,1,1,120.0,8,,,\n"
      "instance_1,CN,app_1,64,64,0,0,320.5,1,100,105.5,2000\n",
      "dlrm");
  ASSERT_EQ(history.jobs().size(), 2U);
  EXPECT_EQ(history.notes().count_of(RowFate::kKept), 1);
  const JobRecord& timed = history.jobs()[0];
  EXPECT_EQ(history.id_text(timed.key), "instance_1");
  EXPECT_EQ(*timed.memory, gibibytes(320) + mebibytes(512));
  EXPECT_EQ(history.attempts()[0].wait_time(), Duration::milliseconds(5500));
}

TEST(Traces, MuriCountsMilliseconds) {
  const JobHistory history = read(
      "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
      "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
      "0,8,1534000,10956,gpt2,4,5095000,91000,437,0.6,419,49,1\n",
      "muri");
  EXPECT_EQ(*history.jobs()[0].submitted, Instant(Duration::milliseconds(1534000).ns()));
  EXPECT_EQ(history.attempts()[0].run_time(), Duration::seconds(5095));
  EXPECT_EQ(*history.jobs()[0].priority, 1);
}

TEST(Traces, HeliosQueueIsATimeAndVcTheOwner) {
  const JobHistory history = read(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
      "queue\n"
      "7,u1,vcA,8,48,1,COMPLETED,2020-05-01 10:00:00,2020-05-01 10:01:00,2020-05-01 11:01:00,"
      "3600,60\n"
      "8,u1,vcA,8,48,1,CANCELLED,2020-05-01 10:00:00,None,2020-05-01 11:01:00,0,0\n",
      "helios");
  EXPECT_EQ(history.text(history.jobs()[0].queue), "vcA");
  EXPECT_EQ(history.attempts()[0].wait_time(), Duration::minutes(1));
  EXPECT_EQ(history.attempts()[0].run_time(), Duration::hours(1));
  EXPECT_EQ(history.attempts()[0].node_count, 1U);
}

TEST(Traces, AcmeTypesAreClassesAndZonesCount) {
  const JobHistory history = read(
      "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
      "queue,gpu_time\n"
      "j1,u7,8,64,960,Pretrain,NODE_FAIL,2023-05-17 11:00:58+08:00,2023-05-17 11:01:08+08:00,"
      "2023-05-17 12:01:08+08:00,3600,10,230400\n",
      "acme");
  EXPECT_EQ(history.text(history.jobs()[0].job_class), "Pretrain");
  EXPECT_EQ(history.jobs()[0].outcome, Outcome::kNodeFailed);
  EXPECT_EQ(instant_text(*history.jobs()[0].submitted), "2023-05-17T03:00:58Z");
}

constexpr const char* kSwf =
    "; UnixStartTime: 1000000000\n; MaxNodes: 4\n"
    "1 10 5 100 8 -1 2048 8 600 -1 1 3 1 -1 2 1 -1 -1\n"
    "2 20 -1 -1 -1 -1 -1 16 -1 -1 5 3 1 -1 2 1 -1 -1\n"
    "3 x 5 100 8 -1 -1 8 600 -1 0 3 1 -1 2 1 -1 -1\n";

TEST(Traces, SwfProcessorsAreCpusUnlessTheMapSaysGpus) {
  const JobHistory history = read(kSwf, "swf");
  ASSERT_EQ(history.jobs().size(), 2U);
  EXPECT_EQ(history.jobs()[0].cpus_milli, 8000);
  EXPECT_FALSE(history.jobs()[0].gpus.known());
  EXPECT_EQ(history.attempts()[0].wait_time(), Duration::seconds(5));
  EXPECT_EQ(*history.jobs()[0].time_limit, Duration::minutes(10));
  EXPECT_EQ(history.attempts()[0].memory_used.optional(), mebibytes(16));
  EXPECT_EQ(*history.jobs()[0].submitted, Instant(Duration::seconds(1'000'000'010).ns()));
  EXPECT_EQ(history.jobs()[1].outcome, Outcome::kCancelled);
  EXPECT_EQ(history.notes().count_of(RowFate::kSkipped), 1);
  ReadOptions options{.format = "swf", .map = *parse_column_map("gpus=processors")};
  const JobHistory as_gpus = read(kSwf, "swf", options);
  EXPECT_EQ(gpus(as_gpus, as_gpus.attempts()[0].gpus), "8");
}

TEST(Traces, OwnJobsAsCsvAndJson) {
  const JobHistory table = read(
      "id,name,user,queue,job_class,state,gpus_total,models,submitted,waiting_since,started,"
      "first_started,ended,time_limit_seconds,gpu_hours,exit_code,signal,end_cause,nodes\n"
      "7,train,ann,ml,training,done,4,h100,2026-03-02T10:00:00Z,2026-03-02T12:00:00Z,"
      "2026-03-02T12:30:00Z,2026-03-02T10:00:05Z,2026-03-02T13:00:00Z,3600,4,0,0,exited,n1;n2\n"
      "8.3,x,ann,ml,,failed,0.5,,2026-03-02T10:00:00Z,2026-03-02T10:00:00Z,2026-03-02T10:00:01Z,"
      "2026-03-02T10:00:01Z,2026-03-02T10:00:02Z,,1,1,0,node_failed,n1\n",
      "rota-jobs");
  ASSERT_EQ(table.jobs().size(), 2U);
  const auto restarted = table.attempts_of(table.jobs()[0]);
  ASSERT_EQ(restarted.size(), 2U);
  EXPECT_EQ(restarted[0].outcome, Outcome::kRequeued);
  EXPECT_EQ(restarted[1].wait_time(), Duration::minutes(30));
  EXPECT_EQ(gpus(table, table.jobs()[0].gpus), "h100:4");
  EXPECT_EQ(table.jobs()[1].outcome, Outcome::kNodeFailed);
  EXPECT_EQ(table.id_text(table.jobs()[1].key), "8.3");
  const JobHistory one = read(R"({"id": "7", "name": "train", "user": "ann", "queue": "ml",
      "job_class": "training", "state": "done", "gpus_total": 4, "models": ["h100"],
      "submitted": "2026-03-02T10:00:00Z", "time_limit_seconds": 3600, "end_cause": "exited",
      "history": [
        {"number": 1, "started": "2026-03-02T10:00:05Z", "ended": "2026-03-02T11:00:00Z",
         "cause": "preempted", "nodes": ["n1"]},
        {"number": 2, "started": "2026-03-02T12:30:00Z", "ended": "2026-03-02T13:00:00Z",
         "cause": "exited", "exit_code": 0, "signal": 0, "nodes": ["n1", "n2"]}]})",
                              "rota-jobs-json");
  ASSERT_EQ(one.attempts().size(), 2U);
  EXPECT_EQ(one.attempts()[0].outcome, Outcome::kPreempted);
  EXPECT_EQ(one.attempts()[1].outcome, Outcome::kCompleted);
  EXPECT_EQ(one.attempts()[1].wait_time(), Duration::minutes(90));
  EXPECT_EQ(one.text(one.attempts()[1].nodes), "n1;n2");
}

}  // namespace
}  // namespace rota::history
