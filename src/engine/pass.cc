// One scheduling pass. The job whose turn it is starts, claims, is blocked, or is passed over; each
// decision is made on the state the last one left.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/core.h"

namespace rota::engine {

namespace {

class Pass {
 public:
  explicit Pass(Core& core) : core_(core), now_(core.state.now) {}
  bool run();

 private:
  enum class Outcome { kStarted, kTaken, kPassed, kStop };

  bool run_phase(bool charged);
  Outcome visit(JobRec& job, ClassTurn& turn);
  Outcome start_if_allowed(JobRec& job, ClassTurn& turn, Tasks tasks, std::int64_t most);
  Outcome passed_over(const JobRec& job, ClassTurn& turn);
  Outcome blocked(const JobRec& job);
  Outcome visit_conservative(JobRec& job, std::int64_t room);
  Outcome start(JobRec& job, Tasks tasks);
  /// Nobody may delay a reservation.
  [[nodiscard]] bool guarded() const {
    return core_.state.policy.backfill == Backfill::kEasy && first_blocked_ && core_.reservation;
  }
  /// Started now, the job is still there at the reserved instant.
  [[nodiscard]] bool lasts(const JobRec& job) const {
    return !job.spec.time_limit || later(now_, *job.spec.time_limit) > core_.reservation->at;
  }
  /// One of its class was found to delay the reservation and nothing was decided since: so does
  /// this one, unless the holder could take it back by then.
  [[nodiscard]] bool like_one_that_delays(const JobRec& job, const ClassTurn& turn) {
    return turn.delays == decided_ &&
           !core_.takeable(core_.job(core_.reservation->job), job, core_.reservation->at);
  }
  /// Small jobs move for the first that is blocked alone.
  [[nodiscard]] bool move_for(JobRec& job);
  [[nodiscard]] bool can_claim(const ClassTurn& turn) const {
    return !turn.claim_dead && core_.any_preemptible();
  }
  /// Who does not fit now and has nothing to take is passed over without being looked at.
  [[nodiscard]] bool only_if_free() const {
    const Backfill backfill = core_.state.policy.backfill;
    return backfill != Backfill::kConservative &&
           (first_blocked_ || backfill == Backfill::kGreedy);
  }
  [[nodiscard]] bool full(const ShapeTurn& shape) const {
    return shape.now_dead || core_.known_full(shape.shape);
  }
  /// Nothing can become of any job of the class that is still to come.
  [[nodiscard]] bool hopeless(const ShapeTurn& shape, const ClassTurn& turn) const {
    return only_if_free() && !can_claim(turn) && (turn.now_dead || full(shape));
  }
  void confirm_reservation(const JobRec& job);

