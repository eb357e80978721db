// The reservation of EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001): the earliest instant
// at which the first blocked job could start if running jobs leave at their limit, or past their
// contract as its victims; and whether a later job may start without delaying it.
#include <algorithm>

#include "base/check.h"
#include "engine/core.h"
#include "engine/fit_count.h"
#include "engine/soonest.h"

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

/// Of one that moves: it starts there as soon as it is gone.
std::optional<Instant> Core::leaves_next_place(const JobRec& job) const {
  if (!job.spec.time_limit) return std::nullopt;
  return later(std::max(*job.leaves_at, state.now), *job.spec.time_limit);
}

Ledger Core::idle_ledger() const {
  Ledger idle = ledger;
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    idle.give(job.held);
    idle.give(job.leaving);
    idle.give(job.next_place);
  }
  return idle;
}

std::vector<Busy> Core::busy_intervals() const {
  std::vector<Busy> out;
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    out.push_back({id, state.now, leaves(job), job.held});
    if (!job.next_place.empty()) {
      out.push_back({id, state.now, leaves_next_place(job), job.next_place});
    }
    if (!job.leaving.empty()) {
      out.push_back({id, state.now, std::max(*job.leaves_at, state.now), job.leaving});
    }
  }
  std::erase_if(out, [this](const Busy& b) { return b.to && *b.to <= state.now; });
  return out;
}

Leaves Core::leaves_in_parts(const JobRec& job) const {
  Leaves out{leaves(job), std::nullopt};
  if (!job.next_place.empty()) out.next = leaves_next_place(job);
  if (job.leaving.empty()) return out;
  // Tasks told to stop are gone with the job at the latest.
  out.leaving = std::max(*job.leaves_at, state.now);
  if (out.held) out.leaving = std::min(*out.held, *out.leaving);
  return out;
}

void Core::note_unsettled(const JobRec& job) {
  const bool settled = job.phase == Phase::kRunning && job.leaving_alloc.empty();
  if (settled || !active.contains(job.id)) {
    unsettled.erase(job.id);
  } else {
    unsettled.insert(job.id);
    unsettled_noted.push_back(job.id);
  }
}

void Core::note_leaves(JobRec& job) {
  if (!future.follows(ledger)) return;
  const bool sooner = future.expect(job, leaves_in_parts(job));
  if (sooner && reservation) reservation->earliest = false;
}

void Core::follow_present() {
  const bool known = unsettled_known_at == state.now;
  unsettled_known_at = state.now;
  if (future.follows(ledger)) {
    if (!known) {
      for (const JobId id : unsettled) note_leaves(job(id));
    } else {
      for (const JobId id : unsettled_noted) {
        if (unsettled.contains(id)) note_leaves(job(id));
      }
      // When they start follows from their victims.
      for (const JobId id : claiming) note_leaves(job(id));
    }
    unsettled_noted.clear();
    return;
  }
  unsettled_noted.clear();
  future.start(ledger, state.now);
  for (const JobId id : active) {
    JobRec& other = job(id);
    future.adopt(other, leaves_in_parts(other));
  }
  if (reservation) reservation->earliest = false;
}

void Core::take_present(JobRec& job) {
  const bool follows = future.follows(ledger);
  ledger.take(job.held);
  if (!follows) return;
  future.join(job, leaves_in_parts(job));
  future.follow(ledger);
  const auto& end = job.expected.held;
  if (reservation && (!end || *end > reservation->at)) reservation->beside.push_back(job.id);
}

void Core::give_present(JobRec& job) {
  const bool follows = future.follows(ledger);
  ledger.give(job.held);
  ledger.give(job.leaving);
  if (!follows) return;
  const bool foreseen = job.expected.held && *job.expected.held <= state.now;
  if (!foreseen && reservation) reservation->earliest = false;
  future.part(job);
  future.follow(ledger);
}

bool Core::fits_then(const Request& wish, std::int64_t tasks) {
  return wish.plain ? plain_fits(future.ledger(), wish, tasks)
                    : placer.place(future.ledger(), wish, tasks).has_value();
}

bool Core::reservation_stands(const JobRec& job) {
  if (!reservation || reservation->job != job.id || any_preemptible()) return false;
  follow_present();
  if (!reservation->earliest || reservation->at <= state.now) return false;
  future.move_to(reservation->at);
  const std::uint64_t changes = future.ledger().changes();
  const bool unchanged = reservation->made_on == changes;
  if (!unchanged) {
    // Somebody has come or gone since; the instant must still be one at which somebody leaves.
    const auto leave = future.next_leave(reservation->at, Future::Late::kSkip);
    if (leave != reservation->at || !fits_then(request(job), job.tasks_min())) return false;
    reservation->made_on = changes;
  }
  // The choice of a place may follow the mix of requests, which nothing here watches.
  if (!unchanged || state.policy.placement == Placement::kLeastFragmentation) {
    reservation->place.reset();
  }
  reservation->beside.clear();
  return true;
}

