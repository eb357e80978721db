// The driver when the world is not as it left it: long absences, other devices, a full disk.
#include <gtest/gtest.h>

#include "server/driver.h"
#include "server/test_rig.h"

namespace rota::server {
namespace {

using namespace testing_rig;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<NodeSpec> with_gpus(const std::vector<std::string>& uuids) {
  NodeSpec node{.name = "n1"};
  for (const std::string& uuid : uuids) {
    node.devices.push_back({.model = "h100", .uuid = uuid});
  }
  return {node};
}

RigOptions four_gpus() {
  RigOptions options;
  options.nodes = with_gpus({"a", "b", "c", "d"});
  return options;
}

// ---- time that passed without the daemon ----

TEST(DriverTrouble, WhatEndedMeanwhileIsChargedForAsLongAsItRan) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(100)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a", 2)).ok());
  rig.run_for(Duration::seconds(1));
  const std::string started = rig.job("1")->started;
  rig.crash_for(Duration::hours(5));
  rig.run_for(Duration::seconds(1));
  const auto job = rig.job("1");
  ASSERT_EQ(job->state, "done");
  EXPECT_EQ(job->started, started);
  EXPECT_DOUBLE_EQ(job->run_seconds.value(), 100.0);
  EXPECT_NEAR(job->gpu_hours, 200.0 / 3600, 0.001);
  const auto queues = rig.ask<std::vector<api::Queue>>(
      [&](Reply<std::vector<api::Queue>> done) { rig.driver().queues(admin(), std::move(done)); });
  ASSERT_TRUE(queues.ok());
  for (const api::Queue& queue : *queues) {
    const double wanted = queue.name == "ana" ? 200.0 / 3600 : queue.gpu_hours;
    EXPECT_NEAR(queue.gpu_hours, wanted, 0.001) << queue.name;
  }
}

TEST(DriverTrouble, EndsThatAreLearnedTogetherCountEachForItself) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(3000)}});
  rig.backend().script(JobId(2), {{.runtime = Duration::seconds(100)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("b")).ok());
  rig.crash_for(Duration::hours(5));  // not even their starts were learned
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1"), "done");
  EXPECT_EQ(rig.state("2"), "done");
  EXPECT_NEAR(rig.job("1")->gpu_hours, 3000.0 / 3600, 0.001);
  EXPECT_NEAR(rig.job("2")->gpu_hours, 100.0 / 3600, 0.001);
  rig.crash();
  EXPECT_EQ(rig.state("1"), "done");
}

TEST(DriverTrouble, TheBackendKnowsTheTimeLimitThatCounts) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = std::nullopt}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.backend().time_limit(JobId(1), 1), Duration::hours(1));
  const auto update = [&](double seconds) {
    return rig.ask<api::Job>([&](Reply<api::Job> done) {
      rig.driver().update(person("ana"), "1", {.time_limit_seconds = seconds}, std::move(done));
    });
  };
  ASSERT_TRUE(update(7200).ok());
  EXPECT_EQ(rig.backend().time_limit(JobId(1), 1), Duration::hours(2));
  // It dies between the answer and telling the back-end.
  rig.at = [&](const char* where) {
    if (std::string(where) == "after commit") throw SimulatedCrash();
  };
  rig.driver().update(person("ana"), "1", {.time_limit_seconds = 1800}, [](const auto&) {});
  rig.step();
  rig.at = nullptr;
  EXPECT_EQ(rig.crashes, 1);
  rig.settle();
  EXPECT_EQ(rig.backend().time_limit(JobId(1), 1), Duration::minutes(30));
}

// ---- other devices ----

TEST(DriverTrouble, ADeviceThatIsGoneIsGivenToNobody) {
  Rig rig(four_gpus());
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(60)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  rig.backend().set_nodes(with_gpus({"a", "b"}));
  rig.crash();
  rig.settle();
  EXPECT_EQ(rig.state("1"), "running") << "its own GPU is there";
  ASSERT_TRUE(rig.submit(person("ana"), command("b", 2)).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("c", 1)).ok());
  rig.run_for(Duration::seconds(2));
  EXPECT_EQ(rig.state("2"), "pending");
  rig.run_for(Duration::minutes(5));
  EXPECT_EQ(rig.driver().engine().node("n1")->spec->devices.size(), 2U) << "the node has changed";
  for (const char* id : {"1", "2", "3"}) EXPECT_EQ(rig.state(id), "done") << id;
  EXPECT_TRUE(rig.backend().violations().empty()) << rig.backend().violations().front();
}

TEST(DriverTrouble, AJobOnADeviceThatIsGoneIsBegunElsewhere) {
  Rig rig(four_gpus());
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(60)}});
  rig.backend().script(JobId(2), {{.runtime = Duration::seconds(60)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("b")).ok());
  rig.run_for(Duration::seconds(1));
  rig.backend().set_nodes(with_gpus({"a"}));  // while the daemon runs
  rig.run_for(Duration::seconds(2));
  EXPECT_EQ(rig.state("1"), "running");
  EXPECT_EQ(rig.state("2"), "pending");
  rig.run_for(Duration::minutes(3));
  EXPECT_EQ(rig.state("2"), "done");
  EXPECT_EQ(rig.job("2")->attempts, 2);
  EXPECT_TRUE(rig.backend().violations().empty()) << rig.backend().violations().front();
}

