// Small histories for tests: times in seconds, GPUs whole.
#pragma once

#include <initializer_list>
#include <string>

#include "audit/work.h"

namespace rota::audit::testing {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;

/// One job with one run. -1 of a time: not told.
struct Told {
  std::int64_t submit = 0;
  std::int64_t start = 0;
  std::int64_t run = 0;
  std::int64_t gpus = 1;
  End end = End::kCompleted;
  std::uint32_t owner = kNoName;
  std::uint32_t user = kNoName;
  std::uint32_t job_class = kNoName;
  std::uint32_t nodes = 0;
  int busy_permille = -1;
  std::int64_t limit = -1;
  bool interactive = false;
};

inline std::int64_t told(std::int64_t seconds) {
  return seconds < 0 ? kNotTold : seconds * kSecond;
}

inline WorkRun run_of(const Told& told_run, std::uint32_t job) {
  WorkRun run{.waiting_since = told(told_run.submit), .started = told(told_run.start),
              .run = told(told_run.run), .job = job};
  const bool ran = run.started != kNotTold || run.run != kNotTold;
  if (ran && told_run.gpus >= 0) run.held_milli = static_cast<std::int32_t>(told_run.gpus * 1000);
  run.nodes = told_run.nodes;
  run.busy_permille = static_cast<std::int16_t>(told_run.busy_permille);
  run.end = told_run.end;
  return run;
}

/// Adds a job with one run.
inline void add(Work& work, const Told& one) {
  const auto number = static_cast<std::uint32_t>(work.jobs.size());
  work.jobs.push_back({.submitted = told(one.submit), .time_limit = told(one.limit),
                       .owner = one.owner, .user = one.user, .job_class = one.job_class,
                       .first_run = static_cast<std::uint32_t>(work.runs.size()), .run_count = 1,
                       .wanted_milli =
                           one.gpus < 0 ? -1 : static_cast<std::int32_t>(one.gpus * 1000),
                       .end = one.end, .interactive = one.interactive});
  work.runs.push_back(run_of(one, number));
}

/// Adds another run to the last job.
inline void add_run(Work& work, const Told& one) {
  ++work.jobs.back().run_count;
  work.jobs.back().end = one.end;
  work.runs.push_back(run_of(one, static_cast<std::uint32_t>(work.jobs.size() - 1)));
}

inline Work work_of(std::initializer_list<Told> jobs) {
  Work work;
  work.owners = {"", "a", "b", "c"};
  work.users = {"", "ann", "bob"};
  work.classes = {"", "debug", "train"};
  work.nodes = {"", "n1", "n2", "n3"};
  work.node_sets = {{}, {1}, {2}, {3}, {1, 2}};
  for (const Told& one : jobs) add(work, one);
  return work;
}

inline GpuTime gpu_seconds(std::int64_t n) { return GpuTime{1000} * kSecond * n; }
inline Window seconds(std::int64_t begin, std::int64_t end) {
  return {begin * kSecond, end * kSecond};
}

}  // namespace rota::audit::testing
