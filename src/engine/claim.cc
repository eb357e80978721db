// Preemption: who may take whose place, who leaves, who is spared.
//
// Nobody is stopped unless the claimant then starts. Victims are taken in the rule book's order
// until
// the claimant fits, then, the last one first, whoever is not needed is spared. Every claim moves
// GPUs to a charged job from an uncharged one, to a higher priority in the same queue, or to a
// queue
// inside its share from one above its own, so a potential strictly falls and claims cannot loop.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/core.h"

namespace rota::engine {

namespace {

int depth_of(const State& state, QueueIndex queue) {
  int depth = 0;
  for (QueueIndex q = queue; q != kNone; q = state.queues[q].parent) ++depth;
  return depth;
}

/// Whether `on_claimant` and `on_victim` hold for all queues of the two branches below the level
/// where they meet.
template <class OnClaimant, class OnVictim>
bool below_meeting(const State& state, QueueIndex claimant, QueueIndex victim,
                   OnClaimant&& on_claimant, OnVictim&& on_victim) {
  int a = depth_of(state, claimant);
  int b = depth_of(state, victim);
  while (claimant != victim) {
    const bool up_claimant = a >= b;
    const bool up_victim = b >= a;
    if (up_claimant) {
      if (!on_claimant(claimant)) return false;
      claimant = state.queues[claimant].parent;
      --a;
    }
    if (up_victim) {
      if (!on_victim(victim)) return false;
      victim = state.queues[victim].parent;
      --b;
    }
  }
  return true;
}

bool can_be_preempted(const JobRec& job) {
  return (job.phase == Phase::kRunning || job.phase == Phase::kStarting) && !job.stop_ordered;
}

}  // namespace

/// Whether, contracts and shares aside, the rules let `claimant` take from `victim`.
bool Core::lawful(const JobRec& claimant, const JobRec& victim) const {
  if (claimant.id == victim.id || !claimant.spec.charge) return false;
  if (state.policy.order == Order::kFifo || state.policy.order == Order::kShortest) return false;
  if (!victim.spec.charge) return true;
  const bool lower = victim.spec.priority < claimant.spec.priority;
  if (claimant.queue == victim.queue) return lower;
  if (state.policy.order == Order::kPriority) {
    if (lower) return true;
    if (victim.spec.priority > claimant.spec.priority) return false;
  }
  return state.policy.reclaim != Reclaim::kOff;
}

/// The claimant's branch stays within its share with `claimant_milli` more, and the victim's holds
/// more than its own, at every level below the one where they meet.
bool Core::within_share(const JobRec& claimant, const JobRec& victim,
                        std::int64_t claimant_milli) const {
  if (!victim.spec.charge || claimant.queue == victim.queue) return true;
  if (state.policy.order == Order::kPriority &&
      victim.spec.priority < claimant.spec.priority) {
    return true;
  }
  return queue_within_share(claimant, victim.queue, claimant_milli);
}

bool Core::queue_within_share(const JobRec& claimant, QueueIndex victims,
                              std::int64_t claimant_milli) const {
  const auto stays = [&](QueueIndex q) {
    return state.queues[q].held + claimant_milli <= owners.reclaim_share_milli(q);
  };
  const auto exceeds = [&](QueueIndex q) {
    return state.queues[q].held > owners.reclaim_share_milli(q);
  };
  return below_meeting(state, claimant.queue, victims, stays, exceeds);
}

namespace {

/// What of the victim's tasks no other claim has taken.
Tasks left_of(const JobRec& victim, const std::vector<Victim>& gone) {
  Tasks left = victim.held;
  for (const Victim& v : gone) {
    if (v.job != victim.id) continue;
    std::erase_if(left, [&v](const TaskAlloc& task) {
      return v.whole || std::any_of(v.tasks.begin(), v.tasks.end(), [&](const TaskAlloc& t) {
               return t.rank == task.rank;
             });
    });
  }
  return left;
}

/// Something that might be taken: a whole job, or one surplus task of an elastic one.
struct Candidate {
  static constexpr std::int64_t kWholeJob = -1;
  const JobRec* job = nullptr;
  std::int64_t part = kWholeJob;  // or the place of the task among those left
  std::int64_t milli = 0;
  Int128 lost = 0;                // GPU time since the last checkpoint, of whole jobs
};

/// GPU time lost since the last checkpoint if the job stopped at `at`.
Int128 loss_of(const JobRec& job, Instant at, std::int64_t milli) {
  const auto from = job.attempt_started();
  if (!from) return 0;
  std::int64_t lost = (at - *from).ns();
  if (job.spec.checkpoint) lost %= job.spec.checkpoint->ns();
  return static_cast<Int128>(lost) * milli;
}

/// A claim to be made: by whom, when, and what another claim has taken from the ledger already.
struct Wish {
  const Core& core;
  const JobRec& claimant;
  Instant at;
  const std::vector<Victim>& gone;

