// The search for one claim: who has to leave for a claimant to fit.
//
// Victims are taken one by one in the rule book's order until the claimant fits, each lawfully at
// its moment; then, the last one first, whoever is not needed is spared. The ledger is as it was
// when the search ends.
// Cost: O(candidates + victims tried * log candidates); of a countable claimant among victims of
// whole devices without touching the ledger for any that is spared.
#pragma once

#include <optional>
#include <vector>

#include "engine/core.h"

namespace rota::engine {

/// Something that might be taken: a whole job, or one surplus task of an elastic one. What the
/// order of victims looks at lies beside it.
struct Candidate {
  static constexpr std::int64_t kWholeJob = -1;
  const JobRec* job = nullptr;
  std::int64_t part = kWholeJob;  // or the place of the task among those left
  std::int64_t milli = 0;
  Int128 lost = 0;                // GPU time since the last checkpoint, of whole jobs
  std::int64_t priority = 0;
  std::optional<Instant> started;

  [[nodiscard]] bool whole() const { return part == kWholeJob; }
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
  /// Of the victim's tasks, those that no other claim has taken.
  [[nodiscard]] Tasks left(const JobRec& victim) const;
  void collect(const Takeable::Jobs& jobs, std::vector<Candidate>& out) const;
  void collect(const JobRec& victim, std::vector<Candidate>& out) const;
};

/// Victims and a place for the claimant of `wish`, from `candidates`; none: there is no such set.
/// `on` is unchanged afterwards.
[[nodiscard]] std::optional<Claim> search_claim(Core& core, const Wish& wish, Ledger& on,
                                                const std::vector<Candidate>& candidates);

}  // namespace rota::engine
