// The reservation of EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001): the earliest instant
// at which the first blocked job could start if running jobs leave at their limit, or past their
// contract as its victims; and whether a later job may start without delaying it.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

std::optional<Instant> Core::leaves(const JobRec& job) const {
  if (job.phase == Phase::kStopping) return std::max(*job.leaves_at, state.now);
  if (!job.spec.time_limit) return std::nullopt;
  if (job.phase == Phase::kClaiming) {
    Instant start = state.now;
    for (const JobId id : job.victims) {
      const JobRec& victim = *state.jobs.find(id);
      if (victim.leaves_at) start = std::max(start, *victim.leaves_at);
    }
    return later(start, *job.spec.time_limit);
  }
  return std::max(state.now, job.limit_ends().value_or(later(state.now, *job.spec.time_limit)));
}

Ledger Core::idle_ledger() const {
  Ledger idle = ledger;
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    idle.give(job.held);
    idle.give(job.leaving);
  }
  return idle;
}

std::vector<Busy> Core::busy_intervals() const {
  std::vector<Busy> out;
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    out.push_back({id, state.now, leaves(job), job.held});
    if (!job.leaving.empty()) {
      out.push_back({id, state.now, std::max(*job.leaves_at, state.now), job.leaving});
    }
  }
  std::erase_if(out, [this](const Busy& b) { return b.to && *b.to <= state.now; });
  return out;
}

std::optional<Reservation> Core::reserve(const JobRec& job) {
  struct Change {
    Instant at;
    JobId id;
    enum class What { kTasksLeave, kLeaves, kContractOver } what = What::kLeaves;
  };
  std::vector<Change> changes;
  const bool may_take = any_preemptible();
  for (const JobId id : active) {
    const JobRec& other = *state.jobs.find(id);
    if (const auto at = leaves(other)) changes.push_back({*at, id, Change::What::kLeaves});
    if (!other.leaving.empty()) {
      changes.push_back({*other.leaves_at, id, Change::What::kTasksLeave});
    }
    if (!may_take || !other.spec.min_runtime || other.stop_ordered) continue;
    const Instant over =
        other.contract_ends().value_or(later(state.now, *other.spec.min_runtime));
    if (over > state.now && lawful(job, other)) {
      changes.push_back({over, id, Change::What::kContractOver});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tuple{a.at, a.id, a.what} < std::tuple{b.at, b.id, b.what};
  });
  Reservation out{job.id, state.now, ledger, {}};
  const Request& wish = request(job);
  const std::int64_t tasks = job.tasks_min();
  std::set<JobId> leaving_gone;
  for (std::size_t i = 0; i < changes.size();) {
    out.at = std::max(changes[i].at, state.now);
    for (; i < changes.size() && std::max(changes[i].at, state.now) == out.at; ++i) {
      const JobRec& other = *state.jobs.find(changes[i].id);
      if (changes[i].what == Change::What::kContractOver) continue;
      if (changes[i].what == Change::What::kLeaves) out.future.give(other.held);
      if (leaving_gone.insert(other.id).second) out.future.give(other.leaving);
    }
    auto place = placer.place(out.future, wish, tasks);
    if (!place && may_take) {
      if (auto claim = find_claim(job, out.future, out.at)) place = std::move(claim->tasks);
    }
    if (place) {
      out.place = std::move(*place);
      return out;
    }
  }
  return std::nullopt;
}

bool Core::takeable(const JobRec& claimant, const JobRec& candidate, Instant at) {
  if (!candidate.spec.min_runtime || later(state.now, *candidate.spec.min_runtime) > at)
    return false;
  if (!lawful(claimant, candidate)) return false;
  const std::int64_t milli = candidate.task_milli * candidate.shape.tasks;
  owners.hold(candidate.queue, milli, candidate.spec.charge);
  const bool within =
      within_share(claimant, candidate, claimant.task_milli * claimant.tasks_min());
  owners.hold(candidate.queue, -milli, candidate.spec.charge);
  return within;
}

bool Core::respects(const Reservation& held, const JobRec& candidate, const Tasks& tasks,
                    const std::vector<Victim>& victims) {
  const auto& limit = candidate.spec.time_limit;
  if (limit && later(state.now, *limit) <= held.at) return true;
  const JobRec& holder = job(held.job);
  if (takeable(holder, candidate, held.at)) return true;
  Ledger& future = const_cast<Reservation&>(held).future;  // changed and rolled back
  const Ledger::Mark mark = future.checkpoint();
  // Its victims leave for it; of those that are gone by then the future knows already.
  for (const Victim& v : victims) {
    const auto gone = leaves(job(v.job));
    if (!gone || *gone > held.at) future.give(v.tasks);
  }
  future.take(tasks);
  bool fits = placer.place(future, request(holder), holder.tasks_min()).has_value();
  if (!fits && any_preemptible()) {
    fits = find_claim(holder, future, held.at, victims).has_value();
  }
  future.rollback(mark);
  return fits;
}

std::optional<Tasks> Core::place_beside(const Reservation& held, const JobRec& candidate,
                                        std::int64_t least, std::int64_t most) {
  const Ledger::Mark mark = ledger.checkpoint();
  for (const TaskAlloc& task : held.place) ledger.take_rest(task);
  auto tasks = placer.place_most(ledger, request(candidate), least, most);
  ledger.rollback(mark);
  if (tasks && !respects(held, candidate, *tasks)) tasks.reset();
  return tasks;
}

/// A job has started: what it still holds at the reserved instant is gone from that future.
void Core::note_start(const JobRec& job, const Tasks& tasks) {
  if (!reservation || reservation->job == job.id) return;
  const auto end = leaves(job);
  if (!end || *end > reservation->at) reservation->future.take(tasks);
}

}  // namespace rota::engine