  [[nodiscard]] std::int64_t need() const {
    return claimant.task_milli * claimant.tasks_min();
  }
  /// False when, whatever the jobs of this group, the rules forbid to take any of them.
  [[nodiscard]] bool may_take_from(const Takeable::Group& group) const {
    const Policy& policy = core.state.policy;
    if (!claimant.spec.charge) return false;
    if (policy.order == Order::kFifo || policy.order == Order::kShortest) return false;
    return !group.charge || group.queue == claimant.queue || policy.order == Order::kPriority ||
           policy.reclaim != Reclaim::kOff;
  }
  /// The same for shares as they are now.
  [[nodiscard]] bool shares_allow(const Takeable::Group& group) const {
    return !group.charge || group.queue == claimant.queue ||
           core.state.policy.order == Order::kPriority ||
           core.queue_within_share(claimant, group.queue, need());
  }
  [[nodiscard]] Tasks left(const JobRec& victim) const {
    return gone.empty() ? victim.held : left_of(victim, gone);
  }
  void collect(const Takeable::Jobs& jobs, std::vector<Candidate>& out) const;
  void collect(const JobRec& victim, std::vector<Candidate>& out) const;
};

/// What might be taken of the job, its newest surplus task first; shares aside, where it helps.
void Wish::collect(const JobRec& victim, std::vector<Candidate>& out) const {
  if (!can_be_preempted(victim) || !core.lawful(claimant, victim)) return;
  // Of a future ledger those who leave by themselves are gone already.
  if (at > core.state.now) {
    const auto end = core.leaves(victim);
    if (end && *end <= at) return;
  }
  const NodeSet& nodes = core.request(claimant).node_set;
  const auto useful = [&](const TaskAlloc& task) {
    return nodes.contains(task.node) && core.ledger.node(task.node).open;
  };
  Tasks rest;
  if (!gone.empty()) rest = left_of(victim, gone);
  const Tasks& held = gone.empty() ? victim.held : rest;
  // Surplus tasks of elastic jobs are never protected; the newest go first.
  for (std::int64_t i = std::ssize(held) - 1;
       victim.shape.min_tasks > 0 && i >= victim.shape.min_tasks; --i) {
    const TaskAlloc& task = held[static_cast<std::size_t>(i)];
    if (useful(task)) out.push_back({&victim, i, task.milli(), 0});
  }
  const auto contract = victim.contract_ends();
  const bool starting = !victim.attempt_started() && victim.spec.min_runtime &&
                        later(core.state.now, *victim.spec.min_runtime) <= at;
  if ((!contract || *contract > at) && !starting) return;
  if (std::none_of(held.begin(), held.end(), useful)) return;
  const std::int64_t milli = milli_of(held);
  out.push_back({&victim, Candidate::kWholeJob, milli, loss_of(victim, at, milli)});
}

void Wish::collect(const Takeable::Jobs& jobs, std::vector<Candidate>& out) const {
  for (const auto& [from, id] : jobs) {
    if (from > at) break;
    collect(*core.state.jobs.find(id), out);
  }
}

/// Negative: of two candidates of one queue, both whole jobs or both parts, a is taken before b;
/// 0: they are parts of one job. `ids` false leaves out the rule for ties.
int compare_in_queue(const Candidate& a, const Candidate& b, bool ids) {
  const JobRec& x = *a.job;
  const JobRec& y = *b.job;
  if (x.spec.priority != y.spec.priority) return x.spec.priority < y.spec.priority ? -1 : 1;
  if (a.lost != b.lost) return a.lost < b.lost ? -1 : 1;
  const auto start_x = x.attempt_started();
  const auto start_y = y.attempt_started();
  if (start_x != start_y) return start_x > start_y ? -1 : 1;
  if (x.id == y.id || !ids) return 0;
  return x.id > y.id ? -1 : 1;
}

/// For heaps: the one to be taken first is at the front.
bool taken_later(const Candidate& a, const Candidate& b) {
  const int order = compare_in_queue(a, b, true);
  return order != 0 ? order > 0 : a.part < b.part;
}

/// Candidates of one queue, all whole jobs or all parts, all charged or none; the next one in
/// front. Shares allow either the first of them or none.
struct VictimLane {
  bool whole = false;
  bool charge = false;
  QueueIndex queue = 0;
  std::vector<Candidate> heap;

