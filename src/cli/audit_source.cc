#include "cli/audit_source.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/digest.h"
#include "history/columns.h"

namespace rota::cli {
namespace {

using audit::kNotTold;
using audit::Work;
using audit::WorkJob;
using audit::WorkRun;
using history::AttemptRecord;
using history::JobHistory;
using history::JobRecord;
using history::NameColumn;
using history::Outcome;

audit::End end_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnknown: return audit::End::kUnknown;
    case Outcome::kPending: return audit::End::kPending;
    case Outcome::kRunning: return audit::End::kRunning;
    case Outcome::kCompleted: return audit::End::kCompleted;
    case Outcome::kFailed: return audit::End::kFailed;
    case Outcome::kOutOfMemory: return audit::End::kOutOfMemory;
    case Outcome::kTimeLimit: return audit::End::kTimeLimit;
    case Outcome::kCancelled: return audit::End::kCancelled;
    case Outcome::kPreempted: return audit::End::kPreempted;
    case Outcome::kRequeued: return audit::End::kRequeued;
    case Outcome::kNodeFailed: return audit::End::kNodeFailed;
    case Outcome::kRejected: return audit::End::kRejected;
  }
  return audit::End::kUnknown;
}

template <class T>
std::int64_t raw(history::Maybe<T> value) {
  if (!value) return kNotTold;
  return (*value).ns();
}

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

std::int32_t milli_of(const JobHistory& history, history::GpuSetId gpus) {
  if (!gpus.known()) return -1;
  constexpr std::int64_t kMost = 2'000'000'000;
  return static_cast<std::int32_t>(std::min(history.gpus().equivalent(gpus).value(), kMost));
}

WorkRun run_from(const JobHistory& history, const AttemptRecord& attempt, std::int64_t now) {
  WorkRun run{.job = attempt.job, .busy_permille = attempt.gpu_busy_permille,
              .end = end_of(attempt.outcome)};
  run.waiting_since = std::max(raw(attempt.queued), raw(attempt.eligible));
  run.started = raw(attempt.started);
  if (run.started != kNotTold && run.waiting_since > run.started) {
    run.waiting_since = raw(attempt.queued);  // it was eligible, whatever the column says
  }
  const std::int64_t ended = raw(attempt.ended);
  if (const auto length = attempt.run_time()) run.run = length->ns();
  if (run.started == kNotTold && run.run != kNotTold && ended != kNotTold) {
    run.started = ended - run.run;
  }
  if (run.started == kNotTold && run.run == kNotTold) run.left = ended;
  const bool runs = run.started != kNotTold && run.run == kNotTold;
  if (runs && run.end == audit::End::kRunning) {
    run.run = std::max<std::int64_t>(0, now - run.started);
  }
  if (run.started != kNotTold && run.run != kNotTold) {
    run.run = std::min(run.run, kLatest - std::max<std::int64_t>(run.started, 0));
  }
  const bool ran = run.started != kNotTold || run.run != kNotTold;
  if (ran) run.held_milli = milli_of(history, history.gpus_of(attempt));
  return run;
}

std::uint32_t mib_of(history::Maybe<Bytes> bytes) {
  constexpr std::int64_t kMost = audit::kMemoryNotTold - 1;
  if (!bytes || (*bytes).value() < 0) return audit::kMemoryNotTold;
  return static_cast<std::uint32_t>(std::min((*bytes).value() >> 20, kMost));
}

/// Notes the memory of the run that comes next, if its use is told.
void add_memory(const JobRecord& job, const AttemptRecord& attempt, Work& work) {
  if (!attempt.memory_used && !attempt.gpu_memory_used) return;
  const std::uint32_t nodes = std::max(attempt.node_count, job.nodes);
  work.memory.push_back({.run = static_cast<std::uint32_t>(work.runs.size()),
                         .asked_mib = mib_of(job.memory),
                         .used_mib = mib_of(attempt.memory_used),
                         .gpu_mib = mib_of(attempt.gpu_memory_used),
                         .several_nodes = nodes > 1});
}

void add_runs(const JobHistory& history, Work& work) {
  work.runs.reserve(history.attempts().size());
  history::NodeLists nodes(history, work.nodes, work.node_sets);
  const auto span = history.span();
  const std::int64_t now = span ? span->end.ns() : 0;
  std::uint32_t number = 0;
  for (const JobRecord& job : history.jobs()) {
    for (const AttemptRecord& attempt : history.attempts_of(job)) {
      add_memory(job, attempt, work);
      WorkRun run = run_from(history, attempt, now);
      run.job = number;
      run.nodes = nodes.number(attempt.nodes);
      work.runs.push_back(run);
    }
    ++number;
  }
}

/// Needs the runs.
void add_jobs(const JobHistory& history, Work& work) {
  work.jobs.reserve(history.jobs().size());
  NameColumn owners(history, work.owners);
  NameColumn users(history, work.users);
  NameColumn classes(history, work.classes);
  std::uint32_t first = 0;
  for (const JobRecord& job : history.jobs()) {
    WorkJob out{.submitted = raw(job.submitted), .owner = owners.number(job.queue),
                .user = users.number(job.user), .job_class = classes.number(job.job_class),
                .first_run = first, .wanted_milli = milli_of(history, job.gpus),
                .end = end_of(job.outcome), .interactive = job.interactive};
    for (; first < work.runs.size() && work.runs[first].job == work.jobs.size(); ++first) {
      ++out.run_count;
    }
    if (job.limit_kind == history::TimeLimit::kSet) out.time_limit = raw(job.time_limit);
    work.jobs.push_back(out);
  }
}

}  // namespace

audit::Work work_of(const JobHistory& history) {
  Work work;
  add_runs(history, work);
  add_jobs(history, work);
  return work;
}

audit::Work work_of(JobHistory&& history) {
  Work work;
  add_runs(history, work);
  history.drop_attempts();
  add_jobs(history, work);
  history = JobHistory();
  return work;
}

std::string hashed_name(std::string_view kind, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Digest digest;
  digest.add(kind);
  digest.add(name);
  const std::uint64_t value = digest.value();
  std::string text(kind);
  text += '-';
  for (int shift = 60; shift > 28; shift -= 4) text += kDigits[(value >> shift) & 15U];
  return text;
}

void hash_names(Work& work) {
  const auto hash = [](std::vector<std::string>& names, std::string_view kind) {
    for (std::size_t i = 1; i < names.size(); ++i) names[i] = hashed_name(kind, names[i]);
  };
  hash(work.owners, "team");
  hash(work.users, "user");
  hash(work.nodes, "node");
}

}  // namespace rota::cli