  Core& core_;
  Instant now_;
  std::optional<JobId> first_blocked_;
  std::optional<Timeline> timeline_;
  std::int64_t decided_ = 0;  // starts, claims and moves of this pass
  bool moves_tried_ = false;
  bool stop_ = false;
};

bool Pass::run() {
  core_.blocked_by.reset();
  core_.waiting.open_pass();
  if (core_.state.policy.backfill == Backfill::kConservative) {
    timeline_.emplace(core_.idle_ledger(), core_.busy_intervals());
  }
  stop_ = run_phase(true) || run_phase(false);
  core_.waiting.close_pass();
  if (!first_blocked_) core_.reservation.reset();
  core_.state.reservation_holder = core_.reservation ? core_.reservation->job : JobId();
  return decided_ > 0;
}

/// True when nothing more may start in this pass.
bool Pass::run_phase(bool charged) {
  Turns& turns = core_.turns;
  turns.open(charged);
  // Whoever starts next may be the first that can be taken; then there is hope again.
  const bool for_good = !core_.waiting.any_takeable();
  const auto no_shape = [&](const ShapeTurn& shape) {
    return for_good && only_if_free() && !core_.any_preemptible() && full(shape);
  };
  const auto no_class = [&](const ShapeTurn& shape, const ClassTurn& turn) {
    return hopeless(shape, turn);
  };
  while (ClassTurn* turn = turns.next(no_shape, no_class)) {
    const QueueIndex queue = turn->job_class->key.queue;
    const Outcome outcome = visit(core_.job(JobId(turn->next.key.id)), *turn);
    if (outcome == Outcome::kStarted) turns.reorder(queue);
    if (outcome == Outcome::kTaken) turns.reorder_all();
    if (outcome == Outcome::kStarted || outcome == Outcome::kTaken) ++decided_;
    if (outcome == Outcome::kStop) return true;
    if (!for_good || !hopeless(turns.shape(), *turn)) turns.pass_on();
  }
  return false;
}

Pass::Outcome Pass::visit(JobRec& job, ClassTurn& turn) {
  ShapeTurn& shape = core_.turns.shape();
  const std::int64_t least = job.tasks_min();
  const std::int64_t room = core_.room_in_limits(job, job.shape.tasks);
  const bool limited = room < least;
  if (timeline_ && !limited) return visit_conservative(job, room);
  if (!limited && full(shape)) turn.now_dead = true;
  if (!limited && !turn.now_dead) {
    const bool delays = guarded() && lasts(job) &&
                        (like_one_that_delays(job, turn) || core_.known_to_delay(job) ||
                         core_.leaves_too_little(job, least));
    if (delays) return passed_over(job, turn);
    auto tasks = core_.placer.place_most(core_.ledger, core_.request(job), least, room);
    if (tasks) return start_if_allowed(job, turn, std::move(*tasks), room);
    turn.now_dead = true;
    // How many tasks of whole devices fit never grows while others only take; of parts it may.
    shape.now_dead = core_.request(job).kind == NeedKind::kWhole;
    core_.note_full(job);
  }
  if (can_claim(turn) && job.spec.charge) {
    auto claim = core_.find_claim(job, core_.ledger, now_);
    const bool allowed = claim && (!first_blocked_ || !core_.reservation ||
                                   core_.respects(*core_.reservation, job, claim->tasks,
                                                  claim->victims));
    if (allowed) {
      core_.make_claim(job, std::move(*claim));
      if (first_blocked_) core_.reservation = core_.reserve(core_.job(*first_blocked_));
      return Outcome::kTaken;
    }
    if (!limited) turn.claim_dead = true;
  }
  if (limited) return Outcome::kPassed;
  return move_for(job) ? Outcome::kTaken : blocked(job);
}

bool Pass::move_for(JobRec& job) {
  if (core_.state.policy.consolidation == Consolidation::kOff) return false;
  if (std::exchange(moves_tried_, true) || first_blocked_) return false;
  auto moves = core_.find_moves(job);
  if (moves) core_.make_moves(job, std::move(*moves));
  return moves.has_value();
}

Pass::Outcome Pass::start(JobRec& job, Tasks tasks) {
  if (guarded()) core_.settle_reserved_place();
  core_.order_start(job, std::move(tasks));
  return Outcome::kStarted;
}

Pass::Outcome Pass::start_if_allowed(JobRec& job, ClassTurn& turn, Tasks tasks,
                                     std::int64_t most) {
  if (!guarded() || core_.respects(*core_.reservation, job, tasks)) {
    return start(job, std::move(tasks));
  }
  auto beside = core_.place_beside(*core_.reservation, job, job.tasks_min(), most);
  if (beside) return start(job, std::move(*beside));
  core_.note_delays(job);
  // An elastic job's size depends on its user's limit as well.
  if (lasts(job) && job.shape.min_tasks == 0) turn.delays = decided_;
  return passed_over(job, turn);
}

/// The job would delay the reservation wherever it fits.
Pass::Outcome Pass::passed_over(const JobRec& job, ClassTurn& turn) {
  // Its like cannot start either unless shorter, or unless the holder could take it back.
  if (!core_.lawful(core_.job(core_.reservation->job), job)) {
    turn.limit_max = (core_.reservation->at - now_).ns();
  }
  return Outcome::kPassed;
}

void Pass::confirm_reservation(const JobRec& job) {
  first_blocked_ = job.id;
  // What is kept of it between cycles is what it would be if made anew.
  if (!core_.reservation_stands(job)) core_.reservation = core_.reserve(job);
}

Pass::Outcome Pass::blocked(const JobRec& job) {
  switch (core_.state.policy.backfill) {
    case Backfill::kOff: core_.blocked_by = job.id; return Outcome::kStop;
    case Backfill::kEasy:
      if (!first_blocked_) confirm_reservation(job);
      return Outcome::kPassed;
    case Backfill::kGreedy:
    case Backfill::kConservative: break;
  }
  return Outcome::kPassed;
}

/// Every blocked job holds a reservation beside those before it.
Pass::Outcome Pass::visit_conservative(JobRec& job, std::int64_t room) {
  const Request& wish = core_.request(job);
  const PlanQuery query{wish, job.tasks_min(), job.spec.time_limit, now_};
  const auto end = [&](Instant from) -> std::optional<Instant> {
    if (!job.spec.time_limit) return std::nullopt;
    return later(from, *job.spec.time_limit);
  };
  Ledger free = timeline_->window(now_, job.spec.time_limit);
  if (auto usual = core_.placer.place_most(core_.ledger, wish, job.tasks_min(), room)) {
    if (!free.can_take(*usual)) {
      usual = core_.placer.place_most(free, wish, job.tasks_min(), room);
      // Somebody who should have left by now may still be there.
      if (usual && !core_.ledger.can_take(*usual)) usual.reset();
    }
    if (usual) {
      timeline_->add({job.id, now_, end(now_), *usual});
      return start(job, std::move(*usual));
    }
  } else if (core_.any_preemptible() && job.spec.charge) {
    if (auto claim = core_.find_claim(job, core_.ledger, now_)) {
      core_.make_claim(job, std::move(*claim));
      timeline_.emplace(core_.idle_ledger(), core_.busy_intervals());
      return Outcome::kTaken;
    }
    if (move_for(job)) {
      timeline_.emplace(core_.idle_ledger(), core_.busy_intervals());
      return Outcome::kTaken;
    }
  }
  auto slot = timeline_->earliest(core_.placer, query);
  if (slot) timeline_->add({job.id, slot->at, end(slot->at), std::move(slot->tasks)});
  return Outcome::kPassed;
}

}  // namespace

void Core::count_owed() {
  const std::vector<std::int64_t>& demand = waiting.demand();
  const bool few = waiting.changed().size() <= state.queues.size();
  // What a throttle lets through changes with every start and end of its group.
  if (few && !waiting.any_throttled() && owners.knows(state.cluster.healthy)) {
    owners.count_owed(demand, waiting.changed());
  } else {
    owners.count_owed(demand, state.cluster.healthy);
  }
  waiting.forget_changed();
}

void Core::divide_shares() {
  count_owed();
  owners.count_use(state.now);
  owners.divide();
  shares_stale = false;
}

/// Tasks of the job, up to `most`, that the limits of its queues, user and group still allow.
std::int64_t Core::room_in_limits(const JobRec& job, std::int64_t most) const {
  if (job.pending() && job.spec.group.valid()) {
    const auto group = state.groups.find(job.spec.group);
    const bool throttled = group != state.groups.end() && group->second.throttle;
    if (throttled && group->second.active >= *group->second.throttle) return 0;
  }
  std::int64_t room = most;
  const auto bound = [&](std::int64_t limit, std::int64_t held) {
    if (job.task_milli > 0) room = std::min(room, std::max<std::int64_t>(0, limit - held) /
                                                      job.task_milli);
  };
  for (QueueIndex q = job.queue; q > 0; q = state.queues[q].parent) {
    const auto& limit = state.queues[q].spec.limit;
    if (limit) bound(limit->value(), state.queues[q].held_all);
  }
  if (job.user != kNone && state.users[job.user].spec.limit) {
    bound(state.users[job.user].spec.limit->value(), state.users[job.user].held);
  }
  return room;
}

/// Whether the queues or the user of a job that holds GPUs hold more than they may.
bool Core::over_limits(const JobRec& job) const {
  if (milli_of(job.held) == 0) return false;
  const bool user_over = job.user != kNone && state.users[job.user].spec.limit &&
                         state.users[job.user].held > state.users[job.user].spec.limit->value();
  return user_over || owners.limit_hit(job.queue, 0) != kNone;
}

bool Core::start_claims() {
  bool any = false;
  if (claiming.empty()) return false;
  const std::set<JobId> waiting_claims = claiming;
  for (const JobId id : waiting_claims) {
    JobRec& claimant = job(id);
    if (!claimant.victims.empty()) continue;
    // A limit may be lower by now, and is kept by whoever starts.
    if (over_limits(claimant)) {
      drop_claim(claimant);
    } else {
      order_start(claimant, {});
    }
    any = true;
  }
  return any;
}

bool Core::run_pass() {
  if (state.policy.backfill != Backfill::kConservative) {
    plan.unplanned.clear();
  } else if (auto counted = run_counted_plan()) {
    return *counted;
  }
  Pass pass(*this);
  return pass.run();
}

CycleResult Core::run_cycle(Instant now) {
  CycleResult result;
  fall_due(now);
  const bool due = !queued.empty();
  state.mix.look_if_grown();
  const bool claims_started = start_claims();
  // Turns go by what is held and used. Who takes from others goes by shares, found when needed.
  if (state.policy.fairness != FairnessKind::kInstant) {
    std::vector<QueueIndex> in_line;
    for (const auto& [queue, lane] : waiting.lanes()) in_line.push_back(queue);
    owners.count_use(state.now, in_line);
    shares_stale = true;
  }
  if (!with_deadline.empty()) place_deadlines();
  bool more = run_pass();
  bool grown = grow_elastic();
  result.changed = more || grown || claims_started || due;
  // Another pass can only find something when somebody can be taken from.
  while (more && any_preemptible()) {
    more = run_pass();
    grow_elastic();
  }
  if (shares_stale) count_owed();
  owners.note_owed(state.now);
  result.decisions = std::exchange(queued, {});
  return result;
}

}  // namespace rota::engine
