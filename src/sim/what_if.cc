#include "sim/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace rota::sim {
namespace {

constexpr std::int64_t kNoStart = TrialTimes::kNever;

/// First start and last end of each job, from wherever they are known.
struct Happened {
  std::int64_t started = kNoStart;
  std::int64_t ended = kNoStart;
};

/// `waits` are sorted, of those of `jobs` that started; ranks as in spread_of().
WaitOfAll wait_of_all(const std::vector<std::int64_t>& waits, std::int64_t jobs) {
  const auto rank = [&](std::int64_t percent) -> std::optional<Duration> {
    const std::int64_t nth = std::max<std::int64_t>(1, (jobs * percent + 99) / 100);
    if (nth > std::ssize(waits)) return std::nullopt;
    return Duration(waits[static_cast<std::size_t>(nth - 1)]);
  };
  return {.p50 = rank(50), .p90 = rank(90), .p99 = rank(99)};
}

/// Collects waits of one group.
struct GroupWaits {
  std::int64_t jobs = 0;
  std::vector<std::int64_t> waits;
  void add(std::int64_t submitted, std::int64_t started) {
    ++jobs;
    if (started != kNoStart) waits.push_back(started - submitted);
  }
  JobGroup group(std::string name) {
    JobGroup out{.name = std::move(name), .jobs = jobs, .started = std::ssize(waits)};
    out.wait = spread_of(waits);  // sorts them
    out.wait_of_all = wait_of_all(waits, jobs);
    return out;
  }
};

bool by_name(const JobGroup& a, const JobGroup& b) { return a.name < b.name; }

std::vector<JobGroup> groups_of(std::vector<GroupWaits>& waits,
                                const std::vector<std::string>& names, std::string_view none) {
  std::vector<JobGroup> out;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].jobs == 0 || (i == 0 && none.empty())) continue;
    out.push_back(waits[i].group(i == 0 ? std::string(none) : names[i]));
  }
  std::sort(out.begin(), out.end(), by_name);
  return out;
}

template <class HappenedTo>
void fill_waits(const PastJobs& past, const Measure& measure, HappenedTo&& happened,
                Outcome& out) {
  const std::vector<bool> short_of = short_jobs(past, measure.short_class);
  GroupWaits all;
  GroupWaits wide;
  GroupWaits shorts;
  std::vector<GroupWaits> teams(past.teams.size());
  std::vector<GroupWaits> classes(past.classes.size());
  std::int64_t last = kNoStart;
  for (std::size_t i = 0; i < past.jobs.size(); ++i) {
    const PastJob& job = past.jobs[i];
    const Happened times = happened(i);
    last = std::max(last, times.ended);
    all.add(job.submitted, times.started);
    if (job.milli >= measure.wide_milli) wide.add(job.submitted, times.started);
    if (short_of[i]) shorts.add(job.submitted, times.started);
    teams[job.team].add(job.submitted, times.started);
    classes[job.job_class].add(job.submitted, times.started);
  }
  const JobGroup whole = all.group({});
  out.jobs = whole.jobs;
  out.started = whole.started;
  out.wait = whole.wait;
  out.wait_of_all = whole.wait_of_all;
  out.wide = wide.group("wide");
  if (measure.short_class) out.shorts = shorts.group(measure.short_class->name);
  out.teams = groups_of(teams, past.teams, kNoTeam);
  out.classes = groups_of(classes, past.classes, {});
  if (last != kNoStart && !past.jobs.empty()) {
    out.makespan = Duration(last - past.jobs.front().submitted);
  }
  out.capacity = Int128{out.gpus} * 1000 * out.makespan.ns();
}

JobGroup* team_named(Outcome& out, const std::string& name) {
  const auto found = std::find_if(out.teams.begin(), out.teams.end(),
                                  [&](const JobGroup& group) { return group.name == name; });
  return found == out.teams.end() ? nullptr : &*found;
}

double error_of(Duration observed, Duration replayed) {
  if (observed == replayed) return 0;
  if (observed <= Duration()) return 1;
  return static_cast<double>((replayed - observed).ns()) / static_cast<double>(observed.ns());
}

}  // namespace

