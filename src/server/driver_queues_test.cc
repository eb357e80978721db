// Whose a queue is, and what may be its name.
#include <gtest/gtest.h>

#include "server/driver.h"
#include "server/test_rig.h"

namespace rota::server {
namespace {

using namespace testing_rig;

Result<api::SubmitReply> submit_to(Rig& rig, const Caller& caller, const std::string& queue) {
  api::SubmitRequest request = command("a");
  request.queue = queue;
  return rig.submit(caller, request);
}

Result<api::Queue> set_queue(Rig& rig, const api::QueueRequest& request) {
  return rig.ask<api::Queue>([&](Reply<api::Queue> done) {
    rig.driver().queue_set(admin(), request, std::move(done));
  });
}

Result<api::Job> move_job(Rig& rig, const Caller& caller, const std::string& id,
                          const std::string& queue) {
  return rig.ask<api::Job>([&](Reply<api::Job> done) {
    rig.driver().update(caller, id, {.queue = queue}, std::move(done));
  });
}

TEST(Queues, APersonsOwnTakesThatPersonsJobsAlone) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(rig.submit(person("bob"), command("b", 4)).ok());
  EXPECT_TRUE(submit_to(rig, person("ana"), "ana").ok());
  EXPECT_TRUE(submit_to(rig, admin(), "ana").ok());
  const auto refused = submit_to(rig, person("bob"), "ana");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_EQ(refused.error().where, "queue");
  EXPECT_EQ(refused.error().message,
            "queue ana is ana's own; only ana and administrators may put jobs into it. Leave the "
            "queue out for your own; see: rota queue ls");
  EXPECT_EQ(move_job(rig, person("bob"), "2", "ana").error().code, ErrorCode::kDenied);
  EXPECT_EQ(rig.job("2")->queue, "bob");
  api::SubmitRequest request = command("a");
  request.queue = "ana";
  const auto preview = rig.ask<api::Preview>([&](Reply<api::Preview> done) {
    rig.driver().preview(person("bob"), request, std::move(done));
  });
  EXPECT_EQ(preview.error().code, ErrorCode::kDenied);
  EXPECT_TRUE(move_job(rig, admin(), "2", "ana").ok());
}

TEST(Queues, WhoseItIsSurvivesACrashAndAChange) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  rig.crash();
  rig.settle();
  EXPECT_EQ(submit_to(rig, person("bob"), "ana").error().code, ErrorCode::kDenied);
  ASSERT_TRUE(set_queue(rig, {.name = "ana", .weight = 3}).ok());
  rig.restart();
  rig.settle();
  EXPECT_EQ(submit_to(rig, person("bob"), "ana").error().code, ErrorCode::kDenied);
  EXPECT_TRUE(submit_to(rig, person("ana"), "ana").ok());
}

TEST(Queues, AFolderThatDoesNotSayWhoseIsReadByNames) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  ASSERT_TRUE(set_queue(rig, {.name = "team"}).ok());
  ASSERT_TRUE(set_queue(rig, {.name = "bob", .weight = 2}).ok());
  ASSERT_TRUE(rig.submit(person("bob"), command("b")).ok());
  rig.store().begin();
  rig.store().set_meta("personal_queues", "");
  ASSERT_TRUE(rig.store().commit().ok());
  rig.crash();
  rig.settle();
  EXPECT_EQ(submit_to(rig, person("eve"), "ana").error().code, ErrorCode::kDenied);
  EXPECT_TRUE(submit_to(rig, person("eve"), "team").ok());
  EXPECT_TRUE(submit_to(rig, person("eve"), "bob").ok()) << "somebody has made it what it is";
}

TEST(Queues, OnesThatWereMadeOrDeclaredAreEverybodys) {
  Rig rig;
  rig.settle();
  ASSERT_TRUE(set_queue(rig, {.name = "ana"}).ok());
  ASSERT_TRUE(rig.submit(person("ana"), command("a")).ok());
  EXPECT_TRUE(submit_to(rig, person("bob"), "ana").ok());
  ASSERT_TRUE(rig.submit(person("carl"), command("c")).ok());
  EXPECT_EQ(submit_to(rig, person("bob"), "carl").error().code, ErrorCode::kDenied);
  rig.config().queues = {{.name = "carl", .weight = 2}};
  rig.restart();
  rig.settle();
  EXPECT_TRUE(submit_to(rig, person("bob"), "carl").ok());
}

TEST(Queues, NamesAndAmountsAreChecked) {
  Rig rig;
  rig.settle();
  const std::vector<std::string> bad = {"../x", "a b", std::string(3000, 'q')};
  for (const std::string& name : bad) {
    const auto set = set_queue(rig, {.name = name});
    ASSERT_FALSE(set.ok()) << name;
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(set.error().where, "name");
  }
  EXPECT_TRUE(set_queue(rig, {.name = "research/vision"}).ok());
  EXPECT_EQ(set_queue(rig, {.name = "q", .quota = 8.0, .limit = 4.0}).error().where, "quota");
  ASSERT_TRUE(set_queue(rig, {.name = "q", .quota = 2.0}).ok());
  EXPECT_EQ(set_queue(rig, {.name = "q", .limit = 1.0}).error().where, "quota");
  EXPECT_TRUE(set_queue(rig, {.name = "q", .limit = 2.0}).ok());
}

TEST(Queues, JobsOfAnAccountThatCannotRunHereAreRefused) {
  Rig rig;
  rig.settle();
  rig.doors().refuse_account = [](const std::string& user, std::int64_t) { return user == "bob"; };
  const auto refused = rig.submit(person("bob"), command("b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(rig.driver().engine().queue("bob").ok());
  EXPECT_TRUE(rig.submit(person("ana"), command("a")).ok());
}

}  // namespace
}  // namespace rota::server
