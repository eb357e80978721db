// Jobs that failed, runs that were repeated, and the GPU time that both took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

struct FailureGroup {
  std::string name;          // team, or user
  std::int64_t runs = 0;     // with an end of their own: completed, failed, out of memory
  std::int64_t failed = 0;   // of them failed or out of memory
  GpuTime lost = 0;          // by those
};

struct Failures {
  std::int64_t ended = 0;           // runs with GPUs that ended by themselves
  std::int64_t failed = 0;          // of them failed or out of memory
  std::int64_t early = 0;           // of those within the first ten minutes
  GpuTime lost = 0;
  GpuTime lost_late = 0;            // by those that failed later: what checkpoints could save
  std::int64_t jobs_restarted = 0;  // with more than one started run
  std::int64_t restarts = 0;        // started runs after the first of their job
  GpuTime restart_cost = 0;         // runs that were followed by another one of their job
  std::int64_t stopped = 0;         // preempted, requeued or lost with a node
  GpuTime stopped_lost = 0;         // at most: less where work had been saved
  std::vector<FailureGroup> by_user;  // most lost first, ties by name; without users: empty
};

/// O(n). Runs count where their GPU time lies inside the window.
[[nodiscard]] Failures measure_failures(const Work& work, const Window& window);

}  // namespace rota::audit