TEST(DriverTrouble, NothingNewStartsWhereDevicesHaveOtherNumbers) {
  Rig rig(four_gpus());
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(60)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  rig.backend().set_nodes(with_gpus({"a", "c", "d"}));
  rig.crash();
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("b")).ok());
  rig.run_for(Duration::seconds(2));
  EXPECT_EQ(rig.state("1"), "running");
  EXPECT_EQ(rig.state("2"), "pending");
  const auto nodes = rig.ask<std::vector<api::Node>>(
      [&](Reply<std::vector<api::Node>> done) { rig.driver().nodes(admin(), std::move(done)); });
  EXPECT_TRUE(has(nodes->at(0).reason, "other numbers")) << nodes->at(0).reason;
  rig.run_for(Duration::minutes(3));
  EXPECT_EQ(rig.state("2"), "done");
  EXPECT_EQ(rig.driver().engine().node("n1")->state, NodeState::kUp);
  EXPECT_EQ(rig.driver().engine().node("n1")->spec->devices.size(), 3U);
}

TEST(DriverTrouble, DevicesThatAreBackAreUsedAgain) {
  Rig rig(four_gpus());
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::hours(2)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  rig.backend().set_nodes(with_gpus({"a", "c", "d"}));
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.driver().engine().node("n1")->state, NodeState::kQuarantined);
  rig.crash();
  rig.settle();
  rig.backend().set_nodes(with_gpus({"a", "b", "c", "d"}));
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.driver().engine().node("n1")->state, NodeState::kUp);
  EXPECT_EQ(rig.driver().engine().node("n1")->gpus_healthy, 4);
  ASSERT_TRUE(rig.submit(person("ana"), command("b", 3)).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("2"), "running");
}

// ---- a full disk ----

TEST(DriverTrouble, WhatRunsCanBeCancelledThoughTheDiskIsFull) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = std::nullopt}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("b", 4)).ok());
  rig.run_for(Duration::seconds(1));
  bool full = true;
  rig.fail_commit = [&] { return full; };
  (void)rig.submit(person("ana"), command("c"));
  const auto others = rig.command_job(person("bob"), "1", "cancel");
  EXPECT_EQ(others.error().code, ErrorCode::kDenied);
  const auto waiting = rig.command_job(person("ana"), "2", "cancel");
  ASSERT_FALSE(waiting.ok());
  EXPECT_TRUE(has(waiting.error().message, "nothing new is accepted"));
  const auto cancelled = rig.command_job(person("ana"), "1", "cancel");
  ASSERT_FALSE(cancelled.ok()) << "it is not written down";
  EXPECT_EQ(cancelled.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(has(cancelled.error().message, "job 1 is told to stop"))
      << cancelled.error().message;
  rig.run_for(Duration::seconds(60));
  EXPECT_TRUE(rig.backend().running().empty()) << "the GPU is not free";
  full = false;
  rig.run_for(Duration::seconds(5));
  EXPECT_EQ(rig.state("1"), "cancelled");
  EXPECT_EQ(rig.job("1")->attempts, 1);
  rig.run_for(Duration::seconds(30));
  EXPECT_EQ(rig.state("2"), "done");
  EXPECT_TRUE(rig.backend().violations().empty());
  rig.crash();
  EXPECT_EQ(rig.state("1"), "cancelled");
}

TEST(DriverTrouble, EveryFailedWriteIsCounted) {
  Rig rig;
  rig.settle();
  bool full = true;
  rig.fail_commit = [&] { return full; };
  (void)rig.submit(person("ana"), command("a"));
  rig.run_for(Duration::seconds(10));
  const auto text = rig.ask<std::string>(
      [&](Reply<std::string> done) { rig.driver().metrics(std::move(done)); });
  ASSERT_TRUE(text.ok());
  const std::size_t at = text->find("\nrota_commits_failed_total ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::atoi(text->c_str() + at + 27), 5);
}

// ---- keys ----

TEST(DriverTrouble, AKeyOfAnotherRequestIsAConflict) {
  Rig rig;
  rig.settle();
  api::SubmitRequest first = command("a");
  first.idempotency_key = "k";
  ASSERT_TRUE(rig.submit(person("ana"), first).ok());
  api::SubmitRequest other = first;
  other.argv = {"/bin/false"};
  const auto refused = rig.submit(person("ana"), other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(refused.error().where, "idempotency_key");
  EXPECT_TRUE(has(refused.error().message, "job 1")) << refused.error().message;
  EXPECT_TRUE(rig.submit(person("ana"), first)->repeated);

  api::SubmitRequest array = command("b");
  array.array = {3, 4};
  array.idempotency_key = "k2";
  const auto members = rig.submit(person("ana"), array);
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(rig.submit(person("ana"), array)->id, members->id);
  array.array = {3, 4, 5};
  EXPECT_EQ(rig.submit(person("ana"), array).error().code, ErrorCode::kConflict);
  rig.crash();
  EXPECT_EQ(rig.submit(person("ana"), array).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(rig.submit(person("ana"), first)->repeated);
}

}  // namespace
}  // namespace rota::server