  [[nodiscard]] const Candidate& next() const { return heap.front(); }
  /// Only its number tells another job of the lane from the next one.
  [[nodiscard]] bool next_is_tied() const {
    for (std::size_t i = 1; i < std::min<std::size_t>(heap.size(), 3); ++i) {
      if (heap[i].job != next().job && compare_in_queue(heap[i], next(), false) == 0) return true;
    }
    return false;
  }
  void pop() {
    std::pop_heap(heap.begin(), heap.end(), taken_later);
    heap.pop_back();
  }
};

/// Lanes in the order in which their kinds are taken: parts first, then uncharged jobs.
std::vector<VictimLane> lanes_of(const std::vector<Candidate>& candidates) {
  std::map<std::tuple<bool, bool, QueueIndex>, VictimLane> lanes;
  for (const Candidate& c : candidates) {
    const bool whole = c.part == Candidate::kWholeJob;
    VictimLane& lane = lanes[{whole, c.job->spec.charge, c.job->queue}];
    lane.whole = whole;
    lane.charge = c.job->spec.charge;
    lane.queue = c.job->queue;
    lane.heap.push_back(c);
  }
  std::vector<VictimLane> out;
  for (auto& [kind, lane] : lanes) {
    std::make_heap(lane.heap.begin(), lane.heap.end(), taken_later);
    out.push_back(std::move(lane));
  }
  return out;
}

/// How many tasks of whole devices a ledger holds, kept in step while victims come and go. A bound
/// for every request; for a countable one the exact number.
class TaskCount {
 public:
  TaskCount(const Request& request, Ledger& ledger) : request_(request), ledger_(ledger) {
    if (!bounds()) return;
    FreeWalk walk(ledger.index(), request.node_set, {request.whole, 0}, FreeOrder::kLeastFirst);
    for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) tasks_ += on(n);
  }
  [[nodiscard]] bool exact() const { return request_.countable; }
  [[nodiscard]] bool may_hold(std::int64_t tasks) const { return !bounds() || tasks_ >= tasks; }
  void give(const Tasks& tasks) {
    for (const TaskAlloc& task : tasks) change(task, [&] { ledger_.give(task); });
  }
  void take(const Tasks& tasks) {
    for (const TaskAlloc& task : tasks) change(task, [&] { ledger_.take(task); });
  }
  /// As it was when the ledger was as it is again.
  void reset(const TaskCount& before) { tasks_ = before.tasks_; }

