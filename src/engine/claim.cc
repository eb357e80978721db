// Preemption: who may take whose place, who leaves, who is spared.
//
// Nobody is stopped unless the claimant then starts. Victims are taken in the rule book's order
// until
// the claimant fits, then, the last one first, whoever is not needed is spared. Every claim moves
// GPUs to a charged job from an uncharged one, to a higher priority in the same queue, or to a
// queue
// inside its share from one above its own, so a potential strictly falls and claims cannot loop.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

namespace {

/// The branches of two queues below the level where they meet.
struct Branches {
  std::vector<QueueIndex> claimant;
  std::vector<QueueIndex> victim;
};

Branches branches_of(const Owners& owners, QueueIndex a, QueueIndex b) {
  Branches out{owners.path(a), owners.path(b)};
  while (!out.claimant.empty() && !out.victim.empty() &&
         out.claimant.back() == out.victim.back()) {
    out.claimant.pop_back();
    out.victim.pop_back();
  }
  return out;
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
  const Branches branches = branches_of(owners, claimant.queue, victim.queue);
  const auto stays = [&](QueueIndex q) {
    return state.queues[q].held + claimant_milli <= owners.reclaim_share_milli(q);
  };
  const auto exceeds = [&](QueueIndex q) {
    return state.queues[q].held > owners.reclaim_share_milli(q);
  };
  return std::all_of(branches.claimant.begin(), branches.claimant.end(), stays) &&
         std::all_of(branches.victim.begin(), branches.victim.end(), exceeds);
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

}  // namespace

/// All that `claimant` might take at `at`, shares aside, where it could run. Unordered.
std::vector<Victim> Core::victims_for(const JobRec& claimant, Instant at,
                                      const std::vector<Victim>& gone) const {
  std::vector<Victim> out;
  const Request& wish = request(claimant);
  const auto useful = [&](const TaskAlloc& task) {
    return std::binary_search(wish.nodes.begin(), wish.nodes.end(), task.node) &&
           ledger.node(task.node).open;
  };
  for (const JobId id : active) {
    const JobRec& victim = *state.jobs.find(id);
    if (!can_be_preempted(victim) || !lawful(claimant, victim)) continue;
    // Of a future ledger those who leave by themselves are gone already.
    if (const auto end = leaves(victim); at > state.now && end && *end <= at) continue;
    const Tasks held = gone.empty() ? victim.held : left_of(victim, gone);
    // Surplus tasks of elastic jobs are never protected; the newest go first.
    for (std::int64_t i = std::ssize(held) - 1;
         victim.shape.min_tasks > 0 && i >= victim.shape.min_tasks; --i) {
      if (useful(held[i])) out.push_back({id, {held[i]}, false, held[i].milli()});
    }
    const auto contract = victim.contract_ends();
    const bool starting = !victim.attempt_started() && victim.spec.min_runtime &&
                          later(state.now, *victim.spec.min_runtime) <= at;
    if ((!contract || *contract > at) && !starting) continue;
    if (std::any_of(held.begin(), held.end(), useful)) {
      out.push_back({id, held, true, milli_of(held)});
    }
  }
  return out;
}

namespace {

/// GPU time lost since the last checkpoint if the job stopped at `at`.
Int128 loss_of(const JobRec& job, Instant at, std::int64_t milli) {
  const auto from = job.attempt_started();
  if (!from) return 0;
  std::int64_t lost = (at - *from).ns();
  if (job.spec.checkpoint) lost %= job.spec.checkpoint->ns();
  return static_cast<Int128>(lost) * milli;
}

/// The search for one claim: takes victims one by one on a ledger under a checkpoint, with the
/// holdings of queues kept in step, and undoes everything at its end.
class ClaimSearch {
 public:
  ClaimSearch(Core& core, const JobRec& claimant, Ledger& on, Instant at)
      : core_(core), claimant_(claimant), ledger_(on), at_(at), mark_(on.checkpoint()) {}
  ~ClaimSearch() {
    for (const Victim& v : taken_) hold(v, 1);
    ledger_.rollback(mark_);
  }
  ClaimSearch(const ClaimSearch&) = delete;
  ClaimSearch& operator=(const ClaimSearch&) = delete;

