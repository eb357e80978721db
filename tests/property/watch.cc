#include "tests/property/watch.h"

#include <algorithm>

#include "base/text.h"

namespace rota::property {

namespace {

std::string word(JobId job) { return "J" + std::to_string(job.value()); }

std::uint32_t mig_mask(const DeviceShare& share) {
  return ((1U << share.mig_size) - 1U) << share.mig_start;
}

bool is_limit(ReasonCode code) {
  return code == ReasonCode::kQueueLimit || code == ReasonCode::kUserLimit ||
         code == ReasonCode::kArrayLimit;
}

bool is_plain(const JobShape& shape) {
  return shape.task.mig.empty() && shape.task.slots == 0 && shape.task.gpus.value() >= 1000 &&
         !shape.task.gpu_memory && shape.task.cpus == 0 && shape.task.memory.value() == 0 &&
         shape.models.empty() && shape.same == TopologyLevel::kNone && shape.on.empty() &&
         shape.exclude.empty() && shape.labels.empty() && shape.site.empty();
}

bool has_code(const Verdict& verdict, ReasonCode code) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [code](const Reason& reason) { return reason.code == code; });
}

}  // namespace

// ---- NodeBook ----

void NodeBook::release(JobId job, std::optional<std::int64_t> task) {
  std::erase_if(held_, [&](const auto& held) {
    return held.first == job && (!task || held.second.task == *task);
  });
}

std::string NodeBook::given_twice() const {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;
  for (const auto& [job, place] : held_) {
    cpus += place.cpus;
    memory += place.memory.value();
  }
  if (cpus > spec_.cpus) return "CPUs of " + spec_.name;
  if (memory > spec_.memory.value()) return "memory of " + spec_.name;
  for (std::int32_t d = 0; d < std::ssize(spec_.devices); ++d) {
    std::string twice = device_given_twice(d);
    if (!twice.empty()) return twice;
  }
  return {};
}

std::string NodeBook::device_given_twice(std::int32_t device) const {
  std::int64_t milli = 0;
  std::int64_t memory = 0;
  std::int64_t slots = 0;
  std::uint32_t mig = 0;
  bool twice = false;
  std::set<int> ways;
  std::string holders;
  for (const auto& [job, place] : held_) {
    for (const DeviceShare& share : place.devices) {
      if (share.device != device) continue;
      holders += " " + word(job);
      if (share.mig_start >= 0) {
        twice = twice || (mig & mig_mask(share)) != 0;
        mig |= mig_mask(share);
        ways.insert(3);
      } else if (share.slots > 0) {
        slots += share.slots;
        ways.insert(2);
      } else {
        milli += share.gpus.value();
        memory += share.memory.value();
        ways.insert(share.gpus == kWholeGpu ? 0 : 1);
      }
    }
  }
  twice = twice || milli > 1000 || memory > spec_.devices[device].memory.value() ||
          slots > spec_.slots || ways.size() > 1 || (spec_.mig && !ways.empty() && mig == 0);
  if (!twice) return {};
  return spec_.name + ":" + std::to_string(device) + " is given to" + holders;
}

std::int64_t NodeBook::untouched() const {
  std::set<std::int32_t> used;
  for (const auto& [job, place] : held_) {
    for (const DeviceShare& share : place.devices) used.insert(share.device);
  }
  return std::ssize(spec_.devices) - std::ssize(used);
}

// ---- Watch ----

Watch::Watch(const engine::Engine& engine, const Stage& stage) : engine_(&engine), stage_(stage) {}

void Watch::fail(Instant now, const std::string& text) {
  if (broken_.empty()) broken_ = "at " + format_duration(now - Instant()) + ": " + text;
}

void Watch::see(Instant now, const Event& event) {
  (void)now;
  if (const auto* e = std::get_if<NodeReported>(&event)) {
    const auto [place, added] = books_.try_emplace(e->node.name, e->node);
    if (!added) place->second.set_spec(e->node);
  }
  if (const auto* e = std::get_if<GroupSubmitted>(&event)) {
    if (e->throttle) throttles_[e->group] = *e->throttle;
  }
  if (const auto* e = std::get_if<JobSubmitted>(&event)) jobs_[e->job].spec = e->spec;
  if (const auto* e = std::get_if<JobCommanded>(&event)) jobs_[e->job].final = false;
  if (const auto* e = std::get_if<JobUpdated>(&event)) {
    const GroupId group = jobs_[e->job].spec.group;
    const auto contract = jobs_[e->job].spec.min_runtime;
    const bool holds = jobs_[e->job].holds;
    jobs_[e->job].spec = e->spec;
    jobs_[e->job].spec.group = group;
    if (holds) jobs_[e->job].spec.min_runtime = contract;
  }
  if (const auto* e = std::get_if<AttemptStarted>(&event)) {
    Job& job = jobs_[e->job];
    if (job.holds && job.attempt == e->attempt && !job.started) job.started = now;
    return;
  }
  if (const auto* e = std::get_if<TasksEnded>(&event)) return tasks_ended(*e);
  if (const auto* e = std::get_if<AttemptEnded>(&event)) {
    ended(*e);
    if (e->kind == EndKind::kStopped) return;
  }
  ++news_;
}

