#include "engine/claim_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/task_count.h"

namespace rota::engine {

namespace {

/// Negative: of two candidates of one queue, both whole jobs or both parts, a is taken before b;
/// 0: they are parts of one job. `ids` false leaves out the rule for ties.
inline int compare_in_queue(const Candidate& a, const Candidate& b, bool ids) {
  if (a.priority != b.priority) return a.priority < b.priority ? -1 : 1;
  if (a.lost != b.lost) return a.lost < b.lost ? -1 : 1;
  if (a.started != b.started) return a.started > b.started ? -1 : 1;
  if (a.job == b.job || !ids) return 0;
  return a.job->id > b.job->id ? -1 : 1;
}

/// For heaps: the one to be taken first is at the front.
struct TakenLater {
  bool operator()(const Candidate* a, const Candidate* b) const {
    const int order = compare_in_queue(*a, *b, true);
    return order != 0 ? order > 0 : a->part < b->part;
  }
};

/// Candidates of one queue, all whole jobs or all parts, all charged or none; the next one in
/// front. Shares allow either the first of them or none.
struct VictimLane {
  bool whole = false;
  bool charge = false;
  QueueIndex queue = 0;
  std::vector<const Candidate*> heap;

  [[nodiscard]] const Candidate& next() const { return *heap.front(); }
  /// Only its number tells another job of the lane from the next one.
  [[nodiscard]] bool next_is_tied() const {
    for (std::size_t i = 1; i < std::min<std::size_t>(heap.size(), 3); ++i) {
      if (heap[i]->job != next().job && compare_in_queue(*heap[i], next(), false) == 0) {
        return true;
      }
    }
    return false;
  }
  void pop() {
    std::pop_heap(heap.begin(), heap.end(), TakenLater{});
    heap.pop_back();
  }
};

/// Lanes in the order in which their kinds are taken: parts first, then uncharged jobs.
std::vector<VictimLane> lanes_of(const std::vector<Candidate>& candidates) {
  std::map<std::tuple<bool, bool, QueueIndex>, VictimLane> lanes;
  for (const Candidate& c : candidates) {
    VictimLane& lane = lanes[{c.whole(), c.job->spec.charge, c.job->queue}];
    lane.whole = c.whole();
    lane.charge = c.job->spec.charge;
    lane.queue = c.job->queue;
    lane.heap.push_back(&c);
  }
  std::vector<VictimLane> out;
  for (auto& [kind, lane] : lanes) {
    std::make_heap(lane.heap.begin(), lane.heap.end(), TakenLater{});
    out.push_back(std::move(lane));
  }
  return out;
}

/// One victim on trial.
struct Taken {
  const JobRec* job = nullptr;
  bool whole = true;
  bool spared = false;       // not needed after all
  std::int64_t milli = 0;
  std::optional<Tasks> part;  // what leaves; absent: all the job holds

  [[nodiscard]] const Tasks& tasks() const { return part ? *part : job->held; }
};

/// Takes victims on a ledger under a checkpoint, with the holdings of queues kept in step, and
/// undoes everything at its end.
class ClaimSearch {
 public:
  ClaimSearch(Core& core, const Wish& wish, Ledger& on, TaskCount::Way way)
      : core_(core), wish_(wish), claimant_(wish.claimant), ledger_(on),
        count_(core.request(wish.claimant), on, way), mark_(on.checkpoint()) {}
  ~ClaimSearch() {
    hold_taken(1);
    ledger_.rollback(mark_);
  }
  ClaimSearch(const ClaimSearch&) = delete;
  ClaimSearch& operator=(const ClaimSearch&) = delete;

  [[nodiscard]] std::optional<Claim> find(const std::vector<Candidate>& candidates);
  /// Counting could not tell what a victim would leave free: the search must be on the ledger.
  [[nodiscard]] bool lost_count() const { return lost_count_; }

 private:
  [[nodiscard]] bool allowed(const JobRec& victim) const {
    return core_.within_share(claimant_, victim, wish_.need());
  }
  void hold(const Taken& v, std::int64_t sign) {
    core_.owners.hold(v.job->queue, sign * v.milli, v.job->spec.charge);
    if (v.job->user != kNone) core_.state.users[v.job->user].held += sign * v.milli;
  }
  void hold_taken(std::int64_t sign) {
    for (const Taken& v : taken_) {
      if (!v.spared) hold(v, sign);
    }
  }
  [[nodiscard]] bool take(const Candidate& candidate);
  [[nodiscard]] bool take_next(std::vector<VictimLane>& lanes);
  /// Negative: the next of lane a is taken before the next of lane b.
  [[nodiscard]] int compare(const VictimLane& a, const VictimLane& b, bool ids) const;
  [[nodiscard]] Taken taken_from(const Candidate& candidate) const;
  /// Whether the claimant fits now; of a countable request without looking for the place.
  [[nodiscard]] bool fits();
  [[nodiscard]] bool weighs_on_claimant(const Taken& v) const;
  [[nodiscard]] bool reachable_without(std::size_t index);
  void spare(std::size_t index);
  void find_place();
  [[nodiscard]] std::vector<Victim> victims() const;

