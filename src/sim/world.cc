#include "sim/world.h"

#include <algorithm>

namespace rota::sim {

namespace {

std::int64_t count_of(const std::vector<TaskPlace>& places) { return std::ssize(places); }

bool uses_device(const std::vector<TaskPlace>& places, const std::string& node,
                 std::int32_t device) {
  return std::any_of(places.begin(), places.end(), [&](const TaskPlace& place) {
    return place.node == node &&
           std::any_of(place.devices.begin(), place.devices.end(),
                       [device](const DeviceShare& share) { return share.device == device; });
  });
}

}  // namespace

void World::add_job(JobId id, const WorldJob& job) { jobs_[id] = Job{job, 0}; }

Int128 World::total(const Job& job) const {
  return static_cast<Int128>(job.wish.runs->ns()) * job.wish.tasks;
}

void World::update(Instant now, JobId id, Attempt& attempt) {
  Job& job = jobs_[id];
  const Int128 rate = count_of(attempt.places);
  if (job.wish.checkpoint && now > attempt.started) {
    const std::int64_t interval = job.wish.checkpoint->ns();
    const std::int64_t passed = (now - attempt.started).ns();
    const Instant saved_at = attempt.started + Duration(passed / interval * interval);
    if (saved_at > attempt.updated) {
      job.saved = attempt.done + rate * (saved_at - attempt.updated).ns();
    } else if (saved_at == attempt.updated && saved_at > attempt.started) {
      job.saved = attempt.done;
    }
  }
  attempt.done += rate * (now - attempt.updated).ns();
  attempt.updated = now;
}

void World::resize(Instant now, JobId id, std::int64_t tasks) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || tasks < 1) return;
  Job& job = found->second;
  const auto running = active_.find(id);
  if (running != active_.end()) update(now, id, running->second);
  const std::int64_t before = job.wish.tasks;
  job.wish.tasks = tasks;
  job.saved = job.saved * tasks / before;
  if (running == active_.end()) return;
  running->second.done = running->second.done * tasks / before;
  schedule(id, running->second);
}

void World::start(Instant now, JobId id, std::int64_t number,
                  const std::vector<TaskPlace>& places) {
  if (active_.contains(id)) return;
  Attempt attempt;
  attempt.number = number;
  attempt.started = now;
  attempt.updated = now;
  attempt.done = jobs_[id].saved;
  attempt.places = places;
  for (const auto& place : places) attempt.task_started[place.task] = now;
  schedule(id, active_[id] = std::move(attempt));
}

void World::grow(Instant now, const GrowTasks& decision) {
  const auto found = active_.find(decision.job);
  if (found == active_.end()) return;
  update(now, decision.job, found->second);
  for (const auto& place : decision.added.tasks) {
    found->second.places.push_back(place);
    found->second.task_started[place.task] = now;
  }
  schedule(decision.job, found->second);
}

void World::stop(Instant now, const StopAttempt& decision) {
  const auto found = active_.find(decision.job);
  if (found == active_.end() || found->second.number != decision.attempt) return;
  const Instant at = now + decision.grace;
  Attempt& attempt = found->second;
  attempt.stop_at = attempt.stop_at ? std::min(*attempt.stop_at, at) : at;
  schedule(decision.job, attempt);
}

void World::stop_tasks(Instant now, const StopTasks& decision) {
  const auto found = active_.find(decision.job);
  if (found == active_.end() || found->second.number != decision.attempt) return;
  found->second.task_stops.push_back({now + decision.grace, decision.tasks});
  schedule(decision.job, found->second);
}

std::optional<Instant> World::own_end(const Job& job, const Attempt& attempt) const {
  const Int128 rate = count_of(attempt.places);
  if (!job.wish.runs || rate == 0) return std::nullopt;
  const Int128 left = std::max<Int128>(0, total(job) - attempt.done);
  return attempt.updated + Duration(static_cast<std::int64_t>((left + rate - 1) / rate));
}

std::optional<std::pair<Instant, std::string>> World::failure(const Attempt& attempt) const {
  std::optional<std::pair<Instant, std::string>> first;
  if (fails_after_.empty()) return first;
  for (const auto& place : attempt.places) {
    const auto found = fails_after_.find(place.node);
    if (found == fails_after_.end()) continue;
    const Instant at = attempt.task_started.at(place.task) + found->second;
    if (!first || at < first->first) first = {at, place.node};
  }
  return first;
}

