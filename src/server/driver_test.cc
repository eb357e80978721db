#include "server/driver.h"

#include <gtest/gtest.h>

#include "server/test_rig.h"

namespace rota::server {
namespace {

using namespace testing_rig;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Driver, AJobRunsAndEndsWithItsExitCode) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.exit_code = 3}});
  const auto reply = rig.submit(person("ana"), command("train", 2));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->id, "1");
  EXPECT_EQ(reply->state, "starting");
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1"), "running");
  const auto running = rig.job("1");
  EXPECT_EQ(running->nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(running->places.at(0).devices, "0-1");
  EXPECT_EQ(running->queue, "ana");
  rig.run_for(Duration::seconds(20));
  const auto ended = rig.job("1");
  EXPECT_EQ(ended->state, "failed");
  EXPECT_EQ(ended->exit_code, 3);
  EXPECT_EQ(ended->history.size(), 1U);
  EXPECT_TRUE(rig.backend().violations().empty());
}

TEST(Driver, NothingIsOrderedBeforeItIsDurable) {
  Rig rig;
  rig.settle();
  bool committed = true;
  rig.at = [&](const char* where) {
    const std::string point(where);
    if (point == "before commit") committed = false;
    if (point == "after commit") committed = true;
    EXPECT_TRUE(committed || point != "before start");
  };
  bool answered = false;
  rig.driver().submit(person("ana"), command("a"), [&](const Result<api::SubmitReply>& reply) {
    EXPECT_TRUE(reply.ok());
    EXPECT_TRUE(committed);
    answered = true;
  });
  EXPECT_FALSE(answered);
  rig.step();
  EXPECT_TRUE(answered);
}

TEST(Driver, ARepeatedKeyIsOneJob) {
  Rig rig;
  api::SubmitRequest request = command("a");
  request.idempotency_key = "k1";
  const auto first = rig.submit(person("ana"), request);
  const auto again = rig.submit(person("ana"), request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, first->id);
  EXPECT_TRUE(again->repeated);
  EXPECT_NE(rig.submit(person("bob"), request)->id, first->id);
  rig.crash();
  EXPECT_EQ(rig.submit(person("ana"), request)->id, first->id);
}

TEST(Driver, AfterACrashJobsGoOnAndEndOnce) {
  Rig rig;
  rig.settle();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.backend().running().size(), 4U);
  rig.crash();
  rig.settle();
  EXPECT_EQ(rig.state("1"), "running");
  EXPECT_EQ(rig.state("5"), "pending");
  rig.run_for(Duration::minutes(2));
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(rig.state(std::to_string(i)), "done");
    EXPECT_EQ(rig.backend().launches(JobId(static_cast<std::uint64_t>(i)), 1), 1);
  }
  EXPECT_TRUE(rig.backend().violations().empty());
}

TEST(Driver, WhatEndedWhileTheDaemonWasDownHasItsTrueExitCode) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.exit_code = 7}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  rig.backend().advance_to(rig.now() + Duration::seconds(20));
  rig.crash();
  rig.run_for(Duration::seconds(30));
  const auto job = rig.job("1");
  EXPECT_EQ(job->state, "failed");
  EXPECT_EQ(job->exit_code, 7);
}

TEST(Driver, AnOrderTheBackendNeverGotIsSentAgain) {
  Rig rig;
  rig.settle();
  rig.at = [&](const char* where) {
    if (std::string(where) == "before start") throw SimulatedCrash();
  };
  rig.driver().submit(person("ana"), command("a"), [](const auto&) {});
  rig.step();
  EXPECT_EQ(rig.crashes, 1);
  rig.at = nullptr;
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1"), "running");
  EXPECT_EQ(rig.backend().launches(JobId(1), 1), 1);
}

TEST(Driver, AFullDiskRefusesNewWorkSaysSoAndGoesOnLater) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  bool full = true;
  rig.fail_commit = [&] { return full; };
  const auto lost = rig.submit(person("ana"), command("b"));
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(has(lost.error().message, "disk is full")) << lost.error().message;
  const auto refused = rig.submit(person("ana"), command("c"));
  EXPECT_TRUE(has(refused.error().message, "free space")) << refused.error().message;
  EXPECT_EQ(rig.state("1"), "running");
  EXPECT_FALSE(rig.driver().pulse().problems.empty());
  rig.run_for(Duration::seconds(60));  // job 1 ends meanwhile
  EXPECT_EQ(rig.state("1"), "running");
  full = false;
  rig.run_for(Duration::seconds(10));
  EXPECT_TRUE(rig.driver().pulse().problems.empty());
  EXPECT_EQ(rig.state("1"), "done");
  EXPECT_EQ(rig.submit(person("ana"), command("d"))->id, "2");
}

