// What every back-end promises, whatever executes the jobs.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/world.h"

namespace rota::conformance {

std::vector<WorldKind> all_worlds() {
  return {{"simulated", make_simulated_world}, {"local", make_local_world}};
}

namespace {

constexpr Duration kPatience = Duration::seconds(20);

class Backend : public ::testing::TestWithParam<WorldKind> {
 protected:
  void SetUp() override { world_ = GetParam().make(); }

  backend::ExecutionBackend& backend() { return world_->backend(); }

  template <class T>
  std::vector<T> facts(std::uint64_t job) const {
    std::vector<T> found;
    for (const Event& fact : world_->facts()) {
      const T* value = std::get_if<T>(&fact);
      if (value != nullptr && value->job == JobId(job)) found.push_back(*value);
    }
    return found;
  }

  void start(std::uint64_t job, std::int64_t attempt, int tasks, const Behaviour& behaviour) {
    const Status status = backend().start(world_->order(job, attempt, tasks, behaviour));
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  void stop(std::uint64_t job, std::int64_t attempt, Duration grace) {
    ASSERT_TRUE(backend().stop({.job = JobId(job), .attempt = attempt, .grace = grace}).ok());
  }
  void wait_started(std::uint64_t job, std::size_t count = 1) {
    world_->wait([&] { return facts<AttemptStarted>(job).size() >= count; }, kPatience);
    ASSERT_GE(facts<AttemptStarted>(job).size(), count) << "job " << job << " did not start";
  }
  AttemptEnded wait_ended(std::uint64_t job, std::size_t count = 1) {
    world_->wait([&] { return facts<AttemptEnded>(job).size() >= count; }, kPatience);
    const auto ends = facts<AttemptEnded>(job);
    EXPECT_GE(ends.size(), count) << "job " << job << " did not end";
    return ends.empty() ? AttemptEnded{} : ends.back();
  }
  void let_pass(Duration time) {
    world_->wait([] { return false; }, time);
  }

  std::unique_ptr<World> world_;
};

TEST_P(Backend, DiscoversNodes) {
  const auto nodes = backend().discover();
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ((*nodes)[0].devices.size(), 8U);
}

TEST_P(Backend, TellsStartAndEndInThisOrder) {
  start(1, 1, 1, {.runtime = Duration::milliseconds(50)});
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.attempt, 1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.signal, 0);
  ASSERT_EQ(world_->facts().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<AttemptStarted>(world_->facts()[0]));
  EXPECT_EQ(world_->begun(1, 1), 1);
}

TEST_P(Backend, TellsExitCodes) {
  start(1, 1, 1, {.runtime = Duration(), .exit_code = 3});
  start(2, 1, 1, {.runtime = Duration(), .exit_code = 255});
  EXPECT_EQ(wait_ended(1).exit_code, 3);
  EXPECT_EQ(wait_ended(2).exit_code, 255);
}

TEST_P(Backend, TellsSignals) {
  start(1, 1, 1, {.runtime = Duration(), .killed_by = 11});
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.signal, 11);
}

TEST_P(Backend, AStartOrderedTwiceBeginsOnce) {
  const auto order = world_->order(1, 1, 1, {.runtime = Duration::milliseconds(200)});
  ASSERT_TRUE(backend().start(order).ok());
  ASSERT_TRUE(backend().start(order).ok());
  wait_started(1);
  ASSERT_TRUE(backend().start(order).ok());
  wait_ended(1);
  ASSERT_TRUE(backend().start(order).ok()) << "ended, but not forgotten: still known";
  let_pass(Duration::milliseconds(300));
  EXPECT_EQ(world_->begun(1, 1), 1);
  EXPECT_EQ(facts<AttemptEnded>(1).size(), 1U);
}

TEST_P(Backend, TheNextAttemptIsAnotherOne) {
  start(1, 1, 1, {.runtime = Duration(), .exit_code = 1});
  wait_ended(1);
  start(1, 2, 1, {.runtime = Duration()});
  const AttemptEnded end = wait_ended(1, 2);
  EXPECT_EQ(end.attempt, 2);
  EXPECT_EQ(end.exit_code, 0);
}

TEST_P(Backend, AStopEndsTheAttempt) {
  start(1, 1, 1, {});
  wait_started(1);
  stop(1, 1, Duration::seconds(10));
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kStopped);
  EXPECT_EQ(end.signal, 15);
}

TEST_P(Backend, WhoIgnoresTheSignalIsKilledAfterTheGrace) {
  start(1, 1, 1, {.ignores_term = true});
  wait_started(1);
  let_pass(Duration::milliseconds(100));
  stop(1, 1, Duration::milliseconds(400));
  let_pass(Duration::milliseconds(250));
  EXPECT_TRUE(facts<AttemptEnded>(1).empty()) << "the grace was not kept";
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kStopped);
  EXPECT_EQ(end.signal, 9);
}

TEST_P(Backend, AStopOrderedTwiceEndsOnce) {
  start(1, 1, 1, {});
  wait_started(1);
  stop(1, 1, Duration::seconds(10));
  stop(1, 1, Duration::seconds(10));
  wait_ended(1);
  let_pass(Duration::milliseconds(100));
  for (const AttemptEnded& end : facts<AttemptEnded>(1)) EXPECT_EQ(end.kind, EndKind::kStopped);
}

