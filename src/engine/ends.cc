// How a job's attempts end, and what comes after: again in line, or over.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/core.h"

namespace rota::engine {

namespace {

bool is_eviction(StopCause cause) {
  return cause == StopCause::kPreempted || cause == StopCause::kDrain ||
         cause == StopCause::kQuarantine;
}

/// "3 failures in a row: jobs 4, 5, 6"; a job that failed several times is named once.
std::string failures_in_a_row(const State& state, const std::vector<JobId>& failures) {
  constexpr std::size_t kNamed = 10;
  std::vector<JobId> jobs;
  for (const JobId id : failures) {
    if (std::find(jobs.begin(), jobs.end(), id) == jobs.end()) jobs.push_back(id);
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kNamed); ++i) {
    const JobRec* job = state.jobs.find(jobs[i]);
    const bool is_member = job != nullptr && job->spec.group.valid();
    names += (i == 0 ? "" : ", ") +
             (is_member ? std::to_string(job->spec.group.value()) + "." +
                              std::to_string(job->spec.group_index)
                        : std::to_string(jobs[i].value()));
  }
  if (jobs.size() > kNamed) names += " and " + std::to_string(jobs.size() - kNamed) + " more";
  const bool is_one = failures.size() == 1;
  return std::to_string(failures.size()) + (is_one ? " failure" : " failures in a row") +
         (jobs.size() == 1 ? ": job " : ": jobs ") + names;
}

}  // namespace

void Core::lose_work(JobRec& job) {
  const auto from = job.attempt_started();
  if (!from) return;
  Duration lost = state.now - *from;
  if (job.spec.checkpoint && job.spec.checkpoint->ns() > 0) {
    lost = Duration(lost.ns() % job.spec.checkpoint->ns());
  }
  const Int128 gpu_time = static_cast<Int128>(lost.ns()) * job.account.milli;
  job.lost += lost;
  job.account.gpu_time_lost += gpu_time;
  for (QueueIndex q = job.queue; q != kNone; q = state.queues[q].parent) {
    state.queues[q].gpu_time_lost += gpu_time;
  }
  state.cluster.gpu_time_lost += gpu_time;
}

void Core::ended(JobRec& job, const AttemptEnded& end) {
  const bool on_time = job.limit_ends() && *job.limit_ends() == state.now;
  if (!on_time || end.kind != EndKind::kExited) {
    plan.invalidate();
    reservation.reset();
  }
  // What vanished while it was to end for good has ended for good.
  const bool stopped =
      job.stop_ordered && (end.kind == EndKind::kStopped ||
                           (end.kind == EndKind::kLost && job.ends_for_good()));
  // Whatever ran it knew its limit, and there was nobody to order the stop.
  const bool over_limit = end.kind == EndKind::kStopped && !job.stop_ordered && job.limit_ends() &&
                          *job.limit_ends() <= state.now;
  AttemptRec& attempt = job.history.back();
  attempt.ended = state.now;
  attempt.exit_code = end.exit_code;
  attempt.signal = end.signal;
  attempt.detail = end.detail;
  attempt.cause = stopped ? name_of(job.stop_cause) : name_of(end.kind);
  if (stopped) attempt.by = job.stop_by;
  if (over_limit) attempt.cause = name_of(StopCause::kTimeLimit);
  job.exit_code = end.exit_code;
  job.signal = end.signal;
  settle_account(job);
  const bool lost = (stopped && job.stop_cause != StopCause::kTimeLimit &&
                     job.stop_cause != StopCause::kCancelled &&
                     job.stop_cause != StopCause::kSessionIdle) ||
                    (end.kind == EndKind::kLost && !stopped) ||
                    (end.kind == EndKind::kStopped && !stopped && !over_limit) ||
                    (end.kind == EndKind::kExited && (end.exit_code != 0 || end.signal != 0));
  if (lost) lose_work(job);
  release(job);
  const std::int64_t losses = std::exchange(job.losses, 0);
  if (end.kind == EndKind::kExited && end.exit_code == 0 && end.signal == 0) {
    for (const TaskAlloc& task : job.alloc) state.nodes[task.node].failures.clear();
    finish(job, JobState::kDone, "exited");
  } else if (end.kind == EndKind::kExited || end.kind == EndKind::kLaunchFailed) {
    failed(job, end);
  } else if (over_limit) {
    finish(job, JobState::kTimeout, "time_limit");
  } else if (!stopped) {
    vanished(job, losses);
  } else if (job.stop_cause == StopCause::kTimeLimit) {
    finish(job, JobState::kTimeout, "time_limit");
  } else if (job.stop_cause == StopCause::kCancelled ||
             job.stop_cause == StopCause::kSessionIdle) {
    finish(job, JobState::kCancelled, std::string(name_of(job.stop_cause)));
  } else if (job.stop_cause == StopCause::kAppFault) {
    AttemptEnded fault = end;
    fault.exit_code = fault.exit_code == 0 ? 1 : fault.exit_code;
    job.exit_code = fault.exit_code;
    fault.kind = EndKind::kExited;
    failed(job, fault);
  } else {
    if (is_eviction(job.stop_cause)) evicted(job);
    requeue(job, std::string(name_of(job.stop_cause)));
  }
}

