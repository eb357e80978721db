#include "cli/job_end.h"

#include <gtest/gtest.h>

#include "cli/demo/show.h"
#include "cli/demo/story.h"
#include "cli/redo.h"
#include "cli/serve.h"
#include "cli/submission.h"
#include "cli/test_world.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

api::Job job(std::string id, std::string state, std::string cause = {}) {
  api::Job made;
  made.id = std::move(id);
  made.state = std::move(state);
  made.end_cause = std::move(cause);
  return made;
}

TEST(JobExitCode, IsTheJobsOwnOrSaysHowItEnded) {
  EXPECT_EQ(job_exit_code(job("1", "done")), 0);
  EXPECT_EQ(job_exit_code(job("1", "running")), 0);
  EXPECT_EQ(job_exit_code(job("1", "timeout", "time_limit")), 124);
  EXPECT_EQ(job_exit_code(job("1", "cancelled", "preempted")), 75);
  EXPECT_EQ(job_exit_code(job("1", "cancelled", "cancelled")), 1);
  api::Job failed = job("1", "failed", "exited");
  failed.exit_code = 7;
  EXPECT_EQ(job_exit_code(failed), 7);
  failed.exit_code.reset();
  failed.signal = 9;
  EXPECT_EQ(job_exit_code(failed), 137);
}

TEST(Redo, FollowsOnlyWhatWasCancelledInVain) {
  std::vector<api::Job> jobs{job("1", "failed", "exited"),
                             job("2", "cancelled", "dependency_never"),
                             job("3", "cancelled", "dependency_never"),
                             job("4", "cancelled", "cancelled"), job("5", "done")};
  jobs[1].dependencies = {"afterok:1"};
  jobs[2].dependencies = {"afterok:2"};
  jobs[3].dependencies = {"afterok:1"};
  jobs[4].dependencies = {"afterany:1"};
  EXPECT_EQ(cancelled_dependants(jobs, "1"), (std::vector<std::string>{"2", "3"}));
}

TEST(Redo, TakesAnArrayInVainOnceAndByItsNumber) {
  std::vector<api::Job> jobs{job("1", "failed", "exited"),
                             job("5.1", "cancelled", "dependency_never"),
                             job("5.2", "cancelled", "dependency_never"),
                             job("9", "cancelled", "dependency_never")};
  jobs[1].array_id = jobs[2].array_id = "5";
  jobs[1].dependencies = jobs[2].dependencies = {"afterok:1"};
  jobs[3].dependencies = {"afterok:5"};
  EXPECT_EQ(cancelled_dependants(jobs, "1"), (std::vector<std::string>{"5", "9"}));
}

TEST(Redo, OfAMemberKeepsItsIndexAndParametersAlone) {
  api::SubmitRequest array;
  array.array = {0, 3, 7};
  array.max_concurrent = 2;
  array.stdout_path = "out-%a";
  keep_member(array, 7, "train");
  EXPECT_EQ(array.array, std::vector<std::int64_t>{7});
  EXPECT_FALSE(array.max_concurrent);
  EXPECT_EQ(array.stdout_path, "out-%a");

  api::SubmitRequest sweep;
  sweep.params = {{{"lr", ".1"}}, {{"lr", ".2"}}, {{"lr", ".3"}}};
  sweep.name_template = "lr{lr}-{index}";
  sweep.argv = {"train", "{lr}", "{index}", "${index}"};
  sweep.stdout_path = "%a-%%a.out";
  keep_member(sweep, 2, "lr.2-2");
  ASSERT_EQ(sweep.params.size(), 1U);
  EXPECT_EQ(sweep.params[0].at("lr"), ".2");
  EXPECT_EQ(sweep.name, "lr.2-2");
  EXPECT_EQ(sweep.name_template, "");
  EXPECT_EQ(sweep.argv, (std::vector<std::string>{"train", "{lr}", "2", "${index}"}));
  EXPECT_EQ(sweep.stdout_path, "2-%%a.out");
}

TEST(Names, AnArrayIsMeantByItsNumberAndAMemberByItsOwn) {
  EXPECT_TRUE(names_array("101", "101.2"));
  EXPECT_TRUE(names_array("@", "101.2"));
  EXPECT_TRUE(names_array("@~3", "101.2"));
  EXPECT_FALSE(names_array("103", "101.2"));
  EXPECT_FALSE(names_array("101.2", "101.2"));
  EXPECT_FALSE(names_array("7", "7"));
}

