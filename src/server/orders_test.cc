#include "server/orders.h"

#include <gtest/gtest.h>

namespace rota::server {
namespace {

/// Answers as told and notes every call.
class ScriptedBackend final : public backend::ExecutionBackend {
 public:
  Result<std::vector<NodeSpec>> discover() override { return std::vector<NodeSpec>(); }
  Status start(const backend::StartOrder& order) override {
    calls.push_back("start " + std::to_string(order.job.value()));
    return answer;
  }
  Status stop(const backend::StopOrder& order) override {
    calls.push_back("stop " + std::to_string(order.job.value()));
    return answer;
  }
  Status signal(JobId, std::int64_t, int) override { return {}; }
  Result<std::vector<backend::KnownAttempt>> list() override { return known; }
  void forget(JobId job, std::int64_t) override {
    calls.push_back("forget " + std::to_string(job.value()));
  }
  backend::Facts poll() override { return {}; }
  void on_facts(std::function<void()>) override {}

  std::vector<std::string> take() { return std::exchange(calls, {}); }

  Status answer;
  Result<std::vector<backend::KnownAttempt>> known = std::vector<backend::KnownAttempt>();
  std::vector<std::string> calls;
};

using Calls = std::vector<std::string>;

class OrdersTest : public testing::Test {
 protected:
  OrdersTest() {
    NodeSpec node{.name = "n1", .devices = {{.model = "h100"}}};
    EXPECT_TRUE(engine_.apply(now_, NodeReported{node}).ok());
    EXPECT_TRUE(engine_.apply(now_, QueueSet{{.name = "default"}}).ok());
    JobSpec spec;
    spec.user = "ana";
    EXPECT_TRUE(engine_.apply(now_, JobSubmitted{JobId(1), spec}).ok());
    EXPECT_EQ(engine_.run_cycle(now_).decisions.size(), 1U);
  }
  static store::OrderRow start_row(std::uint64_t job = 1) {
    return {.job = JobId(job),
            .attempt = 1,
            .decision = StartAttempt{.job = JobId(job), .attempt = 1}};
  }
  static store::OrderRow stop_row() {
    return {.job = JobId(1),
            .attempt = 1,
            .kind = store::OrderKind::kStop,
            .decision = StopAttempt{.job = JobId(1), .attempt = 1}};
  }
  void send() {
    orders_.send(now_, backend_,
                 {.start =
                      [](const StartAttempt& start) {
                        return backend::StartOrder{.job = start.job, .attempt = start.attempt};
                      },
                  .grace = [](JobId, Duration grace) { return grace; }},
                 facts_);
  }
  void later(Duration span) { now_ = now_ + span; }
  Status reconcile() { return orders_.reconcile(now_, backend_, engine_, facts_); }

  Instant now_{Instant() + Duration::hours(1)};
  engine::Engine engine_;
  ScriptedBackend backend_;
  Orders orders_;
  backend::Facts facts_;
};

TEST_F(OrdersTest, AnOrderIsSentOnce) {
  orders_.add(start_row());
  send();
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});
  EXPECT_FALSE(orders_.next_retry().has_value());
}

TEST_F(OrdersTest, WhatSurelyFailedIsTriedAgainLaterAndLater) {
  backend_.answer = Error{.code = ErrorCode::kUnavailable, .message = "busy"};
  orders_.add(start_row());
  send();
  const auto first = orders_.next_retry();
  ASSERT_TRUE(first.has_value());
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});
  now_ = *first;
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});
  EXPECT_GT(*orders_.next_retry() - now_, *first - Instant(Duration::hours(1).ns()));
  backend_.answer = {};
  later(Duration::minutes(1));
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});
  EXPECT_FALSE(orders_.next_retry().has_value());
}

TEST_F(OrdersTest, ARefusalBecomesAFact) {
  backend_.answer = Error{.code = ErrorCode::kInvalidArgument, .message = "no such user"};
  orders_.add(start_row());
  send();
  ASSERT_EQ(facts_.size(), 1U);
  EXPECT_EQ(std::get<AttemptEnded>(facts_[0]).kind, EndKind::kLaunchFailed);
  EXPECT_EQ(std::get<AttemptEnded>(facts_[0]).detail, "no such user");
}

