// Preemption: who may take whose place, who leaves, who is spared.
//
// Nobody is stopped unless the claimant then starts. Victims are taken in the rule book's order
// until
// the claimant fits, then, the last one first, whoever is not needed is spared. Every claim moves
// GPUs to a charged job from an uncharged one, to a higher priority in the same queue, or to a
// queue
// inside its share from one above its own, so a potential strictly falls and claims cannot loop.
#include <algorithm>

#include "engine/claim_search.h"

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

/// GPU time lost since the last checkpoint if the job stopped at `at`.
Int128 loss_of(const JobRec& job, Instant at, std::int64_t milli) {
  const auto from = job.attempt_started();
  if (!from) return 0;
  std::int64_t lost = (at - *from).ns();
  if (job.spec.checkpoint) lost %= job.spec.checkpoint->ns();
  return static_cast<Int128>(lost) * milli;
}

}  // namespace

Tasks Wish::left(const JobRec& victim) const {
  return gone.empty() ? victim.held : left_of(victim, gone);
}

/// What might be taken of the job, its newest surplus task first; shares aside, where it helps.
void Wish::collect(const JobRec& victim, std::vector<Candidate>& out) const {
  if (!can_be_preempted(victim) || !core.lawful(claimant, victim)) return;
  // Also at this very instant: a limit may be up whose stop no cycle has ordered yet.
  if (foresees) {
    const auto end = core.leaves(victim);
    if (end && *end <= at) return;
  }
  const NodeSet& nodes = core.request(claimant).node_set;
  const auto useful = [&](const TaskAlloc& task) {
    return nodes.contains(task.node) && core.ledger.node(task.node).open;
  };
  const std::int64_t priority = victim.spec.priority;
  const auto started = victim.attempt_started();
  Tasks rest;
  if (!gone.empty()) rest = left_of(victim, gone);
  const Tasks& held = gone.empty() ? victim.held : rest;
  // Surplus tasks of elastic jobs are never protected; the newest go first.
  for (std::int64_t i = std::ssize(held) - 1;
       victim.shape.min_tasks > 0 && i >= victim.shape.min_tasks; --i) {
    const TaskAlloc& task = held[static_cast<std::size_t>(i)];
    if (useful(task)) out.push_back({&victim, i, task.milli(), 0, priority, started});
  }
  const auto contract = victim.contract_ends();
  const bool starting = !started && victim.spec.min_runtime &&
                        later(core.state.now, *victim.spec.min_runtime) <= at;
  if ((!contract || *contract > at) && !starting) return;
  if (std::none_of(held.begin(), held.end(), useful)) return;
  const std::int64_t milli = milli_of(held);
  out.push_back({&victim, Candidate::kWholeJob, milli, loss_of(victim, at, milli), priority,
                 started});
}

void Wish::collect(const Takeable::Jobs& jobs, std::vector<Candidate>& out) const {
  for (const auto& [from, id] : jobs) {
    if (from > at) break;
    collect(*core.state.jobs.find(id), out);
  }
}

namespace {

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
  const Wish wish{.core = *this, .claimant = claimant, .at = at, .gone = gone,
                  .foresees = &on != &ledger};
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
  if (state.policy.order == Order::kPriority) {  // elsewhere a group is allowed as a whole
    std::erase_if(candidates, [&](const Candidate& c) {
      return !within_share(claimant, *c.job, wish.need());
    });
  }
  if (candidates.empty() || sum_of(candidates) < lacking) return std::nullopt;
  return search_claim(*this, wish, on, candidates);
}

std::int64_t Core::freeable_for(const JobRec& claimant) {
  if (shares_stale) divide_shares();
  const Wish wish{.core = *this, .claimant = claimant, .at = state.now, .gone = {}};
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