TEST(Driver, OthersSeeOnlyWhatSharedTablesNeed) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("secret")).ok());
  rig.run_for(Duration::seconds(1));
  const auto mine = rig.job("1", person("ana"));
  EXPECT_EQ(mine->name, "secret");
  EXPECT_EQ(mine->command, "/bin/true");
  const auto theirs = rig.job("1", person("bob"));
  ASSERT_TRUE(theirs.ok());
  EXPECT_EQ(theirs->name, "");
  EXPECT_EQ(theirs->command, "");
  EXPECT_EQ(theirs->stdout_path, "");
  EXPECT_EQ(theirs->user, "ana");
  EXPECT_EQ(theirs->places.size(), 1U);
  EXPECT_EQ(rig.command_job(person("bob"), "1", "cancel").error().code, ErrorCode::kDenied);
  const auto page = rig.events(person("bob"));
  for (const api::Event& event : page->events) {
    EXPECT_EQ(event.job, "") << event.message;
    EXPECT_FALSE(has(event.message, "secret"));
  }
  EXPECT_GT(rig.events(person("ana"), {.job = "1"})->events.size(), 1U);
  EXPECT_FALSE(rig.events(person("bob"), {.job = "1"}).ok());
  EXPECT_TRUE(rig.command_job(admin(), "1", "cancel").ok());
}

TEST(Driver, ArraysHaveMembersAThrottleAndOneNumber) {
  Rig rig;
  rig.settle();
  api::SubmitRequest request = command("sweep");
  request.array = {0, 1, 2, 5};
  request.max_concurrent = 2;
  const auto reply = rig.submit(person("ana"), request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->id, "1");
  EXPECT_EQ(reply->ids, (std::vector<std::string>{"1.0", "1.1", "1.2", "1.5"}));
  EXPECT_EQ(rig.submit(person("ana"), command("next"))->id, "6");
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1.0"), "running");
  EXPECT_EQ(rig.state("1.5"), "pending");
  EXPECT_EQ(rig.job("1.5")->array_index, 5);
  EXPECT_EQ(rig.job("1.5")->reason, "array_limit");
  const auto page = rig.command_job(person("ana"), "1", "cancel");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->jobs.size(), 4U);
  rig.run_for(Duration::minutes(1));
  EXPECT_EQ(rig.state("1.5"), "cancelled");
  EXPECT_FALSE(rig.job("1.3").ok());
}

TEST(Driver, SweepMembersGetNamesAndVariables) {
  Rig rig;
  rig.settle();
  api::SubmitRequest request = command("s");
  request.argv = {"train", "--lr", "{lr}", "{other}"};
  request.params = {{{"lr", ".1"}}, {{"lr", ".2"}}};
  request.name_template = "lr{lr}";
  const auto reply = rig.submit(person("ana"), request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  const auto second = rig.job(reply->ids.at(1));
  EXPECT_EQ(second->name, "lr.2");
  EXPECT_EQ(second->command, "train --lr .2 '{other}'");
}

TEST(Driver, AtSignIsTheCallersLatest) {
  Rig rig;
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(rig.submit(person("bob"), command("b")).ok());
  api::SubmitRequest array = command("c");
  array.array = {1, 2};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  EXPECT_EQ(rig.job("@~1", person("ana"))->id, "1");
  EXPECT_EQ(rig.job("@", person("ana"))->id, "3.1");
  EXPECT_EQ(rig.command_job(person("ana"), "@", "cancel")->jobs.size(), 2U);
  EXPECT_FALSE(rig.job("@~2", person("ana")).ok());
}

TEST(Driver, FinishedJobsStayInTheHistory) {
  RigOptions options;
  options.config.finished_in_memory = Duration::minutes(5);
  Rig rig(options);
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  api::SubmitRequest array = command("c");
  array.array = {4, 5};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  rig.run_for(Duration::minutes(30));
  EXPECT_FALSE(rig.driver().engine().job(JobId(1)).ok());
  EXPECT_EQ(rig.job("1")->state, "done");
  EXPECT_EQ(rig.job("2.5")->state, "done");
  EXPECT_EQ(rig.job("1", person("bob"))->name, "");
  const auto page = rig.ask<api::JobPage>([&](Reply<api::JobPage> done) {
    rig.driver().jobs(person("ana"), {.all = true, .limit = 2}, std::move(done));
  });
  ASSERT_EQ(page->jobs.size(), 2U);
  const auto rest = rig.ask<api::JobPage>([&](Reply<api::JobPage> done) {
    rig.driver().jobs(person("ana"), {.all = true, .cursor = page->next_cursor},
                      std::move(done));
  });
  ASSERT_EQ(rest->jobs.size(), 1U);
  EXPECT_EQ(rest->jobs[0].id, "2.5");
  const auto conflict = rig.command_job(person("ana"), "1", "cancel");
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(has(conflict.error().message, "rota redo 1"));
  api::SubmitRequest after = command("d");
  after.afterok = {"1"};
  EXPECT_TRUE(rig.submit(person("ana"), after).ok());
  EXPECT_EQ(rig.ask<api::SubmitRequest>([&](Reply<api::SubmitRequest> done) {
                 rig.driver().request(person("ana"), "2", std::move(done));
               })->array.size(),
            2U);
}

TEST(Driver, ACancelledPendingJobIsInTheHistoryAndTheEvents) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a", 4)).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("b", 4)).ok());
  ASSERT_TRUE(rig.command_job(person("ana"), "2", "cancel").ok());
  rig.settle();
  EXPECT_EQ(rig.state("2"), "cancelled");
  EXPECT_TRUE(rig.store().history(JobId(2))->has_value());
  bool finished = false;
  const auto page = rig.events(admin());
  for (const api::Event& event : page->events) {
    finished = finished || (event.kind == "job_finished" && event.job == "2");
  }
  EXPECT_TRUE(finished);
}