void Watch::ended(const AttemptEnded& fact) {
  Job& job = jobs_[fact.job];
  if (!job.holds || job.attempt != fact.attempt) return;
  job.holds = false;
  job.preempted = false;
  job.started.reset();
  job.tasks.clear();
  for (auto& [name, book] : books_) book.release(fact.job, std::nullopt);
  for (auto& [id, claim] : claims_) {
    claim.victims.erase(fact.job);
    claim.tasks.erase(fact.job);
  }
}

void Watch::tasks_ended(const TasksEnded& fact) {
  Job& job = jobs_[fact.job];
  if (!job.holds || job.attempt != fact.attempt) return;
  for (const std::int64_t task : fact.tasks) {
    job.tasks.erase(task);
    for (auto& [name, book] : books_) book.release(fact.job, task);
    for (auto& [id, claim] : claims_) {
      const auto left = claim.tasks.find(fact.job);
      if (left == claim.tasks.end()) continue;
      left->second.erase(task);
      if (left->second.empty()) claim.tasks.erase(left);
    }
  }
}

void Watch::see(Instant now, const Decision& decision) {
  if (const auto* d = std::get_if<StartAttempt>(&decision)) start(now, *d);
  if (const auto* d = std::get_if<StopAttempt>(&decision)) stop(now, *d);
  if (const auto* d = std::get_if<StopTasks>(&decision)) stop_tasks(now, *d);
  if (const auto* d = std::get_if<GrowTasks>(&decision)) grow(now, *d);
  if (const auto* d = std::get_if<JobChanged>(&decision)) jobs_[d->job].final = is_final(d->state);
}

void Watch::start(Instant now, const StartAttempt& order) {
  Job& job = jobs_[order.job];
  const JobShape& shape = job.spec.shape;
  const auto tasks = std::ssize(order.allocation.tasks);
  if (job.holds) fail(now, word(order.job) + " is started while it runs");
  if (order.attempt <= job.attempt) fail(now, word(order.job) + " starts an attempt twice");
  const std::int64_t least = shape.min_tasks > 0 ? shape.min_tasks : shape.tasks;
  if (tasks < least || tasks > shape.tasks) fail(now, word(order.job) + " starts in part");
  job.attempt = order.attempt;
  job.holds = true;
  job.preempted = false;
  job.ordered = now;
  job.started.reset();
  for (const TaskPlace& place : order.allocation.tasks) {
    NodeBook& book = books_.at(place.node);
    book.take(order.job, place);
    job.tasks.insert(place.task);
    const std::string twice = book.given_twice();
    if (!twice.empty()) fail(now, "with the start of " + word(order.job) + ": " + twice);
    const auto node = engine_->node(place.node);
    if (node->state != NodeState::kUp) {
      fail(now, word(order.job) + " starts on a node that takes nothing new");
    }
    for (const DeviceShare& share : place.devices) {
      const DeviceStatus& device = node->devices[share.device];
      if (!device.healthy || device.foreign || device.held_pid != 0) {
        fail(now, word(order.job) + " starts on a device that is out");
      }
    }
  }
  if (std::ssize(job.tasks) != tasks) fail(now, word(order.job) + " has a task twice");
  claims_.erase(order.job);
  // A limit that was lowered stops nobody, and a job without GPUs adds nothing to what is over it.
  if (milli_of(job, order.job) > 0) check_limits(now, job);
}

void Watch::grow(Instant now, const GrowTasks& order) {
  Job& job = jobs_[order.job];
  for (const TaskPlace& place : order.added.tasks) {
    books_.at(place.node).take(order.job, place);
    if (!job.tasks.insert(place.task).second) fail(now, word(order.job) + " grows a task twice");
    const std::string twice = books_.at(place.node).given_twice();
    if (!twice.empty()) fail(now, "with the growth of " + word(order.job) + ": " + twice);
  }
  if (std::ssize(job.tasks) > job.spec.shape.tasks) fail(now, word(order.job) + " grows too far");
  check_limits(now, job);
}

