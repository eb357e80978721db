#include "store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "store/database.h"
#include "store/migrations.h"

namespace rota::store {
namespace {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rota_store_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = pattern + "/state";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<Store> open() {
    Result<std::unique_ptr<Store>> store = Store::open(folder_);
    if (!store.ok()) {
      ADD_FAILURE() << store.error().message;
      return nullptr;
    }
    return *std::move(store);
  }
  Error open_error() {
    const Result<std::unique_ptr<Store>> store = Store::open(folder_);
    EXPECT_FALSE(store.ok());
    return store.ok() ? Error() : store.error();
  }
  std::string file() const { return folder_ + "/rota.db"; }
  void run_sql(const std::string& sql) {
    Result<std::unique_ptr<Database>> database = Database::open(file());
    ASSERT_TRUE(database.ok());
    const Status status = (*database)->execute(sql);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  std::string root_;
  std::string folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}
mode_t passage() { return ::geteuid() == 0 ? 0711 : 0700; }

TEST_F(StoreTest, NobodyElseReadsTheFiles) {
  const mode_t before = ::umask(0);
  {
    auto store = open();
    store->begin();
    store->append(Instant(1), "note", "{}");
    ASSERT_TRUE(store->commit().ok());
    for (const char* name : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(file() + name), 0600U) << name;
    EXPECT_EQ(mode_of(folder_), passage());
  }
  ::umask(before);
}

TEST_F(StoreTest, FilesAndFolderOfAnEarlierVersionBecomePrivate) {
  { auto store = open(); }
  ASSERT_EQ(::chmod(file().c_str(), 0644), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  auto store = open();
  EXPECT_EQ(mode_of(file()), 0600U);
  EXPECT_EQ(mode_of(folder_), passage());
}

TEST_F(StoreTest, AFolderOfOtherThingsKeepsItsMode) {
  std::filesystem::create_directories(folder_ + "/somebodys");
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  auto store = open();
  EXPECT_EQ(mode_of(folder_), 01777U);
  EXPECT_EQ(mode_of(file()), 0600U);
}

TEST_F(StoreTest, WhatWasCommittedIsThereAfterReopening) {
  {
    auto store = open();
    store->begin();
    EXPECT_EQ(store->append(Instant(5), "a", "{}"), 1);
    EXPECT_EQ(store->append(Instant(6), "b", R"({"x":1})"), 2);
    store->add_submission({.id = store->take_submission_id(),
                           .user = "ana",
                           .job_class = "debug",
                           .launch = {.name = "train", .argv = {"python", "t.py"}},
                           .request = {.name = "train"}});
    store->add_job({.job = JobId(1), .submission = 1, .name = "n", .params = {{"lr", "0.1"}}});
    store->set_meta("version", "1");
    ASSERT_TRUE(store->commit().ok());
  }
  auto store = open();
  const auto rows = store->journal_after(0);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[1].kind, "b");
  EXPECT_EQ((*rows)[1].time, Instant(6));
  EXPECT_EQ((*rows)[1].payload, R"({"x":1})");
  EXPECT_EQ(store->last_journal_seq(), 2);
  EXPECT_EQ((*store->submission(1))->launch.argv.at(1), "t.py");
  EXPECT_EQ((*store->job(JobId(1)))->params.at("lr"), "0.1");
  EXPECT_FALSE(store->job(JobId(2))->has_value());
  EXPECT_EQ(*store->meta("version"), "1");
  EXPECT_EQ(*store->meta("other"), "");
}

TEST_F(StoreTest, WhatWasNotCommittedIsGone) {
  auto store = open();
  store->begin();
  store->append(Instant(1), "a", "{}");
  ASSERT_TRUE(store->commit().ok());
  store->begin();
  store->append(Instant(2), "b", "{}");
  store->rollback();
  store->begin();
  store->append(Instant(3), "c", "{}");
  store.reset();  // as a crash does
  store = open();
  EXPECT_EQ(store->journal_after(0)->size(), 1U);
  EXPECT_EQ(store->last_journal_seq(), 1);
}

TEST_F(StoreTest, AnIdIsNeverGivenTwice) {
  {
    auto store = open();
    store->begin();
    EXPECT_EQ(store->take_ids(1), 1U);
    EXPECT_EQ(store->take_ids(10), 2U);
    ASSERT_TRUE(store->commit().ok());
  }
  auto store = open();
  store->begin();
  EXPECT_EQ(store->take_ids(1), 12U);
  ASSERT_TRUE(store->commit().ok());
}

TEST_F(StoreTest, TheCommitSurvivesAKilledProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    Result<std::unique_ptr<Store>> store = Store::open(folder_);
    (*store)->begin();
    (*store)->append(Instant(1), "kept", "{}");
    if (!(*store)->commit().ok()) ::_exit(1);
    (*store)->begin();
    (*store)->append(Instant(2), "lost", "{}");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto rows = open()->journal_after(0);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].kind, "kept");
}

