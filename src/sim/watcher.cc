#include "sim/watcher.h"

#include <algorithm>

#include "base/text.h"

namespace rota::sim {

namespace {

std::int64_t milli_of(const std::vector<TaskPlace>& places) {
  std::int64_t milli = 0;
  for (const auto& place : places) {
    for (const auto& share : place.devices) milli += share.gpus.value();
  }
  return milli;
}

}  // namespace

std::optional<Allocation> Watcher::adopt(const RunningStatement& statement, std::size_t job) {
  const JobShape& shape = scenario_.templates[scenario_.jobs[job].job_template].spec.shape;
  const auto& nodes = statement.nodes;
  Allocation allocation;
  const bool one_each = nodes.size() > 1 && shape.tasks == std::ssize(nodes);
  const std::size_t per_task =
      statement.devices.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, shape.tasks));
  for (std::int64_t task = 0; task < shape.tasks; ++task) {
    const auto index = static_cast<std::size_t>(task);
    std::optional<TaskPlace> place;
    if (!statement.devices.empty()) {
      const auto first = statement.devices.begin() + static_cast<std::ptrdiff_t>(index * per_task);
      place = book_.place_on(first->node, shape, task,
                             {first, first + static_cast<std::ptrdiff_t>(per_task)});
    } else if (one_each) {
      place = book_.place_task(nodes[index], shape, task);
    } else {
      for (std::size_t i = 0; i < nodes.size() && !place; ++i) {
        place = book_.place_task(nodes[i], shape, task);
      }
    }
    if (!place) {
      book_.release(allocation.tasks);
      return std::nullopt;
    }
    allocation.tasks.push_back(std::move(*place));
  }
  // The event that adopts the job takes the places again.
  book_.release(allocation.tasks);
  return allocation;
}

void Watcher::hold(JobId id, const std::vector<TaskPlace>& places) {
  Job& job = jobs_[id];
  for (const auto& broken : book_.take(places)) broken_.push_back(name(id) + " takes " + broken);
  job.places.insert(job.places.end(), places.begin(), places.end());
  count(job, milli_of(places));
}

void Watcher::count(const Job& job, std::int64_t milli) {
  held_by_user_[job.spec.user] += milli;
  for (std::string queue = job.spec.queue; !queue.empty();) {
    held_by_queue_[queue] += milli;
    const auto found = queues_.find(queue);
    queue = found == queues_.end() ? "" : found->second.parent;
  }
}

void Watcher::let_go(Job& job, const std::vector<TaskPlace>& places) {
  book_.release(places);
  for (const auto& place : places) {
    if (job.leaving.erase(place.task) == 0) count(job, -milli_of({place}));
  }
}

void Watcher::count_out(JobId id, const std::vector<std::int64_t>* tasks) {
  Job& job = jobs_[id];
  for (const auto& place : job.places) {
    const bool named = tasks == nullptr ||
                       std::find(tasks->begin(), tasks->end(), place.task) != tasks->end();
    if (named && job.leaving.insert(place.task).second) count(job, -milli_of({place}));
  }
}

void Watcher::check_limits(JobId id) {
  const Job& job = jobs_[id];
  // What holds no GPU makes nobody hold more, also where a lowered limit is exceeded.
  if (milli_of(job.places) == 0) return;
  const auto user = users_.find(job.spec.user);
  if (user != users_.end() && user->second.limit &&
      held_by_user_[job.spec.user] > user->second.limit->value()) {
    broken_.push_back("with " + name(id) + " user " + job.spec.user + " holds more than its limit");
  }
  for (std::string queue = job.spec.queue; !queue.empty();) {
    const auto found = queues_.find(queue);
    if (found == queues_.end()) return;
    const auto& limit = found->second.limit;
    if (limit && held_by_queue_[queue] > limit->value()) {
      broken_.push_back("with " + name(id) + " queue " + queue + " holds more than its limit");
    }
    queue = found->second.parent;
  }
}

void Watcher::see(Instant now, const Event& event) {
  if (const auto* e = std::get_if<NodeReported>(&event)) book_.add_node(e->node);
  if (const auto* e = std::get_if<QueueSet>(&event)) queues_[e->queue.name] = e->queue;
  if (const auto* e = std::get_if<UserSet>(&event)) users_[e->user.name] = e->user;
  if (const auto* e = std::get_if<JobSubmitted>(&event)) jobs_[e->job].spec = e->spec;
  if (const auto* e = std::get_if<JobUpdated>(&event)) jobs_[e->job].spec = e->spec;
  if (const auto* e = std::get_if<JobAdopted>(&event)) {
    Job& job = jobs_[e->job];
    job.spec = e->spec;
    job.attempt = 1;
    job.started = e->started;
    hold(e->job, e->allocation.tasks);
  }
  if (const auto* e = std::get_if<AttemptEnded>(&event)) {
    Job& job = jobs_[e->job];
    if (job.started) let_go(job, job.places);
    job.places.clear();
    job.started.reset();
    if (e->kind != EndKind::kStopped) disturb();
  }
  if (const auto* e = std::get_if<TasksEnded>(&event)) {
    Job& job = jobs_[e->job];
    std::vector<TaskPlace> gone;
    std::erase_if(job.places, [&](const TaskPlace& place) {
      const bool ended =
          std::find(e->tasks.begin(), e->tasks.end(), place.task) != e->tasks.end();
      if (ended) gone.push_back(place);
      return ended;
    });
    let_go(job, gone);
  }
  (void)now;
}