void World::schedule(JobId id, Attempt& attempt) {
  if (attempt.due) due_.erase(*attempt.due);
  attempt.due.reset();
  const auto consider = [&](Instant at, Due kind) {
    const std::tuple candidate{at, kind, id};
    if (!attempt.due || candidate < *attempt.due) attempt.due = candidate;
  };
  if (const auto at = own_end(jobs_[id], attempt)) consider(*at, Due::kOwnEnd);
  if (const auto at = failure(attempt)) consider(at->first, Due::kFailure);
  for (const auto& stop : attempt.task_stops) consider(stop.at, Due::kTasksStop);
  if (attempt.stop_at) consider(*attempt.stop_at, Due::kStop);
  if (attempt.due) due_.insert(*attempt.due);
}

Event World::end(Instant now, JobId id, AttemptEnded fact) {
  const auto found = active_.find(id);
  update(now, id, found->second);
  fact.job = id;
  fact.attempt = found->second.number;
  if (found->second.due) due_.erase(*found->second.due);
  active_.erase(found);
  return fact;
}

Event World::end_tasks(JobId id, Instant at) {
  Attempt& attempt = active_.at(id);
  update(at, id, attempt);
  // Tasks that go at one instant go together.
  TasksEnded fact;
  fact.job = id;
  fact.attempt = attempt.number;
  for (const auto& stop : attempt.task_stops) {
    if (stop.at == at) fact.tasks.insert(fact.tasks.end(), stop.tasks.begin(), stop.tasks.end());
  }
  std::erase_if(attempt.task_stops, [at](const TaskStop& stop) { return stop.at == at; });
  std::erase_if(attempt.places, [&fact](const TaskPlace& place) {
    return std::find(fact.tasks.begin(), fact.tasks.end(), place.task) != fact.tasks.end();
  });
  schedule(id, attempt);
  return fact;
}

Event World::end_due(JobId id, Instant at, Due kind) {
  AttemptEnded fact;
  switch (kind) {
    case Due::kTasksStop: return end_tasks(id, at);
    case Due::kOwnEnd: break;
    case Due::kFailure:
      fact.exit_code = 1;
      fact.node = failure(active_.at(id))->second;
      break;
    case Due::kStop: fact.kind = EndKind::kStopped; break;
  }
  return end(at, id, std::move(fact));
}

std::optional<Event> World::finish(Instant now, JobId id, std::int64_t exit_code) {
  if (!runs(id)) return std::nullopt;
  AttemptEnded fact;
  fact.exit_code = exit_code;
  return end(now, id, std::move(fact));
}

template <class Hit>
std::vector<Event> World::end_all(Instant now, Hit&& hit, const AttemptEnded& fact) {
  std::vector<JobId> hits;
  for (const auto& [id, attempt] : active_) {
    if (hit(attempt.places)) hits.push_back(id);
  }
  std::vector<Event> events;
  events.reserve(hits.size());
  for (const auto id : hits) events.push_back(end(now, id, fact));
  return events;
}

std::vector<Event> World::lose_node(Instant now, const std::string& node) {
  AttemptEnded fact;
  fact.kind = EndKind::kLost;
  fact.node = node;
  fact.detail = "node " + node + " failed";
  return end_all(now, [&node](const std::vector<TaskPlace>& places) {
    return std::any_of(places.begin(), places.end(),
                       [&node](const TaskPlace& place) { return place.node == node; });
  }, fact);
}

std::vector<Event> World::lose_device(Instant now, const std::string& node, std::int32_t device) {
  AttemptEnded fact;
  fact.kind = EndKind::kLost;
  fact.node = node;
  fact.detail = "GPU " + node + ":" + std::to_string(device) + " failed";
  return end_all(now, [&](const std::vector<TaskPlace>& places) {
    return uses_device(places, node, device);
  }, fact);
}

std::vector<Event> World::fail_device_users(Instant now, const DeviceReported& report) {
  AttemptEnded fact;
  fact.exit_code = 1;
  fact.node = report.node;
  fact.detail = "the GPU reported an error of the application (XID " +
                std::to_string(report.xid) + ")";
  return end_all(now, [&report](const std::vector<TaskPlace>& places) {
    return uses_device(places, report.node, report.device);
  }, fact);
}

std::optional<Instant> World::next_due() const {
  if (due_.empty()) return std::nullopt;
  return std::get<0>(*due_.begin());
}

std::vector<Event> World::take_due(Instant now) {
  std::vector<Event> events;
  while (!due_.empty() && std::get<0>(*due_.begin()) <= now) {
    const auto [at, kind, id] = *due_.begin();
    events.push_back(end_due(id, at, kind));
  }
  return events;
}

std::vector<TaskPlace> World::places(JobId id) const {
  const auto found = active_.find(id);
  return found == active_.end() ? std::vector<TaskPlace>{} : found->second.places;
}

}  // namespace rota::sim
