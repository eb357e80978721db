// The demonstration's story: who submits what and when, and what must be true at its end.
//
// Sizes are in eighths of the GPUs at hand, so that one story fits 4, 8, 16, ... of them. (Of fewer
// the shares would be parts of a GPU, and fair shares are whole ones.) Job numbers are those of a
// fresh daemon, in the order of the steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/v1/job.h"
#include "api/v1/submit.h"

namespace rota::cli {

struct StoryStep {
  double at_seconds = 0;       // after the first step
  std::string words;           // said when it is submitted
  api::SubmitRequest request;
};

struct StoryOptions {
  double gpus = 8;             // of the whole cluster; a power of two, 4 or more
  bool to_the_end = false;     // the long job ends soon, so that the waiting one gets its turn
  std::string workdir;
  std::map<std::string, std::string> env;
};

/// Jobs: 1 is preempted for 4, 2 and 3 run, 5 is backfilled, 6 depends on 2, 7 waits for all GPUs,
/// 8 is an array, 13 fails.
[[nodiscard]] std::vector<StoryStep> story_steps(const StoryOptions& options);

/// rota.yaml of the demonstration: three teams of equal weight.
[[nodiscard]] std::string story_config();

/// One thing that must be true at the end.
struct StoryCheck {
  std::string words;
  bool holds = false;
};

/// `jobs` are all jobs, with their final states.
[[nodiscard]] std::vector<StoryCheck> check_story(const std::vector<api::Job>& jobs);

/// True when nothing more happens by itself: all jobs have ended, but for 3 and 7 unless the story
/// runs to the end.
[[nodiscard]] bool story_is_over(const std::vector<api::Job>& jobs, std::size_t steps_done,
                                 const StoryOptions& options);

}  // namespace rota::cli
