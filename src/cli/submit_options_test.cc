#include "cli/submit_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "cli/refusal.h"
#include "cli/submission.h"
#include "cli/sweep.h"
#include "cli/test_world.h"

namespace rota::cli {
namespace {

OptionUse use(std::string_view name, std::string value, Source source = Source::kFlag) {
  const SubmitOption* option = find_option(name, kEverywhere);
  EXPECT_NE(option, nullptr) << name;
  return {option, std::move(value), source, true, {}};
}

Result<api::SubmitRequest> request_of(const std::vector<OptionUse>& uses, TestWorld& world) {
  Draft draft;
  if (auto status = apply_uses(uses, draft, world.context); !status) return status.error();
  if (auto status = finish_draft(draft, world.context); !status) return status.error();
  return draft.request;
}

api::SubmitRequest good(const std::vector<OptionUse>& uses) {
  TestWorld world;
  const auto request = request_of(uses, world);
  EXPECT_TRUE(request) << request.error().message;
  return request ? *request : api::SubmitRequest{};
}

std::string refused(const std::vector<OptionUse>& uses) {
  TestWorld world;
  const auto request = request_of(uses, world);
  EXPECT_FALSE(request);
  return request ? "" : request.error().message;
}

TEST(OptionTable, HasNoNameOrLetterTwiceInOnePlace) {
  for (const unsigned place : {kOnSubmit, kOnRun, kInRota, kInSbatch}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const SubmitOption& option : submit_options()) {
      if ((option.places & place) == 0) continue;
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_TRUE(option.letter == 0 || letters.insert(option.letter).second) << option.letter;
      EXPECT_NE(option.apply, nullptr) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_EQ(option.takes == Takes::kNothing, option.value.empty()) << option.name;
    }
  }
}

TEST(Options, GpusCountEachTaskUnlessToldOtherwise) {
  EXPECT_FALSE(good({}).gpus.has_value());
  EXPECT_EQ(good({use("gpus", "2")}).gpus, 2);
  EXPECT_EQ(good({use("gpus", "0.5")}).gpus, 0.5);
  EXPECT_EQ(good({use("gpus", "0")}).gpus, 0);
  EXPECT_EQ(good({use("gpus", "h100:2")}).models, std::vector<std::string>{"h100"});
  EXPECT_EQ(good({use("gpus", "8/node"), use("nodes", "4")}).gpus, 8);
  EXPECT_EQ(good({use("gpus", "8"), use("tasks", "4")}).gpus, 8);
  EXPECT_EQ(good({use("gpus", "8/job"), use("nodes", "4")}).gpus, 2);
  EXPECT_EQ(good({use("gpus", "1g.10gb")}).mig, "1g.10gb");
  for (const char* text : {"", "-1", "x", "2/", "2/rack", ":2", "1.5", "2:", "9999999", "0.0001"}) {
    EXPECT_NE(refused({use("gpus", text)}).find("--gpus"), std::string::npos) << text;
  }
}

TEST(Options, ALaterSourceReplacesAnEarlierOne) {
  const auto request = good({
      use("gres", "gpu:4", Source::kDirective), use("exclude", "n1", Source::kDirective),
      use("partition", "gpu", Source::kDirective), use("time", "4h", Source::kDirective),
      use("time", "2h", Source::kEnvironment), use("gpus", "1"), use("exclude", "n2"),
      use("exclude", "n3"), use("on", "n5")});
  EXPECT_EQ(request.gpus, 1);
  EXPECT_EQ(request.exclude, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(request.on, std::vector<std::string>{"n5"});
  EXPECT_EQ(request.time_limit_seconds, 7200);
}

TEST(Options, AnyPlaceTakesBackAPartition) {
  const auto request = good({use("partition", "gpu", Source::kDirective), use("on", "any")});
  EXPECT_TRUE(request.on.empty());
}

TEST(Options, EnvironmentGivesOptionsButNotInsideAJob) {
  TestWorld world;
  world.context.environment["SBATCH_TIMELIMIT"] = "30";
  world.context.environment["SBATCH_GRES"] = "gpu:2";
  world.context.environment["ROTA_QUEUE"] = "vision";
  world.context.environment["ROTA_HOLD"] = "0";
  const auto request = request_of(uses_of_environment(world.context), world);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->time_limit_seconds, 1800);
  EXPECT_EQ(request->gpus, 2);
  EXPECT_EQ(request->queue, "vision");
  EXPECT_FALSE(request->held);

  TestWorld job;
  job.context.environment["ROTA_JOB_ID"] = "7";
  job.context.environment["ROTA_GPUS"] = "0,1";
  job.context.environment["ROTA_NODELIST"] = "n1,n2";
  EXPECT_TRUE(uses_of_environment(job.context).empty());
}

TEST(Options, AWrongVariableIsNamed) {
  TestWorld world;
  world.context.environment["SBATCH_TIMELIMIT"] = "soon";
  const auto request = request_of(uses_of_environment(world.context), world);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().where, "SBATCH_TIMELIMIT");
}