 private:
  [[nodiscard]] bool bounds() const { return request_.kind == NeedKind::kWhole; }
  [[nodiscard]] std::int64_t on(NodeIndex n) const {
    const NodeCap& node = ledger_.node(n);
    if (!node.open || node.free.whole < request_.whole) return 0;
    const TaskShape& task = request_.shape.task;
    std::int64_t most = node.free.whole / request_.whole;
    if (task.cpus > 0) most = std::min(most, node.free.cpus / task.cpus);
    if (task.memory.value() > 0) most = std::min(most, node.free.memory / task.memory.value());
    return std::max<std::int64_t>(0, most);
  }
  template <class Change>
  void change(const TaskAlloc& task, Change&& change) {
    const bool counts = bounds() && request_.node_set.contains(task.node);
    if (counts) tasks_ -= on(task.node);
    change();
    if (counts) tasks_ += on(task.node);
  }
  const Request& request_;
  Ledger& ledger_;
  std::int64_t tasks_ = 0;
};

/// The search for one claim: takes victims one by one on a ledger under a checkpoint, with the
/// holdings of queues kept in step, and undoes everything at its end.
class ClaimSearch {
 public:
  ClaimSearch(Core& core, const Wish& wish, Ledger& on)
      : core_(core), wish_(wish), claimant_(wish.claimant), ledger_(on),
        count_(core.request(wish.claimant), on), mark_(on.checkpoint()) {}
  ~ClaimSearch() {
    hold_taken(1);
    ledger_.rollback(mark_);
  }
  ClaimSearch(const ClaimSearch&) = delete;
  ClaimSearch& operator=(const ClaimSearch&) = delete;

  std::optional<Claim> find(const std::vector<Candidate>& candidates);

 private:
  [[nodiscard]] bool allowed(const JobRec& victim) const {
    return core_.within_share(claimant_, victim, wish_.need());
  }
  void hold(const Victim& v, std::int64_t sign) {
    const JobRec& victim = core_.job(v.job);
    core_.owners.hold(victim.queue, sign * v.milli, victim.spec.charge);
    if (victim.user != kNone) core_.state.users[victim.user].held += sign * v.milli;
  }
  void hold_taken(std::int64_t sign) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (spared_[i] == 0) hold(taken_[i], sign);
    }
  }
  void take(Victim v) {
    count_.give(v.tasks);
    hold(v, -1);
    taken_.push_back(std::move(v));
    spared_.push_back(0);
  }
  [[nodiscard]] bool take_next(std::vector<VictimLane>& lanes);
  /// Negative: the next of lane a is taken before the next of lane b.
  [[nodiscard]] int compare(const VictimLane& a, const VictimLane& b, bool ids) const;
  [[nodiscard]] Victim victim_from(const Candidate& candidate) const;
  /// Whether the claimant fits now; of a countable request without looking for the place.
  [[nodiscard]] bool fits();
  [[nodiscard]] bool weighs_on_claimant(const Victim& v) const;
  [[nodiscard]] bool reachable_without(std::size_t index);
  [[nodiscard]] bool spare(std::size_t index);
  void drop_parts_of_whole_jobs(std::vector<Victim>& victims) const;

  Core& core_;
  const Wish& wish_;
  const JobRec& claimant_;
  Ledger& ledger_;
  TaskCount count_;
  Ledger::Mark mark_;
  std::vector<Victim> taken_;
  std::vector<std::uint8_t> spared_;  // of taken_: not needed after all
  std::optional<Tasks> place_;  // of the last fit that was not counted
  bool by_tie_rule_ = false;
};

int ClaimSearch::compare(const VictimLane& a, const VictimLane& b, bool ids) const {
  if (a.whole != b.whole) return a.whole ? 1 : -1;
  if (a.charge != b.charge) return a.charge ? 1 : -1;
  const auto excess = core_.owners.excess(a.queue, b.queue);
  if (excess != 0) return excess > 0 ? -1 : 1;
  return compare_in_queue(a.next(), b.next(), ids);
}

bool ClaimSearch::fits() {
  const std::int64_t tasks = claimant_.tasks_min();
  if (!count_.may_hold(tasks)) return false;
  if (core_.room_in_limits(claimant_, tasks) < tasks) return false;
  if (count_.exact()) return true;
  auto place = core_.placer.place(ledger_, core_.request(claimant_), tasks);
  if (!place) return false;
  place_ = std::move(place);
  return true;
}