TEST_P(Backend, AStopRightAfterTheStartEndsIt) {
  start(1, 1, 1, {});
  stop(1, 1, Duration());
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  EXPECT_LE(world_->begun(1, 1), 1);
}

TEST_P(Backend, AStopOfAnUnknownAttemptIsAnsweredWithItsEnd) {
  stop(77, 3, Duration::seconds(1));
  const AttemptEnded end = wait_ended(77);
  EXPECT_EQ(end.attempt, 3);
  EXPECT_EQ(end.kind, EndKind::kStopped);
}

TEST_P(Backend, AStopOfAnEndedAttemptRepeatsItsOwnEnd) {
  start(1, 1, 1, {.runtime = Duration(), .exit_code = 4});
  wait_ended(1);
  stop(1, 1, Duration::seconds(1));
  const AttemptEnded end = wait_ended(1, 2);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 4);
}

TEST_P(Backend, SignalsReachTheJob) {
  start(1, 1, 1, {.code_on_user_signal = 42});
  wait_started(1);
  let_pass(Duration::milliseconds(200));
  const Status status = backend().signal(JobId(1), 1, 10);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 42);
}

TEST_P(Backend, ASignalToAnUnknownAttemptIsAnError) {
  const Status status = backend().signal(JobId(9), 1, 10);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
}

TEST_P(Backend, AGangStartsOnceAndEndsOnce) {
  start(1, 1, 4, {.runtime = Duration::milliseconds(100)});
  EXPECT_EQ(wait_ended(1).exit_code, 0);
  EXPECT_EQ(facts<AttemptStarted>(1).size(), 1U);
  EXPECT_EQ(facts<AttemptEnded>(1).size(), 1U);
}

TEST_P(Backend, AGangEndsWithItsFailure) {
  start(1, 1, 3, {.runtime = Duration::milliseconds(50), .exit_code = 5});
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 5);
}

TEST_P(Backend, OnlySomeTasksCanBeStopped) {
  start(1, 1, 3, {});
  wait_started(1);
  ASSERT_TRUE(backend()
                  .stop({.job = JobId(1),
                         .attempt = 1,
                         .grace = Duration::seconds(5),
                         .tasks = {2}})
                  .ok());
  world_->wait([&] { return !facts<TasksEnded>(1).empty(); }, kPatience);
  ASSERT_EQ(facts<TasksEnded>(1).size(), 1U);
  EXPECT_EQ(facts<TasksEnded>(1)[0].tasks, std::vector<std::int64_t>{2});
  EXPECT_TRUE(facts<AttemptEnded>(1).empty());
  stop(1, 1, Duration::seconds(5));
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
}

TEST_P(Backend, ANodeThatCannotLaunchSaysSo) {
  start(1, 1, 1, {.runtime = Duration(), .cannot_launch = true});
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kLaunchFailed);
  EXPECT_TRUE(facts<AttemptStarted>(1).empty());
  EXPECT_EQ(end.node, "sim1");
}

TEST_P(Backend, ListsWhatRunsAndWhatEnded) {
  start(1, 1, 1, {});
  start(2, 1, 1, {.runtime = Duration(), .exit_code = 6});
  wait_started(1);
  wait_ended(2);
  const auto known = backend().list();
  ASSERT_TRUE(known.ok());
  ASSERT_EQ(known->size(), 2U);
  EXPECT_TRUE((*known)[0].alive);
  EXPECT_FALSE((*known)[1].alive);
  EXPECT_EQ((*known)[1].end.exit_code, 6);
}

TEST_P(Backend, AfterARestartRunningOnesAreFoundAgain) {
  start(1, 1, 2, {});
  wait_started(1);
  world_->restart();
  const auto known = backend().list();
  ASSERT_TRUE(known.ok());
  ASSERT_EQ(known->size(), 1U);
  EXPECT_TRUE((*known)[0].alive);
  ASSERT_TRUE(backend().start(world_->order(1, 1, 2, {})).ok());
  stop(1, 1, Duration::seconds(5));
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  EXPECT_EQ(world_->begun(1, 1), 1);
}

TEST_P(Backend, AfterARestartEndedOnesHaveTheirTrueEnd) {
  start(1, 1, 1, {.runtime = Duration::milliseconds(10), .exit_code = 9});
  wait_ended(1);
  world_->restart();
  auto ended = [&] {
    const auto known = backend().list();
    return known.ok() && known->size() == 1 && !(*known)[0].alive;
  };
  world_->wait(ended, kPatience);
  const auto known = backend().list();
  ASSERT_EQ(known->size(), 1U);
  EXPECT_FALSE((*known)[0].alive);
  EXPECT_EQ((*known)[0].end.kind, EndKind::kExited);
  EXPECT_EQ((*known)[0].end.exit_code, 9);
}

TEST_P(Backend, ForgettingRemovesOnlyWhatEnded) {
  start(1, 1, 1, {.runtime = Duration()});
  start(2, 1, 1, {});
  wait_ended(1);
  wait_started(2);
  backend().forget(JobId(1), 1);
  backend().forget(JobId(2), 1);
  backend().forget(JobId(3), 1);
  const auto known = backend().list();
  ASSERT_EQ(known->size(), 1U);
  EXPECT_EQ((*known)[0].job, JobId(2));
  world_->restart();
  EXPECT_EQ(backend().list()->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Backend, ::testing::ValuesIn(all_worlds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rota::conformance