TEST_F(StoreTest, ASecondDaemonIsRefusedWithTheOwnersPid) {
  const auto store = open();
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_TRUE(has(error.message, "process " + std::to_string(::getpid()))) << error.message;
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsReportedAndKept) {
  std::filesystem::create_directories(folder_);
  std::ofstream(file()) << std::string(8192, 'z');
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kCorruption);
  EXPECT_TRUE(has(error.message, "restore")) << error.message;
  EXPECT_EQ(std::filesystem::file_size(file()), 8192U);
}

TEST_F(StoreTest, ADamagedOrMissingRowIsNamed) {
  {
    auto store = open();
    store->begin();
    for (int i = 1; i <= 3; ++i) store->append(Instant(i), "a", "{}");
    ASSERT_TRUE(store->commit().ok());
  }
  run_sql("UPDATE journal SET payload = '{ }' WHERE seq = 2");
  const auto damaged = open()->journal_after(0);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorruption);
  EXPECT_TRUE(has(damaged.error().message, "journal row 2")) << damaged.error().message;
  run_sql("DELETE FROM journal WHERE seq = 2");
  const auto missing = open()->journal_after(0);
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(has(missing.error().message, "missing")) << missing.error().message;
}

TEST_F(StoreTest, ANewerSchemaIsRefusedAndLeftAlone) {
  open();
  run_sql("PRAGMA user_version = 99");
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(has(error.message, "newer rota")) << error.message;
  Result<std::unique_ptr<Database>> database = Database::open(file());
  EXPECT_EQ(*(*database)->query_integer("PRAGMA user_version"), 99);
}

TEST_F(StoreTest, AFileOfTheFirstSchemaIsMigratedWithItsRows) {
  std::filesystem::create_directories(folder_);
  run_sql(std::string(migrations()[0]) + "PRAGMA user_version = 1;" + R"sql(
    INSERT INTO meta VALUES('counters', '{"id":7,"submission":2,"journal":0,"event":2}');
    INSERT INTO events VALUES(1, 10, '{"seq":1,"kind":"job_submitted","job":"5","user":"ana"}');
    INSERT INTO events VALUES(2, 11, '{"seq":2,"kind":"node_drained","node":"n1"}');
    INSERT INTO history VALUES(5, 20, '{"id":"5","user":"ana","state":"done"}');)sql");
  auto store = open();
  EXPECT_EQ(store->events_after(0, "5", "", 10)->size(), 1U);
  EXPECT_EQ(store->events_after(0, "", "bob", 10)->size(), 1U);
  EXPECT_EQ(store->history({.user = "ana"})->size(), 1U);
  EXPECT_EQ(store->history({.states = {"done"}})->size(), 1U);
  store->begin();
  EXPECT_EQ(store->take_ids(1), 8U);
  ASSERT_TRUE(store->commit().ok());
}

TEST_F(StoreTest, SnapshotsKeepTwoAndTheJournalSinceTheOlder) {
  auto store = open();
  for (std::int64_t round = 1; round <= 3; ++round) {
    store->begin();
    std::int64_t seq = 0;
    for (int i = 0; i < 4; ++i) seq = store->append(Instant(round), "a", "{}");
    store->put_snapshot({.seq = seq,
                         .time = Instant(round),
                         .digest = ~std::uint64_t{0} - static_cast<std::uint64_t>(round),
                         .state = std::string("\0blob", 5)});
    ASSERT_TRUE(store->commit().ok());
  }
  const auto snapshots = store->snapshots();
  ASSERT_EQ(snapshots->size(), 2U);
  EXPECT_EQ((*snapshots)[0].seq, 12);
  EXPECT_EQ((*snapshots)[0].digest, ~std::uint64_t{0} - 3);
  EXPECT_EQ((*snapshots)[1].seq, 8);
  EXPECT_EQ((*snapshots)[0].state, std::string("\0blob", 5));
  EXPECT_EQ(*store->first_journal_seq(), 9);
  EXPECT_EQ(store->journal_after(8)->size(), 4U);
}