  std::optional<Claim> find(std::vector<Victim> candidates);

 private:
  [[nodiscard]] bool allowed(const Victim& v) const {
    const JobRec& victim = core_.job(v.job);
    return core_.within_share(claimant_, victim, need());
  }
  [[nodiscard]] std::int64_t need() const {
    return claimant_.task_milli * claimant_.tasks_min();
  }
  void hold(const Victim& v, std::int64_t sign) {
    const JobRec& victim = core_.job(v.job);
    core_.owners.hold(victim.queue, sign * v.milli, victim.spec.charge);
    if (victim.user != kNone) core_.state.users[victim.user].held += sign * v.milli;
  }
  void take(const Victim& v) {
    ledger_.give(v.tasks);
    hold(v, -1);
    taken_.push_back(v);
  }
  /// Negative: a is taken before b. 0 only for parts of one job.
  [[nodiscard]] int compare(const Victim& a, const Victim& b, bool* by_tie_rule) const;
  [[nodiscard]] std::optional<Tasks> fits();
  [[nodiscard]] bool reachable_without(const std::vector<Victim>& keep);
  void drop_parts_of_whole_jobs(std::vector<Victim>& victims) const;

  Core& core_;
  const JobRec& claimant_;
  Ledger& ledger_;
  Instant at_;
  Ledger::Mark mark_;
  std::vector<Victim> taken_;
  bool by_tie_rule_ = false;
};

int ClaimSearch::compare(const Victim& a, const Victim& b, bool* by_tie_rule) const {
  if (a.whole != b.whole) return a.whole ? 1 : -1;
  const JobRec& x = core_.job(a.job);
  const JobRec& y = core_.job(b.job);
  if (x.spec.charge != y.spec.charge) return x.spec.charge ? 1 : -1;
  const auto excess = core_.owners.excess(x.queue, y.queue);
  if (excess != 0) return excess > 0 ? -1 : 1;
  if (x.spec.priority != y.spec.priority) return x.spec.priority < y.spec.priority ? -1 : 1;
  const Int128 lost_x = a.whole ? loss_of(x, at_, a.milli) : 0;
  const Int128 lost_y = b.whole ? loss_of(y, at_, b.milli) : 0;
  if (lost_x != lost_y) return lost_x < lost_y ? -1 : 1;
  const auto start_x = x.attempt_started();
  const auto start_y = y.attempt_started();
  if (start_x != start_y) return start_x > start_y ? -1 : 1;
  if (x.id == y.id) return 0;
  if (by_tie_rule != nullptr) *by_tie_rule = true;
  return x.id > y.id ? -1 : 1;
}

std::optional<Tasks> ClaimSearch::fits() {
  if (core_.room_in_limits(claimant_, claimant_.tasks_min()) < claimant_.tasks_min()) {
    return std::nullopt;
  }
  return core_.placer.place(ledger_, core_.request(claimant_), claimant_.tasks_min());
}

/// Whether `keep` could be taken one after the other, each lawfully at its moment.
bool ClaimSearch::reachable_without(const std::vector<Victim>& keep) {
  for (const Victim& v : taken_) hold(v, 1);
  std::size_t done = 0;
  bool ok = true;
  for (const Victim& v : keep) {
    if (!allowed(v)) {
      ok = false;
      break;
    }
    hold(v, -1);
    ++done;
  }
  for (std::size_t i = 0; i < done; ++i) hold(keep[i], 1);
  for (const Victim& v : taken_) hold(v, -1);
  return ok;
}

/// A job taken whole needs none of its surplus tasks named beside it.
void ClaimSearch::drop_parts_of_whole_jobs(std::vector<Victim>& victims) const {
  std::vector<JobId> whole;
  for (const Victim& v : victims) {
    if (v.whole) whole.push_back(v.job);
  }
  std::erase_if(victims, [&](const Victim& v) {
    return !v.whole && std::find(whole.begin(), whole.end(), v.job) != whole.end();
  });
  for (Victim& v : victims) {
    if (!v.whole) continue;
    v.tasks = core_.job(v.job).held;
    v.milli = milli_of(v.tasks);
  }
}

std::optional<Claim> ClaimSearch::find(std::vector<Victim> candidates) {
  std::optional<Tasks> tasks;
  while (!(tasks = fits())) {
    // The next victim among those that may be taken at this moment.
    std::size_t best = candidates.size();
    bool tie = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!allowed(candidates[i])) continue;
      bool by_rule = false;
      if (best == candidates.size() ||
          compare(candidates[i], candidates[best], &by_rule) < 0) {
        best = i;
      }
      tie = tie || by_rule;
    }
    if (best == candidates.size()) return std::nullopt;
    Victim next = candidates[best];
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
    if (next.whole) {
      // Its surplus tasks may be gone already: only the rest is left to take.
      for (const Victim& v : taken_) {
        if (v.job != next.job) continue;
        const std::int32_t rank = v.tasks.front().rank;
        std::erase_if(next.tasks, [&](const TaskAlloc& t) { return t.rank == rank; });
      }
      next.milli = milli_of(next.tasks);
      std::erase_if(candidates, [&](const Victim& v) { return v.job == next.job; });
    }
    by_tie_rule_ = tie;
    take(next);
  }
  // Spare, the last chosen first, whoever is not needed.
  for (std::size_t i = taken_.size(); i-- > 0;) {
    std::vector<Victim> keep = taken_;
    keep.erase(keep.begin() + static_cast<std::ptrdiff_t>(i));
    if (!reachable_without(keep)) continue;
    const Victim spared = taken_[i];
    const Ledger::Mark mark = ledger_.checkpoint();
    ledger_.take(spared.tasks);
    hold(spared, 1);
    auto without = fits();
    if (without) {
      tasks = std::move(without);
      ledger_.commit(mark);
      taken_ = std::move(keep);
    } else {
      hold(spared, -1);
      ledger_.rollback(mark);
    }
  }
  Claim claim{taken_, std::move(*tasks), {}};
  drop_parts_of_whole_jobs(claim.victims);
  if (by_tie_rule_) claim.tie_rule = "last in the file";
  return claim;
}

}  // namespace

