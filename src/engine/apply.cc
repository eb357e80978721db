// Requests and facts, folded into the state one by one. An event that breaks a rule changes
// nothing.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/core.h"
#include "engine/mig.h"
#include "engine/pick.h"

namespace rota::engine {

namespace {

constexpr std::int64_t kTasksMax = 1'000'000;
constexpr std::int64_t kWeightMax = 1'000'000;
constexpr std::int64_t kPriorityMax = 1'000'000'000;
constexpr std::int64_t kAmountMax = 1'000'000;
constexpr Bytes kMemoryMax = gibibytes(1 << 20);
constexpr Duration kLongest = Duration::days(36'500);

Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), {}};
}
Error unknown(std::string message) { return {ErrorCode::kNotFound, std::move(message), {}}; }

/// A whole device, fraction, slice or instance with the amounts the ledger counts. False: no such
/// part of the device exists.
bool complete_share(DeviceShare& share, const DeviceCap& device, const std::string& model) {
  if (share.slots < 0 || share.memory.value() < 0) return false;
  if (share.mig_start >= 0) {
    const std::int32_t slices = mig_slices(model);
    const std::int32_t compute_slices = slices == 4 ? 4 : 7;
    const bool exists = device.mig && share.slots == 0 && share.mig_start < slices &&
                        share.mig_size > 0 && share.mig_size <= slices - share.mig_start &&
                        share.mig_compute > 0 && share.mig_compute <= compute_slices;
    share.gpus = MilliGpu(std::int64_t{1000} * share.mig_compute / compute_slices);
    share.memory = Bytes(device.memory_total / slices * share.mig_size);
    return exists && share.gpus.value() <= device.milli_free;
  }
  share.mig_start = -1;
  share.mig_size = share.mig_compute = 0;
  if (device.mig) return false;
  if (share.slots > 0) {
    if (share.slots > device.slots_total) return false;
    share.gpus = MilliGpu(std::int64_t{1000} * share.slots / device.slots_total);
    share.memory = Bytes();
    return true;
  }
  if (share.gpus.value() <= 0 || share.gpus > kWholeGpu) return false;
  if (share.gpus == kWholeGpu) {
    share.memory = Bytes(device.memory_total);
  } else if (share.memory.value() == 0) {
    share.memory = Bytes(device.memory_total * share.gpus.value() / 1000);
  }
  return true;
}

bool share_is_free(const DeviceShare& share, const DeviceCap& device) {
  if (share.mig_start >= 0) {
    const auto mask = ((1U << share.mig_size) - 1U) << share.mig_start;
    return device.mig && (device.mig_used & mask) == 0;
  }
  if (share.slots > 0) {
    return (device.mode == DeviceMode::kUnused || device.mode == DeviceMode::kSlots) &&
           device.slots_free >= share.slots;
  }
  if (share.gpus == kWholeGpu) return device.mode == DeviceMode::kUnused;
  return (device.mode == DeviceMode::kUnused || device.mode == DeviceMode::kFraction) &&
         device.milli_free >= share.gpus.value() && device.memory_free >= share.memory.value();
}

}  // namespace

Status Core::apply(Instant now, const Event& event) {
  const Instant before = state.now;
  const bool begun = state.begun;
  move_to(now);
  state_changes();
  Status status = std::visit([this](const auto& e) { return on(e); }, event);
  // What is refused is not remembered anywhere, so it may not move the time either.
  if (!status.ok()) {
    state.now = before;
    state.begun = begun;
  }
  return status;
}

void Core::move_to(Instant now) {
  if (state.begun && now <= state.now) return;
  if (!state.begun) {
    // The first instant is where all sums start.
    state.cluster.since = now;
    for (QueueRec& queue : state.queues) queue.since = now;
    for (UserRec& user : state.users) user.since = now;
  }
  state.begun = true;
  state.now = now;
}

