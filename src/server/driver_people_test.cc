// What people are told: pages of the history, why a job ended, changes that cannot be, times that
// fit together.
#include <gtest/gtest.h>

#include "api/json.h"
#include "server/driver.h"
#include "server/test_rig.h"

namespace rota::server {
namespace {

using namespace testing_rig;

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Result<api::JobPage> list(Rig& rig, JobQuery query) {
  return rig.ask<api::JobPage>([&](Reply<api::JobPage> done) {
    rig.driver().jobs(admin(), std::move(query), std::move(done));
  });
}

Result<api::Verdict> why(Rig& rig, const std::string& id) {
  return rig.ask<api::Verdict>(
      [&](Reply<api::Verdict> done) { rig.driver().why(admin(), id, std::move(done)); });
}

Result<api::Job> update(Rig& rig, const std::string& id, api::UpdateRequest change) {
  return rig.ask<api::Job>([&](Reply<api::Job> done) {
    rig.driver().update(admin(), id, std::move(change), std::move(done));
  });
}

Result<api::Preview> preview(Rig& rig, const api::SubmitRequest& request) {
  return rig.ask<api::Preview>([&](Reply<api::Preview> done) {
    rig.driver().preview(person("ana"), request, std::move(done));
  });
}

Error submit_error(Rig& rig, const std::function<void(api::SubmitRequest&)>& change) {
  api::SubmitRequest request = command("a");
  change(request);
  const auto reply = rig.submit(person("ana"), request);
  return reply.ok() ? Error{.message = "accepted"} : reply.error();
}

TEST(People, TheHistoryIsPagedByEnd) {
  Rig rig;
  rig.settle();
  std::uint64_t id = 0;
  for (const int seconds : {30, 10, 20, 40}) {
    rig.backend().script(JobId(++id), {{.runtime = Duration::seconds(seconds)}});
    ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  }
  rig.run_for(Duration::minutes(1));
  JobQuery query{.states = {"done"}, .limit = 3, .newest_first = true};
  const auto page = list(rig, query);
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->jobs.size(), 3U);
  EXPECT_EQ(page->jobs[0].id, "4");
  EXPECT_EQ(page->jobs[1].id, "1");
  EXPECT_EQ(page->jobs[2].id, "3");
  EXPECT_TRUE(page->jobs[0].history.empty());
  query.cursor = page->next_cursor;
  const auto rest = list(rig, query);
  ASSERT_EQ(rest->jobs.size(), 1U);
  EXPECT_EQ(rest->jobs[0].id, "2");
  EXPECT_EQ(rest->next_cursor, "");
  EXPECT_EQ(list(rig, {.newest_first = true}).error().where, "order");
  EXPECT_EQ(list(rig, {.states = {"done"}, .cursor = "7", .newest_first = true}).error().where,
            "cursor");
}

TEST(People, AFilterThatNamesNothingIsAnError) {
  Rig rig;
  rig.settle();
  api::SubmitRequest array = command("a");
  array.array = {1, 2};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  rig.run_for(Duration::minutes(1));
  EXPECT_EQ(list(rig, {.array = "1", .all = true})->jobs.size(), 2U);
  EXPECT_EQ(list(rig, {.array = "2"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(list(rig, {.array = "99"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(list(rig, {.queue = "nowhere"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(submit_error(rig, [](auto& r) { r.queue = "nowhere"; }).code, ErrorCode::kNotFound);
  EXPECT_EQ(update(rig, "1", {.queue = "nowhere"}).error().code, ErrorCode::kConflict);
}

TEST(People, WhyOfAFailedJobSaysHow) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(1),
                                   .exit_code = 127,
                                   .detail = "cannot run 'x': No such file or directory"}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(5));
  const auto verdict = why(rig, "1");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->exit_code, 127);
  EXPECT_EQ(verdict->summary,
            "It failed: exit code 127 (cannot run 'x': No such file or directory).");
  EXPECT_EQ(rig.job("1")->detail, "cannot run 'x': No such file or directory");
  EXPECT_EQ(list(rig, {.all = true})->jobs.front().detail, rig.job("1")->detail);
  std::string told;
  const auto page = rig.events(admin());
  for (const api::Event& event : page->events) {
    if (event.kind == "job_finished") told = event.message;
  }
  EXPECT_EQ(told, "job 1 (a) failed: exit code 127 (cannot run 'x': No such file or directory) "
                  "after 1s");
}

TEST(People, WhyOfARunningJobSaysWhereAndUntilWhen) {
  Rig rig;
  rig.settle();
  api::SubmitRequest request = command("a", 2);
  request.min_runtime_seconds = 600;
  ASSERT_TRUE(rig.submit(person("ana"), request).ok());
  rig.run_for(Duration::seconds(2));
  const auto verdict = why(rig, "1");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->state, "running");
  ASSERT_EQ(verdict->places.size(), 1U);
  EXPECT_EQ(verdict->places[0].devices, "0-1");
  EXPECT_EQ(verdict->time_limit_seconds, 3600);
  EXPECT_TRUE(tells(verdict->summary, "It is running on n1:0-1 since 2026-01-01T00:00:00"));
  EXPECT_TRUE(tells(verdict->summary, "protected until 2026-01-01T00:10:00"));
  EXPECT_TRUE(tells(verdict->summary, "its time limit of 1h ends it at 2026-01-01T01:00:00"));
  const auto job = rig.job("1");
  ASSERT_EQ(job->history.size(), 1U);
  EXPECT_FALSE(job->history[0].exit_code);
  EXPECT_FALSE(job->array_index);
}

TEST(People, AnUpdateBeyondTheClusterIsRefusedAsASubmitIs) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("holder", 4)).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("waits", 4)).ok());
  api::SubmitRequest patient = command("patient", 64);
  patient.hold_infeasible = true;
  ASSERT_TRUE(rig.submit(person("ana"), patient).ok());
  const auto refused = update(rig, "2", {.gpus = 64.0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused) << refused.error().message;
  EXPECT_EQ(update(rig, "2", {.tasks = 64}).error().code, ErrorCode::kRefused);
  EXPECT_EQ(rig.job("2")->gpus, 4);
  EXPECT_TRUE(update(rig, "2", {.gpus = 2.0}).ok());
  EXPECT_TRUE(update(rig, "3", {.gpus = 128.0}).ok());
  const auto running = update(rig, "1", {.gpus = 1.0});
  EXPECT_TRUE(tells(running.error().message, "name and comment")) << running.error().message;
}

TEST(People, AChangeOfAnArraySaysHowManyItReached) {
  Rig rig;
  rig.settle();
  api::SubmitRequest array = command("a", 4);
  array.array = {1, 2, 3};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(update(rig, "1", {.priority = 3})->members_changed, 3);
  EXPECT_EQ(update(rig, "1", {.gpus = 2.0})->members_changed, 2);  // one runs
  EXPECT_FALSE(update(rig, "1.2", {.priority = 3})->members_changed);
}

TEST(People, APreviewIsOfNoJob) {
  Rig rig;
  rig.settle();
  api::SubmitRequest request = command("a", 4);
  request.time_limit_seconds.reset();
  const auto now = preview(rig, request);
  ASSERT_TRUE(now.ok());
  EXPECT_TRUE(now->starts_now);
  EXPECT_EQ(now->verdict.id, "");
  EXPECT_EQ(now->verdict.state, "");
  EXPECT_EQ(now->verdict.summary, "It would start at once.");
  EXPECT_TRUE(now->warnings.empty());
  const api::Json json = api::to_json(*now);
  EXPECT_FALSE(json["verdict"].contains("id"));
  ASSERT_TRUE(rig.submit(person("ana"), command("holder", 4)).ok());
  const auto later = preview(rig, request);
  EXPECT_FALSE(later->starts_now);
  EXPECT_EQ(later->verdict.id, "");
  EXPECT_TRUE(tells(later->verdict.summary, "Needs 4 GPUs")) << later->verdict.summary;
  EXPECT_EQ(later->warnings.size(), 1U);
}

TEST(People, TheWarningOfNoLimitIsForJobsThatWait) {
  Rig rig;
  rig.settle();
  api::SubmitRequest request = command("a", 4);
  request.time_limit_seconds.reset();
  EXPECT_TRUE(rig.submit(person("ana"), request)->warnings.empty());
  EXPECT_EQ(rig.submit(person("ana"), request)->warnings.size(), 1U);
}

TEST(People, ASecondDrainKeepsTheReason) {
  Rig rig;
  rig.settle();
  const auto drain = [&](const std::string& reason) {
    return rig.ask<api::Node>([&](Reply<api::Node> done) {
      rig.driver().node_command(admin(), "n1", "drain", reason, std::move(done));
    });
  };
  EXPECT_EQ(drain("new fan")->reason, "new fan");
  EXPECT_EQ(drain("")->reason, "new fan");
  EXPECT_EQ(drain("new disk")->reason, "new disk");
}

TEST(People, AQuarantineNamesTheJobsThatFailed) {
  RigOptions options;
  options.config.policy.quarantine_after = 3;
  Rig rig(std::move(options));
  rig.settle();
  const auto node = [&](const std::string& verb, const std::string& reason = {}) {
    return rig.ask<api::Node>([&](Reply<api::Node> done) {
      rig.driver().node_command(admin(), "n1", verb, reason, std::move(done));
    });
  };
  for (std::uint64_t id = 1; id <= 4; ++id) {
    rig.backend().script(JobId(id), {{.runtime = Duration::seconds(1), .exit_code = 1}});
  }
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  api::SubmitRequest array = command("b");
  array.array = {7, 8};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  rig.run_for(Duration::seconds(5));
  const std::string reason = "3 failures in a row: jobs 1, 2.7, 2.8";
  EXPECT_EQ(node("undrain")->reason, reason);
  EXPECT_EQ(node("undrain")->state, "quarantined");
  EXPECT_EQ(node("drain")->reason, reason);
  EXPECT_EQ(node("undrain")->reason, reason);
  EXPECT_EQ(node("recover")->reason, "");
  EXPECT_EQ(node("drain", "a\x1b[2J").error().where, "reason");
}

TEST(People, TimesOfARequeuedJobFitTogether) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(20)},
                                  {.runtime = Duration::seconds(20)}});
  ASSERT_TRUE(rig.submit(person("ana"), command("a", 4)).ok());
  const std::string submitted = rig.job("1")->submitted;
  rig.run_for(Duration::seconds(30));
  ASSERT_EQ(rig.state("1"), "done");
  ASSERT_TRUE(rig.submit(person("ana"), command("holder", 4)).ok());
  rig.run_for(Duration::seconds(1));
  const std::string requeued = iso_time(rig.now());
  ASSERT_TRUE(rig.command_job(admin(), "1", "requeue").ok());
  rig.run_for(Duration::seconds(5));
  const auto waits = rig.job("1");
  EXPECT_EQ(waits->state, "pending");
  EXPECT_EQ(waits->submitted, submitted);
  EXPECT_EQ(waits->waiting_since, requeued);
  EXPECT_EQ(waits->wait_seconds, 5);
  rig.run_for(Duration::seconds(60));
  const auto done = rig.job("1");
  ASSERT_EQ(done->state, "done");
  EXPECT_EQ(done->submitted, submitted);
  EXPECT_LE(done->submitted, done->first_started);
  EXPECT_LT(done->wait_seconds.value_or(99), 1);
  EXPECT_EQ(list(rig, {.all = true})->jobs.front().submitted, submitted);
}