TEST_F(OrdersTest, AnUnknownOutcomeIsAskedForAndNeverGuessed) {
  backend_.answer = Error{.code = ErrorCode::kUnknownResult, .message = "lost"};
  orders_.add(start_row());
  send();
  later(Duration::minutes(1));
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});  // not sent again on a guess
  EXPECT_TRUE(orders_.wants_list(now_));
  backend_.answer = {};
  backend_.known = std::vector<backend::KnownAttempt>{{JobId(1), 1, true, {}, {}}};
  ASSERT_TRUE(reconcile().ok());
  EXPECT_FALSE(orders_.wants_list(now_));
  ASSERT_EQ(facts_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<AttemptStarted>(facts_[0]));
  send();
  EXPECT_EQ(backend_.take(), Calls{});
}

TEST_F(OrdersTest, WhatTheBackendNeverGotIsSentAgain) {
  orders_.restore({start_row()});
  send();
  EXPECT_EQ(backend_.take(), Calls{});  // first it is asked
  ASSERT_TRUE(reconcile().ok());
  send();
  EXPECT_EQ(backend_.take(), Calls{"start 1"});
}

TEST_F(OrdersTest, AfterAStopThereIsNoStart) {
  orders_.restore({start_row(), stop_row()});
  ASSERT_TRUE(reconcile().ok());
  send();
  EXPECT_EQ(backend_.take(), Calls{"stop 1"});
  EXPECT_FALSE(orders_.next_retry().has_value());
}

TEST_F(OrdersTest, AnUnavailableListIsAskedAgain) {
  orders_.restore({start_row()});
  backend_.known = Error{.code = ErrorCode::kUnavailable, .message = "down"};
  EXPECT_FALSE(reconcile().ok());
  EXPECT_FALSE(orders_.wants_list(now_));
  later(Duration::seconds(5));
  EXPECT_TRUE(orders_.wants_list(now_));
}

TEST_F(OrdersTest, WhatNobodyOrderedIsStoppedAndWhatIsOverIsForgotten) {
  AttemptEnded over{.job = JobId(8), .attempt = 1};
  backend_.known = std::vector<backend::KnownAttempt>{{JobId(7), 1, true, {}, {}},
                                                      {JobId(8), 1, false, over, {}}};
  ASSERT_TRUE(reconcile().ok());
  EXPECT_EQ(backend_.take(), (Calls{"stop 7", "forget 8"}));
  EXPECT_TRUE(facts_.empty());
}

TEST_F(OrdersTest, ARunningAttemptTheBackendLostIsAFact) {
  ASSERT_TRUE(engine_.apply(now_, AttemptStarted{JobId(1), 1}).ok());
  orders_.add(start_row());
  send();
  orders_.started(JobId(1), 1);
  ASSERT_TRUE(reconcile().ok());
  ASSERT_EQ(facts_.size(), 1U);
  EXPECT_EQ(std::get<AttemptEnded>(facts_[0]).kind, EndKind::kLost);
}

TEST_F(OrdersTest, WhatTheEngineHasGivenUpIsNoOrderAnyMore) {
  backend_.answer = Error{.code = ErrorCode::kUnknownResult, .message = "lost"};
  orders_.add(start_row());
  send();
  const AttemptEnded lost{.job = JobId(1), .attempt = 1, .kind = EndKind::kLost};
  ASSERT_TRUE(engine_.apply(now_, lost).ok());
  backend_.answer = {};
  backend_.known = std::vector<backend::KnownAttempt>{{JobId(1), 1, true, {}, {}}};
  (void)backend_.take();
  ASSERT_TRUE(reconcile().ok());
  EXPECT_EQ(orders_.size(), 0U);
  EXPECT_FALSE(orders_.next_retry().has_value());
  EXPECT_EQ(backend_.take(), Calls{"stop 1"});
}

TEST_F(OrdersTest, AnEndThatWasNeverToldIsTold) {
  AttemptEnded over{.job = JobId(1), .attempt = 1, .kind = EndKind::kExited, .exit_code = 4};
  orders_.restore({start_row()});
  backend_.known = std::vector<backend::KnownAttempt>{{JobId(1), 1, false, over, {}}};
  ASSERT_TRUE(reconcile().ok());
  ASSERT_EQ(facts_.size(), 1U);
  EXPECT_EQ(std::get<AttemptEnded>(facts_[0]).exit_code, 4);
  orders_.remove(JobId(1), 1);
  EXPECT_EQ(orders_.size(), 0U);
}

}  // namespace
}  // namespace rota::server
