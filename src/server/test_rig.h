// For tests: a driver on a virtual clock, over a real journal file and the simulated back-end, that
// can be made to fail or die between any two of its calls to the outside.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/simulated/simulated_backend.h"
#include "server/driver.h"
#include "server/engine_log.h"
#include "store/store.h"

namespace rota::server::testing_rig {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant now) : now_(now) {}
  [[nodiscard]] Instant now() const override { return now_; }
  void set(Instant now) { now_ = now; }

 private:
  Instant now_;
};

/// Thrown through the driver where the process is to die.
struct SimulatedCrash {};

/// Asked before and after every call of the driver to the outside.
using FaultPoint = std::function<void(const char* where)>;

class FaultyStore final : public store::Store {
 public:
  static std::unique_ptr<FaultyStore> open(const std::string& directory, FaultPoint point) {
    std::unique_ptr<FaultyStore> store(new FaultyStore());
    store->point_ = std::move(point);
    const Status status = store->open_in(directory);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return status.ok() ? std::move(store) : nullptr;
  }
  Status commit() override {
    if (before_commit) before_commit(last_journal_seq());
    point_("before commit");
    if (fail_commit && fail_commit()) {
      rollback();
      return Error{.code = ErrorCode::kUnavailable, .message = "the disk is full (simulated)"};
    }
    const Status status = Store::commit();
    if (status.ok() && after_commit) after_commit();
    point_("after commit");
    return status;
  }
  Status probe() override {
    if (fail_commit && fail_commit()) {
      return Error{.code = ErrorCode::kUnavailable, .message = "the disk is full (simulated)"};
    }
    return Store::probe();
  }

  std::function<void(std::int64_t)> before_commit;
  std::function<void()> after_commit;
  std::function<bool()> fail_commit;

 private:
  FaultyStore() = default;
  FaultPoint point_;
};

class FaultyBackend final : public backend::ExecutionBackend {
 public:
  FaultyBackend(backend::ExecutionBackend& inner, FaultPoint point)
      : inner_(inner), point_(std::move(point)) {}
  Result<std::vector<NodeSpec>> discover() override { return inner_.discover(); }
  Status start(const backend::StartOrder& order) override {
    point_("before start");
    Status status = inner_.start(order);
    point_("after start");
    return status;
  }
  Status stop(const backend::StopOrder& order) override {
    point_("before stop");
    Status status = inner_.stop(order);
    point_("after stop");
    return status;
  }
  Status signal(JobId job, std::int64_t attempt, int number) override {
    return inner_.signal(job, attempt, number);
  }
  Status set_time_limit(JobId job, std::int64_t attempt, std::optional<Duration> limit) override {
    return inner_.set_time_limit(job, attempt, limit);
  }
  [[nodiscard]] Status check_account(const std::string& user, std::int64_t uid) const override {
    return refuse_account && refuse_account(user, uid)
               ? Status(Error{.code = ErrorCode::kDenied, .message = "no jobs of " + user})
               : inner_.check_account(user, uid);
  }
  Result<std::vector<backend::KnownAttempt>> list() override {
    point_("before list");
    auto result = inner_.list();
    point_("after list");
    return result;
  }
  void forget(JobId job, std::int64_t attempt) override {
    point_("before forget");
    inner_.forget(job, attempt);
  }
  backend::Facts poll() override {
    backend::Facts facts = inner_.poll();
    point_("after poll");
    return facts;
  }
  void on_facts(std::function<void()> wake) override { inner_.on_facts(std::move(wake)); }

  std::function<bool(const std::string&, std::int64_t)> refuse_account;

 private:
  backend::ExecutionBackend& inner_;
  FaultPoint point_;
};

inline std::vector<NodeSpec> nodes(int count, int gpus) {
  std::vector<NodeSpec> out;
  for (int i = 1; i <= count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    for (int k = 0; k < gpus; ++k) node.devices.push_back({.model = "h100"});
    out.push_back(node);
  }
  return out;
}