std::optional<Claim> Core::find_claim(const JobRec& claimant, Ledger& on, Instant at,
                                      const std::vector<Victim>& gone) {
  std::vector<Victim> candidates = victims_for(claimant, at, gone);
  if (candidates.empty()) return std::nullopt;
  // Bounds before the search: what is free plus what could be freed.
  const std::int64_t need = claimant.task_milli * claimant.tasks_min();
  std::int64_t whole = 0;
  for (const Victim& v : candidates) whole += v.whole ? v.milli : 0;
  for (const Victim& v : candidates) whole += v.whole ? 0 : v.milli;
  if (on.milli_free_open() + whole < need) return std::nullopt;
  if (shares_stale) divide_shares();
  std::erase_if(candidates, [&](const Victim& v) {
    // Shares of the claimant's side do not change while victims leave other branches.
    const JobRec& victim = job(v.job);
    return victim.spec.charge && claimant.queue != victim.queue &&
           !(state.policy.order == Order::kPriority &&
             victim.spec.priority < claimant.spec.priority) &&
           !within_share(claimant, victim, need);
  });
  if (candidates.empty()) return std::nullopt;
  ClaimSearch search(*this, claimant, on, at);
  return search.find(std::move(candidates));
}

std::int64_t Core::freeable_for(const JobRec& claimant) {
  if (shares_stale) divide_shares();
  const std::int64_t need = claimant.task_milli * claimant.tasks_min();
  std::map<JobId, std::int64_t> by_job;
  for (const Victim& v : victims_for(claimant, state.now)) {
    if (!within_share(claimant, job(v.job), need)) continue;
    by_job[v.job] = std::max(by_job[v.job], v.milli);
  }
  std::int64_t sum = 0;
  for (const auto& [id, milli] : by_job) sum += milli;
  return sum;
}

}  // namespace rota::engine
