#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "history/kubernetes/pod.h"
#include "history/read.h"

namespace rota::history {
namespace {

std::string sample_path() {
  return std::string(ROTA_SOURCE_DIR) + "/tests/data/kubernetes/dump.json";
}

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

class KubernetesDump : public ::testing::Test {
 protected:
  void SetUp() override {
    auto read = read_history({sample_path()}, {});
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
  JobHistory history_;
};

TEST_F(KubernetesDump, ARetriedPodIsTheNextAttemptOfItsJob) {
  const JobRecord& train = job("ml/train");
  const auto attempts = history_.attempts_of(train);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(attempts[0].exit_code, 137);
  EXPECT_EQ(attempts[0].signal, 9);
  EXPECT_EQ(attempts[0].wait_time(), Duration::minutes(10) + Duration::seconds(10));
  EXPECT_EQ(gpus(history_, attempts[0].gpus), "NVIDIA-A100-SXM4-80GB:8");
  EXPECT_EQ(attempts[1].outcome, Outcome::kCompleted);
  EXPECT_EQ(gpus(history_, attempts[1].gpus), "NVIDIA-H100-80GB-HBM3:8");
  EXPECT_EQ(gpus(history_, train.gpus), "8");
  EXPECT_EQ(history_.text(train.queue), "vision");
  EXPECT_EQ(history_.text(train.job_class), "high");
  EXPECT_EQ(*train.time_limit, Duration::days(1));
  EXPECT_EQ(train.cpus_milli, 4000);
  EXPECT_EQ(*train.memory, gibibytes(16));
}

TEST_F(KubernetesDump, PodsOfAGroupAreOneAttempt) {
  const JobRecord& gang = job("ml/gang");
  ASSERT_EQ(gang.attempt_count, 1U);
  const AttemptRecord& attempt = history_.attempts_of(gang).front();
  EXPECT_EQ(attempt.outcome, Outcome::kPreempted);
  EXPECT_EQ(gpus(history_, attempt.gpus), "NVIDIA-A100-SXM4-80GB/3g.40gb:2");
  EXPECT_EQ(attempt.run_time(), Duration::minutes(45) + Duration::seconds(5));
  EXPECT_EQ(history_.text(attempt.nodes), "n1");
  EXPECT_EQ(history_.text(gang.queue), "speech");
  EXPECT_EQ(history_.text(gang.user), "ann");
}

TEST_F(KubernetesDump, FractionsWaitsEventsAndWhatIsGone) {
  EXPECT_EQ(gpus(history_, job("ml/half").gpus), "0.5");
  EXPECT_EQ(job("ml/half").outcome, Outcome::kRunning);
  const JobRecord& waits = job("ml/waits");
  EXPECT_EQ(waits.outcome, Outcome::kPending);
  EXPECT_EQ(gpus(history_, waits.gpus), "NVIDIA-H100-80GB-HBM3:16");
  const std::string_view why = history_.text(history_.attempts_of(waits).front().reason);
  EXPECT_NE(why.find("Insufficient nvidia.com/gpu"), std::string_view::npos);
  EXPECT_EQ(job("ml/lost").outcome, Outcome::kNodeFailed);  // an event says so
  EXPECT_EQ(job("serving/chat-abc").outcome, Outcome::kRunning);
  const JobRecord& gone = job("ml/gone");
  EXPECT_EQ(gone.outcome, Outcome::kTimeLimit);
  EXPECT_EQ(gpus(history_, gone.gpus), "8");  // four pods of two
  EXPECT_EQ(history_.notes().count_of(RowFate::kPassedOver), 2);
  EXPECT_EQ(history_.notes().count_of(RowFate::kKept), 1);
  EXPECT_EQ(history_.jobs().size(), 7U);
}

TEST(Kubernetes, ListsInSeveralFilesBelongTogether) {
  std::ifstream input(sample_path());
  const Json all = Json::parse(input);
  const std::string folder = ::testing::TempDir();
  std::vector<std::string> paths;
  for (const char* kind : {"Job", "Event", "Node", "Pod"}) {
    Json part = {{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", Json::object()}};
    for (const Json& item : all["items"]) {
      if (item["kind"] == kind) part["items"].push_back(item);
    }
    paths.push_back(folder + "dump-" + kind + ".json");
    std::ofstream(paths.back()) << part.dump();
  }
  const auto history = read_history(paths, {});
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->jobs().size(), 7U);
  EXPECT_EQ(history->attempts().size(), 8U);
}

TEST(Kubernetes, Quantities) {
  EXPECT_EQ(quantity_milli(Json("500m")), 500);
  EXPECT_EQ(quantity_milli(Json(8)), 8000);
  EXPECT_EQ(quantity_milli(Json("2")), 2000);
  EXPECT_EQ(quantity_milli(Json("1.5")), 1500);
  EXPECT_EQ(quantity_milli(Json("16Gi")), (16LL << 30) * 1000);
  EXPECT_EQ(quantity_milli(Json("1k")), 1'000'000);
  EXPECT_FALSE(quantity_milli(Json("many")));
  EXPECT_FALSE(quantity_milli(Json("1Xi")));
  EXPECT_FALSE(quantity_milli(Json("9000000Ei")));
}

TEST(Kubernetes, OnePodOrOneALineWillDo) {
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a",)"
      R"("creationTimestamp":"2026-03-02T10:00:00Z"},"spec":{"containers":[{"name":"c"}]},)"
      R"("status":{"phase":"Running","startTime":"2026-03-02T10:00:01Z"}})";
  const auto one = read_history_text(pod, "p.json", {});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->jobs().size(), 1U);
  EXPECT_EQ(one->jobs().front().gpus, kNoGpus);
  std::string other = pod;
  other.replace(other.find("\"p\""), 3, "\"q\"");
  const auto lines = read_history_text(pod + "\n" + other + "\n", "p.json", {});
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_EQ(lines->jobs().size(), 2U);
}

}  // namespace
}  // namespace rota::history