void Core::settle_reserved_place() {
  if (!reservation || !reservation->by_claim || reservation->place) return;
  follow_present();
  future.move_to(reservation->at);
  auto claim = find_claim(job(reservation->job), future.ledger(), reservation->at, {},
                          ClaimAsks::kPlace);
  ROTA_CHECK(claim.has_value());
  reservation->place = std::move(claim->tasks);
}

/// Where the reserved job would go as of when the reservation was made.
const Tasks& Core::reserved_place() {
  settle_reserved_place();
  if (reservation->place) return *reservation->place;
  follow_present();
  future.move_to(reservation->at);
  const JobRec& holder = job(reservation->job);
  Ledger& then = future.ledger();
  const Ledger::Mark mark = then.checkpoint();
  for (const JobId id : reservation->beside) then.give(job(id).held);
  reservation->place = placer.place(then, request(holder), holder.tasks_min());
  then.rollback(mark);
  ROTA_CHECK(reservation->place.has_value());
  return *reservation->place;
}

/// The later the instant, the more have left. So where the job did not fit, it fits at none before;
/// and where it does, the first at which it fits is found by going back.
Instant Core::earliest_near_last(const JobRec& job) {
  const auto [holder, last] = reserved_last;
  if (holder != job.id || last <= state.now) return state.now;
  const auto fits_at = [&](Instant at) {
    future.move_to(at);
    return fits_then(request(job), job.tasks_min());
  };
  if (!fits_at(last)) return last;
  // From the last leave on nobody leaves until then, so it fits there as well.
  const auto leave = future.last_leave(last);
  if (!leave || *leave <= state.now) return state.now;
  Instant earliest = *leave;
  while (earliest > state.now) {
    const auto before = future.last_leave(earliest - Duration(1));
    // Whoever should have left by now leaves now.
    if (!before || !fits_at(std::max(*before, state.now))) break;
    earliest = std::max(*before, state.now);
  }
  return earliest;
}

namespace {

/// The instants after now at which the contract of somebody ends whose place the rules let the job
/// take, shares aside.
class ContractEnds {
 public:
  ContractEnds(const Core& core, const JobRec& job) : core_(core), job_(job) {
    for (const auto& [group, jobs] : core.takeable_jobs.groups()) {
      groups_.push_back({group, &jobs.waiting});
      for (const JobId id : jobs.loose) add_other(*core.state.jobs.find(id));
    }
    for (const JobId id : core.claiming) add_other(*core.state.jobs.find(id));
    std::sort(others_.begin(), others_.end());
  }
  /// The first one from `since` on.
  [[nodiscard]] std::optional<Instant> next(Instant since) const {
    since = std::max(since, later(core_.state.now, Duration(1)));
    std::optional<Instant> first;
    for (const auto& [group, jobs] : groups_) {
      auto at = jobs->first_not(
          [since](const Takeable::Entry& entry) { return entry.order < since.ns(); });
      for (; at != jobs->end(); at = jobs->after(at)) {
        const Takeable::Entry& entry = (*jobs)[at];
        if (first && entry.order >= first->ns()) break;
        if (core_.lawful(job_, {group.queue, group.charge, entry.priority})) {
          first = Instant(entry.order);
          break;
        }
      }
    }
    const auto other = std::lower_bound(others_.begin(), others_.end(), since);
    return other != others_.end() && (!first || *other < *first) ? *other : first;
  }

 private:
  [[nodiscard]] bool counts(const JobRec& other) const {
    return other.spec.min_runtime && !other.stop_ordered && core_.lawful(job_, other);
  }
  /// Of one that only starts, or may shrink, or has no place yet.
  void add_other(const JobRec& other) {
    if (!counts(other)) return;
    others_.push_back(
        other.contract_ends().value_or(later(core_.state.now, *other.spec.min_runtime)));
  }

  const Core& core_;
  const JobRec& job_;
  std::vector<std::pair<Takeable::Group, const Takeable::Entries*>> groups_;
  std::vector<Instant> others_;
};

}  // namespace

std::optional<Reservation> Core::reserve(const JobRec& job) {
  follow_present();
  const bool may_take = any_preemptible();
  const Request& wish = request(job);
  // Less free never helps a job of whole devices, so what was too early stays too early.
  const bool whole = wish.kind == NeedKind::kWhole || wish.kind == NeedKind::kNoDevice;
  const bool known = !may_take && reservation && reservation->job == job.id &&
                     reservation->earliest && reservation->at > state.now;
  Instant from = known ? reservation->at : state.now;
  if (!known && whole && !may_take) from = earliest_near_last(job);
  std::optional<ContractEnds> contracts;
  std::optional<Instant> first = from;
  if (may_take) {
    if (shares_stale) divide_shares();
    takeable_jobs.ripen(state.now);
    first = soonest_room(*this, job);
    if (!first) return std::nullopt;
    contracts.emplace(*this, job);
  }
  const auto next = [&](Instant since, Future::Late late) {
    auto at = future.next_leave(since, late);
    if (!contracts) return at;
    const auto over = contracts->next(since);
    return over && (!at || *over < *at) ? over : at;
  };
  const auto late = *first > state.now ? Future::Late::kSkip : Future::Late::kCountAsNow;
  for (auto at = next(*first, late); at;
       at = next(later(*at, Duration(1)), Future::Late::kSkip)) {
    future.move_to(*at);
    Reservation out{.job = job.id,
                    .at = *at,
                    .made_on = future.ledger().changes(),
                    .place = std::nullopt,
                    .beside = {},
                    .earliest = whole && !may_take};
    if (fits_then(wish, job.tasks_min())) {
      reserved_last = {job.id, *at};
      return out;
    }
    if (!may_take) continue;
    out.by_claim = find_claim(job, future.ledger(), *at, {}, ClaimAsks::kMightFit).has_value();
    if (out.by_claim) return out;
  }
  return std::nullopt;
}

