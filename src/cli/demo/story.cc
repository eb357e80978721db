#include "cli/demo/story.h"

#include <algorithm>

#include "cli/views.h"

namespace rota::cli {
namespace {

constexpr std::size_t kSteps = 9;
constexpr std::size_t kStoryJobs = 12;  // the array has four

/// Saves its step, so that it goes on where it was after a preemption.
constexpr std::string_view kTrain = R"(#!/bin/sh
file="${ROTA_CHECKPOINT_DIR:-.}/step"
step=$(cat "$file" 2>/dev/null || echo 0)
[ "$step" -gt 0 ] && echo "goes on at step $step, was stopped: $ROTA_RESTART_REASON"
trap 'echo "asked to end, step $step is saved"; exit 143' TERM
while [ "$step" -lt 8 ]; do
  sleep 1 & wait $!
  step=$((step + 1))
  echo "$step" > "$file"
  echo "step $step of 8 on GPUs $CUDA_VISIBLE_DEVICES"
done
)";

constexpr std::string_view kSteady = R"(#!/bin/sh
i=0
while [ $i -lt $1 ]; do
  i=$((i + 1))
  echo "rank ${ROTA_NODE_RANK:-0}: second $i of $1 on GPUs $CUDA_VISIBLE_DEVICES"
  sleep 1
done
)";

constexpr std::string_view kReport = R"(#!/bin/sh
echo "writes the report of the run before"
sleep 1
)";

constexpr std::string_view kBroken = R"(#!/bin/sh
echo "cannot find data.bin" >&2
sleep 1
exit 3
)";

struct Sketch {
  std::string_view name;
  std::string_view queue;
  std::string_view script;
  int eighths = 0;               // of all GPUs, for each task
  std::int64_t tasks = 1;
  double limit_seconds = 0;
  std::string argument = {};     // seconds to run
};

api::SubmitRequest request_of(const StoryOptions& options, const Sketch& sketch) {
  api::SubmitRequest request;
  request.name = sketch.name;
  request.queue = sketch.queue;
  request.script = sketch.script;
  request.script_name = std::string(sketch.name) + ".sh";
  if (!sketch.argument.empty()) request.script_args = {sketch.argument};
  request.gpus = options.gpus * sketch.eighths / 8;
  request.tasks = sketch.tasks;
  request.time_limit_seconds = sketch.limit_seconds;
  request.protect_all = true;
  request.workdir = options.workdir;
  request.env = options.env;
  return request;
}

const api::Job* find(const std::vector<api::Job>& jobs, std::string_view id) {
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [&](const api::Job& job) { return job.id == id; });
  return found == jobs.end() ? nullptr : &*found;
}

bool is_done(const std::vector<api::Job>& jobs, std::string_view id) {
  const api::Job* job = find(jobs, id);
  return job != nullptr && job->state == "done";
}

}  // namespace

std::string story_config() {
  return "# Three teams with equal shares. Written by `rota demo`.\n"
         "policy: {fairness: instant, backfill: easy, reclaim: share, grace: 2s}\n"
         "queues:\n"
         "  vision: {weight: 1}\n"
         "  speech: {weight: 1}\n"
         "  chat: {weight: 1}\n";
}

std::vector<StoryStep> story_steps(const StoryOptions& options) {
  const bool end = options.to_the_end;
  const auto make = [&](const Sketch& sketch) { return request_of(options, sketch); };
  std::vector<StoryStep> steps;
  const auto say = [&](double at, std::string words, api::SubmitRequest request) {
    steps.push_back({at, std::move(words), std::move(request)});
  };

  auto train = make({"train", "vision", kTrain, 4, 1, 25});
  train.protect_all = false;
  train.min_runtime_seconds = 2;
  train.checkpoint_seconds = 1;
  say(0, "team vision trains on half of the GPUs; after 2 s it may be preempted", train);
  say(0, "team vision labels images on a quarter",
      make({"label", "vision", kSteady, 2, 1, 12, "8"}));
  say(0, "team speech starts a gang: two tasks, both or none",
      make({"speech-gang", "speech", kSteady, 1, 2, end ? 60.0 : 900.0, end ? "22" : "600"}));
  say(3, "team chat comes late and holds nothing: it is owed its share, vision must give back",
      make({"finetune", "chat", kSteady, 2, 1, 10, "6"}));
  say(6.5, "a short test fits into a gap and delays nobody: it is backfilled",
      make({"smoke-test", "speech", kSteady, 1, 1, 5, "2"}));

  auto report = make({"report", "vision", kReport, 0, 1, 10});
  report.afterok = {"2"};
  say(7, "a report without GPUs waits for job 2 to succeed", report);
  say(7.5, "team chat wants all GPUs at once; it waits: ask `rota why 7`",
      make({"eval-all", "chat", kSteady, 4, 2, 20, "3"}));

  auto sweep = make({"sweep", "speech", kSteady, 1, 1, 4, "2"});
  sweep.array = {1, 2, 3, 4};
  sweep.max_concurrent = 2;
  say(8, "an array of four, two at a time", sweep);
  say(8.5, "one job fails, as jobs do", make({"broken", "vision", kBroken, 1, 1, 5}));
  return steps;
}

bool story_is_over(const std::vector<api::Job>& jobs, std::size_t steps_done,
                   const StoryOptions& options) {
  if (steps_done < kSteps || jobs.size() < kStoryJobs) return false;
  return std::all_of(jobs.begin(), jobs.end(), [&](const api::Job& job) {
    if (is_final_state(job.state)) return true;
    if (options.to_the_end) return false;
    return (job.id == "3" && job.state == "running") || (job.id == "7" && job.state == "pending");
  });
}

std::vector<StoryCheck> check_story(const std::vector<api::Job>& jobs) {
  std::vector<StoryCheck> checks;
  const auto check = [&](std::string words, bool holds) {
    checks.push_back({std::move(words), holds});
  };
  const api::Job* train = find(jobs, "1");
  const api::Job* gang = find(jobs, "3");
  const api::Job* test = find(jobs, "5");
  const api::Job* report = find(jobs, "6");
  const api::Job* label = find(jobs, "2");
  const api::Job* all = find(jobs, "7");
  const api::Job* broken = find(jobs, "13");
  check("all twelve jobs are there", jobs.size() == kStoryJobs);
  check("job 1 was preempted once, for job 4, and finished on its second attempt",
        train != nullptr && train->state == "done" && train->evictions == 1 &&
            train->evicted_by == "4" && train->attempts == 2);
  check("job 3 ran as a gang of two",
        gang != nullptr && gang->state == "done" && gang->places.size() == 2);
  check("job 4 got its share and finished", is_done(jobs, "4"));
  check("job 5 was backfilled: it started before job 1 came back and before job 7",
        test != nullptr && all != nullptr && test->state == "done" &&
            test->started < all->started && train != nullptr && test->started < train->started);
  check("job 6 started after job 2 had succeeded",
        report != nullptr && label != nullptr && report->state == "done" &&
            label->state == "done" && report->started >= label->ended);
  check("job 7 waited, then got all GPUs",
        all != nullptr && all->state == "done" && all->wait_seconds.value_or(0) > 1);
  bool array = true;
  for (const char* id : {"8.1", "8.2", "8.3", "8.4"}) array = array && is_done(jobs, id);
  check("all members of the array finished", array);
  check("job 13 failed with its own exit code",
        broken != nullptr && broken->state == "failed" && broken->exit_code == 3);
  return checks;
}

}  // namespace rota::cli