TEST(People, PlacesModelsAndMigThatAreNotThereAreNamed) {
  Rig rig;
  rig.settle();
  const Error pool = submit_error(rig, [](auto& r) { r.on = {"gpu"}; });
  EXPECT_EQ(pool.code, ErrorCode::kNotFound);
  EXPECT_EQ(pool.where, "on");
  EXPECT_EQ(pool.message, "there is no pool or node 'gpu'; pools: none; nodes: n1");
  const Error model = submit_error(rig, [](auto& r) { r.models = {"a100"}; });
  EXPECT_EQ(model.code, ErrorCode::kRefused);
  EXPECT_EQ(model.where, "models");
  EXPECT_TRUE(tells(model.message, "no node has a GPU of model a100; there are: h100"))
      << model.message;
  const Error mig = submit_error(rig, [](auto& r) {
    r.gpus.reset();
    r.mig = "1g.10gb";
  });
  EXPECT_TRUE(tells(mig.message, "no GPU here is cut into MIG instances")) << mig.message;
  EXPECT_EQ(submit_error(rig, [](auto& r) {
              r.on = {"later"};
              r.hold_infeasible = true;
            }).message,
            "accepted");
}

TEST(People, AParentQueueNamesItsChildren) {
  Rig rig;
  rig.settle();
  for (const auto& [name, parent] : {std::pair("vision", ""), {"small", "vision"}}) {
    const auto set = rig.ask<api::Queue>([&, name = name, parent = parent](auto done) {
      rig.driver().queue_set(admin(), {.name = name, .parent = parent}, std::move(done));
    });
    ASSERT_TRUE(set.ok()) << set.error().message;
  }
  const Error error = submit_error(rig, [](auto& r) { r.queue = "vision"; });
  EXPECT_EQ(error.message, "queue vision has children (small); jobs belong to one of these");
}