Status check_policy(const Policy& p) {
  if (p.fairness != FairnessKind::kInstant && p.fairness_span.ns() <= 0) {
    return invalid("fairness needs a span greater than zero, as in window:7d");
  }
  if (p.retries < 0 || p.cpus_reserved_per_gpu < 0 || p.grace.ns() < 0 ||
      p.min_runtime_max.ns() < 0) {
    return invalid("retries, cpus_reserved_per_gpu, grace and min_runtime_max may not be negative");
  }
  if (p.quarantine_after && *p.quarantine_after < 1) {
    return invalid("quarantine_after must be at least 1");
  }
  const auto idle_time = [](const std::optional<Duration>& time) {
    return !time || (time->ns() > 0 && *time <= kLongest);
  };
  if (!idle_time(p.session_idle_warn) || !idle_time(p.session_idle_end)) {
    return invalid("session_idle_warn and session_idle_end must be greater than zero");
  }
  if (p.cpus_reserved_per_gpu > kAmountMax || p.grace > kLongest ||
      p.min_runtime_max > kLongest || p.fairness_span > kLongest) {
    return invalid("a number of the policy is out of range: times may be up to 36500d");
  }
  return {};
}

Status Core::on(const PolicySet& e) {
  const Policy& p = e.policy;
  if (Status sound = check_policy(p); !sound) return sound;
  Policy before = std::exchange(state.policy, p);
  before.backfill = p.backfill;
  if (before == p) {
    // Another back-fill rule changes who may start, and nothing that is counted.
    ++state.mix.version;
    refusals.clear();
    plan.invalidate();
    reservation.reset();
    return {};
  }
  for (NodeIndex n = 0; n < std::ssize(state.nodes); ++n) {
    const auto gpus = std::ssize(state.nodes[n].spec.devices);
    ledger.set_reserved(n, p.cpus_reserved_per_gpu * gpus);
    empty.set_reserved(n, p.cpus_reserved_per_gpu * gpus);
  }
  requests_changed();
  return {};
}

Status Core::on(const QueueSet& e) {
  const QueueSpec& spec = e.queue;
  if (spec.name.empty()) return invalid("a queue needs a name");
  if (spec.weight < 0 || spec.weight > kWeightMax) {
    return invalid("the weight of queue " + spec.name + " must be 0 to 1000000");
  }
  if ((spec.quota && spec.quota->value() < 0) || (spec.limit && spec.limit->value() < 0)) {
    return invalid("quota and limit of queue " + spec.name + " may not be negative");
  }
  const QueueIndex known = owners.find(spec.name);
  if (known != kNone) {
    const QueueIndex parent = state.queues[known].parent;
    const std::string before = parent > 0 ? state.queues[parent].spec.name : std::string();
    if (before != spec.parent) {
      return Error{ErrorCode::kConflict, "queue " + spec.name + " cannot move to another parent",
                   {}};
    }
    state.queues[known].spec = spec;
  } else {
    QueueIndex parent = 0;
    if (!spec.parent.empty()) parent = owners.find(spec.parent);
    if (parent == kNone) return unknown("queue " + spec.parent + " (the parent) is not known");
    bool has_jobs = false;
    state.jobs.for_each([&](const JobRec& job) {
      has_jobs = has_jobs || (parent > 0 && job.queue == parent && !job.final());
    });
    if (has_jobs) {
      return Error{ErrorCode::kConflict,
                   "queue " + spec.parent + " has jobs, so it cannot get children", {}};
    }
    QueueRec rec;
    rec.spec = spec;
    rec.parent = parent;
    rec.since = state.now;
    state.queues.push_back(std::move(rec));
    state.queues[parent].children.push_back(static_cast<QueueIndex>(state.queues.size()) - 1);
  }
  owners.tree_changed();
  shares_stale = true;
  plan.invalidate();
  return {};
}

Status Core::on(const UserSet& e) {
  if (e.user.name.empty()) return invalid("a user needs a name");
  state.users[user_of(e.user.name)].spec = e.user;
  return {};
}

UserIndex Core::user_of(const std::string& name) {
  const auto [place, added] =
      user_by_name.try_emplace(name, static_cast<UserIndex>(state.users.size()));
  if (added) {
    UserRec rec;
    rec.spec.name = name;
    rec.since = state.now;
    state.users.push_back(std::move(rec));
  }
  return place->second;
}

