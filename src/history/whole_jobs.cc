#include "history/whole_jobs.h"

#include <algorithm>
#include <optional>

namespace rota::history {
namespace {

bool stopped_by_system(Outcome outcome) {
  return outcome == Outcome::kPreempted || outcome == Outcome::kRequeued ||
         outcome == Outcome::kNodeFailed;
}

/// Absent when no attempt has a length.
std::optional<Duration> runtime_of(std::span<const AttemptRecord> attempts) {
  std::optional<Duration> sum;
  std::optional<Duration> last;
  for (const AttemptRecord& attempt : attempts) {
    const auto run = attempt.run_time();
    if (!run) continue;
    last = run;
    if (!stopped_by_system(attempt.outcome)) sum = sum.value_or(Duration()) + *run;
  }
  return sum ? sum : last;
}

struct Held {
  bool known = false;
  std::int64_t milli = 0;  // as GPUs, by GpuSets::equivalent
  bool has_parts = false;
};

Held most_held(const JobHistory& history, const JobRecord& job) {
  Held most;
  for (const AttemptRecord& attempt : history.attempts_of(job)) {
    const GpuSetId gpus = history.gpus_of(attempt);
    if (!gpus.known() || !attempt.run_time()) continue;
    most.milli = std::max(most.milli, history.gpus().equivalent(gpus).value());
    most.has_parts = most.has_parts || history.gpus().partitions_milli(gpus) > 0;
    most.known = true;
  }
  return most;
}

}  // namespace

WholeJobs whole_jobs(const JobHistory& history) {
  WholeJobs whole;
  for (const JobRecord& record : history.jobs()) {
    const auto runtime = runtime_of(history.attempts_of(record));
    if (!runtime) {
      ++whole.never_ran;
      continue;
    }
    const Held held = most_held(history, record);
    if (!record.submitted || !held.known) {
      ++(record.submitted ? whole.no_gpus : whole.no_time);
      continue;
    }
    WholeJob job;
    job.row = record.row;
    job.submitted = *record.submitted;
    job.runtime = *runtime;
    job.gpus = std::max<std::int64_t>((held.milli + 999) / 1000, held.has_parts ? 1 : 0);
    if (held.has_parts || held.milli % 1000 != 0) ++whole.parts;
    job.team = history.text(record.queue.empty() ? record.cluster : record.queue);
    whole.jobs.push_back(std::move(job));
  }
  return whole;
}

}  // namespace rota::history