TEST_F(StoreTest, OrdersLastUntilTheirAttemptIsOver) {
  auto store = open();
  store->begin();
  StartAttempt start{.job = JobId(3), .attempt = 1};
  start.allocation.tasks = {{.node = "n1"}};
  store->add_order({.job = JobId(3), .attempt = 1, .decision = start});
  store->add_order({.job = JobId(3),
                    .attempt = 1,
                    .kind = OrderKind::kStop,
                    .decision = StopAttempt{.job = JobId(3), .attempt = 1}});
  store->add_order({.job = JobId(4), .attempt = 2, .decision = start});
  ASSERT_TRUE(store->commit().ok());
  const auto orders = store->orders();
  ASSERT_EQ(orders->size(), 3U);
  EXPECT_EQ(std::get<StartAttempt>((*orders)[0].decision).allocation, start.allocation);
  EXPECT_EQ((*orders)[1].kind, OrderKind::kStop);
  store->begin();
  store->remove_orders(JobId(3), 1);
  store->remove_orders(JobId(4), 1);
  ASSERT_TRUE(store->commit().ok());
  ASSERT_EQ(store->orders()->size(), 1U);
  EXPECT_EQ((*store->orders())[0].job, JobId(4));
}

TEST_F(StoreTest, IdempotencyKeysBelongToAUser) {
  auto store = open();
  store->begin();
  store->add_idempotency("ana", "k", Instant(1), {.id = "7", .ids = {"7"}, .state = "pending"});
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ((*store->idempotent("ana", "k"))->id, "7");
  EXPECT_FALSE(store->idempotent("bob", "k")->has_value());
}

TEST_F(StoreTest, EventsAreFilteredAndPruned) {
  auto store = open();
  store->begin();
  for (int i = 1; i <= 5; ++i) {
    api::Event event;
    event.kind = "job_submitted";
    event.job = std::to_string(i);
    event.user = i % 2 == 0 ? "ana" : "bob";
    store->add_event(Instant(i), event);
    EXPECT_EQ(event.seq, i);
  }
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ(store->events_after(2, "", "", 10)->size(), 3U);
  EXPECT_EQ(store->events_after(0, "", "ana", 10)->size(), 2U);
  EXPECT_EQ(store->events_after(0, "3", "ana", 10)->size(), 0U);
  EXPECT_EQ(store->events_after(0, "", "", 2)->size(), 2U);
  store->begin();
  for (const char* job : {"3.1", "30", "3.20"}) {
    api::Event event{.job = job, .user = "eve"};
    store->add_event(Instant(9), event);
  }
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ(store->events_after(0, "3", "", 10)->size(), 3U);
  store->begin();
  store->prune({.events_before = Instant(4)});
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ(store->events_after(0, "", "", 10)->front().seq, 4);
  EXPECT_EQ(store->last_event_seq(), 8);
}

TEST_F(StoreTest, HistoryIsPagedByJobAndCanBeTakenBack) {
  auto store = open();
  store->begin();
  for (std::uint64_t i = 1; i <= 4; ++i) {
    api::Job record;
    record.id = std::to_string(i);
    record.user = "ana";
    store->put_history(JobId(i), Instant(static_cast<std::int64_t>(i) * 10), record);
  }
  store->remove_history(JobId(2));
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ((*store->history(JobId(3)))->id, "3");
  EXPECT_FALSE(store->history(JobId(2))->has_value());
  const auto page = store->history({.after_job = 1, .limit = 1});
  ASSERT_EQ(page->size(), 1U);
  EXPECT_EQ((*page)[0].record.id, "3");
  EXPECT_EQ((*page)[0].job, JobId(3));
  EXPECT_EQ(store->history({.ended_after = Instant(30)})->size(), 1U);
}