Status Core::on(const GroupSubmitted& e) {
  if (!e.group.valid() || e.size < 0 || (e.throttle && *e.throttle < 1)) {
    return invalid("a group needs an id, a size and a throttle of at least 1");
  }
  GroupRec& group = state.groups[e.group];
  // Waiting members count for demand as the throttle says, so they are counted anew.
  std::vector<JobId> members;
  for (const JobId id : group.members) {
    const JobRec* member = state.jobs.find(id);
    if (member != nullptr && member->pending() && member->gates == 0) members.push_back(id);
  }
  for (const JobId id : members) waiting.erase(job(id));
  group.size = e.size;
  group.throttle = e.throttle;
  for (const JobId id : members) waiting.insert(job(id));
  shares_stale = true;
  plan.invalidate();
  if (const auto found = group_dependents.find(e.group); found != group_dependents.end()) {
    for (const JobId id : std::vector<JobId>(found->second)) {
      JobRec* dependent = state.jobs.find(id);
      if (dependent != nullptr && dependent->pending()) refresh_dependencies(*dependent);
    }
  }
  return {};
}

Status Core::check_spec(const JobSpec& spec) const {
  const QueueIndex queue = owners.find(spec.queue);
  if (queue == kNone) return unknown("queue " + spec.queue + " is not known");
  if (!owners.is_leaf(queue)) {
    return invalid("queue " + spec.queue + " has children; jobs belong to queues without");
  }
  const TaskShape& task = spec.shape.task;
  const std::int64_t milli = task.gpus.value();
  if (milli < 0 || (milli > 1000 && milli % 1000 != 0) || milli > kTasksMax * 1000) {
    return invalid("gpus must be a whole number, or a fraction below 1");
  }
  if (task.slots < 0 || task.cpus < 0 || task.memory.value() < 0 || task.distinct_devices < 0 ||
      (task.gpu_memory && task.gpu_memory->value() < 0)) {
    return invalid("amounts may not be negative");
  }
  if (task.slots > kAmountMax || task.cpus > kAmountMax || task.memory > kMemoryMax ||
      (task.gpu_memory && *task.gpu_memory > kMemoryMax)) {
    return invalid("amounts may be up to 1000000 slots or CPUs and 1048576GiB of memory");
  }
  if (spec.priority > kPriorityMax || spec.priority < -kPriorityMax) {
    return invalid("priority must be -1000000000 to 1000000000");
  }
  if (task.distinct_devices > 0 && task.distinct_devices > task.slots) {
    return invalid("distinct_devices needs at least as many slots");
  }
  if (!task.mig.empty() && !is_mig_name(task.mig)) {
    return invalid("MIG profile " + task.mig + " is not of the form 1g.10gb");
  }
  if (spec.shape.tasks < 1 || spec.shape.tasks > kTasksMax || spec.shape.min_tasks < 0 ||
      spec.shape.min_tasks > spec.shape.tasks) {
    return invalid("tasks must be 1 to 1000000, and min_tasks at most tasks");
  }
  if ((spec.time_limit && spec.time_limit->ns() <= 0) ||
      (spec.min_runtime && spec.min_runtime->ns() < 0) ||
      (spec.checkpoint && spec.checkpoint->ns() <= 0)) {
    return invalid("a time limit and a checkpoint interval must be greater than zero");
  }
  if ((spec.time_limit && *spec.time_limit > kLongest) ||
      (spec.true_runtime && (spec.true_runtime->ns() < 0 || *spec.true_runtime > kLongest))) {
    return invalid("times may be up to 36500d");
  }
  if (spec.min_runtime && *spec.min_runtime > state.policy.min_runtime_max) {
    return Error{ErrorCode::kRefused, "min_runtime is longer than the policy's min_runtime_max",
                 {}};
  }
  if (spec.group.valid() && !state.groups.contains(spec.group)) {
    return unknown("the group of this member was not submitted");
  }
  return check_dependencies_known(spec);
}

