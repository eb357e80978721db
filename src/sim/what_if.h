// What-if: past jobs replayed under a setup, what came of it, and how well a replay of the real
// policy reproduces what was observed.
//
// Pure. Cost: that of run_trial. Memory: 32 bytes a job beside PastJobs, and the engine's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "sim/past_jobs.h"
#include "sim/setup.h"

namespace rota::sim {

/// Waits of all jobs, those that never started behind all others. Absent: one of them stands there.
struct WaitOfAll {
  std::optional<Duration> p50;
  std::optional<Duration> p90;
  std::optional<Duration> p99;
};

/// Jobs that belong together: a team, a class, the wide ones.
struct JobGroup {
  std::string name;
  std::int64_t jobs = 0;
  std::int64_t started = 0;
  Spread wait;              // submit to first start, of those that started
  WaitOfAll wait_of_all;
  Int128 owed = 0;          // milli-GPU-nanoseconds; teams of a replay alone
  Int128 delivered = 0;
};

struct Outcome {
  std::string name;
  std::int64_t jobs = 0;
  std::int64_t started = 0;
  std::int64_t refused = 0;      // against a rule of the setup
  std::int64_t cut = 0;          // ended by their time limit before their work was done
  std::int64_t gpus = 0;
  Spread wait;
  WaitOfAll wait_of_all;
  JobGroup wide;                 // jobs of a whole node or more
  JobGroup shorts;               // of the short class; empty name: none was told
  std::vector<JobGroup> teams;   // by name; short jobs in a queue of their own are nobody's
  std::vector<JobGroup> classes; // by name, as the history names them
  Duration makespan;             // first submit to last end
  Int128 held = 0;               // GPU time, as all below
  Int128 capacity = 0;           // all GPUs over the makespan
  Int128 lost = 0;               // work that stops destroyed
  Int128 owed = 0;
  Int128 delivered = 0;
  std::int64_t preemptions = 0;
  std::int64_t wide_stopped = 0;  // wide jobs that were preempted at least once
  bool replayed = true;           // false: observed; preemptions and shares are not known
};

/// A wide job takes at least so many thousandths of a GPU: those of today's largest node.
struct Measure {
  std::int64_t wide_milli = 8000;
  std::optional<ShortClass> short_class;  // counted apart
};

/// Errors: as run_trial.
[[nodiscard]] Result<Outcome> run_setup(const PastJobs& past, const Setup& setup,
                                        const Measure& measure, const TrialProgress& progress);

/// What really happened on `nodes`, as far as the history tells.
[[nodiscard]] Outcome observed_outcome(const PastJobs& past, const std::vector<NodeSpec>& nodes,
                                       const Measure& measure);

/// How well a replay of the real policy reproduces what was observed. Errors are
/// (replayed - observed) / observed.
enum class Trust { kUnknown, kGood, kFair, kPoor };
constexpr auto names_of(Trust) {
  return std::array<std::string_view, 4>{"unknown", "good", "fair", "poor"};
}
struct Fidelity {
  Trust trust = Trust::kUnknown;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double makespan = 0;
  Duration mean_off;   // replayed - observed
  double never = 0;    // part of the jobs that never start in the replay, though they ran
};
/// Up to it trust is good, fair: of the mean wait's error.
constexpr double kTrustGood = 0.10;
constexpr double kTrustFair = 0.25;
/// Up to these parts of the jobs may never start in a replay that is good, fair.
constexpr double kNeverFair = 0.01;
constexpr double kNeverPoor = 0.10;
/// A mean wait that is off by no more is good, however small the mean: histories count seconds.
constexpr Duration kTrustNear = Duration::seconds(1);

[[nodiscard]] Fidelity fidelity_of(const Outcome& observed, const Outcome& replayed);

/// Demand under shorter or longer waits. People who wait less submit more: their GPU time is
/// multiplied by (T0 / T1) ^ elasticity, with T the mean of wait and run time together, before and
/// after. Jobs are repeated or left out at even distances, whoever's they are; at most doubled or
/// halved. An assumption, never a finding.
[[nodiscard]] double reaction_factor(const PastJobs& past, Duration wait_before,
                                     Duration wait_after, std::int64_t elasticity_permille);
[[nodiscard]] PastJobs with_demand(const PastJobs& past, double factor);

}  // namespace rota::sim