  Core& core_;
  const Wish& wish_;
  const JobRec& claimant_;
  Ledger& ledger_;
  TaskCount count_;
  Ledger::Mark mark_;
  std::vector<Taken> taken_;
  std::optional<Tasks> place_;  // of the last fit that was not counted
  bool by_tie_rule_ = false;
  bool lost_count_ = false;
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

Taken ClaimSearch::taken_from(const Candidate& candidate) const {
  const JobRec& job = *candidate.job;
  const bool as_it_is = wish_.gone.empty() && candidate.whole() && job.shape.min_tasks == 0;
  if (as_it_is) return {.job = &job, .milli = candidate.milli, .part = std::nullopt};
  Tasks left = wish_.left(job);
  if (!candidate.whole()) {
    Tasks one{std::move(left[static_cast<std::size_t>(candidate.part)])};
    return {.job = &job, .whole = false, .milli = candidate.milli, .part = std::move(one)};
  }
  // Its surplus tasks may be gone already: only the rest is left to take.
  for (std::size_t i = 0; job.shape.min_tasks > 0 && i < taken_.size(); ++i) {
    if (taken_[i].job != &job) continue;
    const std::int32_t rank = taken_[i].tasks().front().rank;
    std::erase_if(left, [&](const TaskAlloc& t) { return t.rank == rank; });
  }
  const std::int64_t milli = milli_of(left);
  return {.job = &job, .milli = milli, .part = std::move(left)};
}

bool ClaimSearch::take(const Candidate& candidate) {
  Taken victim = taken_from(candidate);
  if (!count_.give(victim.tasks())) {
    lost_count_ = true;
    return false;
  }
  hold(victim, -1);
  taken_.push_back(std::move(victim));
  return true;
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
  return take(next);
}

/// Whether sparing this victim could stop others from being taken lawfully: it counts in a branch
/// that must stay within its share. Elsewhere the others' queues hold only more without it.
bool ClaimSearch::weighs_on_claimant(const Taken& v) const {
  const State& state = core_.state;
  const auto top = [&state](QueueIndex q) {
    while (state.queues[q].parent > 0) q = state.queues[q].parent;
    return q;
  };
  return v.job->spec.charge && top(v.job->queue) == top(claimant_.queue);
}

/// Whether the others that are taken could be, one after the other, each lawfully at its moment.
bool ClaimSearch::reachable_without(std::size_t index) {
  if (!weighs_on_claimant(taken_[index])) return true;
  hold_taken(1);
  std::vector<std::size_t> done;
  bool ok = true;
  for (std::size_t i = 0; i < taken_.size() && ok; ++i) {
    if (taken_[i].spared || i == index) continue;
    ok = allowed(*taken_[i].job);
    if (!ok) break;
    hold(taken_[i], -1);
    done.push_back(i);
  }
  for (const std::size_t i : done) hold(taken_[i], 1);
  hold_taken(-1);
  return ok;
}

/// Gives the victim its place back if the claimant fits without.
void ClaimSearch::spare(std::size_t index) {
  if (!reachable_without(index)) return;
  Taken& victim = taken_[index];
  const std::int64_t before = count_.tasks();
  const Ledger::Mark mark = ledger_.checkpoint();
  count_.take(victim.tasks());
  hold(victim, 1);
  if (fits()) {
    ledger_.commit(mark);
    victim.spared = true;
    return;
  }
  hold(victim, -1);
  if (count_.way() == TaskCount::Way::kByCounting) {
    ledger_.commit(mark);
    ROTA_CHECK(count_.give(victim.tasks()));
    return;
  }
  ledger_.rollback(mark);
  count_.reset(before);
}

/// Counting says that there is a place, and not where.
void ClaimSearch::find_place() {
  if (!count_.exact()) return;
  for (const Taken& v : taken_) {
    if (!v.spared && count_.way() == TaskCount::Way::kByCounting) ledger_.give(v.tasks());
  }
  place_ = core_.placer.place(ledger_, core_.request(claimant_), claimant_.tasks_min());
}

/// A job taken whole needs none of its surplus tasks named beside it.
std::vector<Victim> ClaimSearch::victims() const {
  std::vector<const JobRec*> whole;
  for (const Taken& v : taken_) {
    if (!v.spared && v.whole) whole.push_back(v.job);
  }
  std::sort(whole.begin(), whole.end());
  std::vector<Victim> out;
  for (const Taken& v : taken_) {
    if (v.spared) continue;
    if (v.whole) {
      out.push_back({v.job->id, v.job->held, true, milli_of(v.job->held)});
    } else if (!std::binary_search(whole.begin(), whole.end(), v.job)) {
      out.push_back({v.job->id, v.tasks(), false, v.milli});
    }
  }
  return out;
}

std::optional<Claim> ClaimSearch::find(const std::vector<Candidate>& candidates) {
  std::vector<VictimLane> lanes = lanes_of(candidates);
  while (!fits()) {
    if (!take_next(lanes)) return std::nullopt;
  }
  // Spare, the last chosen first, whoever is not needed.
  for (std::size_t i = taken_.size(); i-- > 0;) spare(i);
  find_place();
  if (!place_) return std::nullopt;
  Claim claim;
  claim.victims = victims();
  claim.tasks = std::move(*place_);
  if (by_tie_rule_) claim.tie_rule = "last in the file";
  return claim;
}

}  // namespace

std::optional<Claim> search_claim(Core& core, const Wish& wish, Ledger& on,
                                  const std::vector<Candidate>& candidates) {
  if (core.request(wish.claimant).countable) {
    ClaimSearch search(core, wish, on, TaskCount::Way::kByCounting);
    auto claim = search.find(candidates);
    if (!search.lost_count()) return claim;
  }
  ClaimSearch search(core, wish, on, TaskCount::Way::kOnLedger);
  return search.find(candidates);
}

}  // namespace rota::engine