Refusal& Core::refusal_of(const JobRec& candidate) {
  const auto shape = static_cast<std::size_t>(candidate.shape_index);
  if (shape >= refusals.size()) refusals.resize(requests.size());
  return refusals[shape];
}

void Core::note_full(const JobRec& candidate) {
  // With the mix of requests the order of choices shifts; only whole devices fit in any order.
  if (state.policy.placement == Placement::kLeastFragmentation &&
      request(candidate).kind != NeedKind::kWhole) {
    return;
  }
  refusal_of(candidate).full = ledger.changes();
}

/// Of a job that is still there at the reserved instant.
bool Core::known_to_delay(const JobRec& candidate) {
  const Refusal& known = refusal_of(candidate);
  if (known.beside != ledger.changes() || any_preemptible() || candidate.spec.min_runtime) {
    return false;
  }
  follow_present();
  return known.holder == reservation->job && known.made_on == reservation->made_on &&
         future.at() == reservation->at && known.future == future.ledger().changes();
}

/// A job that is still there at the reserved instant leaves less than the holder needs, wherever it
/// goes.
bool Core::leaves_too_little(const JobRec& candidate, std::int64_t tasks) {
  // One with a contract may be taken back by then.
  if (any_preemptible() || candidate.spec.min_runtime) return false;
  follow_present();
  future.move_to(reservation->at);
  const JobRec& holder = job(reservation->job);
  const std::int64_t need = request(holder).milli * holder.tasks_min();
  return future.ledger().milli_free_open() < need + request(candidate).milli * tasks;
}

void Core::note_delays(const JobRec& candidate) {
  // An elastic job's size depends on limits as well, and choices may follow the mix of requests.
  if (candidate.shape.min_tasks > 0 || future.at() != reservation->at ||
      state.policy.placement == Placement::kLeastFragmentation) {
    return;
  }
  Refusal& known = refusal_of(candidate);
  known.beside = ledger.changes();
  known.made_on = reservation->made_on;
  known.future = future.ledger().changes();
  known.holder = reservation->job;
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
  follow_present();
  future.move_to(held.at);
  Ledger& then = future.ledger();
  // Whole GPUs are told by counting; then nothing needs to be taken to try.
  const bool counted = request(holder).plain && victims.empty() &&
                       request(candidate).kind == NeedKind::kWhole &&
                       state.policy.placement == Placement::kPack;
  if (counted) {
    if (plain_fits_beside(then, request(holder), holder.tasks_min(), tasks)) return true;
    if (!any_preemptible()) return false;
  }
  const Ledger::Mark mark = then.checkpoint();
  // Its victims leave for it; of those that are gone by then the future knows already.
  for (const Victim& v : victims) {
    const auto gone = leaves(job(v.job));
    if (!gone || *gone > held.at) then.give(v.tasks);
  }
  then.take(tasks);
  bool fits = !counted && fits_then(request(holder), holder.tasks_min());
  if (!fits && any_preemptible()) {
    fits = find_claim(holder, then, held.at, victims, ClaimAsks::kWhether).has_value();
  }
  then.rollback(mark);
  return fits;
}

std::optional<Tasks> Core::place_beside(const Reservation& held, const JobRec& candidate,
                                        std::int64_t least, std::int64_t most) {
  const Request& wish = request(candidate);
  const Tasks& place = reserved_place();
  const bool by_node = state.policy.placement == Placement::kPack && request(job(held.job)).plain;
  if (wish.plain && by_node && !plain_fits_beside(ledger, wish, least, place)) return std::nullopt;
  const Ledger::Mark mark = ledger.checkpoint();
  for (const TaskAlloc& task : place) {
    const bool any_left = ledger.node(task.node).free.milli > 0 || task.cpus > 0 || task.memory > 0;
    if (any_left) ledger.take_rest(task);
  }
  auto tasks = placer.place_most(ledger, wish, least, most);
  ledger.rollback(mark);
  if (tasks && !respects(held, candidate, *tasks)) tasks.reset();
  return tasks;
}

}  // namespace rota::engine
