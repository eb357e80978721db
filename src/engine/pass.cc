// One scheduling pass: turns. The next turn goes to the lane that the tree of owners names; its
// next
// job starts, claims, is blocked, or is passed over. Each decision is made on the state the last
// one left.
#include <algorithm>
#include <queue>
#include <utility>

#include "base/check.h"
#include "engine/core.h"

namespace rota::engine {

namespace {

struct ClassState {
  const JobClass* job_class = nullptr;
  std::optional<OrderKey> at;         // visited up to here
  std::int64_t limit_max = kNoLimit;  // longer ones would delay the reservation
  bool now_dead = false;              // does not fit what is free
  bool claim_dead = false;            // nothing to take
  std::int64_t delays = -1;           // decisions made when one was found to delay the reservation
};

struct Candidate {
  OrderKey key;
  std::int64_t limit = kNoLimit;
  std::size_t of = 0;  // index of its class
  friend bool operator>(const Candidate& a, const Candidate& b) { return a.key > b.key; }
};

struct LaneState {
  QueueIndex queue = 0;
  std::vector<ClassState> classes;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> next;
};

class Pass {
 public:
  explicit Pass(Core& core) : core_(core), now_(core.state.now) {}
  bool run();

 private:
  enum class Outcome { kChanged, kPassed, kStop };

  bool run_phase(bool charged);
  void open_lanes(bool charged);
  void feed(LaneState& lane, std::size_t index);
  [[nodiscard]] std::size_t next_lane() const;
  Outcome visit(JobRec& job, ClassState& state);
  Outcome start_if_allowed(JobRec& job, ClassState& state, Tasks tasks, std::int64_t most);
  Outcome passed_over(const JobRec& job, ClassState& state);
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
  [[nodiscard]] bool like_one_that_delays(const JobRec& job, const ClassState& state) {
    return state.delays == decided_ &&
           !core_.takeable(core_.job(core_.reservation->job), job, core_.reservation->at);
  }
  /// Small jobs move for the first that is blocked alone.
  [[nodiscard]] bool move_for(JobRec& job);
  [[nodiscard]] bool can_claim(const ClassState& state) const {
    return !state.claim_dead && core_.any_preemptible();
  }
  void confirm_reservation(const JobRec& job);