TEST(People, AScriptKeepsItsNameAndTheShellsBraces) {
  Rig rig;
  rig.settle();
  api::SubmitRequest script;
  script.script = "#!/bin/sh\ntrue\n";
  script.script_name = "train.sh";
  script.script_args = {"two words"};
  ASSERT_TRUE(rig.submit(person("ana"), script).ok());
  EXPECT_EQ(rig.job("1")->command, "train.sh 'two words'");
  EXPECT_EQ(rig.job("1")->name, "train.sh");
  EXPECT_EQ(fill_template("{lr} ${lr} $lr", {{"lr", "0.1"}}, 1), "0.1 ${lr} $lr");
}

TEST(People, AListOfAnArrayHasMembersThatEndInItsTurn) {
  Rig rig({.nodes = nodes(1, 8)});
  rig.settle();
  for (std::uint64_t id = 2; id <= 9; ++id) {
    rig.backend().script(JobId(id), {{.runtime = Duration::seconds(static_cast<int>(id))}});
  }
  api::SubmitRequest array = command("a");
  for (int i = 1; i <= 9; ++i) array.array.push_back(i);  // the last one waits
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  rig.run_for(Duration::seconds(1));
  // The ends are known and the list is asked for before the next turn, which learns both.
  std::vector<std::size_t> sizes;
  for (int second = 0; second < 12; ++second) {
    rig.advance_quietly(Duration::seconds(1));
    const auto page = list(rig, {.array = "1", .all = true, .limit = 5000});
    ASSERT_TRUE(page.ok());
    sizes.push_back(page->jobs.size());
  }
  EXPECT_EQ(sizes, std::vector<std::size_t>(12, 9));
  ASSERT_TRUE(rig.submit(person("ana"), command("holder", 8)).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("waits", 8)).ok());
  // A cancelled one that waits ends at once; the list comes in the same turn.
  std::optional<std::size_t> cancelled;
  rig.driver().command(admin(), "12", "cancel", [](const Result<api::JobPage>& done) {
    EXPECT_TRUE(done.ok());
  });
  JobQuery query{.states = {"cancelled"}, .newest_first = true};
  rig.driver().jobs(admin(), query, [&](const Result<api::JobPage>& page) {
    cancelled = page.ok() ? page->jobs.size() : 0;
  });
  rig.step();
  EXPECT_EQ(cancelled, 1U);
}