TEST(Options, ContractAndFreeWork) {
  EXPECT_EQ(good({use("min-runtime", "2h")}).min_runtime_seconds, 7200);
  EXPECT_TRUE(good({use("min-runtime", "all")}).protect_all);
  const auto free_work = good({use("free", "")});
  EXPECT_EQ(free_work.charge, false);
  EXPECT_EQ(free_work.min_runtime_seconds, 0);
}

TEST(Options, TimesAreAbsoluteInTheRequest) {
  ::setenv("TZ", "UTC0", 1);
  EXPECT_EQ(good({use("begin", "08:00")}).begin, "2017-10-09T08:00:00Z");
  EXPECT_EQ(good({use("deadline", "now+1h")}).deadline, "2017-10-09T08:01:55Z");
  EXPECT_NE(refused({use("begin", "later")}).find("--begin"), std::string::npos);
}

TEST(Options, SignalsByNameAndNumber) {
  EXPECT_EQ(good({use("signal", "USR1@300")}).warn_before_seconds, 300);
  EXPECT_EQ(good({use("signal", "10@5m")}).warn_before_seconds, 300);
  EXPECT_EQ(good({use("stop-signal", "INT")}).stop_signal, 2);
  EXPECT_NE(refused({use("stop-signal", "TREM")}).find("TERM"), std::string::npos);
}

TEST(Options, LevelsNameTheNearest) {
  EXPECT_EQ(good({use("same", "rack")}).same, "rack");
  EXPECT_NE(refused({use("same", "racks")}).find("did you mean rack"), std::string::npos);
}

TEST(Options, OutputTakesAFormatOnlyOnTheCommandLine) {
  EXPECT_EQ(good({use("output", "x.log")}).stdout_path, "x.log");
  EXPECT_EQ(good({use("output", "json", Source::kDirective)}).stdout_path, "json");
  EXPECT_EQ(good({use("output", "json")}).stdout_path, "");
}

TEST(Environment, IsCapturedWithoutWhatBelongsToAnotherJob) {
  TestWorld world;
  world.context.environment = {{"PATH", "/bin"},   {"ROTA_JOB_ID", "3"}, {"SLURM_JOB_ID", "9"},
                               {"CONDA", "x"},     {"BAD", "\xff"},      {"_", "/usr/bin/rota"}};
  Draft draft;
  ASSERT_TRUE(finish_draft(draft, world.context));
  EXPECT_EQ(draft.request.env, (std::map<std::string, std::string>{{"CONDA", "x"},
                                                                   {"PATH", "/bin"}}));
  EXPECT_EQ(draft.warnings.size(), 1U);
}