TEST(Driver, WhatCanNeverFitIsRefusedWithTheResource) {
  Rig rig;
  rig.settle();
  const auto refused = rig.submit(person("ana"), command("big", 16));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused) << refused.error().message;
  EXPECT_TRUE(has(refused.error().message, "GPU")) << refused.error().message;
  api::SubmitRequest waits = command("big", 16);
  waits.hold_infeasible = true;
  EXPECT_TRUE(rig.submit(person("ana"), waits).ok());
}

TEST(Driver, ACallBeforeTheNodesAreKnownIsNotRefusedForThat) {
  Rig rig;
  const auto reply = rig.submit(person("ana"), command("early"));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1"), "running");
}

TEST(Driver, MistakesNameTheFieldAndTheNearestWord) {
  Rig rig;
  rig.settle();
  const auto error_of = [&](const std::function<void(api::SubmitRequest&)>& change) {
    api::SubmitRequest request = command("a");
    change(request);
    const auto reply = rig.submit(person("ana"), request);
    return reply.ok() ? Error{.message = "accepted"} : reply.error();
  };
  EXPECT_TRUE(has(error_of([](auto& r) { r.job_class = "debgu"; }).message, "'debug'"));
  EXPECT_EQ(error_of([](auto& r) { r.gpus = 1.5; }).where, "gpus");
  EXPECT_EQ(error_of([](auto& r) { r.argv.clear(); }).where, "argv");
  EXPECT_EQ(error_of([](auto& r) { r.begin = "soon"; }).where, "begin");
  EXPECT_EQ(error_of([](auto& r) { r.afterok = {"99"}; }).code, ErrorCode::kNotFound);
  EXPECT_EQ(error_of([](auto& r) { r.queue = "nope"; }).where, "queue");
  EXPECT_EQ(error_of([](auto& r) { r.array = {1, 1}; }).where, "array");
  EXPECT_EQ(error_of([](auto& r) { r.min_tasks = 1; }).code, ErrorCode::kUnsupported);
  EXPECT_EQ(error_of([](auto& r) {
              r.job_class = "debug";
              r.time_limit_seconds = 7200;
            }).code,
            ErrorCode::kRefused);
}

TEST(Driver, WrongProgramsTakeNoNodeOutAndAreTriedAgainWhereTheyFailed) {
  Rig rig;
  rig.settle();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    rig.backend().script(JobId(i), {{.runtime = Duration::seconds(1), .exit_code = 1}});
    api::SubmitRequest request = command("wrong");
    request.retries = 1;
    ASSERT_TRUE(rig.submit(person("ana"), request).ok());
    rig.run_for(Duration::seconds(10));
    EXPECT_EQ(rig.state(std::to_string(i)), "failed");
    EXPECT_EQ(rig.job(std::to_string(i))->attempts, 2);
  }
  ASSERT_TRUE(rig.submit(person("ana"), command("right")).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("6"), "running");
}