Victim ClaimSearch::victim_from(const Candidate& candidate) const {
  const JobRec& job = *candidate.job;
  Tasks left = wish_.left(job);
  if (candidate.part != Candidate::kWholeJob) {
    return {job.id, {left[static_cast<std::size_t>(candidate.part)]}, false, candidate.milli};
  }
  // Its surplus tasks may be gone already: only the rest is left to take.
  for (std::size_t i = 0; job.shape.min_tasks > 0 && i < taken_.size(); ++i) {
    if (taken_[i].job != job.id) continue;
    const std::int32_t rank = taken_[i].tasks.front().rank;
    std::erase_if(left, [&](const TaskAlloc& t) { return t.rank == rank; });
  }
  const std::int64_t milli = milli_of(left);
  return {job.id, std::move(left), true, milli};
}

/// The next victim among those that may be taken at this moment; false: there is none.
bool ClaimSearch::take_next(std::vector<VictimLane>& lanes) {
  VictimLane* best = nullptr;
  for (VictimLane& lane : lanes) {
    if (lane.heap.empty() || !allowed(*lane.next().job)) continue;
    if (best == nullptr || compare(lane, *best, true) < 0) best = &lane;
  }
  if (best == nullptr) return false;
  by_tie_rule_ = best->next_is_tied();
  for (const VictimLane& lane : lanes) {
    if (by_tie_rule_) break;
    if (&lane == best || lane.heap.empty() || !allowed(*lane.next().job)) continue;
    by_tie_rule_ = compare(lane, *best, false) == 0;
  }
  const Candidate next = best->next();
  best->pop();
  take(victim_from(next));
  return true;
}

/// Whether sparing this victim could stop others from being taken lawfully: it counts in a branch
/// that must stay within its share. Elsewhere the others' queues hold only more without it.
bool ClaimSearch::weighs_on_claimant(const Victim& v) const {
  const State& state = core_.state;
  const auto top = [&state](QueueIndex q) {
    while (state.queues[q].parent > 0) q = state.queues[q].parent;
    return q;
  };
  const JobRec& victim = core_.job(v.job);
  return victim.spec.charge && top(victim.queue) == top(claimant_.queue);
}

/// Whether the others that are taken could be, one after the other, each lawfully at its moment.
bool ClaimSearch::reachable_without(std::size_t index) {
  if (!weighs_on_claimant(taken_[index])) return true;
  hold_taken(1);
  std::vector<std::size_t> done;
  bool ok = true;
  for (std::size_t i = 0; i < taken_.size() && ok; ++i) {
    if (spared_[i] != 0 || i == index) continue;
    ok = allowed(core_.job(taken_[i].job));
    if (!ok) break;
    hold(taken_[i], -1);
    done.push_back(i);
  }
  for (const std::size_t i : done) hold(taken_[i], 1);
  hold_taken(-1);
  return ok;
}

/// Gives the victim its place back if the claimant fits without.
bool ClaimSearch::spare(std::size_t index) {
  if (!reachable_without(index)) return false;
  const Victim& victim = taken_[index];
  const TaskCount count = count_;
  const Ledger::Mark mark = ledger_.checkpoint();
  count_.take(victim.tasks);
  hold(victim, 1);
  if (fits()) {
    ledger_.commit(mark);
    spared_[index] = 1;
    return true;
  }
  hold(victim, -1);
  ledger_.rollback(mark);
  count_.reset(count);
  return false;
}

/// A job taken whole needs none of its surplus tasks named beside it.
void ClaimSearch::drop_parts_of_whole_jobs(std::vector<Victim>& victims) const {
  std::vector<JobId> whole;
  for (const Victim& v : victims) {
    if (v.whole) whole.push_back(v.job);
  }
  std::sort(whole.begin(), whole.end());
  std::erase_if(victims, [&](const Victim& v) {
    return !v.whole && std::binary_search(whole.begin(), whole.end(), v.job);
  });
  for (Victim& v : victims) {
    if (!v.whole) continue;
    v.tasks = core_.job(v.job).held;
    v.milli = milli_of(v.tasks);
  }
}