TEST(Environment, ExportAndEnvChoose) {
  const auto none = good({use("export", "NONE")});
  EXPECT_EQ(none.env.size(), 3U);
  const auto some = good({use("export", "NONE,A=1"), use("env", "B=x,y"), use("env", "HOME")});
  EXPECT_EQ(some.env.at("A"), "1");
  EXPECT_EQ(some.env.at("B"), "x,y");
  EXPECT_NE(refused({use("env", "MISSING")}).find("MISSING is not set"), std::string::npos);
  EXPECT_NE(refused({use("env", "1x=2")}).find("no name of a variable"), std::string::npos);
}

TEST(Arrays, TakeRangesStepsAndAThrottle) {
  api::SubmitRequest request;
  ASSERT_TRUE(parse_array("1-3,8,0-4:2%16", request));
  EXPECT_EQ(request.array, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(request.max_concurrent, 16);
  for (const char* text : {"", "x", "3-1", "1-", "-1", "1-2:0", "1%0", "1%", "1-99999999",
                           "0-4000000"}) {
    EXPECT_FALSE(parse_array(text, request)) << text;
  }
}

TEST(Sweeps, MakeEveryCombination) {
  const auto request = good({use("param", "lr=.1,.2"), use("param", "bs=32,64"),
                             use("max-concurrent", "2"), use("name-template", "lr{lr}-bs{bs}")});
  ASSERT_EQ(request.params.size(), 4U);
  EXPECT_EQ(request.params[1], (Params{{"bs", "64"}, {"lr", ".1"}}));
  EXPECT_EQ(request.max_concurrent, 2);
  EXPECT_NE(refused({use("param", "lr")}).find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(refused({use("param", "a=1"), use("param", "a=2")}).find("twice"), std::string::npos);
  EXPECT_NE(refused({use("param", "a=1"), use("name-template", "{b}")}).find("no variable 'b'"),
            std::string::npos);
  EXPECT_NE(refused({use("name-template", "{b}")}).find("--param"), std::string::npos);
  EXPECT_NE(refused({use("param", "a=1"), use("array", "1-2")}).find("give one"),
            std::string::npos);
  EXPECT_NE(refused({use("param-file", "/nowhere.csv")}).find("/nowhere.csv"), std::string::npos);
}

TEST(Sweeps, RowsOfACsvFile) {
  const auto rows = params_of_csv("lr,name\n.1,\"a,b\"\r\n\n.2,c\n", "x.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].at("name"), "a,b");
  for (const char* text : {"", "lr\n", "lr,lr\n1,2\n", "l r\n1\n", "lr\n1,2\n", "lr\n\"1\n"}) {
    EXPECT_FALSE(params_of_csv(text, "x.csv")) << text;
  }
}

TEST(Options, ADeadlineMustBePossible) {
  EXPECT_NE(refused({use("deadline", "2017-10-09T07:00:00Z")}).find("that is over"),
            std::string::npos);
  EXPECT_EQ(refused({use("deadline", "now+1h"), use("time", "4h")}),
            "--deadline 2017-10-09T08:01:55Z (in 1h): --time allows the job 4h, but only 1h lie "
            "before it");
  EXPECT_NE(refused({use("deadline", "now+5h"), use("time", "4h"), use("begin", "now+2h")})
                .find("only 3h lie before it"),
            std::string::npos);
  EXPECT_NE(refused({use("deadline", "now+1h"), use("begin", "now+2h")}).find("--begin"),
            std::string::npos);
  EXPECT_EQ(good({use("deadline", "now+4h"), use("time", "4h")}).time_limit_seconds, 4 * 3600);
}

TEST(Options, NamesOfOutputFilesHoldKnownMarks) {
  EXPECT_EQ(good({use("output", "%x-%4j_%A_%a.%N.%t.%u.%%.out")}).stdout_path,
            "%x-%4j_%A_%a.%N.%t.%u.%%.out");
  EXPECT_NE(refused({use("output", "a-%q.out")}).find("--output 'a-%q.out': '%q' stands for"),
            std::string::npos);
  EXPECT_NE(refused({use("error", "100%")}).find("'%' stands for nothing"), std::string::npos);
}

TEST(Environment, WhatRotaSetsCannotBeChosen) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "RANK", "MASTER_ADDR", "SLURM_JOB_ID",
                           "ROTA_JOB_ID", "PET_NNODES", "ROTA_GPUS"}) {
    const std::string said = "Rota sets " + std::string(name);
    EXPECT_NE(refused({use("env", std::string(name) + "=7")}).find("--env: " + said),
              std::string::npos);
    EXPECT_NE(refused({use("export", "ALL," + std::string(name) + "=7")}).find(said),
              std::string::npos);
    EXPECT_NE(refused({use("param", std::string(name) + "=7")}).find(said), std::string::npos);
  }
  EXPECT_EQ(good({use("env", "ROTA_SOCKET=/x")}).env.at("ROTA_SOCKET"), "/x");
  EXPECT_EQ(good({use("env", "PATH=/bin")}).env.at("PATH"), "/bin");
  EXPECT_NE(refused({use("param", "PATH=1")}).find("every program needs PATH"), std::string::npos);
}