TEST(Driver, OnlyAdministratorsChangeNodesAndQueues) {
  Rig rig;
  rig.settle();
  const auto drain = [&](const Caller& caller, const std::string& verb) {
    return rig.ask<api::Node>([&](Reply<api::Node> done) {
      rig.driver().node_command(caller, "n1", verb, "maintenance", std::move(done));
    });
  };
  EXPECT_EQ(drain(person("ana"), "drain").error().code, ErrorCode::kDenied);
  EXPECT_TRUE(has(drain(admin(), "drian").error().message, "'drain'"));
  const auto drained = drain(admin(), "drain");
  ASSERT_TRUE(drained.ok()) << drained.error().message;
  EXPECT_EQ(drained->reason, "maintenance");
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_EQ(rig.state("1"), "pending");
  EXPECT_TRUE(drain(admin(), "undrain").ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(rig.state("1"), "running");
  const auto set = rig.ask<api::Queue>([&](Reply<api::Queue> done) {
    api::QueueRequest request{.name = "team"};
    request.weight = 3;
    request.quota = 2;
    rig.driver().queue_set(admin(), request, std::move(done));
  });
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->weight, 3);
  EXPECT_EQ(set->quota, 2.0);
}

TEST(Driver, TheConfigurationNamesAdministrators) {
  RigOptions options;
  options.config.admins = {"olga"};
  Rig rig(options);
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_EQ(rig.job("1", person("olga"))->name, "a");
  EXPECT_TRUE(rig.command_job(person("olga"), "1", "cancel").ok());
}

TEST(Driver, DrainSurvivesARestart) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.ask<api::Node>([&](Reply<api::Node> done) {
                   rig.driver().node_command(admin(), "n1", "drain", "x", std::move(done));
                 }).ok());
  rig.restart();
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_EQ(rig.state("1"), "pending");
}

TEST(Driver, SubscribersGetWhatTheyMaySee) {
  Rig rig;
  rig.settle();
  std::vector<std::string> ana;
  std::vector<std::string> bob;
  (void)rig.driver().subscribe(person("ana"), [&](const api::Event& e) { ana.push_back(e.kind); });
  const std::int64_t id = rig.driver().subscribe(
      person("bob"), [&](const api::Event& e) { bob.push_back(e.kind); });
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(20));
  EXPECT_EQ(ana, (std::vector<std::string>{"job_submitted", "job_started", "job_finished"}));
  EXPECT_TRUE(bob.empty());
  rig.driver().unsubscribe(id);
}

TEST(Driver, AReadingOfMetricsHasTheNamesPeopleScrape) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(1));
  const auto text =
      rig.ask<std::string>([&](Reply<std::string> done) { rig.driver().metrics(std::move(done)); });
  ASSERT_TRUE(text.ok());
  for (const char* line :
       {"rota_jobs{state=\"running\",class=\"batch\",queue=\"ana\"} 1", "rota_gpu_allocated{",
        "rota_job_wait_seconds_bucket{class=\"batch\",le=\"+Inf\"} 1", "rota_sched_cycles_total ",
        "rota_sched_cycle_seconds_count ", "rota_gpu_seconds_total{queue=\"ana\",kind=\"kept\"}",
        "# TYPE rota_preemptions_total counter"}) {
    EXPECT_TRUE(has(*text, line)) << line << "\n" << *text;
  }
}

TEST(Driver, AnUnreachableBackendIsAProblemAndThenIsNot) {
  RigOptions options;
  options.faults.list_unavailable = 1000;
  Rig rig(options);
  rig.run_for(Duration::seconds(3));
  EXPECT_FALSE(rig.driver().pulse().problems.empty());
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_EQ(rig.state("1"), "pending");
  rig.backend().set_faults({});
  rig.run_for(Duration::seconds(3));
  EXPECT_TRUE(rig.driver().pulse().problems.empty());
  EXPECT_EQ(rig.state("1"), "running");
}

TEST(Driver, SnapshotsKeepTheJournalShortAndTheEngineEqual) {
  RigOptions options;
  options.config.snapshot_every = 20;
  Rig rig(options);
  rig.settle();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
    rig.run_for(Duration::seconds(7));
  }
  EXPECT_GT(*rig.store().first_journal_seq(), 1);
  const std::uint64_t digest = rig.driver().engine().digest();
  rig.crash();
  EXPECT_EQ(rig.driver().engine().digest(), digest);
  rig.run_for(Duration::minutes(5));
  EXPECT_EQ(rig.state("30"), "done");
}

}  // namespace
}  // namespace rota::server
