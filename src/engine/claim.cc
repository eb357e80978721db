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

}  // namespace

/// Whether, contracts and shares aside, the rules let `claimant` take from `victim`.
bool Core::lawful(const JobRec& claimant, const VictimKind& victim) const {
  if (!claimant.spec.charge) return false;
  if (state.policy.order == Order::kFifo || state.policy.order == Order::kShortest) return false;
  if (!victim.charge) return true;
  const bool lower = victim.priority < claimant.spec.priority;
  if (claimant.queue == victim.queue) return lower;
  if (state.policy.order == Order::kPriority) {
    if (lower) return true;
    if (victim.priority > claimant.spec.priority) return false;
  }
  return state.policy.reclaim != Reclaim::kOff;
}

/// The claimant's branch stays within its share with `claimant_milli` more, and the victim's holds
/// more than its own, at every level below the one where they meet.
bool Core::within_share(const JobRec& claimant, const VictimKind& victim,
                        std::int64_t claimant_milli) const {
  if (!victim.charge || claimant.queue == victim.queue) return true;
  if (state.policy.order == Order::kPriority && victim.priority < claimant.spec.priority) {
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
  if (state.queues[claimant.queue].parent == state.queues[victims].parent) {
    return claimant.queue == victims || (stays(claimant.queue) && exceeds(victims));
  }
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

Candidate Wish::candidate(const Takeable::Entry& entry) const {
  std::int64_t lost = (at - entry.started).ns();
  if (entry.checkpoint > 0) lost %= entry.checkpoint;
  return {.job = entry.job,
          .id = entry.id,
          .milli = entry.milli,
          .lost = static_cast<Int128>(lost) * entry.milli,
          .priority = entry.priority,
          .started = entry.started,
          .user = entry.user,
          .task = {entry.node, entry.devices, entry.cpus, entry.memory}};
}

/// What might be taken of the job, its newest surplus task first; shares aside, where it helps.
void Wish::collect(const JobRec& victim, std::vector<Candidate>& out) const {
  if (!can_be_preempted(victim) || !core.lawful(claimant, victim)) return;
  // Also at this very instant: a limit may be up whose stop no cycle has ordered yet.
  if (foresees) {
    const auto end = core.leaves(victim);
    if (end && *end <= at) return;
  }
  const auto useful = [&](const TaskAlloc& task) { return useful_on(task.node); };
  Candidate any{.job = &victim,
                .id = victim.id,
                .priority = victim.spec.priority,
                .started = victim.attempt_started(),
                .user = victim.user,
                .task = {}};
  Tasks rest;
  if (!gone.empty()) rest = left_of(victim, gone);
  const Tasks& held = gone.empty() ? victim.held : rest;
  // Surplus tasks of elastic jobs are never protected; the newest go first.
  for (std::int64_t i = std::ssize(held) - 1;
       victim.shape.min_tasks > 0 && i >= victim.shape.min_tasks; --i) {
    const TaskAlloc& task = held[static_cast<std::size_t>(i)];
    if (!useful(task)) continue;
    Candidate& part = out.emplace_back(any);
    part.part = i;
    part.milli = task.milli();
  }
  const auto contract = victim.contract_ends();
  const bool starting = !any.started && victim.spec.min_runtime &&
                        later(core.state.now, *victim.spec.min_runtime) <= at;
  if ((!contract || *contract > at) && !starting) return;
  if (std::none_of(held.begin(), held.end(), useful)) return;
  any.milli = milli_of(held);
  any.lost = loss_of(victim, at, any.milli);
  out.push_back(any);
}

/// Of one group; shares of the group are for the caller to look at.
void Wish::collect(const Takeable::Group& group, const Takeable::Jobs& jobs, Offers& out) const {
  const std::size_t before = out.others.size();
  std::int64_t milli = 0;
  std::int64_t largest = 0;
  if (!gone.empty()) {  // parts of some may be taken already
    jobs.for_each(at, [&](JobId id) {
      const JobRec& job = *core.state.jobs.find(id);
      if (may_take_of(group, job.spec.priority)) collect(job, out.others);
    });
  } else {
    for (const auto& [key, entries] : jobs.ripe) {
      if (!may_take_of(group, key.priority)) continue;
      out.runs.push_back({group, &entries, key.checkpoint});
      out.count += entries.size();
      milli += static_cast<std::int64_t>(entries.size()) * key.milli;
      largest = std::max(largest, key.milli);
    }
    for (auto i = jobs.waiting.begin(); i != jobs.waiting.end(); i = jobs.waiting.after(i)) {
      const Takeable::Entry& entry = jobs.waiting[i];
      if (entry.order > at.ns()) break;
      if (may_take_of(group, entry.priority) && useful(entry)) {
        out.others.push_back(candidate(entry));
      }
    }
    for (const JobId id : jobs.loose) {
      const JobRec& job = *core.state.jobs.find(id);
      if (may_take_of(group, job.spec.priority)) collect(job, out.others);
    }
  }
  out.count += out.others.size() - before;
  for (std::size_t i = before; i < out.others.size(); ++i) {
    milli += out.others[i].milli;
    largest = std::max(largest, out.others[i].milli);
  }
  out.milli += most_of(group, milli, largest);
}

/// From another queue victims are taken only while it holds more than its share.
std::int64_t Wish::most_of(const Takeable::Group& group, std::int64_t milli,
                           std::int64_t largest) const {
  const bool by_shares = group.charge && group.queue != claimant.queue &&
                         core.state.policy.order != Order::kPriority;
  if (!by_shares) return milli;
  const std::int64_t over =
      core.state.queues[group.queue].held - core.owners.reclaim_share_milli(group.queue);
  return std::min(milli, over + largest - 1);
}

std::optional<Claim> Core::find_claim(const JobRec& claimant, Ledger& on, Instant at,
                                      const std::vector<Victim>& gone, ClaimAsks asks) {
  takeable_jobs.ripen(state.now);
  const Wish wish{.core = *this, .claimant = claimant, .at = at, .gone = gone,
                  .foresees = &on != &ledger};
  // Bounds before the search: what is free plus what could be freed.
  // Three slices of a third are less than a GPU in sums, and leave a whole one free.
  const std::int64_t lacking = on.sliced() ? 0 : wish.need() - on.milli_free_open();
  const auto holds = [this](const Takeable::Group& group) {
    const QueueRec& queue = state.queues[group.queue];
    return group.charge ? queue.held : queue.held_all - queue.held;
  };
  if (shares_stale) {
    std::int64_t most = 0;
    bool any = false;
    for (const auto& [group, jobs] : takeable_jobs.groups()) {
      if (!wish.may_take_from(group)) continue;
      any = true;
      most += holds(group);
    }
    if (!any || most < lacking) return std::nullopt;
    divide_shares();
  }
  // Shares of the claimant's side do not change while victims leave other branches.
  Offers offers;
  for (const auto& [group, jobs] : takeable_jobs.groups()) {
    if (!wish.may_take_from(group) || !wish.shares_allow(group)) continue;
    wish.collect(group, jobs, offers);
  }
  if (offers.count == 0 || offers.milli < lacking) return std::nullopt;
  return search_claim(*this, wish, on, offers, asks);
}

std::int64_t Core::freeable_for(const JobRec& claimant) {
  if (shares_stale) divide_shares();
  const Wish wish{.core = *this, .claimant = claimant, .at = state.now, .gone = {}};
  std::int64_t sum = 0;
  std::vector<Candidate> parts;
  for (const auto& [group, jobs] : takeable_jobs.groups()) {
    if (!wish.may_take_from(group) || !wish.shares_allow(group)) continue;
    jobs.for_each(state.now, [&](JobId id) {
      const JobRec& victim = *state.jobs.find(id);
      if (!within_share(claimant, victim, wish.need())) return;
      parts.clear();
      wish.collect(victim, parts);
      std::int64_t most = 0;
      for (const Candidate& c : parts) most = std::max(most, c.milli);
      sum += most;
    });
  }
  return sum;
}

}  // namespace rota::engine