Status Core::check_dependencies_known(const JobSpec& spec) const {
  for (const Dependency& d : spec.dependencies) {
    if (d.job.valid() == d.group.valid()) return invalid("a dependency names one job or group");
    if (d.job.valid() && state.jobs.find(d.job) == nullptr) {
      return unknown("job " + std::to_string(d.job.value()) + " of a dependency is not known");
    }
    if (d.group.valid() && !state.groups.contains(d.group)) {
      return unknown("array " + std::to_string(d.group.value()) +
                     " of a dependency is not known");
    }
  }
  return {};
}

Status Core::on(const JobSubmitted& e) {
  if (!e.job.valid() || state.jobs.find(e.job) != nullptr ||
      e.job.value() > state.jobs.id_end() + JobTable::kIdSpan) {
    return Error{ErrorCode::kConflict, "job id is in use or out of range", {}};
  }
  if (Status ok = check_spec(e.spec); !ok) return ok;
  JobRec& job = create_job(e.job, e.spec);
  const TaskShape& task = job.shape.task;
  state.mix.add({job.task_milli, task.cpus, task.memory.value(), job.shape.models},
                job.shape.tasks);
  count_pending(job, 1);
  waiting.insert(job);
  plan.join(job.id);
  shares_stale = true;
  if (job.spec.held) set_gate(job, kGateHeld, true);
  wait_for_begin(job);
  refresh_infeasible(job);
  const bool refuse = state.policy.infeasible == Infeasible::kRefuse || !job.spec.hold_infeasible;
  if ((job.gates & kGateInfeasible) != 0 && refuse) {
    finish(job, JobState::kCancelled, "infeasible");
    return {};
  }
  if (!job.spec.dependencies.empty()) refresh_dependencies(job);
  return {};
}

bool Core::could_ever_run(const JobRec& job) {
  const auto cached = feasible_cache.find(job.shape_index);
  if (cached != feasible_cache.end()) return cached->second;
  const bool can = placer.place(empty, request(job), job.tasks_min()).has_value();
  feasible_cache[job.shape_index] = can;
  return can;
}

void Core::refresh_infeasible(JobRec& job) {
  const bool can = could_ever_run(job);
  if (can) {
    infeasible.erase(job.id);
  } else {
    infeasible.insert(job.id);
  }
  set_gate(job, kGateInfeasible, !can);
}