  Core& core_;
  Instant now_;
  std::vector<LaneState> lanes_;
  std::map<QueueIndex, std::size_t> lane_of_queue_;
  std::vector<std::int64_t> live_;  // lanes with candidates in each queue's subtree
  std::optional<JobId> first_blocked_;
  std::optional<Timeline> timeline_;
  std::int64_t decided_ = 0;  // starts, claims and moves of this pass
  bool moves_tried_ = false;
  bool stop_ = false;
};

void Pass::open_lanes(bool charged) {
  lanes_.clear();
  lane_of_queue_.clear();
  live_.assign(core_.state.queues.size(), 0);
  for (const auto& [queue, lane] : core_.waiting.lanes()) {
    LaneState state;
    state.queue = queue;
    for (const auto& [key, job_class] : lane.classes) {
      if (key.charge != charged || job_class.jobs.empty()) continue;
      state.classes.push_back({.job_class = &job_class, .at = std::nullopt});
    }
    if (state.classes.empty()) continue;
    for (std::size_t i = 0; i < state.classes.size(); ++i) feed(state, i);
    for (QueueIndex q = queue; q != kNone; q = core_.state.queues[q].parent) ++live_[q];
    lane_of_queue_[queue] = lanes_.size();
    lanes_.push_back(std::move(state));
  }
}

void Pass::feed(LaneState& lane, std::size_t index) {
  const ClassState& state = lane.classes[index];
  const auto* entry = state.job_class->jobs.next(state.at, state.limit_max);
  if (entry != nullptr) lane.next.push({entry->key, entry->limit, index});
}

/// The lane whose turn it is, from the root down; lanes_.size() when none is left.
std::size_t Pass::next_lane() const {
  if (lanes_.empty() || live_[0] == 0) return lanes_.size();
  if (core_.state.policy.order != Order::kFair) return 0;
  const JobRec* holder = core_.state.jobs.find(core_.state.reservation_holder);
  const QueueIndex holder_queue = holder == nullptr ? kNone : holder->queue;
  QueueIndex q = 0;
  while (!core_.state.queues[q].children.empty()) {
    QueueIndex best = kNone;
    for (const QueueIndex child : core_.state.queues[q].children) {
      if (live_[child] == 0) continue;
      if (best == kNone || core_.owners.before(child, best, holder_queue)) best = child;
    }
    q = best;
  }
  return lane_of_queue_.at(q);
}

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
  open_lanes(charged);
  while (true) {
    const std::size_t index = next_lane();
    if (index == lanes_.size()) return false;
    LaneState& lane = lanes_[index];
    std::optional<Candidate> candidate;
    while (!lane.next.empty() && !candidate) {
      const Candidate top = lane.next.top();
      lane.next.pop();
      const ClassState& state = lane.classes[top.of];
      const bool dead = state.now_dead && !can_claim(state) &&
                        core_.state.policy.backfill != Backfill::kConservative &&
                        (first_blocked_ || core_.state.policy.backfill == Backfill::kGreedy);
      if (dead) continue;
      if (top.limit > state.limit_max) {
        feed(lane, top.of);
        continue;
      }
      candidate = top;
    }
    if (!candidate) {
      for (QueueIndex q = lane.queue; q != kNone; q = core_.state.queues[q].parent) --live_[q];
      continue;
    }
    ClassState& state = lane.classes[candidate->of];
    state.at = candidate->key;
    const Outcome outcome = visit(core_.job(JobId(candidate->key.id)), state);
    if (outcome == Outcome::kChanged) ++decided_;
    if (outcome == Outcome::kStop) return true;
    feed(lane, candidate->of);
  }
}

Pass::Outcome Pass::visit(JobRec& job, ClassState& state) {
  const std::int64_t least = job.tasks_min();
  const std::int64_t room = core_.room_in_limits(job, job.shape.tasks);
  const bool limited = room < least;
  if (timeline_ && !limited) return visit_conservative(job, room);
  if (!limited && core_.known_full(job)) state.now_dead = true;
  if (!limited && !state.now_dead) {
    if (guarded() && lasts(job) &&
        (like_one_that_delays(job, state) || core_.known_to_delay(job))) {
      return passed_over(job, state);
    }
    auto tasks = core_.placer.place_most(core_.ledger, core_.request(job), least, room);
    if (tasks) return start_if_allowed(job, state, std::move(*tasks), room);
    state.now_dead = true;
    core_.note_full(job);
  }
  if (can_claim(state) && job.spec.charge) {
    auto claim = core_.find_claim(job, core_.ledger, now_);
    const bool allowed = claim && (!first_blocked_ || !core_.reservation ||
                                   core_.respects(*core_.reservation, job, claim->tasks,
                                                   claim->victims));
    if (allowed) {
      core_.make_claim(job, std::move(*claim));
      if (first_blocked_) core_.reservation = core_.reserve(core_.job(*first_blocked_));
      return Outcome::kChanged;
    }
    if (!limited) state.claim_dead = true;
  }
  if (limited) return Outcome::kPassed;
  return move_for(job) ? Outcome::kChanged : blocked(job);
}

bool Pass::move_for(JobRec& job) {
  if (core_.state.policy.consolidation == Consolidation::kOff) return false;
  if (std::exchange(moves_tried_, true) || first_blocked_) return false;
  auto moves = core_.find_moves(job);
  if (moves) core_.make_moves(job, std::move(*moves));
  return moves.has_value();
}

Pass::Outcome Pass::start(JobRec& job, Tasks tasks) {
  core_.order_start(job, std::move(tasks));
  return Outcome::kChanged;
}

Pass::Outcome Pass::start_if_allowed(JobRec& job, ClassState& state, Tasks tasks,
                                     std::int64_t most) {
  if (!guarded() || core_.respects(*core_.reservation, job, tasks)) {
    return start(job, std::move(tasks));
  }
  auto beside = core_.place_beside(*core_.reservation, job, job.tasks_min(), most);
  if (beside) return start(job, std::move(*beside));
  core_.note_delays(job);
  // An elastic job's size depends on its user's limit as well.
  if (lasts(job) && job.shape.min_tasks == 0) state.delays = decided_;
  return passed_over(job, state);
}

/// The job would delay the reservation wherever it fits.
Pass::Outcome Pass::passed_over(const JobRec& job, ClassState& state) {
  // Its like cannot start either unless shorter, or unless the holder could take it back.
  if (!core_.lawful(core_.job(core_.reservation->job), job)) {
    state.limit_max = (core_.reservation->at - now_).ns();
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
      return Outcome::kChanged;
    }
    if (move_for(job)) {
      timeline_.emplace(core_.idle_ledger(), core_.busy_intervals());
      return Outcome::kChanged;
    }
  }
  auto slot = timeline_->earliest(core_.placer, query);
  if (slot) timeline_->add({job.id, slot->at, end(slot->at), std::move(slot->tasks)});
  return Outcome::kPassed;
}

}  // namespace

void Core::divide_shares() {
  owners.divide(state.now, waiting.demand(), state.cluster.healthy);
  shares_stale = false;
}

/// Tasks of the job, up to `most`, that the limits of its queues, user and group still allow.
std::int64_t Core::room_in_limits(const JobRec& job, std::int64_t most) const {
  const auto group = state.groups.find(job.spec.group);
  if (job.pending() && group != state.groups.end() && group->second.throttle &&
      group->second.active >= *group->second.throttle) {
    return 0;
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
  advance(now, result.decisions);
  state.mix.look_if_grown();
  const bool claims_started = start_claims();
  if (shares_stale || state.policy.fairness != FairnessKind::kInstant) divide_shares();
  if (!with_deadline.empty()) place_deadlines();
  bool more = run_pass();
  bool grown = grow_elastic();
  result.changed = more || grown || claims_started || !result.decisions.empty();
  // Another pass can only find something when somebody can be taken from.
  while (more && any_preemptible()) {
    if (shares_stale) divide_shares();
    more = run_pass();
    grow_elastic();
  }
  if (shares_stale) divide_shares();
  owners.note_owed(state.now);
  result.decisions.insert(result.decisions.end(), std::make_move_iterator(queued.begin()),
                          std::make_move_iterator(queued.end()));
  queued.clear();
  return result;
}

}  // namespace rota::engine
