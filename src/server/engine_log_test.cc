#include "server/engine_log.h"

#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "store/database.h"

namespace rota::server {
namespace {

class EngineLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rota_log_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<store::Store> open() {
    auto store = store::Store::open(folder_);
    EXPECT_TRUE(store.ok());
    return *std::move(store);
  }
  /// A node, a queue, three jobs and two cycles.
  static std::uint64_t live(store::Store& store, bool with_snapshot) {
    Result<EngineLog> log = EngineLog::recover(store);
    EXPECT_TRUE(log.ok());
    store.begin();
    NodeSpec node{.name = "n1", .devices = std::vector<DeviceSpec>(2)};
    EXPECT_TRUE(log->apply(Instant(10), NodeReported{node}).ok());
    EXPECT_TRUE(log->apply(Instant(10), QueueSet{{.name = "default"}}).ok());
    for (std::uint64_t i = 1; i <= 3; ++i) {
      JobSpec spec;
      spec.user = "ana";
      EXPECT_TRUE(log->apply(Instant(20), JobSubmitted{JobId(i), spec}).ok());
    }
    EXPECT_EQ(log->cycle(Instant(20)).decisions.size(), 2U);
    if (with_snapshot) log->snapshot();
    EXPECT_TRUE(log->apply(Instant(30), AttemptStarted{JobId(1), 1}).ok());
    EXPECT_TRUE(log->apply(Instant(40), AttemptEnded{.job = JobId(1), .attempt = 1}).ok());
    EXPECT_FALSE(log->cycle(Instant(35)).decisions.empty());  // a clock that steps back
    EXPECT_TRUE(store.commit().ok());
    return log->engine().digest();
  }
  void run_sql(const std::string& sql) {
    auto database = store::Database::open(folder_ + "/rota.db");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->execute(sql).ok());
  }

  std::string folder_;
};

TEST_F(EngineLogTest, TheJournalAloneRebuildsTheEngine) {
  for (const bool with_snapshot : {false, true}) {
    std::filesystem::remove_all(folder_);
    const std::uint64_t digest = live(*open(), with_snapshot);
    const auto store = open();
    const Result<EngineLog> log = EngineLog::recover(*store);
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_EQ(log->engine().digest(), digest);
    EXPECT_EQ(log->rows_since_snapshot(), with_snapshot ? 3 : 9);
  }
}

TEST_F(EngineLogTest, ARefusedEventIsRefusedAgain) {
  std::uint64_t digest = 0;
  {
    const auto store = open();
    Result<EngineLog> log = EngineLog::recover(*store);
    store->begin();
    EXPECT_FALSE(log->apply(Instant(1), JobSubmitted{JobId(1), {}}).ok());
    ASSERT_TRUE(store->commit().ok());
    digest = log->engine().digest();
  }
  const auto store = open();
  const Result<EngineLog> log = EngineLog::recover(*store);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->engine().digest(), digest);
  EXPECT_TRUE(log->engine().jobs().empty());
}

TEST_F(EngineLogTest, ADamagedSnapshotIsPassedOverWhenTheJournalReachesBack) {
  const std::uint64_t digest = live(*open(), true);
  run_sql("UPDATE snapshots SET state = x'00'");
  const auto store = open();
  const Result<EngineLog> log = EngineLog::recover(*store);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->engine().digest(), digest);
}

TEST_F(EngineLogTest, WithNeitherSnapshotNorStartItSaysSo) {
  live(*open(), true);
  run_sql("UPDATE snapshots SET state = x'00'; DELETE FROM journal WHERE seq < 4");
  const auto store = open();
  const Result<EngineLog> log = EngineLog::recover(*store);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::kCorruption);
}

/// Bytes in hexadecimal; `*N` stands for N zeros.
std::string bytes_in(const std::string& path) {
  std::ifstream file(path);
  std::string out;
  for (std::string word; file >> word;) {
    if (word.front() == '*') {
      out.append(std::stoul(word.substr(1)), '\0');
      continue;
    }
    for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
      unsigned byte = 0;
      std::from_chars(word.data() + i, word.data() + i + 2, byte, 16);
      out += static_cast<char>(byte);
    }
  }
  return out;
}

TEST_F(EngineLogTest, ASnapshotOfTheFormatBeforeIsTakenOver) {
  const std::string state = bytes_in(ROTA_SOURCE_DIR "/tests/data/snapshot-format-3.txt");
  Digest digest;
  digest.add(state);
  {
    const auto store = open();
    store->begin();
    const std::int64_t seq = store->append(Instant(1), kCycleRow, "{}");
    store->put_snapshot(
        {.seq = seq, .time = Instant(1), .digest = digest.value(), .state = state});
    ASSERT_TRUE(store->commit().ok());
  }
  const auto store = open();
  Result<EngineLog> log = EngineLog::recover(*store);
  ASSERT_TRUE(log.ok()) << log.error().message;
  const engine::Engine& engine = log->engine();
  EXPECT_EQ(engine.live_jobs(), (std::vector<JobId>{JobId(1), JobId(2), JobId(3), JobId(12),
                                                    JobId(13), JobId(14)}));
  for (const std::uint64_t id : {1, 2, 3}) {
    EXPECT_EQ(engine.job(JobId(id))->state, JobState::kRunning);
  }
  EXPECT_EQ(engine.policy().consolidation, Consolidation::kOff);
  EXPECT_EQ(engine.check_invariants(), std::vector<std::string>());
  // From here on it is written as any other.
  store->begin();
  log->snapshot();
  ASSERT_TRUE(store->commit().ok());
  const std::uint64_t before = engine.digest();
  Result<EngineLog> again = EngineLog::recover(*store);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->engine().digest(), before);
}

TEST_F(EngineLogTest, DecisionsOfAnotherVersionAreNoticed) {
  {
    const auto store = open();
    Result<EngineLog> log = EngineLog::recover(*store);
    store->begin();
    store->append(Instant(5), kCycleRow,
                  R"({"decisions":[{"decision":"session_warned","job":3}]})");
    ASSERT_TRUE(store->commit().ok());
  }
  const auto store = open();
  const Result<EngineLog> log = EngineLog::recover(*store);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(log.error().message.find("another version"), std::string::npos);
}

}  // namespace
}  // namespace rota::server