/// A job that takes its own parent process down must not be begun again for ever. Nodes and devices
/// that fail are no fault of the job: their jobs were told to stop, or the node is down.
void Core::vanished(JobRec& job, std::int64_t losses_before) {
  constexpr std::array kWaits = {Duration::seconds(1), Duration::seconds(5), Duration::seconds(30),
                                 Duration::minutes(5)};
  constexpr Duration kSound = Duration::minutes(10);
  const bool by_node = job.stop_ordered ||
                       std::any_of(job.alloc.begin(), job.alloc.end(), [&](const TaskAlloc& t) {
                         return !state.nodes[t.node].up();
                       });
  if (by_node) {
    job.losses = losses_before;
    requeue(job, std::string(name_of(EndKind::kLost)));
    return;
  }
  const std::optional<Instant> from = job.history.back().started;
  const bool ran_well = from && state.now - *from >= kSound;
  job.losses = (ran_well ? 0 : losses_before) + 1;
  if (job.losses > std::ssize(kWaits)) {
    finish(job, JobState::kFailed, std::string(name_of(EndKind::kLost)));
    return;
  }
  job.not_before = later(state.now, kWaits[static_cast<std::size_t>(job.losses - 1)]);
  requeue(job, std::string(name_of(EndKind::kLost)));
}

void Core::evicted(JobRec& job) {
  ++job.evictions;
  ++state.cluster.evictions;
  for (const QueueIndex q : owners.path(job.queue)) ++state.queues[q].evictions;
  job.evicted_at = state.now;
  job.evicted_by = job.stop_by;
  job.evicted_cause = std::string(name_of(job.stop_cause));
}

void Core::failed(JobRec& job, const AttemptEnded& end) {
  constexpr std::int64_t kLaunchTries = 3;
  const auto named = node_by_name.find(end.node);
  NodeIndex node = named == node_by_name.end() ? kNone : named->second;
  if (node == kNone && job.alloc.size() == 1) node = job.alloc.front().node;
  if (node != kNone) note_node_failure(job, node);
  const bool launch = end.kind == EndKind::kLaunchFailed;
  const std::int64_t retries = job.spec.retries.value_or(state.policy.retries);
  const bool again =
      launch ? ++job.launch_failures < kLaunchTries : ++job.failures <= retries;
  if (!again) {
    finish(job, JobState::kFailed, launch ? "launch_failed" : "exited");
    return;
  }
  if (node != kNone && state.policy.retry_on == RetryOn::kElsewhere &&
      (!launch || state.nodes.size() > 1)) {
    JobShape shape = job.shape;
    const std::string& name = state.nodes[node].spec.name;
    if (std::find(shape.exclude.begin(), shape.exclude.end(), name) == shape.exclude.end()) {
      const JobShape before = job.shape;
      shape.exclude.push_back(name);
      set_shape(job, shape);
      if (!could_ever_run(job)) {
        // There is no elsewhere: a launch is tried where it failed, a failed job has failed.
        set_shape(job, before);
        if (!launch) {
          finish(job, JobState::kFailed, "exited");
          return;
        }
      }
    }
  }
  requeue(job, launch ? "launch_failed" : "failed");
}

void Core::note_node_failure(JobRec& job, NodeIndex node) {
  NodeRec& rec = state.nodes[node];
  rec.failures.push_back(job.id);
  const auto& after = state.policy.quarantine_after;
  if (!after || std::ssize(rec.failures) < *after || rec.quarantine) return;
  change_node(node, [&](NodeRec& n) {
    n.quarantine = true;
    n.reason = failures_in_a_row(state, n.failures);
  });
  decide(NodeChanged{rec.spec.name, rec.state(), rec.failures});
}

void Core::requeue(JobRec& job, std::string cause) {
  if (!job.spec.requeue && cause != "failed") {
    finish(job, JobState::kCancelled, std::move(cause));
    return;
  }
  wait_for_begin(job);
  job.phase = Phase::kPending;
  job.alloc.clear();
  job.stop_ordered = false;
  count_pending(job, 1);
  decide(JobChanged{job.id, JobState::kPending, std::move(cause)});
  if (job.gates == 0) {
    waiting.insert(job);
    plan.join(job.id);
  }
  shares_stale = true;
  refresh_infeasible(job);
  if (moving.contains(job.id)) arrive(job);
}

void Core::finish(JobRec& job, JobState final_state, std::string cause) {
  if (moving.contains(job.id)) drop_move(job);
  if (job.pending()) {
    if (job.gates == 0) {
      waiting.erase(job);
      plan.leave(job.id);
    }
    count_pending(job, -1);
    infeasible.erase(job.id);
    if (const auto begin = job.begins_at()) begin_timers.erase({*begin, job.id});
    shares_stale = true;
  }
  with_deadline.erase(job.id);
  finished.push_back(job.id);
  job.phase = Phase::kFinal;
  job.final_state = final_state;
  job.ended = state.now;
  job.end_cause = cause;
  job.stop_ordered = false;
  if (job.spec.group.valid()) {
    GroupRec& group = state.groups[job.spec.group];
    ++group.ended;
    if (final_state == JobState::kDone) ++group.done;
    if (!job.first_started) ++group.never_started;
  }
  decide(JobChanged{job.id, final_state, std::move(cause)});
  wake_dependents(job);
}

void Core::restart(JobRec& job) {
  if (job.spec.group.valid()) {
    GroupRec& group = state.groups[job.spec.group];
    --group.ended;
    if (job.final_state == JobState::kDone) --group.done;
    if (!job.first_started) --group.never_started;
  }
  job.phase = Phase::kPending;
  job.ended.reset();
  job.end_cause.clear();
  job.alloc.clear();
  job.failures = 0;
  job.launch_failures = 0;
  job.losses = 0;
  job.not_before.reset();
  job.submitted = state.now;
  job.gates = 0;
  if (job.spec.deadline) with_deadline.insert(job.id);
  set_shape(job, job.spec.shape);
  count_pending(job, 1);
  waiting.insert(job);
  plan.join(job.id);
  shares_stale = true;
  decide(JobChanged{job.id, JobState::kPending, "requeued"});
  refresh_infeasible(job);
  refresh_dependencies(job);
}

}  // namespace rota::engine
