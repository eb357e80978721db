#include "server/translate.h"

#include <gtest/gtest.h>

namespace rota::server {
namespace {

class Translate : public testing::Test {
 protected:
  Result<Translated> run(const api::SubmitRequest& request) {
    return translate(request, {.config = config_,
                               .policy = config_.policy,
                               .caller = caller_,
                               .queue = "team",
                               .dependency = [](DependencyKind kind, const std::string& id)
                                   -> Result<std::optional<Dependency>> {
                                 if (id == "gone") return std::optional<Dependency>();
                                 return std::optional(Dependency{.kind = kind, .job = JobId(5)});
                               }});
  }
  static api::SubmitRequest command() {
    api::SubmitRequest request;
    request.argv = {"/opt/bin/train", "x"};
    return request;
  }
  JobSpec spec(const api::SubmitRequest& request) {
    Result<Translated> out = run(request);
    if (!out.ok()) {
      ADD_FAILURE() << out.error().message;
      return {};
    }
    return out->members.at(0).spec;
  }
  Config config_;
  Caller caller_{.user = "ana", .uid = 7, .gid = 8, .admin = false};
};

TEST_F(Translate, ABareCommandGetsTheProductsDefaults) {
  const Result<Translated> out = run(command());
  ASSERT_TRUE(out.ok());
  const JobSpec& job = out->members.at(0).spec;
  EXPECT_EQ(job.shape.task.gpus, kWholeGpu);
  EXPECT_EQ(job.queue, "team");
  EXPECT_EQ(job.user, "ana");
  EXPECT_EQ(job.min_runtime, Duration::hours(2));
  EXPECT_FALSE(job.time_limit.has_value());
  EXPECT_TRUE(job.charge);
  EXPECT_FALSE(job.hold_infeasible);
  EXPECT_EQ(out->job_class, "batch");
  EXPECT_EQ(out->launch.name, "train");
  EXPECT_EQ(out->launch.uid, 7);
  EXPECT_EQ(out->launch.gid, 8);
  EXPECT_FALSE(out->is_group);
  EXPECT_EQ(out->warnings_if_it_waits.size(), 1U);
  EXPECT_TRUE(out->warnings.empty());
}

TEST_F(Translate, AClassFillsWhatIsNotSaid) {
  api::SubmitRequest request = command();
  request.job_class = "debug";
  EXPECT_EQ(spec(request).time_limit, Duration::minutes(30));
  EXPECT_EQ(spec(request).min_runtime, Duration::minutes(15));
  request.time_limit_seconds = 600;
  EXPECT_EQ(spec(request).time_limit, Duration::minutes(10));
  EXPECT_EQ(spec(request).min_runtime, Duration::minutes(10));
  request.job_class = "free";
  EXPECT_FALSE(spec(request).charge);
  EXPECT_EQ(spec(request).min_runtime, Duration());
  request.job_class = "inference";
  EXPECT_FALSE(spec(request).min_runtime.has_value());
  request.min_runtime_seconds = 60;
  EXPECT_EQ(spec(request).min_runtime, Duration::seconds(60));
}

TEST_F(Translate, ADependencyThatIsMetForGoodIsLeftOut) {
  api::SubmitRequest request = command();
  request.afterok = {"gone", "5"};
  request.afterany = {"6"};
  const JobSpec job = spec(request);
  ASSERT_EQ(job.dependencies.size(), 2U);
  EXPECT_EQ(job.dependencies[0].kind, DependencyKind::kAfterOk);
  EXPECT_EQ(job.dependencies[1].kind, DependencyKind::kAfterAny);
}

struct BadCase {
  const char* where;
  ErrorCode code;
  void (*change)(api::SubmitRequest&);
};

TEST_F(Translate, MistakesNameTheField) {
  const BadCase cases[] = {
      {"argv", ErrorCode::kInvalidArgument, [](auto& r) { r.script = "#!/bin/sh\n"; }},
      {"argv[0]", ErrorCode::kInvalidArgument, [](auto& r) { r.argv = {""}; }},
      {"argv", ErrorCode::kInvalidArgument, [](auto& r) { r.argv.emplace_back("a\0b", 3); }},
      {"env", ErrorCode::kInvalidArgument, [](auto& r) { r.env["A=B"] = "x"; }},
      {"name", ErrorCode::kInvalidArgument, [](auto& r) { r.name = "a\nb"; }},
      {"gpus", ErrorCode::kInvalidArgument, [](auto& r) { r.gpus = 2.5; }},
      {"gpus", ErrorCode::kInvalidArgument, [](auto& r) { r.gpus = -1; }},
      {"gpus", ErrorCode::kInvalidArgument,
       [](auto& r) {
         r.gpus = 1;
         r.slots = 2;
       }},
      {"tasks", ErrorCode::kInvalidArgument, [](auto& r) { r.tasks = 0; }},
      {"min_tasks", ErrorCode::kUnsupported, [](auto& r) { r.min_tasks = 2; }},
      {"same", ErrorCode::kInvalidArgument, [](auto& r) { r.same = "islan"; }},
      {"class", ErrorCode::kInvalidArgument, [](auto& r) { r.job_class = "x"; }},
      {"time_limit_seconds", ErrorCode::kInvalidArgument,
       [](auto& r) { r.time_limit_seconds = 0; }},
      {"min_runtime_seconds", ErrorCode::kRefused,
       [](auto& r) { r.min_runtime_seconds = 86'400; }},
      {"protect_all", ErrorCode::kInvalidArgument,
       [](auto& r) {
         r.protect_all = true;
         r.min_runtime_seconds = 60;
       }},
      {"grace_seconds", ErrorCode::kInvalidArgument, [](auto& r) { r.grace_seconds = 36'000; }},
      {"stop_signal", ErrorCode::kInvalidArgument, [](auto& r) { r.stop_signal = 99; }},
      {"workdir", ErrorCode::kInvalidArgument, [](auto& r) { r.workdir = "here"; }},
      {"retries", ErrorCode::kInvalidArgument, [](auto& r) { r.retries = -1; }},
      {"deadline", ErrorCode::kInvalidArgument, [](auto& r) { r.deadline = "x"; }},
      {"max_concurrent", ErrorCode::kInvalidArgument, [](auto& r) { r.max_concurrent = 2; }},
      {"array", ErrorCode::kInvalidArgument, [](auto& r) { r.array = {-1}; }},
      {"array", ErrorCode::kInvalidArgument,
       [](auto& r) {
         r.array = {1};
         r.params = {{{"a", "1"}}};
       }},
      {"array", ErrorCode::kRefused,
       [](auto& r) {
         for (int i = 0; i < 10'001; ++i) r.array.push_back(i);
       }},
  };
  for (const BadCase& bad : cases) {
    api::SubmitRequest request = command();
    bad.change(request);
    const Result<Translated> out = run(request);
    ASSERT_FALSE(out.ok()) << bad.where;
    EXPECT_EQ(out.error().where, bad.where) << out.error().message;
    EXPECT_EQ(out.error().code, bad.code) << out.error().message;
  }
}

TEST_F(Translate, ArraysAndSweepsHaveEqualMembers) {
  api::SubmitRequest request = command();
  request.array = {0, 1, 2, 7};
  request.max_concurrent = 2;
  const Result<Translated> array = run(request);
  ASSERT_EQ(array->members.size(), 4U);
  EXPECT_EQ(array->members[3].spec.group_index, 7);
  EXPECT_EQ(array->launch.array_spec, "0-2,7%2");
  EXPECT_EQ(array->throttle, 2);
  request.array.clear();
  request.params = {{{"lr", "1"}}, {{"lr", "2"}}};
  request.name_template = "m{index}-{lr}-{x}";
  const Result<Translated> sweep = run(request);
  EXPECT_EQ(sweep->members.at(1).name, "m2-2-{x}");
  EXPECT_EQ(sweep->members.at(1).spec.group_index, 2);
}

TEST_F(Translate, UpdatesChangeOnlyWhatTheyName) {
  JobSpec before = spec(command());
  JobSpec after = before;
  ASSERT_TRUE(update_spec({}, after).ok());
  EXPECT_EQ(after, before);
  ASSERT_TRUE(update_spec({.priority = 3, .time_limit_seconds = 60.0, .gpus = 4.0}, after).ok());
  EXPECT_EQ(after.priority, 3);
  EXPECT_EQ(after.time_limit, Duration::seconds(60));
  EXPECT_EQ(after.min_runtime, Duration::seconds(60));
  EXPECT_EQ(after.shape.task.gpus, whole_gpus(4));
  EXPECT_FALSE(update_spec({.tasks = 0}, after).ok());
  EXPECT_FALSE(update_spec({.begin = "soon"}, after).ok());
  ASSERT_TRUE(update_spec({.begin = ""}, after).ok());
  EXPECT_FALSE(after.begin.has_value());
}

}  // namespace
}  // namespace rota::server