Result<Outcome> run_setup(const PastJobs& past, const Setup& setup, const Measure& measure,
                          const TrialProgress& progress) {
  const SetupJobs jobs(past, setup);
  const TrialPlan plan = plan_of(past, setup);
  auto trial = run_trial(plan, jobs, progress);
  if (!trial) return trial.error();
  Outcome out;
  out.name = setup.name;
  out.gpus = gpus_of(setup.nodes);
  fill_waits(past, measure, [&](std::size_t i) {
    return Happened{trial->times[i].started, trial->times[i].ended};
  }, out);
  for (std::size_t i = 0; i < past.jobs.size(); ++i) {
    out.cut += trial->times[i].cut ? 1 : 0;
    const bool wide = past.jobs[i].milli >= measure.wide_milli;
    if (wide && trial->times[i].attempts > 1) ++out.wide_stopped;
  }
  for (const TrialQueue& queue : trial->queues) {
    if (JobGroup* team = team_named(out, queue.name)) {
      team->owed = queue.owed;
      team->delivered = queue.delivered;
    }
  }
  out.refused = trial->refused;
  out.held = trial->held;
  out.lost = trial->lost;
  out.owed = trial->owed;
  out.delivered = trial->delivered;
  out.preemptions = trial->evictions;
  return out;
}

Outcome observed_outcome(const PastJobs& past, const std::vector<NodeSpec>& nodes,
                         const Measure& measure) {
  Outcome out;
  out.name = "observed";
  out.replayed = false;
  out.gpus = gpus_of(nodes);
  fill_waits(past, measure, [&](std::size_t i) {
    const PastJob& job = past.jobs[i];
    return Happened{job.started == kUntold ? kNoStart : job.started,
                    job.ended == kUntold ? kNoStart : job.ended};
  }, out);
  for (const PastJob& job : past.jobs) out.held += Int128{job.milli} * job.runtime;
  return out;
}

Fidelity fidelity_of(const Outcome& observed, const Outcome& replayed) {
  Fidelity out;
  if (observed.started * 2 < observed.jobs || observed.started == 0) return out;
  out.mean = error_of(observed.wait.mean, replayed.wait.mean);
  out.p50 = error_of(observed.wait.p50, replayed.wait.p50);
  out.p90 = error_of(observed.wait.p90, replayed.wait.p90);
  out.makespan = error_of(observed.makespan, replayed.makespan);
  out.mean_off = replayed.wait.mean - observed.wait.mean;
  if (replayed.jobs > 0) {
    out.never = static_cast<double>(replayed.jobs - replayed.started) /
                static_cast<double>(replayed.jobs);
  }
  const double off = std::abs(out.mean);
  const bool near = out.mean_off <= kTrustNear && Duration() - out.mean_off <= kTrustNear;
  const Trust of_waits = off <= kTrustGood || near ? Trust::kGood
                         : off <= kTrustFair       ? Trust::kFair
                                                   : Trust::kPoor;
  const Trust of_starts = out.never <= kNeverFair   ? Trust::kGood
                          : out.never <= kNeverPoor ? Trust::kFair
                                                    : Trust::kPoor;
  out.trust = std::max(of_waits, of_starts);
  return out;
}

double reaction_factor(const PastJobs& past, Duration wait_before, Duration wait_after,
                       std::int64_t elasticity_permille) {
  if (past.jobs.empty() || elasticity_permille == 0) return 1;
  double run = 0;
  for (const PastJob& job : past.jobs) run += static_cast<double>(job.runtime);
  run /= static_cast<double>(past.jobs.size());
  const double before = run + static_cast<double>(wait_before.ns());
  const double after = run + static_cast<double>(wait_after.ns());
  const double factor = std::pow(before / after, static_cast<double>(elasticity_permille) / 1000);
  return std::clamp(factor, 0.5, 2.0);
}

PastJobs with_demand(const PastJobs& past, double factor) {
  PastJobs out = past;
  out.jobs.clear();
  double owed = 0;
  for (const PastJob& job : past.jobs) {
    owed += factor;
    for (; owed >= 1; owed -= 1) out.jobs.push_back(job);
  }
  return out;
}

}  // namespace rota::sim
