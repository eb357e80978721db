#include "sim/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Instant minute(std::int64_t n) { return Instant(Duration::minutes(n).ns()); }

/// Two jobs, 1 and 2 ("A" and "B"), in a queue with a limit of two GPUs, on a node of four.
class WatcherTest : public testing::Test {
 protected:
  WatcherTest() : scenario_(*scenario_from("node n1 gpus=4\nqueue q limit=2\nat 0s\n"
                                           "submit A,B queue=q gpus=1 min_runtime=10m\n", "f")),
                  watcher_(scenario_) {
    for (const auto& statement : scenario_.stage) {
      if (const auto* node = std::get_if<NodeStatement>(&statement.body)) {
        watcher_.see(minute(0), NodeReported{node->nodes[0]});
      } else if (const auto* queue = std::get_if<QueueStatement>(&statement.body)) {
        watcher_.see(minute(0), QueueSet{queue->queue});
      }
    }
    for (std::size_t job = 0; job < 2; ++job) {
      watcher_.see(minute(0), JobSubmitted{scenario_.jobs[job].id, scenario_.spec_of(job)});
    }
  }

  void start(Instant now, std::uint64_t job, std::int64_t attempt,
             const std::vector<std::int32_t>& devices) {
    StartAttempt decision;
    decision.job = JobId(job);
    decision.attempt = attempt;
    TaskPlace place;
    place.node = "n1";
    for (const auto device : devices) {
      DeviceShare share;
      share.device = device;
      share.gpus = kWholeGpu;
      place.devices.push_back(share);
    }
    decision.allocation.tasks.push_back(place);
    watcher_.see(now, decision);
  }
  void stop(Instant now, std::uint64_t job, std::uint64_t by) {
    StopAttempt decision;
    decision.job = JobId(job);
    decision.cause = StopCause::kPreempted;
    decision.by = JobId(by);
    watcher_.see(now, decision);
  }
  void gone(Instant now, std::uint64_t job) {
    AttemptEnded event;
    event.job = JobId(job);
    event.kind = EndKind::kStopped;
    watcher_.see(now, event);
  }

  Scenario scenario_;
  Watcher watcher_;
};

TEST_F(WatcherTest, IsQuietWhenAllIsWell) {
  start(minute(0), 1, 1, {0});
  start(minute(0), 2, 1, {1});
  watcher_.settle(minute(0));
  EXPECT_THAT(watcher_.take_broken(), IsEmpty());
}

TEST_F(WatcherTest, NoticesADeviceGivenTwice) {
  start(minute(0), 1, 1, {0});
  start(minute(0), 2, 1, {0});
  EXPECT_THAT(watcher_.take_broken(), ElementsAre("B takes device n1:0 given twice"));
}

TEST_F(WatcherTest, NoticesALimitThatIsPassed) {
  start(minute(0), 1, 1, {0, 1});
  EXPECT_THAT(watcher_.take_broken(), IsEmpty());
  start(minute(0), 2, 1, {2});
  EXPECT_THAT(watcher_.take_broken(), ElementsAre("with B queue q holds more than its limit"));
}

TEST_F(WatcherTest, NoticesAProtectedVictim) {
  start(minute(0), 1, 1, {0});
  stop(minute(9), 1, 2);
  EXPECT_THAT(watcher_.take_broken(),
              ElementsAre("A is stopped (preempted) although it is protected"));
}

TEST_F(WatcherTest, NoticesAPreemptionThatDoesNotPay) {
  start(minute(0), 1, 1, {0});
  stop(minute(10), 1, 2);
  gone(minute(10), 1);
  watcher_.settle(minute(10));
  EXPECT_THAT(watcher_.take_broken(), ElementsAre("A was stopped for B, which did not start then"));
}

TEST_F(WatcherTest, AcceptsAPreemptionThatPays) {
  start(minute(0), 1, 1, {0});
  stop(minute(10), 1, 2);
  gone(minute(10), 1);
  start(minute(10), 2, 1, {0});
  watcher_.settle(minute(10));
  EXPECT_THAT(watcher_.take_broken(), IsEmpty());
}

TEST_F(WatcherTest, NoticesADoubleStart) {
  start(minute(0), 1, 1, {0});
  start(minute(1), 1, 1, {1});
  EXPECT_THAT(watcher_.take_broken(), ElementsAre("A is started while it runs",
                                                  "A starts attempt 1 twice"));
}

}  // namespace
}  // namespace rota::sim
