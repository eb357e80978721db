#include "tests/property/reference.h"

#include <algorithm>
#include <set>

namespace rota::property {

Reference::Free Reference::all_free() const {
  Free free;
  for (const std::int64_t gpus : nodes_) free.emplace_back(static_cast<std::size_t>(gpus), true);
  return free;
}

void Reference::take(Free& free, const std::vector<RefTask>& tasks) {
  for (const RefTask& task : tasks) {
    for (const std::size_t device : task.devices) free[task.node][device] = false;
  }
}

/// Task by task on the node with the fewest free GPUs that holds it, lowest indices first.
std::optional<std::vector<RefTask>> Reference::pack(Free free, const RefJob& job) {
  std::vector<RefTask> tasks;
  for (std::int64_t t = 0; t < job.tasks; ++t) {
    std::optional<std::size_t> best;
    std::int64_t best_free = 0;
    for (std::size_t n = 0; n < free.size(); ++n) {
      const auto count = std::count(free[n].begin(), free[n].end(), true);
      if (count < job.gpus || (best && count >= best_free)) continue;
      best = n;
      best_free = count;
    }
    if (!best) return std::nullopt;
    RefTask task{*best, {}};
    for (std::size_t d = 0; std::ssize(task.devices) < job.gpus; ++d) {
      if (free[*best][d]) task.devices.push_back(d);
    }
    take(free, {task});
    tasks.push_back(task);
  }
  return tasks;
}

Reference::Free Reference::free_now() const {
  Free free = all_free();
  for (const Running& running : running_) take(free, running.tasks);
  return free;
}

/// What is free at that instant if every running job leaves at its limit.
Reference::Free Reference::free_at(std::int64_t at) const {
  Free free = all_free();
  for (const Running& running : running_) {
    const bool gone = running.job.limit && running.started + *running.job.limit <= at;
    if (!gone) take(free, running.tasks);
  }
  return free;
}

std::int64_t Reference::held_by(std::size_t queue) const {
  std::int64_t held = 0;
  for (const Running& running : running_) {
    if (running.job.queue == queue) held += running.job.gpus * running.job.tasks;
  }
  return held;
}

bool Reference::queue_before(std::size_t a, std::size_t b) const {
  const bool a_below = held_by(a) < queues_[a].quota;
  const bool b_below = held_by(b) < queues_[b].quota;
  if (a_below != b_below) return a_below;
  const std::int64_t wa = queues_[a].weight;
  const std::int64_t wb = queues_[b].weight;
  if ((wa == 0) != (wb == 0)) return wb == 0;
  const std::int64_t left = held_by(a) * (wa == 0 ? 1 : wb);
  const std::int64_t right = held_by(b) * (wa == 0 ? 1 : wa);
  if (left != right) return left < right;
  if (holder_queue_ && (*holder_queue_ == a) != (*holder_queue_ == b)) return *holder_queue_ == a;
  return a < b;
}

bool Reference::job_before(const RefJob& a, const RefJob& b) const {
  if (order_ == RefOrder::kFair && a.queue != b.queue) return queue_before(a.queue, b.queue);
  if (order_ != RefOrder::kFifo && a.priority != b.priority) return a.priority > b.priority;
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  return a.id < b.id;
}

const RefJob* Reference::next_job(const std::vector<std::uint64_t>& passed) const {
  const RefJob* best = nullptr;
  for (const RefJob& job : waiting_) {
    if (std::find(passed.begin(), passed.end(), job.id) != passed.end()) continue;
    if (best == nullptr || job_before(job, *best)) best = &job;
  }
  return best;
}

std::optional<Reference::Held> Reference::reserve(const RefJob& job, std::int64_t now) const {
  std::set<std::int64_t> instants;
  for (const Running& running : running_) {
    if (running.job.limit) instants.insert(std::max(now, running.started + *running.job.limit));
  }
  for (const std::int64_t at : instants) {
    if (auto tasks = pack(free_at(at), job)) return Held{job, at, *tasks};
  }
  return std::nullopt;
}

bool Reference::respects(const Held& held, const RefJob& job, const std::vector<RefTask>& tasks,
                         std::int64_t now) const {
  if (job.limit && now + *job.limit <= held.at) return true;
  Free free = free_at(held.at);
  take(free, tasks);
  return pack(free, held.job).has_value();
}

void Reference::finish(std::uint64_t id) {
  std::erase_if(running_, [id](const Running& running) { return running.job.id == id; });
}

std::vector<RefStart> Reference::schedule(std::int64_t now) {
  std::vector<RefStart> starts;
  std::vector<std::uint64_t> passed;
  bool blocked = false;
  std::optional<Held> held;
  while (const RefJob* next = next_job(passed)) {
    const RefJob job = *next;
    passed.push_back(job.id);
    const auto& limit = queues_[job.queue].limit;
    if (limit && held_by(job.queue) + job.gpus * job.tasks > *limit) continue;
    if (!pack(all_free(), job)) continue;   // infeasible: blocks nobody
    auto tasks = pack(free_now(), job);
    if (!tasks) {
      if (backfill_ == RefBackfill::kOff) break;
      if (backfill_ == RefBackfill::kEasy && !blocked) held = reserve(job, now);
      blocked = true;
      continue;
    }
    if (held && !respects(*held, job, *tasks, now)) {
      Free beside = free_now();
      take(beside, held->tasks);
      tasks = pack(beside, job);
      if (!tasks || !respects(*held, job, *tasks, now)) continue;
    }
    running_.push_back({job, now, *tasks});
    std::erase_if(waiting_, [&job](const RefJob& waits) { return waits.id == job.id; });
    starts.push_back({job.id, *tasks});
  }
  holder_queue_.reset();
  if (held) holder_queue_ = held->job.queue;
  return starts;
}

}  // namespace rota::property