std::optional<Claim> ClaimSearch::find(const std::vector<Candidate>& candidates) {
  std::vector<VictimLane> lanes = lanes_of(candidates);
  while (!fits()) {
    if (!take_next(lanes)) return std::nullopt;
  }
  // Spare, the last chosen first, whoever is not needed.
  for (std::size_t i = taken_.size(); i-- > 0;) (void)spare(i);
  if (count_.exact()) {
    place_ = core_.placer.place(ledger_, core_.request(claimant_), claimant_.tasks_min());
  }
  if (!place_) return std::nullopt;
  Claim claim;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (spared_[i] == 0) claim.victims.push_back(taken_[i]);
  }
  claim.tasks = std::move(*place_);
  drop_parts_of_whole_jobs(claim.victims);
  if (by_tie_rule_) claim.tie_rule = "last in the file";
  return claim;
}

/// All that the claimant might take, shares aside, where it could run.
std::vector<Candidate> all_candidates(const Core& core, const Wish& wish) {
  std::vector<Candidate> out;
  for (const auto& [group, jobs] : core.takeable_jobs.groups()) {
    if (wish.may_take_from(group)) wish.collect(jobs, out);
  }
  return out;
}

std::int64_t sum_of(const std::vector<Candidate>& candidates) {
  std::int64_t sum = 0;
  for (const Candidate& c : candidates) sum += c.milli;
  return sum;
}

}  // namespace

std::optional<Claim> Core::find_claim(const JobRec& claimant, Ledger& on, Instant at,
                                      const std::vector<Victim>& gone) {
  const Wish wish{*this, claimant, at, gone};
  // Bounds before the search: what is free plus what could be freed.
  const std::int64_t lacking = wish.need() - on.milli_free_open();
  if (shares_stale) {
    const std::vector<Candidate> all = all_candidates(*this, wish);
    if (all.empty() || sum_of(all) < lacking) return std::nullopt;
    divide_shares();
  }
  // Shares of the claimant's side do not change while victims leave other branches.
  std::vector<const Takeable::Jobs*> groups;
  std::int64_t freeable = 0;
  for (const auto& [group, jobs] : takeable_jobs.groups()) {
    if (!wish.may_take_from(group) || !wish.shares_allow(group)) continue;
    if (jobs.begin()->first > at) continue;
    const QueueRec& queue = state.queues[group.queue];
    freeable += group.charge ? queue.held : queue.held_all - queue.held;
    groups.push_back(&jobs);
  }
  if (groups.empty() || freeable < lacking) return std::nullopt;
  std::vector<Candidate> candidates;
  for (const Takeable::Jobs* jobs : groups) wish.collect(*jobs, candidates);
  std::erase_if(candidates, [&](const Candidate& c) {
    return !within_share(claimant, *c.job, wish.need());
  });
  if (candidates.empty() || sum_of(candidates) < lacking) return std::nullopt;
  ClaimSearch search(*this, wish, on);
  return search.find(candidates);
}

std::int64_t Core::freeable_for(const JobRec& claimant) {
  if (shares_stale) divide_shares();
  const Wish wish{*this, claimant, state.now, {}};
  std::int64_t sum = 0;
  std::vector<Candidate> parts;
  for (const auto& [group, jobs] : takeable_jobs.groups()) {
    if (!wish.may_take_from(group) || !wish.shares_allow(group)) continue;
    for (const auto& [from, id] : jobs) {
      if (from > state.now) break;
      const JobRec& victim = *state.jobs.find(id);
      if (!within_share(claimant, victim, wish.need())) continue;
      parts.clear();
      wish.collect(victim, parts);
      std::int64_t most = 0;
      for (const Candidate& c : parts) most = std::max(most, c.milli);
      sum += most;
    }
  }
  return sum;
}

}  // namespace rota::engine