Result<Tasks> Core::tasks_from(const Allocation& allocation) const {
  Tasks tasks;
  Ledger trial = ledger;
  for (const TaskPlace& place : allocation.tasks) {
    const auto node = node_by_name.find(place.node);
    if (node == node_by_name.end()) return unknown("node " + place.node + " is not known");
    const bool again = std::any_of(tasks.begin(), tasks.end(), [&](const TaskAlloc& t) {
      return t.rank == place.task;
    });
    if (place.task < 0 || place.task > kTasksMax || again) {
      return invalid("the tasks of an adopted job need different numbers from 0 on");
    }
    TaskAlloc task{node->second, static_cast<std::int32_t>(place.task), place.devices, place.cpus,
                   place.memory.value()};
    const NodeFree& host = trial.node(task.node).free;
    if (task.cpus < 0 || task.memory < 0 || task.cpus > host.cpus || task.memory > host.memory) {
      return Error{ErrorCode::kConflict,
                   "node " + place.node + " has not the CPUs or memory free for this job", {}};
    }
    std::vector<std::int32_t> seen;
    for (DeviceShare& share : task.devices) {
      const auto& devices = trial.node(task.node).devices;
      if (share.device < 0 || share.device >= std::ssize(devices)) {
        return unknown("node " + place.node + " has no device " + std::to_string(share.device));
      }
      const DeviceCap& device = devices[share.device];
      const bool twice = std::find(seen.begin(), seen.end(), share.device) != seen.end();
      const std::string& model = state.nodes[task.node].spec.devices[share.device].model;
      if (twice || !complete_share(share, device, model) || !share_is_free(share, device)) {
        return Error{ErrorCode::kConflict,
                     "device " + std::to_string(share.device) + " of node " + place.node +
                         " is not free for this job",
                     {}};
      }
      seen.push_back(share.device);
    }
    trial.take(task);
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return invalid("an adopted job needs a place");
  return tasks;
}

Status Core::on(const JobAdopted& e) {
  if (!e.job.valid() || state.jobs.find(e.job) != nullptr ||
      e.job.value() > state.jobs.id_end() + JobTable::kIdSpan) {
    return Error{ErrorCode::kConflict, "job id is in use or out of range", {}};
  }
  if (Status ok = check_spec(e.spec); !ok) return ok;
  auto tasks = tasks_from(e.allocation);
  if (!tasks) return tasks.error();
  const JobShape& shape = e.spec.shape;
  if (std::ssize(*tasks) > shape.tasks ||
      std::ssize(*tasks) < (shape.min_tasks > 0 ? shape.min_tasks : shape.tasks)) {
    return invalid("an adopted job runs with another number of tasks than it asks for");
  }
  const Instant started_at = std::min(state.now, e.started);
  JobRec& job = create_job(e.job, e.spec);
  job.submitted = started_at;
  count_pending(job, 1);
  waiting.insert(job);
  order_start(job, std::move(*tasks));
  queued.pop_back();  // it runs already: nobody has to start it
  started(job);
  set_timers(job, false);
  job.started = job.first_started = job.history.back().started = started_at;
  note_leaves(job);
  set_timers(job, true);
  return {};
}

Status Core::on(const JobCommanded& e) {
  JobRec* found = state.jobs.find(e.job);
  if (found == nullptr) return unknown("job " + std::to_string(e.job.value()) + " is not known");
  JobRec& job = *found;
  const auto conflict = [&](std::string_view rule) {
    return Error{ErrorCode::kConflict,
                 "job " + std::to_string(e.job.value()) + " " + std::string(rule), {}};
  };
  switch (e.verb) {
    case JobVerb::kCancel:
      if (job.final()) return conflict("has ended already");
      if (job.phase == Phase::kClaiming) drop_claim(job);
      if (job.pending()) {
        finish(job, JobState::kCancelled, "cancelled");
      } else if (!job.stop_ordered || job.stop_cause != StopCause::kCancelled) {
        order_stop(job, StopCause::kCancelled, JobId(), Duration());
      }
      return {};
    case JobVerb::kHold:
      if (job.final()) return conflict("has ended already");
      if (job.phase == Phase::kClaiming) drop_claim(job);
      if (!job.pending()) return conflict("is running; only waiting jobs can be held");
      set_gate(job, kGateHeld, true);
      return {};
    case JobVerb::kRelease:
      if (job.final()) return conflict("has ended already");
      set_gate(job, kGateHeld, false);
      return {};
    case JobVerb::kRequeue:
      if (job.final() && !owners.is_leaf(job.queue)) {
        return conflict("belongs to a queue that has children by now");
      }
      if (job.final()) {
        restart(job);
      } else if (job.phase == Phase::kStarting || job.phase == Phase::kRunning) {
        order_stop(job, StopCause::kRequeued, JobId(), Duration());
      } else {
        return conflict("is waiting already");
      }
      return {};
  }
  return {};
}

Status Core::on(const JobUpdated& e) {
  JobRec* found = state.jobs.find(e.job);
  if (found == nullptr) return unknown("job " + std::to_string(e.job.value()) + " is not known");
  JobRec& job = *found;
  if (job.final() || job.phase == Phase::kClaiming || job.phase == Phase::kStopping) {
    return Error{ErrorCode::kConflict, "a job that ends or has ended cannot be changed", {}};
  }
  JobSpec spec = e.spec;
  spec.group = job.spec.group;
  spec.group_index = job.spec.group_index;
  spec.dependencies = job.spec.dependencies;
  if (Status ok = check_spec(spec); !ok) return ok;
  const auto disturb = [this] {
    plan.invalidate();
    reservation.reset();
    future.forget();
    shares_stale = true;
  };
  if (job.pending()) {
    disturb();
    if (job.gates == 0) waiting.erase(job);
    count_pending(job, -1);
    if (const auto begin = job.begins_at()) begin_timers.erase({*begin, job.id});
    job.spec = spec;
    job.moved_before.reset();
    if (spec.deadline) {
      with_deadline.insert(job.id);
    } else {
      with_deadline.erase(job.id);
    }
    job.queue = owners.find(spec.queue);
    job.user = spec.user.empty() ? kNone : user_of(spec.user);
    set_shape(job, spec.shape);
    count_pending(job, 1);
    if (job.gates == 0) waiting.insert(job);
    wait_for_begin(job);
    refresh_infeasible(job);
    return {};
  }
  JobShape shape = spec.shape;
  shape.tasks = job.shape.tasks;
  shape.exclude = job.shape.exclude;
  if (!(shape == job.shape) || spec.queue != job.spec.queue || spec.user != job.spec.user ||
      (spec.shape.tasks != job.shape.tasks && job.shape.min_tasks == 0)) {
    return Error{ErrorCode::kConflict,
                 "of a running job only priority, time limit and the tasks of an elastic job can "
                 "change",
                 {}};
  }
  disturb();
  set_timers(job, false);
  job.spec.priority = spec.priority;
  job.spec.time_limit = spec.time_limit;
  job.spec.shape.tasks = spec.shape.tasks;
  shape.tasks = spec.shape.tasks;
  set_shape(job, shape);
  set_timers(job, true);
  Tasks surplus;
  for (std::int64_t i = std::ssize(job.held) - 1; i >= shape.tasks; --i) {
    surplus.push_back(job.held[i]);
  }
  if (surplus.empty()) return {};
  order_shrink(job, surplus, StopCause::kCancelled, JobId(), Duration());
  for (const TaskAlloc& task : surplus) job.leaving.push_back(ledger.take_rest(task));
  return {};
}

Status Core::on(const UsageRecorded& e) {
  const QueueIndex queue = owners.find(e.queue);
  if (queue == kNone) return unknown("queue " + e.queue + " is not known");
  if (e.to < e.from || e.milli_gpu_seconds < 0) return invalid("usage needs from <= to");
  const Instant first = later(Instant(), Duration() - kLongest);
  if (e.from < first || e.to > later(Instant(), kLongest) ||
      e.milli_gpu_seconds > 1'000'000'000'000'000) {
    return invalid("usage of queue " + e.queue + " is out of range");
  }
  const Int128 amount = static_cast<Int128>(e.milli_gpu_seconds) * 1'000'000'000;
  for (QueueIndex q = queue; q != kNone; q = state.queues[q].parent) {
    state.queues[q].usage.add_past(e.from, e.to, amount);
  }
  shares_stale = true;
  return {};
}

Status Core::on(const AttemptStarted& e) {
  JobRec* job = state.jobs.find(e.job);
  if (job == nullptr || !job->holds_devices() || e.attempt != job->attempts ||
      job->history.back().started) {
    return {};
  }
  started(*job);
  return {};
}

Status Core::on(const AttemptEnded& e) {
  JobRec* job = state.jobs.find(e.job);
  if (job != nullptr && job->holds_devices() && e.attempt == job->attempts) ended(*job, e);
  return {};
}

Status Core::on(const TasksEnded& e) {
  JobRec* job = state.jobs.find(e.job);
  if (job == nullptr || !job->holds_devices() || e.attempt != job->attempts) return {};
  if (!job->leaving_alloc.empty()) release_leaving(*job, e.tasks);
  return {};
}

Status Core::on(const ActivityMeasured& e) {
  JobRec* job = state.jobs.find(e.job);
  if (job == nullptr) return unknown("job " + std::to_string(e.job.value()) + " is not known");
  if (e.busy_per_mille && (*e.busy_per_mille < 0 || *e.busy_per_mille > 1000)) {
    return invalid("activity must be 0 to 1000 thousandths");
  }
  settle_account(*job);
  job->account.busy_per_mille = e.busy_per_mille.value_or(-1);
  if (e.busy_per_mille != 0) {
    job->idle_since.reset();
    job->warned_at.reset();
  } else if (!job->idle_since) {
    job->idle_since = state.now;
  }
  return {};
}

}  // namespace rota::engine
