// Jobs of a history as a replay takes them: each once, for one length of time, on whole GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history/history.h"

namespace rota::history {

struct WholeJob {
  std::int64_t row = 0;  // of the input that told of it first
  Instant submitted;
  Duration runtime;      // of all its attempts that the system did not stop (preempted, requeued,
                         // node lost); of the last where it stopped them all
  std::int64_t gpus = 0;  // the most that it held at once, rounded up; GpuSets::equivalent of
                          // partitions, at least one
  std::string team;      // queue, else cluster; empty: not told
};

struct WholeJobs {
  std::vector<WholeJob> jobs;  // by submit time, ties by row
  std::int64_t never_ran = 0;  // left out: waited, refused, cancelled while waiting, still running
  std::int64_t no_time = 0;    // left out: no submit time
  std::int64_t no_gpus = 0;    // left out: how many GPUs it held is not told
  std::int64_t parts = 0;      // counted as whole: held a part of a GPU, or partitions
};

[[nodiscard]] WholeJobs whole_jobs(const JobHistory& history);

}  // namespace rota::history
