// What others hold, for verdicts: when limits open, whom contracts protect, what could be taken.
#include <algorithm>

#include "engine/explain.h"

namespace rota::engine {

namespace {

void add_holder(const Core& core, const JobRec& job, HolderGroup& group) {
  group.any = job.id;
  const auto end = job.contract_ends();
  if (end && *end <= core.state.now) return;
  group.is_protected = true;
  if (end) group.ends.push_back(*end);
}

const Holders& holders_of(Core& core) {
  if (core.holders) return *core.holders;
  Holders& found = core.holders.emplace();
  for (const JobId id : core.active) {
    const JobRec& job = *core.state.jobs.find(id);
    add_holder(core, job, found.groups[{job.queue, job.spec.charge, job.spec.priority}]);
    if (const auto at = core.leaves(job)) found.leaving.emplace_back(*at, id);
  }
  for (auto& [key, group] : found.groups) {
    std::sort(group.ends.begin(), group.ends.end());
    group.ends.erase(std::unique(group.ends.begin(), group.ends.end()), group.ends.end());
  }
  std::sort(found.leaving.begin(), found.leaving.end());
  return found;
}

Prospect& prospect_of(Core& core, const JobRec& job) {
  (void)holders_of(core);
  return core.holders->prospects[{job.queue, job.user, job.spec.group, job.spec.priority,
                                  job.shape_index}];
}

/// Ends of contracts that keep the job from what it may take by law, the first ones, in order.
std::vector<Instant> contract_ends_ahead(Core& core, const JobRec& job) {
  constexpr std::size_t kTries = 64;
  std::vector<Instant> ends;
  for (const auto& [key, group] : holders_of(core).groups) {
    if (!core.lawful(job, core.job(group.any))) continue;
    const std::size_t some = std::min(kTries, group.ends.size());
    ends.insert(ends.end(), group.ends.begin(),
                group.ends.begin() + static_cast<std::ptrdiff_t>(some));
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.size() > kTries) ends.resize(kTries);
  return ends;
}

/// Whether those who leave by themselves before that instant are enough, with what may be taken of
/// others by then.
bool goes_through_before(Core& core, const JobRec& job, Instant at) {
  Ledger before = core.ledger;
  for (const auto& [leaves, id] : holders_of(core).leaving) {
    if (leaves >= at) break;
    const JobRec& other = *core.state.jobs.find(id);
    before.give(other.held);
    before.give(other.leaving);
  }
  return core.placer.place(before, core.request(job), job.tasks_min()).has_value() ||
         core.find_claim(job, before, at - Duration(1), {}, ClaimAsks::kWhether).has_value();
}

/// The first contract end at which the claim would go through; none: never as things are, or
/// without it sooner.
std::optional<Instant> find_contract_end(Core& core, const JobRec& job) {
  const std::vector<Instant> ends = contract_ends_ahead(core, job);
  if (ends.empty()) return std::nullopt;
  const auto& leaving = holders_of(core).leaving;
  Ledger future = core.ledger;
  auto next = leaving.begin();
  for (const Instant at : ends) {
    for (; next != leaving.end() && next->first <= at; ++next) {
      const JobRec& other = *core.state.jobs.find(next->second);
      future.give(other.held);
      future.give(other.leaving);
    }
    if (core.find_claim(job, future, at, {}, ClaimAsks::kWhether)) {
      const bool room = core.placer.place(future, core.request(job), job.tasks_min()).has_value();
      return room || goes_through_before(core, job, at) ? std::nullopt : std::optional(at);
    }
  }
  return std::nullopt;
}

std::optional<Instant> first_contract_end(Core& core, const JobRec& job) {
  Prospect& prospect = prospect_of(core, job);
  if (!prospect.contract_end) prospect.contract_end = find_contract_end(core, job);
  return *prospect.contract_end;
}

}  // namespace

std::int64_t freeable_for(Core& core, const JobRec& job) {
  Prospect& prospect = prospect_of(core, job);
  if (!prospect.freeable) prospect.freeable = core.freeable_for(job);
  return *prospect.freeable;
}

void explain_quota(Core& core, const JobRec& job, Verdict& verdict) {
  if (!job.spec.charge) return;
  const std::int64_t need = job.task_milli * job.tasks_min();
  const auto protects = [&](const auto& entry) {
    const auto& [queue, charged, priority] = entry.first;
    if (queue == job.queue || !charged || !entry.second.is_protected) return false;
    const JobRec& other = core.job(entry.second.any);
    return core.lawful(job, other) && core.within_share(job, other, need);
  };
  const auto& groups = holders_of(core).groups;
  if (std::none_of(groups.begin(), groups.end(), protects)) return;
  Reason reason;
  reason.code = ReasonCode::kQuotaInUse;
  reason.by = core.state.queues[job.queue].spec.name;
  reason.resource = ReasonResource::kGpu;
  reason.need = need;
  reason.until = first_contract_end(core, job);
  verdict.reasons.push_back(std::move(reason));
}

std::optional<Instant> limits_open(Core& core, const JobRec& job) {
  const auto group = core.state.groups.find(job.spec.group);
  const bool throttled = group != core.state.groups.end() && group->second.throttle.has_value();
  if (core.waiting.ahead(job) > 0) return std::nullopt;
  const std::int64_t need = job.task_milli * job.tasks_min();
  Instant open = core.state.now;
  const auto wait_for = [&](std::int64_t over, auto&& counts) {
    for (const auto& [at, other] : holders_of(core).leaving) {
      if (over <= 0) break;
      over -= counts(*core.state.jobs.find(other));
      open = std::max(open, at);
    }
    return over <= 0;
  };
  if (throttled && !wait_for(group->second.active + 1 - *group->second.throttle,
                             [&](const JobRec& other) {
                               return other.spec.group == job.spec.group ? 1 : 0;
                             })) {
    return std::nullopt;
  }
  if (need == 0) return open;  // the other limits count GPUs
  for (QueueIndex q = job.queue; q > 0; q = core.state.queues[q].parent) {
    const QueueRec& queue = core.state.queues[q];
    if (!queue.spec.limit) continue;
    const bool opens = wait_for(queue.held_all + need - queue.spec.limit->value(),
                                [&](const JobRec& other) {
                                  return core.owners.contains(q, other.queue)
                                             ? milli_of(other.held)
                                             : 0;
                                });
    if (!opens) return std::nullopt;
  }
  if (job.user == kNone || !core.state.users[job.user].spec.limit) return open;
  const UserRec& user = core.state.users[job.user];
  const bool opens = wait_for(user.held + need - user.spec.limit->value(),
                              [&](const JobRec& other) {
                                return other.user == job.user ? milli_of(other.held) : 0;
                              });
  return opens ? std::optional(open) : std::nullopt;
}

}  // namespace rota::engine
