#include <gtest/gtest.h>

#include "history/read.h"

namespace rota::history {
namespace {

std::string gpus(const JobHistory& history, GpuSetId id) {
  return gpu_set_text(history.gpus(), history.names(), id);
}

class KaiSnapshot : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path =
        std::string(ROTA_SOURCE_DIR) + "/tests/data/kubernetes/kai-snapshot.zip";
    auto read = read_history({path}, {});
    ASSERT_TRUE(read) << read.error().where << read.error().message;
    history_ = std::move(*read);
  }
  const JobRecord& job(const std::string& name) {
    for (const JobRecord& job : history_.jobs()) {
      if (history_.text(job.name) == name) return job;
    }
    ADD_FAILURE() << "no job " << name;
    return history_.jobs().front();
  }
  const AttemptRecord& last(const std::string& name) {
    return history_.attempts_of(job(name)).back();
  }
  JobHistory history_;
};

TEST_F(KaiSnapshot, APodGroupIsAJobOnTheModelsOfItsNodes) {
  EXPECT_EQ(history_.notes().formats.front(), "kai-snapshot");
  const JobRecord& train = job("train");
  EXPECT_EQ(history_.id_text(train.key), "ml/pg-train-1");
  ASSERT_EQ(train.attempt_count, 1U);
  EXPECT_EQ(gpus(history_, last("train").gpus),
            "NVIDIA-A100-SXM4-80GB:8;NVIDIA-H100-80GB-HBM3:8");
  EXPECT_EQ(gpus(history_, train.gpus), "16");
  EXPECT_EQ(last("train").outcome, Outcome::kRunning);
  EXPECT_EQ(last("train").wait_time(), Duration::minutes(20) + Duration::seconds(2));
  EXPECT_EQ(history_.text(train.queue), "vision");
  EXPECT_EQ(history_.text(train.job_class), "train");
  EXPECT_EQ(*train.priority, 50);
}

TEST_F(KaiSnapshot, APodMadeAgainIsTheNextAttempt) {
  const auto attempts = history_.attempts_of(job("old"));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, Outcome::kFailed);
  EXPECT_EQ(attempts[0].exit_code, 1);
  EXPECT_EQ(attempts[1].outcome, Outcome::kCompleted);
  EXPECT_EQ(attempts[1].run_time(), Duration::hours(2));
  EXPECT_FALSE(job("old").priority);  // its class is not in the snapshot
}

TEST_F(KaiSnapshot, PartsOfADeviceCountOnce) {
  EXPECT_EQ(gpus(history_, last("half").gpus), "NVIDIA-A100-SXM4-80GB:0.5");
  // Asked for by memory; the request to bind says which part that is, on which node, since when.
  EXPECT_EQ(gpus(history_, last("by-memory").gpus), "NVIDIA-A100-SXM4-80GB:0.25");
  EXPECT_EQ(history_.text(last("by-memory").nodes), "n2");
  EXPECT_EQ(last("by-memory").wait_time(), Duration::minutes(5));
  for (const JobRecord& job : history_.jobs()) {
    EXPECT_FALSE(history_.id_text(job.key).starts_with("kai-resource-reservation"));
  }
}

TEST_F(KaiSnapshot, WhyItWaitsAndWhatIsPassedOver) {
  EXPECT_EQ(last("big").outcome, Outcome::kPending);
  EXPECT_EQ(history_.text(last("big").reason), "queue vision has reached its limit of 16 GPUs");
  EXPECT_EQ(last("gone").outcome, Outcome::kUnknown);
  EXPECT_EQ(history_.jobs().size(), 6U);
  EXPECT_EQ(history_.attempts().size(), 7U);
  // The pod that holds a shared device, a daemon's, three queues, a config map, a storage class.
  EXPECT_EQ(history_.notes().count_of(RowFate::kPassedOver), 7);
  EXPECT_EQ(history_.notes().count_of(RowFate::kKept), 1);
}

TEST(KaiSnapshotText, UnpackedAndHalfAreReadAlike) {
  const std::string pod =
      R"({"metadata":{"name":"p","namespace":"a","creationTimestamp":"2026-03-02T10:00:00Z",)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j"}]},)"
      R"("spec":{"containers":[]},"status":{"phase":"Pending"}})";
  const std::string text = R"({"config":null,"schedulerParams":{},"rawObjects":{"pods":[)" + pod +
                           R"(],"nodes":null,"podGroups":[]}})";
  const auto read = read_history_text(text, "snapshot.json", {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->notes().formats.front(), "kai-snapshot");
  EXPECT_EQ(read->id_text(read->jobs().front().key), "a/j");
  const auto none = read_history_text(R"({"config":{},"rawObjects":{"pods":7}})", "s.json", {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no job"), std::string::npos);
  const auto cut = read_history_text(text.substr(0, 80), "s.json", {});
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("no sound JSON"), std::string::npos);
}

}  // namespace
}  // namespace rota::history