void Watcher::see(Instant now, const Decision& decision) {
  if (const auto* d = std::get_if<StartAttempt>(&decision)) start(now, *d);
  if (const auto* d = std::get_if<StopAttempt>(&decision)) {
    check_contract(now, d->job, d->cause);
    if (d->cause == StopCause::kPreempted) {
      claim(now, d->job, d->by, d->grace, Scope::kJob);
      count_out(d->job, nullptr);
    }
  }
  if (const auto* d = std::get_if<StopTasks>(&decision)) {
    const Job& job = jobs_[d->job];
    const auto left = std::ssize(job.places) - std::ssize(d->tasks);
    if (job.spec.shape.min_tasks > 0 && left < job.spec.shape.min_tasks) {
      broken_.push_back(name(d->job) + " is left with fewer tasks than min_tasks");
    }
    if (d->cause == StopCause::kPreempted) {
      claim(now, d->job, d->by, d->grace, Scope::kTasks);
      count_out(d->job, &d->tasks);
    }
  }
  if (const auto* d = std::get_if<GrowTasks>(&decision)) {
    hold(d->job, d->added.tasks);
    check_limits(d->job);
  }
  if (const auto* d = std::get_if<JobChanged>(&decision)) {
    jobs_[d->job].ended_for_good = is_final(d->state);
  }
}

void Watcher::start(Instant now, const StartAttempt& decision) {
  Job& job = jobs_[decision.job];
  const JobShape& shape = job.spec.shape;
  const auto tasks = std::ssize(decision.allocation.tasks);
  const std::int64_t least = shape.min_tasks > 0 ? shape.min_tasks : shape.tasks;
  if (job.started) broken_.push_back(name(decision.job) + " is started while it runs");
  if (tasks < least || tasks > shape.tasks) {
    broken_.push_back(name(decision.job) + " starts with " + std::to_string(tasks) + " of " +
                      std::to_string(shape.tasks) + " tasks");
  }
  if (decision.attempt <= job.attempt) {
    broken_.push_back(name(decision.job) + " starts attempt " + std::to_string(decision.attempt) +
                      " twice");
  }
  job.attempt = decision.attempt;
  job.started = now;
  hold(decision.job, decision.allocation.tasks);
  check_limits(decision.job);
  claims_.erase(decision.job);
}

void Watcher::check_contract(Instant now, JobId victim, StopCause cause) {
  const Job& job = jobs_[victim];
  const bool evicts = cause == StopCause::kPreempted || cause == StopCause::kDrain ||
                      cause == StopCause::kQuarantine;
  if (!evicts || !job.started) return;
  const auto& contract = job.spec.min_runtime;
  if (contract && now >= *job.started + *contract) return;
  broken_.push_back(name(victim) + " is stopped (" + std::string(name_of(cause)) +
                    ") although it is protected");
}

void Watcher::claim(Instant now, JobId victim, JobId by, Duration grace, Scope scope) {
  if (!by.valid()) return;
  const auto [at, is_new] = evictions_.try_emplace({victim, by}, disturbances_);
  const bool whole = scope == Scope::kJob;  // tasks of a job may go one by one
  if (whole && !is_new && at->second == disturbances_ && jobs_[victim].started != now) {
    broken_.push_back(name(victim) + " is evicted twice by " + name(by) +
                      " and nothing happened in between");
  }
  at->second = disturbances_;
  const Instant due = now + grace;
  const auto [entry, first] = claims_.try_emplace(by, Claim{now, due, disturbances_, victim});
  if (!first) entry->second.due = std::max(entry->second.due, due);
}

void Watcher::disturb() { ++disturbances_; }

void Watcher::settle(Instant now) {
  for (auto it = claims_.begin(); it != claims_.end();) {
    const Claim& claim = it->second;
    if (claim.due > now) {
      ++it;
      continue;
    }
    // What happened since the signal may have taken the freed place or the claimant away.
    const bool undisturbed = claim.disturbances == disturbances_;
    if (undisturbed && !jobs_[it->first].ended_for_good) {
      broken_.push_back(name(claim.victim) + " was stopped for " + name(it->first) +
                        ", which did not start then");
    }
    it = claims_.erase(it);
  }
}

}  // namespace rota::sim
