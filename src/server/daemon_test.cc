#include "server/daemon.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace rota::server {
namespace {

/// Every attempt starts and ends at once, told from another thread.
class InstantBackend final : public backend::ExecutionBackend {
 public:
  ~InstantBackend() override {
    for (std::thread& thread : threads_) thread.join();
  }
  Result<std::vector<NodeSpec>> discover() override {
    NodeSpec node{.name = "n1", .devices = std::vector<DeviceSpec>(4)};
    return std::vector<NodeSpec>{node};
  }
  Status start(const backend::StartOrder& order) override {
    if (block) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const std::lock_guard starting(mutex_);
    threads_.emplace_back([this, job = order.job, attempt = order.attempt] {
      {
        const std::lock_guard lock(mutex_);
        facts_.push_back(AttemptStarted{job, attempt});
        facts_.push_back(AttemptEnded{.job = job, .attempt = attempt});
      }
      const std::lock_guard lock(wake_mutex_);
      wake_();
    });
    return {};
  }
  Status stop(const backend::StopOrder& order) override {
    const std::lock_guard lock(mutex_);
    facts_.push_back(
        AttemptEnded{.job = order.job, .attempt = order.attempt, .kind = EndKind::kStopped});
    return {};
  }
  Status signal(JobId, std::int64_t, int) override { return {}; }
  Result<std::vector<backend::KnownAttempt>> list() override {
    std::vector<backend::KnownAttempt> list;
    if (known > 0) {
      list.push_back({.job = JobId(known), .attempt = 1, .alive = true, .end = {}, .pids = {}});
    }
    return list;
  }
  std::uint64_t highest_job() override { return highest; }
  void forget(JobId, std::int64_t) override {}
  backend::Facts poll() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(facts_, {});
  }
  void on_facts(std::function<void()> wake) override {
    const std::lock_guard lock(wake_mutex_);
    wake_ = std::move(wake);
  }

  std::atomic<bool> block = false;
  std::uint64_t known = 0;    // a job that runs
  std::uint64_t highest = 0;

 private:
  std::mutex mutex_;
  backend::Facts facts_;
  std::vector<std::thread> threads_;
  std::mutex wake_mutex_;
  std::function<void()> wake_;
};

