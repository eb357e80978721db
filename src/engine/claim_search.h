// The search for one claim: who has to leave for a claimant to fit.
//
// Victims are taken one by one in the rule book's order until the claimant fits, each lawfully at
// its moment; then, the last one first, whoever is not needed is spared. The ledger is as it was
// when the search ends.
// Cost: O(lists of candidates + victims tried * log lists), whatever the number of candidates; of a
// countable claimant among victims of whole devices without touching the ledger for any that is
// spared. Where all candidates together would not be enough, O(candidates).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/core.h"
#include "engine/task_count.h"

namespace rota::engine {

inline bool can_be_preempted(const JobRec& job) {
  return (job.phase == Phase::kRunning || job.phase == Phase::kStarting) && !job.stop_ordered;
}

/// Something that might be taken: a whole job, or one surplus task of an elastic one. What the
/// order of victims looks at lies beside it.
struct Candidate {
  static constexpr std::int64_t kWholeJob = -1;
  const JobRec* job = nullptr;
  JobId id;
  std::int64_t part = kWholeJob;  // or the place of the task among those left
  std::int64_t milli = 0;
  Int128 lost = 0;                // GPU time since the last checkpoint, of whole jobs
  std::int64_t priority = 0;
  std::optional<Instant> started;
  UserIndex user = kNone;
  WholeTask task;                 // all it holds, if that is one of whole devices; else on kNone

  [[nodiscard]] bool whole() const { return part == kWholeJob; }
};

/// What might be taken: lists whose contracts are over, and others one by one.
struct Offers {
  struct Run {
    Takeable::Group group;
    const Takeable::Entries* entries = nullptr;
    std::int64_t checkpoint = 0;
  };
  std::vector<Run> runs;
  std::vector<Candidate> others;
  std::size_t count = 0;   // at least as many as there are
  std::int64_t milli = 0;  // at least what can be taken of them
};

/// A claim to be made: by whom, when, and what another claim has taken from the ledger already. On
/// a ledger that foresees, who leaves by itself until then is gone too.
struct Wish {
  const Core& core;
  const JobRec& claimant;
  Instant at;
  const std::vector<Victim>& gone;
  bool foresees = false;

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
  /// The same of jobs of that priority, by law and by shares.
  [[nodiscard]] bool may_take_of(const Takeable::Group& group, std::int64_t priority) const {
    const Core::VictimKind kind{group.queue, group.charge, priority};
    if (!core.lawful(claimant, kind)) return false;
    // Elsewhere a group is allowed as a whole.
    return core.state.policy.order != Order::kPriority ||
           core.within_share(claimant, kind, need());
  }
  /// Of the victim's tasks, those that no other claim has taken.
  [[nodiscard]] Tasks left(const JobRec& victim) const;
  /// Whether it is still there then, where the claimant could run.
  [[nodiscard]] bool useful(const Takeable::Entry& entry) const {
    if (foresees && entry.leaves <= at) return false;
    if (entry.node != kNone) return useful_on(entry.node);
    const Tasks& held = entry.job->held;
    return std::any_of(held.begin(), held.end(),
                       [this](const TaskAlloc& task) { return useful_on(task.node); });
  }
  [[nodiscard]] bool useful_on(NodeIndex node) const {
    if (!core.request(claimant).node_set.contains(node)) return false;
    return !core.ledger.impaired().contains(node) || core.ledger.node(node).open;
  }
  [[nodiscard]] Candidate candidate(const Takeable::Entry& entry) const;
  /// What of the job might be taken, each of its surplus tasks for itself.
  void collect(const JobRec& victim, std::vector<Candidate>& out) const;
  void collect(const Takeable::Group& group, const Takeable::Jobs& jobs, Offers& out) const;
  /// The most that can be taken of a group that holds so much, the largest of it so much.
  [[nodiscard]] std::int64_t most_of(const Takeable::Group& group, std::int64_t milli,
                                     std::int64_t largest) const;
};

/// Victims and a place for the claimant of `wish`, from `offers`; none: there is no such set.
/// What was not asked for stays empty. `on` is unchanged afterwards.
[[nodiscard]] std::optional<Claim> search_claim(Core& core, const Wish& wish, Ledger& on,
                                                const Offers& offers, ClaimAsks asks);

}  // namespace rota::engine