TEST(Sweeps, HaveNoEmptyValue) {
  for (const char* text : {"lr=1,,2", "lr=1,", "lr=,1"}) {
    EXPECT_NE(refused({use("param", text)}).find("one of the values is empty"),
              std::string::npos);
  }
  EXPECT_FALSE(params_of_csv("RANK\n1\n", "x.csv"));
}

TEST(Fields, AreNamedAsOptions) {
  const auto words = [](ErrorCode code, std::string message, std::string field) {
    const Error error = in_option_words({code, std::move(message), std::move(field)});
    return error.where + ": " + error.message;
  };
  using enum ErrorCode;
  EXPECT_EQ(words(kInvalidArgument, "grace_seconds must be between 0 and 9", "grace_seconds"),
            "--grace: must be between 0 and 9");
  EXPECT_EQ(words(kInvalidArgument, "begin: 'x' is no time", "begin"), "--begin: 'x' is no time");
  EXPECT_EQ(words(kRefused, "the policy allows 7d", "min_runtime_seconds"),
            "--min-runtime: the policy allows 7d");
  EXPECT_EQ(words(kInvalidArgument, "no such thing", "elsewhere"), "elsewhere: no such thing");
  EXPECT_EQ(in_option_words({kUnsupported, "min_tasks: not here", "min_tasks"}).code, kRefused);
  Draft draft;
  draft.places["gres"] = "job.sh:3:9";
  EXPECT_EQ(with_place({kRefused, "none", "models"}, draft).where, "job.sh:3:9");
  EXPECT_EQ(with_place({kRefused, "none", "retries"}, draft).where, "--retries");
}

TEST(Refusals, NameTheDependencyAndTheMostMemory) {
  api::Job done;
  done.id = "5.1";
  done.state = "done";
  api::Job failed = done;
  failed.id = "5.2";
  failed.state = "failed";
  failed.end_cause = "exited";
  failed.exit_code = 3;
  EXPECT_FALSE(never_met({done}, "5"));
  EXPECT_EQ(never_met({done, failed}, "5"),
            "this can never be met: job 5.2 has not succeeded (failed, exit code 3); run it again: "
            "rota redo 5.2, or wait for its end alone: --afterany 5");
  api::Device device;
  device.model = "h100";
  device.memory_bytes = std::int64_t{80} << 30;
  api::SubmitRequest request;
  EXPECT_FALSE(too_much_gpu_memory({device}, request));
  request.gpu_memory_bytes = std::int64_t{80} << 30;
  EXPECT_FALSE(too_much_gpu_memory({device}, request));
  request.gpu_memory_bytes = std::int64_t{200} << 30;
  EXPECT_EQ(too_much_gpu_memory({device}, request),
            "no GPU here has 200GiB of memory; the most is 80GiB");
  request.models = {"a100"};
  EXPECT_FALSE(too_much_gpu_memory({device}, request));
}

}  // namespace
}  // namespace rota::cli