const Caller kAna{.user = "ana", .uid = -1, .gid = -1, .admin = false};

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    std::string pattern = testing::TempDir() + "rota_daemon_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Daemon>> make(Config config = {}, store::Loss loss = {}) {
    auto backend = std::make_unique<InstantBackend>();
    backend_ = backend.get();
    backend->known = known_;
    backend->highest = highest_;
    return make_daemon({.state_directory = folder_ + "/state",
                        .config = std::move(config),
                        .loss = loss,
                        .backend = std::move(backend),
                        .backend_name = "instant",
                        .version = "test"});
  }
  template <class T>
  static Result<T> ask(const std::function<void(Reply<T>)>& call) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    call([promise](Result<T> result) { promise->set_value(std::move(result)); });
    auto future = promise->get_future();
    if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
      return Error{.code = ErrorCode::kTimeout, .message = "no answer"};
    }
    return future.get();
  }
  static api::SubmitRequest command(const std::string& word) {
    api::SubmitRequest request;
    request.argv = {word};
    return request;
  }
  static Result<api::SubmitReply> submit(Daemon& daemon, const api::SubmitRequest& request) {
    return ask<api::SubmitReply>([&](Reply<api::SubmitReply> done) {
      daemon.service().submit(kAna, request, std::move(done));
    });
  }
  static std::string state(Daemon& daemon, const std::string& id) {
    const auto job = ask<api::Job>(
        [&](Reply<api::Job> done) { daemon.service().job(kAna, id, std::move(done)); });
    return job.ok() ? job->state : job.error().message;
  }
  static bool reaches(Daemon& daemon, const std::string& id, const std::string& wanted) {
    for (int i = 0; i < 500; ++i) {
      if (state(daemon, id) == wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  std::string folder_;
  std::uint64_t known_ = 0;
  std::uint64_t highest_ = 0;
  InstantBackend* backend_ = nullptr;
};

TEST_F(DaemonTest, ManyThreadsSubmitAndEveryJobEndsWithANumberOfItsOwn) {
  auto daemon = make();
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  ASSERT_TRUE((*daemon)->start().ok());
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> people;
  for (int i = 0; i < 4; ++i) {
    people.emplace_back([&] {
      for (int k = 0; k < 25; ++k) {
        const auto reply = submit(**daemon, command("true"));
        ASSERT_TRUE(reply.ok()) << reply.error().message;
        const std::lock_guard lock(mutex);
        ids.insert(reply->id);
      }
    });
  }
  for (std::thread& person : people) person.join();
  EXPECT_EQ(ids.size(), 100U);
  for (const std::string& id : ids) EXPECT_TRUE(reaches(**daemon, id, "done")) << id;
  EXPECT_TRUE((*daemon)->health().healthy);
}

TEST_F(DaemonTest, JobsAreThereAfterAStop) {
  {
    auto daemon = make();
    ASSERT_TRUE((*daemon)->start().ok());
    ASSERT_TRUE(submit(**daemon, command("true")).ok());
    ASSERT_TRUE(reaches(**daemon, "1", "done"));
    (*daemon)->stop();
    (*daemon)->stop();
    const auto late = submit(**daemon, command("true"));
    EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  }
  auto daemon = make();
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  ASSERT_TRUE((*daemon)->start().ok());
  EXPECT_EQ(state(**daemon, "1"), "done");
  EXPECT_EQ(submit(**daemon, command("true"))->id, "2");
}

TEST_F(DaemonTest, AJournalThatDoesNotKnowWhatRunsIsRefused) {
  known_ = 7;
  const auto refused = make();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kCorruption);
  EXPECT_NE(refused.error().message.find("job 7"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("rota serve --accept-loss"), std::string::npos);
  auto daemon = make({}, store::Loss::kAccept);
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  ASSERT_TRUE((*daemon)->start().ok());
  EXPECT_EQ(submit(**daemon, command("true"))->id, "8");
}

TEST_F(DaemonTest, NumbersThatLeftATraceAreNotGivenAgain) {
  highest_ = 41;
  auto daemon = make();
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  ASSERT_TRUE((*daemon)->start().ok());
  EXPECT_EQ(submit(**daemon, command("true"))->id, "42");
  (*daemon)->stop();
  daemon->reset();
  highest_ = 9'000'000'000;
  auto again = make();
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE((*again)->start().ok());
  EXPECT_EQ(submit(**again, command("true"))->id, "43") << "no number of ours";
}

TEST_F(DaemonTest, OneDaemonPerStateFolder) {
  auto first = make();
  ASSERT_TRUE(first.ok());
  const auto second = make();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST_F(DaemonTest, AStuckDriverIsUnhealthyThoughItCannotAnswer) {
  Config config;
  config.watchdog = Duration::milliseconds(50);
  auto daemon = make(config);
  ASSERT_TRUE((*daemon)->start().ok());
  ASSERT_TRUE(submit(**daemon, command("true")).ok());
  ASSERT_TRUE(reaches(**daemon, "1", "done"));
  backend_->block = true;
  (*daemon)->service().submit(kAna, command("true"), [](const auto&) {});
  (*daemon)->service().submit(kAna, command("true"), [](const auto&) {});
  bool unhealthy = false;
  for (int i = 0; i < 100 && !unhealthy; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Health health = (*daemon)->health();
    unhealthy = !health.healthy;
    if (unhealthy) {
      EXPECT_NE(health.problems[0].find("no scheduling cycle"), std::string::npos);
    }
  }
  EXPECT_TRUE(unhealthy);
  EXPECT_TRUE(reaches(**daemon, "3", "done"));
}

TEST_F(DaemonTest, OutputIsReadInPieces) {
  auto daemon = make();
  ASSERT_TRUE((*daemon)->start().ok());
  api::SubmitRequest request = command("true");
  request.workdir = folder_;
  request.stdout_path = "out.txt";
  std::ofstream(folder_ + "/out.txt") << "hello world";
  ASSERT_TRUE(submit(**daemon, request).ok());
  ASSERT_TRUE(reaches(**daemon, "1", "done"));
  const auto read = [&](const LogQuery& query, const Caller& caller = kAna) {
    return ask<api::LogChunk>([&](Reply<api::LogChunk> done) {
      (*daemon)->service().log(caller, "1", query, std::move(done));
    });
  };
  const auto first = read({.limit = 5});
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->data, "aGVsbG8=");
  EXPECT_EQ(first->size, 11);
  EXPECT_FALSE(first->final);
  const auto rest = read({.offset = -5});
  EXPECT_EQ(rest->offset, 6);
  EXPECT_EQ(rest->data, "d29ybGQ=");
  EXPECT_TRUE(rest->final);
  EXPECT_EQ(read({.rank = 1}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read({}, {.user = "bob"}).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace rota::server
