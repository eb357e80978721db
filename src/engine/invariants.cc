// Everything that must hold at every moment, checked the slow and obvious way.
#include <algorithm>
#include <map>

#include "engine/core.h"

namespace rota::engine {

namespace {

using Broken = std::vector<std::string>;

void check_ledger(const Core& core, Broken& out) {
  Ledger fresh = core.empty;
  for (NodeIndex n = 0; n < std::ssize(core.state.nodes); ++n) {
    const NodeRec& node = core.state.nodes[n];
    fresh.set_open(n, node.open());
    for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
      fresh.set_out(n, d, node.devices[d].out);
    }
  }
  for (const JobId id : core.active) {
    const JobRec& job = *core.state.jobs.find(id);
    if (!fresh.can_take(job.held)) {
      out.push_back("job " + std::to_string(id.value()) + " holds what another job holds");
      continue;
    }
    fresh.take(job.held);
    fresh.take(job.leaving);
    if (!fresh.can_take(job.next_place)) {
      out.push_back("the place held for job " + std::to_string(id.value()) + " is another's");
      continue;
    }
    fresh.take(job.next_place);
  }
  if (!(fresh == core.ledger)) out.push_back("the ledger differs from the sum of what jobs hold");
}

void check_counts(const Core& core, Broken& out) {
  std::vector<std::int64_t> held(core.state.queues.size(), 0);
  std::vector<std::int64_t> held_all(core.state.queues.size(), 0);
  std::vector<std::int64_t> pending(core.state.queues.size(), 0);
  std::map<UserIndex, std::int64_t> users;
  core.state.jobs.for_each([&](const JobRec& job) {
    if (job.pending()) {
      for (const QueueIndex q : core.owners.path(job.queue)) ++pending[q];
      if (core.active.contains(job.id)) out.push_back("a pending job is among the active");
    }
    if (core.moving.contains(job.id) != !job.next_place.empty()) {
      out.push_back("job " + std::to_string(job.id.value()) + " moves nowhere");
    }
    if (job.pending() || job.final()) return;
    Tasks counted = job.phase == Phase::kClaiming ? job.held : job.alloc;
    if (job.yielded) counted = job.next_place;
    for (const TaskAlloc& gone : job.leaving_alloc) {
      std::erase_if(counted, [&](const TaskAlloc& t) { return t.rank == gone.rank; });
    }
    for (QueueIndex q = job.queue; q != kNone; q = core.state.queues[q].parent) {
      held_all[q] += milli_of(counted);
      if (job.spec.charge) held[q] += milli_of(counted);
    }
    if (job.user != kNone) users[job.user] += milli_of(counted);
    if (job.yielded) return;
    const bool gang = job.shape.min_tasks == 0;
    if (gang && job.holds_devices() && std::ssize(job.alloc) != job.shape.tasks) {
      out.push_back("gang " + std::to_string(job.id.value()) + " runs in part");
    }
  });
  for (QueueIndex q = 0; q < std::ssize(core.state.queues); ++q) {
    const QueueRec& queue = core.state.queues[q];
    if (queue.held != held[q] || queue.held_all != held_all[q]) {
      out.push_back("queue " + queue.spec.name + " does not hold the sum of its jobs");
    }
    if (q > 0 && queue.pending != pending[q]) {
      out.push_back("queue " + queue.spec.name + " miscounts its pending jobs");
    }
  }
  for (const auto& [user, milli] : users) {
    if (core.state.users[user].held != milli) out.push_back("a user's holdings are miscounted");
  }
}

void check_future(const Core& core, Broken& out) {
  if (!core.future.follows(core.ledger)) return;
  Ledger then = core.ledger;
  std::multimap<Instant, const Tasks*> leaving;  // as things are now
  for (const JobId id : core.active) {
    const JobRec& job = *core.state.jobs.find(id);
    const Instant at = core.future.at();
    if (job.expected.held && *job.expected.held <= at) then.give(job.held);
    if (job.expected.leaving && *job.expected.leaving <= at) then.give(job.leaving);
    if (job.expected.next && *job.expected.next <= at) then.give(job.next_place);
    const Leaves leaves = core.leaves_in_parts(job);
    if (!core.unsettled.contains(id) && !(leaves == job.expected)) {
      out.push_back("job " + std::to_string(id.value()) + " leaves at another instant than noted");
    }
    if (leaves.held) leaving.insert({*leaves.held, &job.held});
    if (leaves.leaving) leaving.insert({*leaves.leaving, &job.leaving});
    if (leaves.next) leaving.insert({*leaves.next, &job.next_place});
  }
  if (!(then == core.future.ledger())) {
    out.push_back("the future differs from the present without those who leave");
  }
  const auto& reserved = core.reservation;
  if (!reserved || !reserved->earliest || core.any_preemptible()) return;
  const JobRec& holder = *core.state.jobs.find(reserved->job);
  then = core.ledger;
  for (auto part = leaving.begin(); part != leaving.end() && part->first < reserved->at;) {
    const Instant at = part->first;
    for (; part != leaving.end() && part->first == at; ++part) then.give(*part->second);
    if (at >= core.state.now &&
        core.placer.place(then, core.request(holder), holder.tasks_min())) {
      out.push_back("a reservation is later than it need be");
    }
  }
}

void check_throttles(const Core& core, Broken& out) {
  for (const auto& [id, group] : core.state.groups) {
    const auto active = std::count_if(group.members.begin(), group.members.end(),
                                      [&](JobId m) { return core.active.contains(m); });
    if (active != group.active) out.push_back("a group miscounts its active members");
  }
}

}  // namespace

std::vector<std::string> Core::check_invariants() const {
  Broken out;
  check_ledger(*this, out);
  check_counts(*this, out);
  check_throttles(*this, out);
  check_future(*this, out);
  return out;
}

}  // namespace rota::engine
