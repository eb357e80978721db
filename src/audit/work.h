// What an audit measures: jobs and their runs, flat, with names as small dense numbers.
//
// A module of its own below `history`, so that measures stay pure and also serve simulations.
// Times are nanoseconds on one axis (since the Unix epoch, or since the start of a trace). A value
// that the source does not tell is kNotTold (or -1 where stated), never zero.
// Memory: 48 bytes a job, 48 a run, 20 a run whose use of memory is told.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace rota::audit {

constexpr std::int64_t kNotTold = std::numeric_limits<std::int64_t>::min();
/// Number of the empty name: the source does not tell it.
constexpr std::uint32_t kNoName = 0;

/// How a run ended, or stands.
enum class End : std::uint8_t {
  kUnknown,
  kPending,     // never started, still waits
  kRunning,
  kCompleted,
  kFailed,
  kOutOfMemory,
  kTimeLimit,
  kCancelled,
  kPreempted,
  kRequeued,
  kNodeFailed,
  kRejected,    // refused at submit: no run, no failure
};
constexpr int kEnds = 12;

/// GPU time: thousandths of a GPU times nanoseconds.
using GpuTime = Int128;
/// In hours of one GPU.
[[nodiscard]] inline double gpu_hours(GpuTime gpu_time) {
  return static_cast<double>(gpu_time) / 3.6e15;
}

/// One attempt of a job. `started` and `run` are told or not told independently: without
/// `started` the run is known in length and not in place. A run has ended at `started + run`.
struct WorkRun {
  std::int64_t waiting_since = kNotTold;  // could have started since; kNotTold: not told
  std::int64_t started = kNotTold;
  std::int64_t run = kNotTold;            // length; of a running one until the history was taken
  std::int64_t left = kNotTold;           // of one that never started: when it left the queue
  std::uint32_t job = 0;                  // its place in Work::jobs
  std::int32_t held_milli = -1;           // thousandths of a GPU; -1: not told
  std::uint32_t nodes = 0;                // its place in Work::node_sets
  std::int16_t busy_permille = -1;        // mean utilisation of its GPUs; -1: not measured
  End end = End::kUnknown;

  [[nodiscard]] bool is_placed() const { return started != kNotTold && run != kNotTold; }
  /// Absent GPUs or length count nothing: ask has_gpu_time() first.
  [[nodiscard]] bool has_gpu_time() const { return held_milli >= 0 && run != kNotTold; }
  [[nodiscard]] GpuTime gpu_time() const { return GpuTime{held_milli} * run; }
};

struct WorkJob {
  std::int64_t submitted = kNotTold;
  std::int64_t time_limit = kNotTold;  // kNotTold: none, or not told
  std::uint32_t owner = kNoName;       // team: in Work::owners
  std::uint32_t user = kNoName;        // in Work::users
  std::uint32_t job_class = kNoName;   // in Work::classes
  std::uint32_t first_run = 0;         // its place in Work::runs
  std::uint32_t run_count = 0;
  std::int32_t wanted_milli = -1;      // thousandths of a GPU asked for; -1: not told
  End end = End::kUnknown;             // of its last run
  bool interactive = false;            // known to be somebody's session
};

constexpr std::uint32_t kMemoryNotTold = std::numeric_limits<std::uint32_t>::max();

/// What is told of a run's memory. One of several nodes tells its use for one of them.
struct RunMemory {
  std::uint32_t run = 0;                     // its place in Work::runs
  std::uint32_t asked_mib = kMemoryNotTold;  // in all
  std::uint32_t used_mib = kMemoryNotTold;   // the most at once
  std::uint32_t gpu_mib = kMemoryNotTold;    // the most on its devices
  bool several_nodes = false;
};

/// Where the source lies in time; from the first to the last instant told.
struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t length() const { return end - begin; }
};

/// Runs stand together by job, in the order of the jobs. Index 0 of each list of names is empty,
/// node set 0 is "not told".
struct Work {
  std::vector<WorkJob> jobs;
  std::vector<WorkRun> runs;
  std::vector<RunMemory> memory;  // of runs whose use is told, in the order of runs
  std::vector<std::string> owners{""};
  std::vector<std::string> users{""};
  std::vector<std::string> classes{""};
  std::vector<std::string> nodes{""};
  std::vector<std::vector<std::uint32_t>> node_sets{{}};  // numbers of nodes

  [[nodiscard]] const WorkJob& job_of(const WorkRun& run) const { return jobs[run.job]; }
  [[nodiscard]] std::span<const WorkRun> runs_of(const WorkJob& job) const {
    return std::span(runs).subspan(job.first_run, job.run_count);
  }
  /// What the run wants while it waits: what it held, else what its job asked for; -1: not told.
  [[nodiscard]] std::int32_t wanted_of(const WorkRun& run) const {
    return run.held_milli >= 0 ? run.held_milli : jobs[run.job].wanted_milli;
  }
};

/// The part of [begin, begin + length) inside the window, in nanoseconds.
[[nodiscard]] inline std::int64_t inside(const Window& window, std::int64_t begin,
                                         std::int64_t length) {
  const std::int64_t from = begin > window.begin ? begin : window.begin;
  const std::int64_t end = begin + length < window.end ? begin + length : window.end;
  return end > from ? end - from : 0;
}

/// GPU time of the run inside the window. One that is not placed counts whole, if it was submitted
/// inside (or the source does not tell when). 0 where GPUs or length are not told.
[[nodiscard]] inline GpuTime gpu_time_inside(const Work& work, const WorkRun& run,
                                             const Window& window) {
  if (!run.has_gpu_time()) return 0;
  if (run.is_placed()) return GpuTime{run.held_milli} * inside(window, run.started, run.run);
  const std::int64_t at = run.waiting_since != kNotTold ? run.waiting_since
                                                        : work.job_of(run).submitted;
  if (at != kNotTold && (at < window.begin || at >= window.end)) return 0;
  return run.gpu_time();
}

static_assert(sizeof(WorkRun) == 48 && sizeof(WorkJob) == 48);

}  // namespace rota::audit