TEST_F(StoreTest, HistoryIsPagedByEndToo) {
  auto store = open();
  store->begin();
  for (std::uint64_t i = 1; i <= 4; ++i) {
    api::Job record{.id = std::to_string(i)};
    record.state = i == 3 ? "failed" : "done";
    record.queue = i == 4 ? "speech" : "vision";
    // Job 1 ended last; 2 and 3 at the same instant.
    store->put_history(JobId(i), Instant(i == 1 ? 90 : i == 4 ? 10 : 20), record);
  }
  ASSERT_TRUE(store->commit().ok());
  HistoryQuery query{.order = HistoryOrder::kNewestFirst, .limit = 2};
  const auto first = store->history(query);
  ASSERT_EQ(first->size(), 2U);
  EXPECT_EQ((*first)[0].job, JobId(1));
  EXPECT_EQ((*first)[1].job, JobId(3));
  query.ended_by = (*first)[1].ended;
  query.before_job = 3;
  const auto second = store->history(query);
  ASSERT_EQ(second->size(), 2U);
  EXPECT_EQ((*second)[0].job, JobId(2));
  EXPECT_EQ((*second)[1].job, JobId(4));
  EXPECT_EQ(store->history({.queue = "vision"})->size(), 3U);
  EXPECT_EQ(store->history({.states = {"failed", "timeout"}})->size(), 1U);
  EXPECT_TRUE(store->history({.array = "1"})->empty());
}

TEST_F(StoreTest, RecentJobsAreFoundByUserAndPrunedWithTheirHistory) {
  auto store = open();
  store->begin();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const std::int64_t id = store->take_submission_id();
    store->add_submission({.id = id, .user = i == 2 ? "bob" : "ana"});
    store->add_job({.job = JobId(i * 10), .submission = id});
    store->add_job({.job = JobId(i * 10 + 1), .submission = id});
  }
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ((*store->recent_job("ana", 0))->job, JobId(30));
  EXPECT_EQ((*store->recent_job("ana", 1))->job, JobId(10));
  EXPECT_FALSE(store->recent_job("ana", 2)->has_value());
  store->begin();
  for (const std::uint64_t i : {30, 31}) store->put_history(JobId(i), Instant(5), {});
  store->prune({.history_before = Instant(6)});
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ((*store->recent_job("ana", 0))->job, JobId(10));
  EXPECT_FALSE(store->submission(3)->has_value());
  EXPECT_TRUE(store->submission(1)->has_value());
}