TEST(Tree, HangsJobsBelowWhatTheyWaitFor) {
  TestWorld world;
  std::vector<api::Job> jobs{job("1", "running"), job("2", "pending"), job("5.1", "running"),
                             job("5.2", "pending"), job("9", "pending")};
  jobs[1].dependencies = {"afterok:1"};
  jobs[2].array_id = jobs[3].array_id = "5";
  jobs[4].dependencies = {"afterok:5"};
  EXPECT_EQ(job_tree(world.context, jobs),
            "1    running\n└─ 2    pending\n5  array\n├─ 5.1    running\n├─ 5.2    pending\n"
            "└─ 9    pending\n");
}

TEST(JobTable, SaysWhereOrWhy) {
  TestWorld world;
  api::Job running = job("1", "running");
  running.tasks = 2;
  running.gpus = 4;
  running.places = {{.task = 0, .node = "n1", .devices = "0-3", .uuids = {}},
                    {.task = 1, .node = "n2", .devices = "0-3", .uuids = {}}};
  api::Job waiting = job("2", "pending");
  waiting.reason = "insufficient_free";
  waiting.estimate = "2017-10-09T08:01:55Z";
  const std::string text =
      table_of(world.context, {.no_headers = true}, std::vector<api::Job>{running, waiting},
               job_view(world.context));
  EXPECT_NE(text.find("2x4"), std::string::npos) << text;
  EXPECT_NE(text.find("n1:0-3 n2:0-3"), std::string::npos) << text;
  EXPECT_NE(text.find("insufficient free, in 1h"), std::string::npos) << text;
}

TEST(VerdictText, NamesReasonsEstimateAndHelp) {
  TestWorld world;
  api::Verdict verdict;
  verdict.id = "7";
  verdict.state = "pending";
  verdict.summary = "Needs 4 GPUs, 2 are free.";
  verdict.reasons = {{.code = "insufficient_free", .sentence = "needs 4 GPUs, 2 are free"},
                     {.code = "held", .sentence = "it is on hold"}};
  verdict.estimate = "2017-10-09T08:01:55Z";
  verdict.ahead = 1;
  verdict.would_help = {"starts when job 3 ends"};
  const std::string text = verdict_text(world.context, verdict);
  EXPECT_EQ(text,
            "Needs 4 GPUs, 2 are free.\n  - it is on hold\n"
            "Expected start: 2017-10-09T08:01:55Z (in 1h)\nAhead of it: 1 job\n"
            "What would help:\n  - starts when job 3 ends\n");
  EXPECT_TRUE(verdict_text(world.context, verdict, "Job 7: ").starts_with("Job 7: Needs 4 GPUs"));
}

TEST(VerdictText, ExpectedStartSaysWhatItDependsOn) {
  const auto expected = [](api::Reason reason) {
    api::Verdict verdict;
    verdict.reasons = {std::move(reason)};
    return expected_start(verdict, 1507536115 - 3600);
  };
  EXPECT_EQ(expected({.code = "infeasible", .waiting_helps = false}), "never, as things are");
  EXPECT_EQ(expected({.code = "queue_limit", .waiting_helps = false}), "never, as things are");
  EXPECT_EQ(expected({.code = "queue_limit"}), "unknown (when the limit allows it)");
  EXPECT_EQ(expected({.code = "held", .waiting_helps = false}),
            "unknown (not before somebody releases it)");
  EXPECT_EQ(expected({.code = "dependency"}), "unknown (after the jobs it waits for)");
  EXPECT_EQ(expected({.code = "begin_time", .until = "2017-10-09T08:01:55Z"}),
            "not before 2017-10-09T08:01:55Z (in 1h)");
  EXPECT_EQ(expected({.code = "insufficient_free"}),
            "unknown (it waits for a job without a time limit)");
}