inline api::SubmitRequest command(const std::string& name, double gpus = 1) {
  api::SubmitRequest request;
  request.name = name;
  request.argv = {"/bin/true"};
  request.gpus = gpus;
  request.time_limit_seconds = 3600;
  return request;
}

inline Caller person(const std::string& name) {
  return {.user = name, .uid = 1000, .gid = 1000, .admin = false};
}
inline Caller admin() { return {.user = "root", .uid = 0, .gid = 0, .admin = true}; }

struct RigOptions {
  Config config;
  std::vector<NodeSpec> nodes = testing_rig::nodes(1, 4);
  backend::SimulatedFaults faults = {};
  std::uint64_t seed = 1;
};

/// Starts at 2026-01-01. All calls run a turn and give the answer.
class Rig {
 public:
  explicit Rig(RigOptions options = {})
      : options_(std::move(options)),
        clock_(std::make_shared<ManualClock>(Instant(1'767'225'600'000'000'000))),
        backend_({.seed = options_.seed, .nodes = options_.nodes, .faults = options_.faults}),
        doors_(backend_, [this](const char* where) { at_point(where); }) {
    std::string pattern = ::testing::TempDir() + "rota_rig_XXXXXX";
    if (std::filesystem::exists("/dev/shm")) pattern = "/dev/shm/rota_rig_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    backend_.advance_to(now());
    open();
  }
  ~Rig() {
    driver_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void open() {
    auto store = FaultyStore::open(folder_, [this](const char* where) { at_point(where); });
    store_ = store.get();
    store_->before_commit = [this](std::int64_t seq) {
      if (driver_ == nullptr) return;
      digests_[seq] = driver_->engine().digest();
      if (check_snapshots) check_snapshot(seq);
    };
    store_->fail_commit = [this] { return fail_commit && fail_commit(); };
    counted_ = store_->last_journal_seq();
    store_->after_commit = [this] { count_rows(); };
    Result<std::unique_ptr<Driver>> driver = Driver::open({.store = std::move(store),
                                                           .config = options_.config,
                                                           .backend = &doors_,
                                                           .clock = clock_,
                                                           .backend_name = "simulated",
                                                           .devices_name = "simulated",
                                                           .devices_simulated = true,
                                                           .version = "test"});
    if (!driver.ok()) {
      std::fprintf(stderr, "the driver does not open: %s\n", driver.error().message.c_str());
      std::abort();
    }
    driver_ = *std::move(driver);
    const auto known = digests_.find(store_->last_journal_seq());
    if (known != digests_.end()) {
      EXPECT_EQ(driver_->engine().digest(), known->second)
          << "the recovered engine differs at row " << known->first;
    }
  }
  /// The process dies here: nothing is cleaned up, nothing that was in memory stays.
  void crash() {
    driver_.reset();
    backend_.lose_facts();
    open();
  }
  /// The process dies, and is started again when `away` has passed.
  void crash_for(Duration away) {
    driver_.reset();
    clock_->set(now() + away);
    backend_.advance_to(now());
    backend_.lose_facts();
    open();
  }
  /// A clean stop and a new start.
  void restart() {
    driver_->close();
    crash();
  }

  /// One turn now; a simulated crash in it is followed by a new start.
  void step() {
    try {
      driver_->step(now());
    } catch (const SimulatedCrash&) {
      ++crashes;
      crash();
    }
  }
  /// Time passes without a turn.
  void advance_quietly(Duration span) {
    clock_->set(now() + span);
    backend_.advance_to(now());
  }
  void run_for(Duration span) { run_until(now() + span); }
  void run_until(Instant end) {
    int turns_at_once = 0;
    while (true) {
      step();
      backend_.advance_to(now());  // what the turn set off for this very instant
      Instant next = std::min(end, driver_->next_step(now()));
      if (const auto event = backend_.next_event()) next = std::min(next, *event);
      turns_at_once = next <= now() ? turns_at_once + 1 : 0;
      if (turns_at_once > 2000) {
        ADD_FAILURE() << "the driver never rests";
        return;
      }
      if (next >= end && next <= now()) return;
      if (next > now()) {
        clock_->set(next);
        backend_.advance_to(next);
        if (next >= end) {
          step();
          return;
        }
      }
    }
  }
  /// Turns until nothing more happens at this instant.
  void settle() {
    for (int i = 0; i < 100; ++i) {
      step();
      if (driver_->next_step(now()) > now()) return;
    }
  }

  template <class T>
  Result<T> ask(const std::function<void(Reply<T>)>& call) {
    std::optional<Result<T>> answer;
    call([&answer](Result<T> result) { answer = std::move(result); });
    for (int i = 0; i < 5 && !answer; ++i) step();
    if (answer) return *std::move(answer);
    return Error{.code = ErrorCode::kUnknownResult, .message = "no answer came"};
  }
  Result<api::SubmitReply> submit(const Caller& caller, const api::SubmitRequest& request) {
    return ask<api::SubmitReply>(
        [&](Reply<api::SubmitReply> done) { driver_->submit(caller, request, std::move(done)); });
  }
  Result<api::Job> job(const std::string& id, const Caller& caller = admin()) {
    return ask<api::Job>(
        [&](Reply<api::Job> done) { driver_->job(caller, id, std::move(done)); });
  }
  Result<api::JobPage> command_job(const Caller& caller, const std::string& id,
                                   const std::string& verb) {
    return ask<api::JobPage>([&](Reply<api::JobPage> done) {
      driver_->command(caller, id, verb, std::move(done));
    });
  }
  Result<api::EventPage> events(const Caller& caller, const EventQuery& query = {}) {
    return ask<api::EventPage>(
        [&](Reply<api::EventPage> done) { driver_->events(caller, query, std::move(done)); });
  }
  std::string state(const std::string& id) {
    const Result<api::Job> found = job(id);
    return found.ok() ? found->state : "error: " + found.error().message;
  }

  [[nodiscard]] Instant now() const { return clock_->now(); }
  Driver& driver() { return *driver_; }
  backend::SimulatedBackend& backend() { return backend_; }
  FaultyBackend& doors() { return doors_; }
  FaultyStore& store() { return *store_; }
  const std::string& folder() const { return folder_; }
  Config& config() { return options_.config; }

  FaultPoint at;                     // called at every fault point; may throw SimulatedCrash
  std::function<bool()> fail_commit;
  int crashes = 0;
  bool check_snapshots = false;      // at every commit; slow
  std::uint64_t events_written = 0;  // by all drivers so far, refused ones too
  std::uint64_t cycles_written = 0;

 private:
  void check_snapshot(std::int64_t seq) {
    const Result<engine::Engine> copy = engine::Engine::load(driver_->engine().save());
    if (!copy.ok()) {
      ADD_FAILURE() << "a snapshot at row " << seq << " cannot be loaded";
    } else {
      EXPECT_EQ(copy->digest(), digests_[seq]) << "a loaded snapshot differs, row " << seq;
    }
  }
  void count_rows() {
    const auto rows = store_->journal_after(counted_);
    if (!rows.ok()) return;
    for (const store::JournalRow& row : *rows) {
      if (row.kind == kCycleRow) ++cycles_written;
      if (row.kind != kCycleRow && row.kind != kForgetRow) ++events_written;
      counted_ = row.seq;
    }
  }
  void at_point(const char* where) {
    if (at) at(where);
  }

  RigOptions options_;
  std::shared_ptr<ManualClock> clock_;
  backend::SimulatedBackend backend_;
  FaultyBackend doors_;
  std::string folder_;
  FaultyStore* store_ = nullptr;
  std::int64_t counted_ = 0;         // the last journal row among events and cycles
  std::unique_ptr<Driver> driver_;
  std::map<std::int64_t, std::uint64_t> digests_;  // of the engine, by last journal row
};

}  // namespace rota::server::testing_rig