TEST_F(StoreTest, AFullDiskIsAnErrorAndNothingElse) {
  auto store = open();
  store->begin();
  store->append(Instant(1), "a", "{}");
  ASSERT_TRUE(store->commit().ok());

  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight {.rlim_cur = 64 * 1024, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  store->begin();
  const std::uint64_t id = store->take_ids(1);
  store->append(Instant(2), "big", std::string(4 << 20, 'x'));
  const Status full = store->commit();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(has(full.error().message, "disk")) << full.error().message;
  EXPECT_TRUE(store->probe().ok());
  EXPECT_EQ(store->journal_after(0)->size(), 1U);
  store->begin();
  EXPECT_EQ(store->take_ids(1), id);
  store->append(Instant(3), "b", "{}");
  EXPECT_TRUE(store->commit().ok());
  EXPECT_EQ(store->journal_after(0)->size(), 2U);
}


// ---- a journal that lost its end ----

class LostEnd : public StoreTest {
 protected:
  /// Twenty rows and jobs, of which the last ones stand in the write-ahead file alone; and what a
  /// daemon that was killed leaves.
  void SetUp() override {
    StoreTest::SetUp();
    auto store = open();
    for (int i = 0; i < 20; ++i) {
      store->begin();
      store->take_ids(1);
      store->append(Instant(i), "note", "{}");
      ASSERT_TRUE(store->commit().ok());
    }
    std::filesystem::copy(folder_, root_ + "/killed");
  }
  void bring_back() {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(root_ + "/killed", folder_);
  }
  void expect_refused_then_accepted() {
    for (int i = 0; i < 2; ++i) {
      const Error error = open_error();
      EXPECT_EQ(error.code, ErrorCode::kCorruption);
      EXPECT_TRUE(has(error.message, "jobs up to 20")) << error.message;
      EXPECT_TRUE(has(error.message, "rota serve --accept-loss")) << error.message;
    }
    {
      const auto store = Store::open(folder_, Loss::kAccept);
      ASSERT_TRUE(store.ok()) << store.error().message;
      EXPECT_LT((*store)->last_journal_seq(), 20);
      (*store)->begin();
      EXPECT_EQ((*store)->take_ids(1), 21U) << "no number is given twice";
      (*store)->append(Instant(99), "note", "{}");
      ASSERT_TRUE((*store)->commit().ok());
      EXPECT_TRUE((*store)->journal_after(0).ok());
    }
    auto store = open();  // accepted once and for all
    EXPECT_EQ(store->last_id(), 21U);
  }
};

TEST_F(LostEnd, NothingIsLostWithoutDamage) {
  bring_back();
  EXPECT_EQ(open()->last_journal_seq(), 20);
  std::filesystem::remove(folder_ + "/high-water");
  EXPECT_EQ(open()->last_journal_seq(), 20) << "made by an earlier version";
}

TEST_F(LostEnd, ADeletedWriteAheadFile) {
  bring_back();
  std::filesystem::remove(file() + "-wal");
  std::filesystem::remove(file() + "-shm");
  expect_refused_then_accepted();
}

TEST_F(LostEnd, ADamagedWriteAheadFile) {
  bring_back();
  std::filesystem::remove(file() + "-shm");
  const auto size = std::filesystem::file_size(file() + "-wal");
  {
    std::fstream wal(file() + "-wal", std::ios::binary | std::ios::in | std::ios::out);
    wal.seekp(static_cast<std::streamoff>(size / 2));
    wal << "\xff\xff\xff\xff";
  }
  EXPECT_EQ(open_error().code, ErrorCode::kCorruption);
  EXPECT_EQ(std::filesystem::file_size(file() + "-wal"), size) << "it was changed";
  expect_refused_then_accepted();
}

TEST_F(LostEnd, ADeletedOrEmptiedJournal) {
  bring_back();
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file() + end);
  expect_refused_then_accepted();
  bring_back();
  for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(file() + end);
  std::filesystem::resize_file(file(), 0);
  expect_refused_then_accepted();
}

TEST_F(LostEnd, ADamagedHighWaterFileIsNoReasonToStop) {
  bring_back();
  std::ofstream(folder_ + "/high-water") << "no idea";
  {
    auto store = open();
    EXPECT_EQ(store->last_journal_seq(), 20);
    store->begin();
    store->append(Instant(99), "note", "{}");
    ASSERT_TRUE(store->commit().ok());
  }
  EXPECT_EQ(open()->last_journal_seq(), 21);
}

TEST_F(StoreTest, NumbersThatWereSeenElsewhereAreNotGiven) {
  {
    auto store = open();
    ASSERT_TRUE(store->never_below(7).ok());
    ASSERT_TRUE(store->never_below(3).ok());
    store->begin();
    store->rollback();
  }
  auto store = open();
  store->begin();
  EXPECT_EQ(store->take_ids(1), 8U);
  store->rollback();
}

TEST_F(StoreTest, AFileThatIsDeletedOrReplacedIsNoticed) {
  auto store = open();
  const auto write = [&] {
    store->begin();
    store->append(Instant(1), "note", "{}");
    return store->commit();
  };
  ASSERT_TRUE(write().ok());
  for (const char* beside : {"", "-wal"}) {
    const std::string path = file() + beside;
    std::filesystem::rename(path, path + ".away");
    ::usleep(1'100'000);
    const Status gone = write();
    ASSERT_FALSE(gone.ok()) << path;
    EXPECT_EQ(gone.error().code, ErrorCode::kCorruption);
    EXPECT_EQ(gone.error().message,
              "the journal's file " + path + " was deleted while the daemon ran");
    std::ofstream(path) << "";
    EXPECT_TRUE(has(store->probe().error().message, "was replaced"));
    std::filesystem::rename(path + ".away", path);
    EXPECT_TRUE(write().ok()) << "it is back";
  }
}

}  // namespace
}  // namespace rota::store