TEST(People, AnExitCodeIsOfProcessesThatExited) {
  Rig rig;
  rig.settle();
  rig.backend().script(JobId(1), {{.runtime = Duration::seconds(1), .signal = 9}});
  ASSERT_TRUE(rig.submit(person("ana"), command("killed")).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("stopped")).ok());
  rig.run_for(Duration::seconds(2));
  const auto killed = rig.job("1");
  EXPECT_EQ(killed->state, "failed");
  EXPECT_EQ(killed->signal, 9);
  EXPECT_FALSE(killed->exit_code);
  EXPECT_EQ(why(rig, "1")->summary, "It failed: signal 9.");
  EXPECT_FALSE(rig.job("2")->exit_code);
}

TEST(People, AVanishedJobSaysWhenItIsTriedAgain) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.run_for(Duration::seconds(10));
  ASSERT_EQ(rig.state("1"), "running");
  rig.backend().report(AttemptEnded{.job = JobId(1), .attempt = 1, .kind = EndKind::kLost});
  rig.step();
  const auto verdict = why(rig, "1");
  ASSERT_EQ(verdict->state, "pending");
  EXPECT_EQ(verdict->summary,
            "Its processes vanished; tried again at 2026-01-01T00:00:11.000Z.");
  EXPECT_EQ(verdict->estimate, "2026-01-01T00:00:11.000Z");
}

TEST(People, ABeginTimeIsTheExpectedStartWhereNothingElseBinds) {
  Rig rig;
  rig.settle();
  api::SubmitRequest later = command("a", 4);
  later.begin = "2026-01-01T01:00:00Z";
  ASSERT_TRUE(rig.submit(person("ana"), later).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(why(rig, "1")->estimate, "2026-01-01T01:00:00.000Z");
  EXPECT_EQ(rig.job("1")->estimate, "2026-01-01T01:00:00.000Z");
  api::SubmitRequest endless = command("holder", 1);
  endless.time_limit_seconds.reset();
  ASSERT_TRUE(rig.submit(person("ana"), endless).ok());
  rig.run_for(Duration::seconds(1));
  EXPECT_EQ(why(rig, "1")->estimate, "");
}

TEST(People, AMembersOwnNumberIsThatMember) {
  Rig rig;
  rig.settle();
  api::SubmitRequest array = command("a");
  array.array = {1, 2};
  ASSERT_TRUE(rig.submit(person("ana"), array).ok());
  EXPECT_EQ(rig.job("3")->id, "1.2");
  EXPECT_EQ(rig.job("3")->array_index, 2);
  EXPECT_EQ(why(rig, "3")->id, "1.2");
}

TEST(People, NamesThatChangeTheLineAroundThemAreRefused) {
  Rig rig;
  rig.settle();
  EXPECT_EQ(submit_error(rig, [](auto& r) { r.name = "a\xE2\x80\xAE"; }).where, "name");
  EXPECT_EQ(submit_error(rig, [](auto& r) { r.name = "  "; }).where, "name");
  EXPECT_EQ(submit_error(rig, [](auto& r) { r.comment = "\xC2\x9B"; }).where, "comment");
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_EQ(update(rig, "1", {.name = "\xC2\x85"}).error().where, "name");
  EXPECT_EQ(update(rig, "1", {.comment = "\x1b[2J"}).error().where, "comment");
  EXPECT_EQ(rig.job("1")->name, "a");
}

}  // namespace
}  // namespace rota::server