void Watch::stop(Instant now, const StopAttempt& order) {
  Job& job = jobs_[order.job];
  if (job.attempt != order.attempt) fail(now, word(order.job) + " is told to stop too late");
  if (!job.holds) {
    // Its end was told between the event that stops it and this decision.
    if (order.cause == StopCause::kPreempted) fail(now, word(order.job) + " is gone already");
    return;
  }
  const bool evicts = order.cause == StopCause::kPreempted || order.cause == StopCause::kDrain ||
                      order.cause == StopCause::kQuarantine;
  if (!evicts) return;
  const auto& contract = job.spec.min_runtime;
  const bool over = contract && (job.started ? now >= *job.started + *contract
                                             : contract->ns() == 0);
  if (!over) fail(now, word(order.job) + " is protected, but told to leave");
  if (order.cause != StopCause::kPreempted) return;
  job.preempted = true;
  note_claim(now, order.job, order.by);
  claims_[order.by].victims[order.job] = order.attempt;
}

void Watch::stop_tasks(Instant now, const StopTasks& order) {
  Job& job = jobs_[order.job];
  if (!job.holds || job.attempt != order.attempt) {
    fail(now, word(order.job) + " is told to shrink but does not run");
  }
  for (const std::int64_t task : order.tasks) {
    if (!job.tasks.contains(task)) fail(now, word(order.job) + " has no such task to stop");
  }
  if (order.cause != StopCause::kPreempted) return;
  note_claim(now, order.job, order.by);
  claims_[order.by].tasks[order.job].insert(order.tasks.begin(), order.tasks.end());
}

void Watch::note_claim(Instant now, JobId victim, JobId by) {
  const auto claimant = engine_->job(by);
  if (!by.valid() || !claimant || jobs_[by].holds) {
    return fail(now, word(victim) + " is preempted for nobody who waits");
  }
  const auto [claim, fresh] = claims_.try_emplace(by);
  if (fresh) claim->second.news = news_;
  // One claim may take several tasks of one job.
  const bool again = claim->second.victims.contains(victim) ||
                     claim->second.tasks.contains(victim);
  if (!again && jobs_[victim].spec.charge && engine_->policy().fairness == FairnessKind::kInstant) {
    const auto [seen, first] = evictions_.try_emplace({victim, by}, news_);
    if (!first && seen->second == news_ && jobs_[by].ordered > jobs_[victim].ordered) {
      fail(now, word(victim) + " is evicted twice by " + word(by) + " without any news");
    }
    seen->second = news_;
  }
}

void Watch::check_claims(Instant now) {
  for (auto it = claims_.begin(); it != claims_.end();) {
    const Claim& claim = it->second;
    if (!claim.victims.empty() || !claim.tasks.empty()) {
      ++it;
      continue;
    }
    // News since the claim may have taken its place away, or itself.
    if (claim.news == news_) {
      fail(now, word(it->first) + " does not start although its victims are gone");
    }
    it = claims_.erase(it);
  }
}

std::int64_t Watch::milli_of(const Job& job, JobId id) const {
  if (!job.holds || job.preempted) return 0;
  const auto status = engine_->job(id);
  std::int64_t sum = 0;
  for (const TaskPlace& place : status->allocation.tasks) {
    const bool leaving = std::any_of(claims_.begin(), claims_.end(), [&](const auto& claim) {
      const auto tasks = claim.second.tasks.find(id);
      return tasks != claim.second.tasks.end() && tasks->second.contains(place.task);
    });
    if (leaving || !job.tasks.contains(place.task)) continue;
    for (const DeviceShare& share : place.devices) sum += share.gpus.value();
  }
  return sum;
}

void Watch::check_limits(Instant now, const Job& job) {
  const auto queue = engine_->queue(job.spec.queue);
  if (queue && queue->spec.limit) {
    std::int64_t held = 0;
    for (const auto& [id, other] : jobs_) {
      if (other.spec.queue == job.spec.queue) held += milli_of(other, id);
    }
    if (held > queue->spec.limit->value()) fail(now, "queue " + job.spec.queue + " is over limit");
  }
  const auto user = engine_->user(job.spec.user);
  if (user && user->spec.limit) {
    std::int64_t held = 0;
    for (const auto& [id, other] : jobs_) {
      if (other.spec.user == job.spec.user) held += milli_of(other, id);
    }
    if (held > user->spec.limit->value()) fail(now, "user " + job.spec.user + " is over limit");
  }
}

