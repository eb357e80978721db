// Verdicts: every binding reason with its numbers, from the state the last pass decided on.
#include <algorithm>

#include "engine/core.h"
#include "engine/explain.h"

namespace rota::engine {

namespace {

Reason reason_of(ReasonCode code) {
  Reason reason;
  reason.code = code;
  return reason;
}

void numbers(Reason& reason, std::int64_t need, std::int64_t free) {
  reason.need = need;
  reason.free = free;
  reason.missing = std::max<std::int64_t>(0, need - free);
}

}  // namespace

std::vector<JobId> Core::turn_order(std::size_t most) const {
  std::vector<JobId> out;
  const auto append = [&](QueueIndex queue) {
    const auto lane = waiting.lanes().find(queue);
    if (lane == waiting.lanes().end() || out.size() >= most) return;
    const auto jobs = waiting.in_order(lane->second, most - out.size());
    out.insert(out.end(), jobs.begin(), jobs.end());
  };
  if (state.policy.order != Order::kFair) {
    append(0);
    return out;
  }
  const JobRec* holder = state.jobs.find(state.reservation_holder);
  const QueueIndex holder_queue = holder == nullptr ? kNone : holder->queue;
  const auto visit = [&](const auto& self, QueueIndex q) -> void {
    std::vector<QueueIndex> children = state.queues[q].children;
    if (children.empty()) append(q);
    std::sort(children.begin(), children.end(), [&](QueueIndex a, QueueIndex b) {
      return owners.before(a, b, holder_queue);
    });
    for (const QueueIndex c : children) self(self, c);
  };
  visit(visit, 0);
  std::stable_partition(out.begin(), out.end(),
                        [this](JobId id) { return state.jobs.find(id)->spec.charge; });
  return out;
}

void Core::open_estimates() {
  // Beyond these an expected start would be a guess at the price of a long search.
  constexpr std::size_t kAheadCounted = 2'000;
  constexpr std::size_t kAheadGeneral = 64;
  if (estimates.ready) return;
  if (shares_stale) divide_shares();
  estimates = Estimates{};
  estimates.ready = true;
  const bool counted = requests.all_plain();
  estimates.order = turn_order(counted ? kAheadCounted : kAheadGeneral);
  if (counted) {
    estimates.counts = counted_timeline();
  } else {
    estimates.timeline.emplace(idle_ledger(), busy_intervals());
  }
}

/// Expected start of a job behind all that were kept before it; `keep` makes the later ones respect
/// it.
std::optional<Instant> Core::estimate_next(JobId next, bool keep) {
  const JobRec& job = *state.jobs.find(next);
  const PlanQuery query{request(job), job.tasks_min(), job.spec.time_limit, state.now};
  const auto end = [&](Instant at) -> std::optional<Instant> {
    if (!job.spec.time_limit) return std::nullopt;
    return later(at, *job.spec.time_limit);
  };
  std::optional<Instant> at;
  if (estimates.counts) {
    const auto found = estimates.counts->earliest(query);
    if (found) at = found->at;
    for (std::size_t i = 0; keep && found && i < found->tasks.size(); ++i) {
      const auto& [node, tasks] = found->tasks[i];
      estimates.counts->take(node, found->at, end(found->at), tasks * query.request.whole);
    }
  } else if (auto slot = estimates.timeline->earliest(placer, query)) {
    at = slot->at;
    if (keep) estimates.timeline->add({next, slot->at, end(slot->at), std::move(slot->tasks)});
  }
  const bool first = estimates.found.empty();
  if (first && any_preemptible()) {
    const auto held = reserve(job);
    if (held && (!at || held->at < *at)) at = held->at;
  }
  return at;
}

namespace {

/// Of a job that only its begin time holds back, and that would fit now: that time.
std::optional<Instant> at_its_begin(Core& core, const JobRec& job) {
  const std::int64_t tasks = job.tasks_min();
  if (core.room_in_limits(job, tasks) < tasks) return std::nullopt;
  const auto place = core.placer.place_most(core.ledger, core.request(job), tasks, tasks);
  return place ? job.begins_at() : std::nullopt;
}

}  // namespace

std::optional<Instant> Core::estimate(JobId id) {
  const JobRec* found = state.jobs.find(id);
  if (found == nullptr) return std::nullopt;
  const JobRec& target = *found;
  if (target.phase == Phase::kClaiming) {
    Instant start = state.now;
    for (const JobId v : target.victims) {
      const auto at = state.jobs.find(v)->leaves_at;
      if (at) start = std::max(start, *at);
    }
    return start;
  }
  if (target.pending() && target.gates == kGateBegin) return at_its_begin(*this, target);
  if (!target.pending() || target.gates != 0) return std::nullopt;
  if (reservation && reservation->job == id) return reservation->at;
  if (const auto entry = plan.entries.find(id); plan.valid && entry != plan.entries.end()) {
    return entry->second.at;
  }
  open_estimates();
  while (!estimates.found.contains(id) && estimates.next < estimates.order.size()) {
    const JobId next = estimates.order[estimates.next++];
    const JobRec& job = *state.jobs.find(next);
    // Jobs held back by a limit hold no reservation.
    const bool keep = room_in_limits(job, job.tasks_min()) >= job.tasks_min();
    const auto at = estimate_next(next, keep);
    estimates.found[next] = at;
  }
  const auto known = estimates.found.find(id);
  return known == estimates.found.end() ? std::nullopt : known->second;
}

namespace {

Reason never_met(const Core& core, const JobRec& job) {
  Reason reason = reason_of(ReasonCode::kDependencyNever);
  reason.waiting_helps = false;
  for (const Dependency& d : job.spec.dependencies) {
    if (!core.standing_of(d).dead) continue;
    reason.by_job = d.job;
    if (d.group.valid()) reason.by = "array " + std::to_string(d.group.value());
    break;
  }
  return reason;
}

void explain_gates(const Core& core, const JobRec& job, Verdict& verdict) {
  if ((job.gates & kGateHeld) != 0) {
    verdict.reasons.push_back(reason_of(ReasonCode::kHeld));
    verdict.reasons.back().waiting_helps = false;
  }
  if ((job.gates & kGateBegin) != 0) {
    verdict.reasons.push_back(reason_of(ReasonCode::kBeginTime));
    verdict.reasons.back().until = job.begins_at();
    const bool backs_off = job.not_before && job.begins_at() == job.not_before &&
                           job.spec.begin != job.not_before;
    if (backs_off) verdict.reasons.back().detail = "its processes vanished";
  }
  if ((job.gates & kGateNever) != 0) {
    verdict.reasons.push_back(never_met(core, job));
  }
  if ((job.gates & kGateDependency) == 0) return;
  verdict.reasons.push_back(reason_of(ReasonCode::kDependency));
  for (const Dependency& d : job.spec.dependencies) {
    const JobRec* on = core.state.jobs.find(d.job);
    if (on != nullptr && !on->final()) verdict.reasons.back().by_job = d.job;
  }
}

void explain_limits(const Core& core, const JobRec& job, Verdict& verdict) {
  const State& state = core.state;
  const std::int64_t need = job.task_milli * job.tasks_min();
  const auto add = [&](ReasonCode code, std::int64_t limit, std::int64_t held,
                       const std::string& by) {
    // What needs no GPU passes where a lowered limit is exceeded too.
    if (need == 0 || held + need <= limit) return;
    Reason reason = reason_of(code);
    reason.resource = ReasonResource::kGpu;
    reason.limit = limit;
    reason.by = by;
    reason.waiting_helps = need <= limit;
    numbers(reason, need, std::max<std::int64_t>(0, limit - held));
    verdict.reasons.push_back(std::move(reason));
  };
  const auto group = state.groups.find(job.spec.group);
  if (group != state.groups.end() && group->second.throttle &&
      group->second.active >= *group->second.throttle) {
    Reason reason = reason_of(ReasonCode::kArrayLimit);
    reason.limit = *group->second.throttle;
    numbers(reason, 1, std::max<std::int64_t>(0, *group->second.throttle - group->second.active));
    verdict.reasons.push_back(std::move(reason));
  }
  for (QueueIndex q = job.queue; q > 0; q = state.queues[q].parent) {
    const QueueRec& queue = state.queues[q];
    if (queue.spec.limit) {
      add(ReasonCode::kQueueLimit, queue.spec.limit->value(), queue.held_all, queue.spec.name);
    }
  }
  if (job.user != kNone && state.users[job.user].spec.limit) {
    const UserRec& user = state.users[job.user];
    add(ReasonCode::kUserLimit, user.spec.limit->value(), user.held, user.spec.name);
  }
}

void explain_order(Core& core, const JobRec& job, Verdict& verdict) {
  if (core.blocked_by && *core.blocked_by != job.id) {
    verdict.reasons.push_back(reason_of(ReasonCode::kBehind));
    verdict.reasons.back().by_job = *core.blocked_by;
    return;
  }
  JobId holder;
  if (core.reservation) {
    holder = core.reservation->job;
  } else if (core.state.policy.backfill == Backfill::kConservative) {
    for (const JobId id : core.turn_order(256)) {
      const JobRec& other = core.job(id);
      const bool limited = core.room_in_limits(other, other.tasks_min()) < other.tasks_min();
      if (id == job.id) break;
      if (limited) continue;
      holder = id;
      break;
    }
  }
  Reason reason = reason_of(ReasonCode::kReservedFor);
  reason.by_job = holder;
  if (core.reservation) reason.until = core.reservation->at;
  verdict.reasons.push_back(reason);
  if (job.spec.time_limit) return;
  reason.code = ReasonCode::kNoTimeLimit;
  verdict.reasons.push_back(std::move(reason));
}

}  // namespace

Result<Verdict> Core::explain(JobId id) {
  const JobRec* found = state.jobs.find(id);
  if (found == nullptr) {
    return Error{ErrorCode::kNotFound, "job " + std::to_string(id.value()) + " is not known", {}};
  }
  const JobRec& job = *found;
  Verdict verdict;
  verdict.job = id;
  verdict.state = job_status(job, Engine::Detail::kBrief).state;
  verdict.evicted_by = job.evicted_by;
  verdict.evicted_cause = job.evicted_cause;
  verdict.tie_rule = job.tie_rule;
  verdict.end_cause = job.end_cause;
  if (job.final()) {
    if (job.end_cause == "dependency_never") {
      verdict.reasons.push_back(never_met(*this, job));
    } else if (job.end_cause == "infeasible") {
      explain_infeasible(*this, job, verdict);
    }
    return verdict;
  }
  if (!job.pending() && job.phase != Phase::kClaiming) return verdict;
  if (shares_stale) divide_shares();
  explain_gates(*this, job, verdict);
  if ((job.gates & kGateInfeasible) != 0) explain_infeasible(*this, job, verdict);
  if (job.gates == kGateBegin) verdict.estimate = estimate(id);
  if (job.gates != 0) return verdict;
  if (job.phase == Phase::kClaiming) {
    Reason reason = reason_of(ReasonCode::kInsufficientFree);
    const TaskShape& task = job.shape.task;
    const std::int64_t milli = milli_of(job.held);
    const bool cpus = milli == 0 && task.cpus > 0;
    const std::int64_t each = cpus ? task.cpus : task.memory.value();
    reason.resource = milli > 0 ? ReasonResource::kGpu
                                : (cpus ? ReasonResource::kCpu : ReasonResource::kMemory);
    numbers(reason, milli > 0 ? milli : each * std::ssize(job.held), 0);
    reason.until = estimate(id);
    if (!job.victims.empty()) reason.by_job = job.victims.front();
    verdict.reasons.push_back(std::move(reason));
    verdict.estimate = estimate(id);
    return verdict;
  }
  explain_limits(*this, job, verdict);
  const bool limited = !verdict.reasons.empty();
  const auto place = placer.place_most(ledger, request(job), job.tasks_min(), job.tasks_min());
  if (!place) {
    explain_shortage(*this, job, verdict);
    explain_quota(*this, job, verdict);
    explain_elsewhere(*this, job, verdict);
  } else if (!limited) {
    explain_order(*this, job, verdict);
  }
  verdict.ahead = waiting.ahead(job);
  if (!limited) {
    verdict.estimate = estimate(id);
  } else if (const auto room = limits_open(*this, job)) {
    const auto place = estimate(id);
    if (place) verdict.estimate = std::max(*place, *room);
  }
  return verdict;
}

}  // namespace rota::engine
