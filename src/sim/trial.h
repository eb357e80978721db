// A trial: jobs as teams once submitted them, run through the engine under a policy of one's
// choice, with contracts, preemption and lost work. It measures what each queue was owed and got,
// how long each kind of job waited, and what stopping jobs cost.
//
// Rules: a job works for its true runtime, which the engine does not know; it knows the time limit.
// A job that is stopped goes on later from its last checkpoint. At one instant ends come first,
// then arrivals, then cycles until nothing changes (or one of them). Under a fairness that looks
// back, a cycle also runs every `cycle_every`. With `passes` cycles run only when that schedule
// says so.
// Pure: no clock, no files.
// Cost: one engine cycle for each instant at which something happens. Memory: 32 bytes a job beside
// what the caller's TrialJobs hold, and the engine's own for jobs that wait or run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/policy.h"
#include "model/queue.h"
#include "sim/replay.h"

namespace rota::sim {

struct TrialJob {
  Instant submitted;
  Duration runtime;       // true; more than 0
  JobSpec spec;           // queue, shape, limit, contract, checkpoint, priority
  std::int32_t kind = 0;  // waits are told by kind: the caller's numbers from 0
};

/// The jobs of a trial by place, sorted by submit time; made when asked for, since a JobSpec is
/// large and a history long.
class TrialJobs {
 public:
  TrialJobs() = default;
  TrialJobs(const TrialJobs&) = delete;
  TrialJobs& operator=(const TrialJobs&) = delete;
  virtual ~TrialJobs() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Instant submitted(std::size_t at) const = 0;
  [[nodiscard]] virtual Duration runtime(std::size_t at) const = 0;
  [[nodiscard]] virtual TrialJob job(std::size_t at) const = 0;
};

/// A scheduler that decides at times of its own, as Slurm does: short passes in order that stop at
/// the first job that cannot start, and now and then a long one that looks at everybody.
struct PassTimes {
  Duration after_event = Duration::seconds(3);   // least from one short pass to the next
  Duration short_every = Duration::seconds(60);  // a short pass though nothing happened
  Duration long_every = Duration::seconds(30);   // from one long pass to the next
  Backfill in_long = Backfill::kConservative;    // how the long pass reserves
  Duration launch;                               // from the decision until the job works
  Duration release;                              // from its end until its GPUs are free

  friend bool operator==(const PassTimes&, const PassTimes&) = default;
};

struct TrialPlan {
  static constexpr Instant kWhenAllIsOver{std::numeric_limits<std::int64_t>::max()};
  Policy policy;
  std::optional<PassTimes> passes;
  std::vector<NodeSpec> nodes;
  std::vector<QueueSpec> queues;  // parents first
  Duration cycle_every = Duration::seconds(30);  // under a fairness that looks back; 0: never
  /// What each queue was owed and got is summed over spans of these lengths too, counted from the
  /// first job on.
  std::vector<Duration> spans;
  /// One cycle an instant. Enough where nobody can be preempted: a second one finds nothing.
  bool one_cycle = false;
  Instant until;          // the trial is over, whatever still runs or waits; or kWhenAllIsOver
};

struct TrialQueue {
  std::string name;
  std::int64_t jobs = 0;      // submitted
  std::int64_t started = 0;
  Spread wait;                // submit to first start, of those that started
  Int128 owed = 0;            // milli-GPU-nanoseconds, as all below
  Int128 delivered = 0;       // moment by moment: never more than it was owed at that moment
  /// By plan.spans: span by span, so that what it got beyond its part at one time makes up for what
  /// it lacked at another time of the same span.
  std::vector<Int128> delivered_over;
  Int128 held = 0;
  Int128 lost = 0;
  std::int64_t evictions = 0;
};

/// When a job was first started and when its work was done or its time limit was up.
struct TrialTimes {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::int64_t started = kNever;  // Instant::ns()
  std::int64_t ended = kNever;
  std::int32_t attempts = 0;
  bool cut = false;               // its time limit ended it
};

struct TrialResult {
  std::int64_t jobs = 0;
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::int64_t refused = 0;   // the engine would not take them
  Spread wait;
  std::vector<Spread> wait_of_kind;
  std::vector<TrialQueue> queues;  // leaves, as declared
  Int128 owed = 0;            // sums over the leaves
  Int128 delivered = 0;
  std::vector<Int128> delivered_over;
  Int128 held = 0;
  Int128 lost = 0;
  Int128 capacity = 0;
  std::int64_t evictions = 0;
  std::int64_t cycles = 0;
  std::vector<TrialTimes> times;  // by the place of the job
};

/// `share` of the trial's time that has passed, 0 to 1.
using TrialProgress = std::function<void(double share)>;

/// `jobs` must be sorted by submit time; those from `until` on are passed over. Errors:
/// kInvalidArgument (not sorted, a runtime of 0), or what the engine says to policy, queues, nodes.
[[nodiscard]] Result<TrialResult> run_trial(const TrialPlan& plan,
                                            const std::vector<TrialJob>& jobs,
                                            const TrialProgress& progress);
[[nodiscard]] Result<TrialResult> run_trial(const TrialPlan& plan, const TrialJobs& jobs,
                                            const TrialProgress& progress);

}  // namespace rota::sim