void Watch::check_throttles(Instant now) {
  for (const auto& [group, throttle] : throttles_) {
    std::int64_t running = 0;
    for (const auto& [id, job] : jobs_) {
      if (job.spec.group == group && job.holds) ++running;
    }
    // A lowered throttle stops nobody.
    if (running > std::max<std::int64_t>(throttle, 3)) fail(now, "a group passes its throttle");
  }
}

/// Whether a job of whole GPUs without further wishes has a place now; none: not such a job, or one
/// that cares for more than counts.
std::optional<bool> Watch::plain_job_fits(const JobSpec& spec) const {
  if (!is_plain(spec.shape)) return std::nullopt;
  const std::int64_t each = spec.shape.task.gpus.value() / 1000;
  const std::int64_t least = spec.shape.min_tasks > 0 ? spec.shape.min_tasks : spec.shape.tasks;
  std::map<std::string, std::int64_t> tasks_by_model;
  for (const std::string& name : engine_->node_names()) {
    const auto node = engine_->node(name);
    if (node->state != NodeState::kUp || node->spec->mig) continue;
    std::map<std::string, std::int64_t> free;
    for (const DeviceStatus& device : node->devices) {
      const bool out = !device.healthy || device.foreign || device.held_pid != 0;
      if (!out && device.jobs.empty()) ++free[device.spec.model];
    }
    for (const auto& [model, count] : free) tasks_by_model[model] += count / each;
  }
  return std::any_of(tasks_by_model.begin(), tasks_by_model.end(),
                     [&](const auto& entry) { return entry.second >= least; });
}

void Watch::check_verdict(Instant now, const JobStatus& status, const Verdict& verdict) {
  const std::string name = word(status.id);
  const bool lacks = has_code(verdict, ReasonCode::kInsufficientFree) ||
                     has_code(verdict, ReasonCode::kFragmented);
  for (const Reason& reason : verdict.reasons) {
    if (reason.code == ReasonCode::kInsufficientFree &&
        !(*reason.need > *reason.free && *reason.missing == *reason.need - *reason.free)) {
      fail(now, name + ": insufficient_free with numbers that do not say so");
    }
    if (reason.code == ReasonCode::kFragmented && status.spec->shape.task.slots == 0 &&
        status.spec->shape.task.mig.empty() &&
        !(*reason.need <= *reason.free && *reason.best < *reason.need)) {
      fail(now, name + ": fragmented with numbers that do not say so");
    }
    if (is_limit(reason.code) && *reason.need <= *reason.free) {
      fail(now, name + ": a limit with numbers that do not say so");
    }
  }
  const auto all_limits = std::all_of(verdict.reasons.begin(), verdict.reasons.end(),
                                      [](const Reason& r) { return is_limit(r.code); });
  const bool passed_over = has_code(verdict, ReasonCode::kReservedFor) ||
                           has_code(verdict, ReasonCode::kBehind);
  // Victims on their way out hold devices that no reason counts as free; leave such states alone.
  const bool leaving = !claims_.empty() ||
                       std::any_of(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
                         const auto other = engine_->job(entry.first);
                         return other && other->state == JobState::kStopping;
                       });
  // A retry keeps off the node it failed on, which is no wish of the job.
  const auto fits = status.attempts > 0 ? std::nullopt : plain_job_fits(*status.spec);
  if (!fits || leaving) return;
  if (lacks && *fits) fail(now, name + " is said to lack GPUs, but it has a place");
  if ((all_limits || passed_over) && !*fits) {
    fail(now, name + " is said to fit, but it has no place");
  }
  if (*fits && !all_limits && engine_->policy().backfill == Backfill::kGreedy &&
      !has_code(verdict, ReasonCode::kHeld) && !has_code(verdict, ReasonCode::kBeginTime) &&
      !has_code(verdict, ReasonCode::kDependency) &&
      !has_code(verdict, ReasonCode::kDependencyNever) && !lacks) {
    fail(now, name + " fits, but backfill=greedy does not start it");
  }
}

void Watch::check_verdicts(Instant now) {
  for (const JobId id : engine_->live_jobs()) {
    const auto status = engine_->job(id);
    if (status->state != JobState::kPending) continue;
    const auto verdict = engine_->explain(id);
    if (!verdict || verdict->reasons.empty()) {
      fail(now, word(id) + " waits without a reason");
      continue;
    }
    check_verdict(now, *status, *verdict);
    if (verdict->estimate && *verdict->estimate < now) {
      fail(now, word(id) + " is expected to start in the past");
    }
  }
}

void Watch::settled(Instant now) {
  for (const std::string& text : engine_->check_invariants()) fail(now, text);
  check_claims(now);
  check_throttles(now);
  check_verdicts(now);
}

}  // namespace rota::property
