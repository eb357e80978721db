// The life of a job: created, gated, claimed, started, told to stop, released (ends.cc: the rest).
#include <algorithm>
#include <utility>

#include "engine/core.h"

namespace rota::engine {

namespace {

Int128 cost_of(const State& state, const Tasks& tasks) {
  Int128 sum = 0;
  for (const TaskAlloc& task : tasks) {
    sum += static_cast<Int128>(state.nodes[task.node].spec.cost.value()) * task.milli();
  }
  return sum;
}

/// The nodes of the tasks, each once, in ascending order.
std::vector<std::int32_t> nodes_of(const Tasks& tasks) {
  std::vector<std::int32_t> nodes;
  nodes.reserve(tasks.size());
  for (const TaskAlloc& task : tasks) nodes.push_back(task.node);
  if (!std::is_sorted(nodes.begin(), nodes.end())) std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

/// Calls `visit` with the nodes of the tasks, each once, in ascending order.
template <class Visit>
void for_each_node_of(const Tasks& tasks, Visit&& visit) {
  if (tasks.size() == 1) {
    visit(tasks.front().node);
  } else {
    for (const std::int32_t node : nodes_of(tasks)) visit(node);
  }
}

}  // namespace

JobRec& Core::create_job(JobId id, const JobSpec& spec) {
  JobRec& job = state.jobs.add(id);
  job.spec = spec;
  job.submitted = state.now;
  job.queue = owners.find(spec.queue);
  job.user = spec.user.empty() ? kNone : user_of(spec.user);
  set_shape(job, spec.shape);
  if (spec.group.valid()) state.groups[spec.group].members.push_back(id);
  if (spec.deadline) with_deadline.insert(id);
  for (const Dependency& d : spec.dependencies) {
    if (d.job.valid()) dependents[d.job].push_back(id);
    if (d.group.valid()) group_dependents[d.group].push_back(id);
  }
  return job;
}

void Core::set_shape(JobRec& job, const JobShape& shape) {
  job.shape = shape;
  const auto known = static_cast<ShapeIndex>(requests.size());
  job.shape_index = requests.intern(shape);
  if (job.shape_index == known) requests.compile(known, state, topology, ledger);
  job.task_milli = requests.at(job.shape_index).milli_most;
}

void Core::count_pending(const JobRec& job, std::int64_t sign) {
  for (QueueIndex q = job.queue; q > 0; q = state.queues[q].parent) {
    state.queues[q].pending += sign;
  }
  if (job.user != kNone) state.users[job.user].pending += sign;
}

void Core::set_gate(JobRec& job, Gate gate, bool closed) {
  const std::uint8_t before = job.gates;
  const auto after = static_cast<std::uint8_t>(closed ? before | gate : before & ~gate);
  if (after == before) return;
  if (before == 0 && job.pending()) {
    waiting.erase(job);
    plan.leave(job.id);
    shares_stale = true;
  }
  job.gates = after;
  if (after == 0 && job.pending()) {
    waiting.insert(job);
    plan.join(job.id);
    shares_stale = true;
  }
}

Core::Standing Core::standing_of(const Dependency& d) const {
  if (d.group.valid()) {
    const auto found = state.groups.find(d.group);
    if (found == state.groups.end()) return {true, false};  // forgotten: it was met long ago
    const GroupRec& group = found->second;
    switch (d.kind) {
      case DependencyKind::kAfter:
        return {group.started == group.size, group.never_started > 0};
      case DependencyKind::kAfterOk:
        return {group.done == group.size, group.ended > group.done};
      case DependencyKind::kAfterAny: return {group.ended == group.size, false};
    }
  }
  const JobRec* on = state.jobs.find(d.job);
  if (on == nullptr) return {true, false};
  switch (d.kind) {
    case DependencyKind::kAfter:
      return {on->first_started.has_value(), on->final() && !on->first_started};
    case DependencyKind::kAfterOk: {
      const bool done = on->final() && on->final_state == JobState::kDone;
      return {done, on->final() && !done};
    }
    case DependencyKind::kAfterAny: return {on->final(), false};
  }
  return {};
}

void Core::refresh_dependencies(JobRec& job) {
  bool waits = false;
  bool never = false;
  for (const Dependency& d : job.spec.dependencies) {
    const Standing standing = standing_of(d);
    waits = waits || !standing.met;
    never = never || standing.dead;
  }
  if (never && state.policy.dependency_never == DependencyNever::kCancel) {
    finish(job, JobState::kCancelled, "dependency_never");
    return;
  }
  set_gate(job, kGateNever, never);
  set_gate(job, kGateDependency, waits && !never);
}

void Core::wait_for_begin(JobRec& job) {
  const auto begin = job.begins_at();
  const bool later = begin && *begin > state.now;
  if (later) begin_timers.insert({*begin, job.id});
  set_gate(job, kGateBegin, later);
}

void Core::wake_dependents(const JobRec& job) {
  const auto wake = [this](const std::vector<JobId>& ids) {
    for (const JobId id : ids) {
      JobRec* dependent = state.jobs.find(id);
      if (dependent != nullptr && dependent->pending()) refresh_dependencies(*dependent);
    }
  };
  // Copies: finishing a dependent wakes its own dependents, which may add to these maps.
  if (const auto found = dependents.find(job.id); found != dependents.end()) {
    wake(std::vector<JobId>(found->second));
  }
  if (const auto found = group_dependents.find(job.spec.group);
      job.spec.group.valid() && found != group_dependents.end()) {
    wake(std::vector<JobId>(found->second));
  }
}

void Core::settle_account(JobRec& job) {
  Account& a = job.account;
  const Int128 passed = (state.now - a.since).ns();
  a.since = state.now;
  if (passed <= 0 || a.milli == 0) return;
  const Int128 held = passed * a.milli;
  a.gpu_time += held;
  a.cost += passed * a.cost_rate;
  if (a.busy_per_mille < 0) return;
  a.gpu_time_busy += held * a.busy_per_mille / 1000;
  a.gpu_time_idle += held * (1000 - a.busy_per_mille) / 1000;
  state.cluster.gpu_time_busy += held * a.busy_per_mille / 1000;
}

void Core::set_account(JobRec& job, std::int64_t milli_delta, Int128 cost_delta) {
  settle_account(job);
  job.account.milli += milli_delta;
  job.account.cost_rate += cost_delta;
  owners.use(job.queue, state.now, milli_delta, job.spec.charge);
  if (job.user != kNone) {
    UserRec& user = state.users[job.user];
    user.gpu_time += static_cast<Int128>((state.now - user.since).ns()) * user.milli;
    user.since = state.now;
    user.milli += milli_delta;
  }
  settle_cluster();
  state.cluster.milli += milli_delta;
  state.cluster.cost_rate_held += cost_delta;
}

void Core::settle_cluster() {
  ClusterRec& c = state.cluster;
  const Int128 passed = (state.now - c.since).ns();
  c.since = state.now;
  if (passed <= 0) return;
  c.gpu_time += passed * c.milli;
  c.gpu_time_healthy += passed * c.healthy * 1000;
  c.cost += passed * c.cost_rate;
  c.cost_held += passed * c.cost_rate_held;
}

void Core::occupy(JobRec& job, const Tasks& tasks, std::int64_t sign) {
  set_account(job, sign * milli_of(tasks), cost_of(state, tasks) * sign);
}

void Core::hold_for_limits(JobRec& job, std::int64_t milli) {
  owners.hold(job.queue, milli, job.spec.charge);
  if (job.user != kNone) state.users[job.user].held += milli;
  shares_stale = true;
}

void Core::set_timers(const JobRec& job, bool on) {
  const auto set = [&](TimerSet& timers, const std::optional<Instant>& at) {
    if (!at) return;
    if (on) {
      timers.insert({*at, job.id});
    } else {
      timers.erase({*at, job.id});
    }
  };
  set(limit_timers, job.limit_ends());
  set(contract_timers, job.contract_ends());
  if (on) takeable_jobs.put(job);
}

void Core::make_claim(JobRec& job, Claim claim) {
  waiting.erase(job);
  count_pending(job, -1);
  const Duration grace = state.policy.grace;
  for (Victim& v : claim.victims) {
    JobRec& victim = this->job(v.job);
    victim.tie_rule = claim.tie_rule;
    if (v.whole) {
      ledger.give(victim.held);
      hold_for_limits(victim, -v.milli);
      victim.yielded = true;
      order_stop(victim, StopCause::kPreempted, job.id, grace);
    } else {
      order_shrink(victim, v.tasks, StopCause::kPreempted, job.id, grace);
    }
    job.victims.push_back(v.job);
  }
  ledger.take(claim.tasks);
  // What the victims held beyond the claim stays theirs until they are gone.
  for (const Victim& v : claim.victims) {
    JobRec& victim = this->job(v.job);
    Tasks rest;
    const Tasks& leaving = v.whole ? victim.held : v.tasks;
    for (const TaskAlloc& task : leaving) rest.push_back(ledger.take_rest(task));
    if (v.whole) {
      victim.held = std::move(rest);
    } else {
      victim.leaving.insert(victim.leaving.end(), rest.begin(), rest.end());
    }
  }
  job.phase = Phase::kClaiming;
  job.held = std::move(claim.tasks);
  hold_for_limits(job, milli_of(job.held));
  if (job.spec.group.valid()) ++state.groups[job.spec.group].active;
  active.insert(job.id);
  claiming.insert(job.id);
  note_unsettled(job);
  plan.invalidate();
  reservation.reset();
}

void Core::drop_claim(JobRec& job) {
  ledger.give(job.held);
  hold_for_limits(job, -milli_of(job.held));
  job.held.clear();
  for (const JobId id : job.victims) keep_until_gone(this->job(id));
  job.victims.clear();
  if (job.spec.group.valid()) --state.groups[job.spec.group].active;
  active.erase(job.id);
  claiming.erase(job.id);
  unsettled.erase(job.id);
  job.phase = Phase::kPending;
  count_pending(job, 1);
  if (job.gates == 0) waiting.insert(job);
  plan.invalidate();
}

/// A victim whose claimant gave up leaves all the same, and holds its whole place until it is gone.
void Core::keep_until_gone(JobRec& victim) {
  const auto retake = [this](Tasks& part, const Tasks& all) {
    ledger.give(part);
    part.clear();
    for (const TaskAlloc& task : all) part.push_back(ledger.take_rest(task));
  };
  if (!victim.leaving_alloc.empty()) retake(victim.leaving, victim.leaving_alloc);
  if (!victim.yielded) return;
  Tasks whole = victim.alloc;
  for (const TaskAlloc& gone : victim.leaving_alloc) {
    std::erase_if(whole, [&](const TaskAlloc& t) { return t.rank == gone.rank; });
  }
  retake(victim.held, whole);
}

void Core::order_start(JobRec& job, Tasks tasks) {
  const bool claimed = job.phase == Phase::kClaiming;
  if (!claimed) {
    waiting.erase(job);
    count_pending(job, -1);
    job.held = std::move(tasks);
    take_present(job);
    hold_for_limits(job, milli_of(job.held));
    if (job.spec.group.valid()) ++state.groups[job.spec.group].active;
    active.insert(job.id);
  }
  claiming.erase(job.id);
  job.victims.clear();
  job.alloc = job.held;
  job.phase = Phase::kStarting;
  note_unsettled(job);
  job.stop_ordered = false;
  job.leaves_at.reset();
  ++job.attempts;
  occupy(job, job.alloc, 1);
  AttemptRec& attempt = job.history.emplace_back();
  attempt.number = job.attempts;
  attempt.ordered = state.now;
  attempt.nodes = nodes_of(job.alloc);
  for (const std::int32_t n : attempt.nodes) {
    change_node(n, [](NodeRec& node) { ++node.running; });
  }
  for (QueueIndex q = job.queue; q > 0; q = state.queues[q].parent) ++state.queues[q].running;
  if (job.user != kNone) ++state.users[job.user].running;
  if (job.shape.min_tasks > 0) elastic.insert(job.id);
  takeable_jobs.put(job);
  StartAttempt start{job.id, job.attempts, {}};
  start.allocation.tasks.reserve(job.alloc.size());
  for (const TaskAlloc& t : job.alloc) {
    start.allocation.tasks.push_back(
        {t.rank, state.nodes[t.node].spec.name, t.devices, t.cpus, Bytes(t.memory)});
  }
  decide(std::move(start));
}

void Core::started(JobRec& job) {
  if (job.phase == Phase::kStarting) job.phase = Phase::kRunning;
  if (!job.history.empty()) job.history.back().started = state.now;
  if (job.history.empty() || job.history.back().ordered != state.now) {
    // It will leave later than expected when it was ordered.
    plan.invalidate();
    reservation.reset();
  }
  job.started = state.now;
  job.launch_failures = 0;
  note_unsettled(job);
  note_leaves(job);
  set_timers(job, true);
  if (job.spec.interactive) {
    interactive.insert(job.id);
    job.warned_at.reset();
  }
  if (!job.first_started) {
    job.first_started = state.now;
    if (job.spec.group.valid()) ++state.groups[job.spec.group].started;
    wake_dependents(job);
  }
}

void Core::order_stop(JobRec& job, StopCause cause, JobId by, Duration grace) {
  job.stop_ordered = true;
  job.stop_cause = cause;
  job.stop_by = by;
  job.leaves_at = later(state.now, grace);
  job.phase = Phase::kStopping;
  takeable_jobs.stop(job);
  note_unsettled(job);
  plan.invalidate();
  reservation.reset();
  decide(StopAttempt{job.id, job.attempts, cause, by, grace});
}

void Core::order_shrink(JobRec& job, const Tasks& tasks, StopCause cause, JobId by,
                                Duration grace) {
  const Instant gone_at = later(state.now, grace);
  job.leaves_at = job.leaving_alloc.empty() ? gone_at : std::max(*job.leaves_at, gone_at);
  std::vector<std::int64_t> ranks;
  for (const TaskAlloc& gone : tasks) {
    ranks.push_back(gone.rank);
    ledger.give(gone);
    std::erase_if(job.held, [&](const TaskAlloc& t) { return t.rank == gone.rank; });
    job.leaving_alloc.push_back(gone);
    job.leaving_for.push_back(by);
  }
  hold_for_limits(job, -milli_of(tasks));
  note_unsettled(job);
  plan.invalidate();
  reservation.reset();
  decide(StopTasks{job.id, job.attempts, std::move(ranks), cause, by, grace});
}

void Core::release_leaving(JobRec& job, const std::vector<std::int64_t>& ranks) {
  Tasks all_gone;
  for (std::size_t i = job.leaving_alloc.size(); i-- > 0;) {
    const TaskAlloc task = job.leaving_alloc[i];
    if (std::find(ranks.begin(), ranks.end(), task.rank) == ranks.end()) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    ledger.give(job.leaving[i]);
    job.leaving.erase(job.leaving.begin() + at);
    job.leaving_alloc.erase(job.leaving_alloc.begin() + at);
    job.leaving_for.erase(job.leaving_for.begin() + at);
    all_gone.push_back(task);
  }
  occupy(job, all_gone, -1);
  for (const TaskAlloc& gone : all_gone) {
    std::erase_if(job.alloc, [&](const TaskAlloc& t) { return t.rank == gone.rank; });
    const bool still_there =
        std::any_of(job.alloc.begin(), job.alloc.end(),
                    [&](const TaskAlloc& t) { return t.node == gone.node; });
    if (!still_there) change_node(gone.node, [](NodeRec& node) { --node.running; });
  }
  for (const JobId id : claiming) {
    // Who took only tasks waits for no more than those, also when another took the rest.
    const bool whole = job.yielded && job.stop_by == id;
    const bool still = whole || std::find(job.leaving_for.begin(), job.leaving_for.end(), id) !=
                                    job.leaving_for.end();
    if (!still) std::erase(this->job(id).victims, job.id);
  }
  note_unsettled(job);
  reservation.reset();
}

void Core::release(JobRec& job) {
  // A preempted job left the counts for limits when its place was claimed, and tasks told to stop
  // did when they were told.
  if (!job.yielded) hold_for_limits(job, milli_of(job.leaving_alloc) - milli_of(job.alloc));
  job.yielded = false;
  give_present(job);
  occupy(job, job.alloc, -1);
  set_timers(job, false);
  for_each_node_of(job.alloc, [this](NodeIndex n) {
    change_node(n, [](NodeRec& node) { --node.running; });
  });
  for (QueueIndex q = job.queue; q > 0; q = state.queues[q].parent) --state.queues[q].running;
  if (job.user != kNone) --state.users[job.user].running;
  if (job.spec.group.valid()) --state.groups[job.spec.group].active;
  job.held.clear();
  job.leaving.clear();
  job.leaving_alloc.clear();
  job.leaving_for.clear();
  active.erase(job.id);
  unsettled.erase(job.id);
  interactive.erase(job.id);
  elastic.erase(job.id);
  takeable_jobs.erase(job.id);
  job.leaves_at.reset();
  shares_stale = true;
  victim_left(job.id);
}

void Core::victim_left(JobId victim) {
  for (const JobId id : claiming) std::erase(this->job(id).victims, victim);
}

}  // namespace rota::engine