TEST(VerdictText, OfAnArrayGroupsItsMembers) {
  TestWorld world;
  api::Verdict waits{.id = "5.2", .state = "pending", .summary = "Needs 1 GPU, but none is free."};
  const std::string text = verdict_group_text(
      world.context, "5", std::vector<api::Job>(7),
      {{"pending", "insufficient_free", {"5.2", "5.3", "5.4", "5.5", "5.6", "5.7"}, waits},
       {"running", "", {"5.1"}, {.id = "5.1", .state = "running", .summary = "It is running."}}});
  EXPECT_EQ(text,
            "Array 5: 7 jobs\n"
            "6 pending (5.2, 5.3, 5.4, 5.5, ..., 5.7): Needs 1 GPU, but none is free.\n"
            "1 running (5.1): It is running.\n");
}

TEST(VerdictText, NamesThePlaceOfEachMemberThatRuns) {
  TestWorld world;
  const std::string text = verdict_group_text(
      world.context, "5", std::vector<api::Job>(2),
      {{"running", "", {"5.1", "5.2"}, {.id = "5.1", .summary = "It is running on n1:0."},
        {"n1:0", "n1:1"}}});
  EXPECT_EQ(text, "Array 5: 2 jobs\n2 running: 5.1 on n1:0, 5.2 on n1:1\n");
}

TEST(EndedText, SaysNothingTwice) {
  api::Job ended = job("1", "cancelled", "cancelled");
  EXPECT_EQ(ended_text(ended), "");
  ended.signal = 15;
  EXPECT_EQ(ended_text(ended), "SIGTERM");
  api::Job failed = job("2", "failed", "exited");
  failed.exit_code = 127;
  failed.detail = "cannot run 'x': No such file or directory";
  EXPECT_EQ(ended_text(failed), "exit code 127");
  EXPECT_EQ(ended_in_full(failed), "exit code 127 (cannot run 'x': No such file or directory)");
  api::Job late = job("3", "timeout", "time_limit");
  late.signal = 15;
  late.time_limit_seconds = 300;
  EXPECT_EQ(ended_text(late), "time limit, SIGTERM");
  EXPECT_EQ(ended_in_full(late), "its time limit of 5m");
}

TEST(HoursText, KeepsSmallAmountsApartFromNothing) {
  EXPECT_EQ(hours_text(0), "0");
  EXPECT_EQ(hours_text(0.0002778), "0.000278");
  EXPECT_EQ(hours_text(0.0166667), "0.0167");
  EXPECT_EQ(hours_text(12.3456), "12.35");
}

TEST(Listen, AcceptsLoopbackOnly) {
  EXPECT_EQ(**parse_listen("127.0.0.1:7682"), 7682);
  EXPECT_EQ(**parse_listen("0"), 0);
  EXPECT_FALSE(parse_listen("off")->has_value());
  for (const char* text : {"0.0.0.0:80", "example.org:80", "", "x", "70000", "127.0.0.1:"}) {
    EXPECT_FALSE(parse_listen(text)) << text;
  }
}

TEST(IdempotencyKeys, AreNeverTheSame) {
  EXPECT_EQ(make_idempotency_key().size(), 32U);
  EXPECT_NE(make_idempotency_key(), make_idempotency_key());
}

TEST(Story, FitsEveryPowerOfTwo) {
  for (const double gpus : {4.0, 8.0, 16.0}) {
    const auto steps =
        story_steps({.gpus = gpus, .to_the_end = true, .workdir = "/tmp", .env = {}});
    ASSERT_EQ(steps.size(), 9U);
    double at_start = 0;
    for (int i = 0; i < 3; ++i) {
      const api::SubmitRequest& request = steps[static_cast<std::size_t>(i)].request;
      at_start += *request.gpus * static_cast<double>(request.tasks);
    }
    EXPECT_EQ(at_start, gpus);
  }
}

TEST(Story, ItsChecksFailWhenNothingHappened) {
  for (const StoryCheck& check : check_story({})) EXPECT_FALSE(check.holds) << check.words;
}

TEST(GpuMap, ShowsHoldersByNode) {
  std::vector<api::Device> gpus(3);
  gpus[0].node = gpus[1].node = "sim1";
  gpus[2].node = "sim2";
  gpus[0].jobs = {"3"};
  gpus[2].jobs = {"4", "5"};
  EXPECT_EQ(gpu_map(gpus), "sim1 [3 .] sim2 [4+5]");
}

}  // namespace
}  // namespace rota::cli
