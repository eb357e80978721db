#include "engine/takeable.h"

#include <algorithm>

namespace rota::engine {

namespace {

constexpr Instant kNever = Instant(std::numeric_limits<std::int64_t>::max());

bool holds_whole_devices(const TaskAlloc& task) {
  return std::all_of(task.devices.begin(), task.devices.end(), [](const DeviceShare& share) {
    return share.slots == 0 && share.mig_start < 0 && share.gpus == kWholeGpu;
  });
}

Takeable::Entry entry_of(const JobRec& job, Instant contract, Instant started) {
  Takeable::Entry out{.order = contract.ns(),
                      .started = started,
                      .id = job.id,
                      .job = &job,
                      .leaves = job.limit_ends().value_or(kNever),
                      .milli = milli_of(job.held),
                      .priority = job.spec.priority,
                      .checkpoint = job.spec.checkpoint ? job.spec.checkpoint->ns() : 0,
                      .user = job.user};
  if (job.held.size() != 1 || !holds_whole_devices(job.held.front())) return out;
  const TaskAlloc& task = job.held.front();
  out.node = task.node;
  out.devices = static_cast<std::int32_t>(task.devices.size());
  out.cpus = task.cpus;
  out.memory = task.memory;
  return out;
}

/// Since the last instant at which all that had started then would pass a checkpoint.
std::int64_t phase_of(std::int64_t at, std::int64_t checkpoint) {
  if (checkpoint == 0) return at;
  const std::int64_t rest = at % checkpoint;
  return rest < 0 ? rest + checkpoint : rest;
}

}  // namespace

void Takeable::put(const JobRec& job) {
  if (!job.may_be_taken()) return;
  erase(job.id);
  Place& place = places_[job.id];
  place.group = {job.queue, job.spec.charge};
  if (job.stop_ordered) return;
  const auto contract = job.contract_ends();
  if (job.shape.min_tasks == 0 && job.phase != Phase::kStarting && contract) {
    enter(place, entry_of(job, *contract, *job.attempt_started()));
    return;
  }
  place.list = List::kLoose;
  groups_[place.group].loose.insert(job.id);
}

/// `entry` is sorted by the end of its contract.
void Takeable::enter(Place& place, Entry entry) {
  Jobs& jobs = groups_[place.group];
  const bool ripe = entry.order <= ripe_until_.ns();
  if (ripe) entry.order = phase_of(entry.started.ns(), entry.checkpoint);
  place.list = ripe ? List::kRipe : List::kWaiting;
  place.run = {entry.priority, entry.milli, entry.checkpoint};
  place.order = entry.order;
  place.started = entry.started;
  (ripe ? jobs.ripe[place.run] : jobs.waiting).insert(entry);
}

void Takeable::erase(JobId job) {
  const auto known = places_.find(job);
  if (known == places_.end()) return;
  const Place& place = known->second;
  if (place.list != List::kNone) {
    const auto group = groups_.find(place.group);
    Jobs& jobs = group->second;
    const Entry entry{.order = place.order, .started = place.started, .id = job};
    if (place.list == List::kLoose) jobs.loose.erase(job);
    if (place.list == List::kWaiting) jobs.waiting.erase(entry);
    if (place.list == List::kRipe) {
      const auto run = jobs.ripe.find(place.run);
      run->second.erase(entry);
      if (run->second.empty()) jobs.ripe.erase(run);
    }
    if (jobs.empty()) groups_.erase(group);
  }
  places_.erase(known);
}

void Takeable::ripen(Instant now) {
  if (now <= ripe_until_) return;
  ripe_until_ = now;
  for (auto& [group, jobs] : groups_) {
    while (!jobs.waiting.empty() && jobs.waiting.front().order <= now.ns()) {
      const Entry entry = jobs.waiting.front();
      jobs.waiting.erase(entry);
      enter(places_.at(entry.id), entry);
    }
  }
}

}  // namespace rota::engine
