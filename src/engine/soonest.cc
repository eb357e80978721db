#include "engine/soonest.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "engine/claim_search.h"

namespace rota::engine {

namespace {

/// Tasks of whole devices that nodes would hold if some of what is on them were gone: at least as
/// many as there would be.
class RoomBound {
 public:
  RoomBound(const Request& request, const Ledger& ledger)
      : request_(request), ledger_(ledger), place_of_(ledger.nodes().size(), -1) {
    FreeWalk walk(ledger.index(), request.node_set, {request.whole, 0}, FreeOrder::kLeastFirst);
    for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) {
      tasks_ += in(room_on(ledger.node(n)));
    }
  }
  [[nodiscard]] std::int64_t tasks() const { return tasks_; }
  void free(const Tasks& tasks) {
    for (const TaskAlloc& task : tasks) free(task);
  }

 private:
  struct Room {
    std::int64_t whole = 0;
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
  };
  static Room room_on(const NodeCap& node) {
    return {node.free.whole, node.free.cpus, node.free.memory};
  }
  [[nodiscard]] std::int64_t in(const Room& room) const {
    if (room.whole < request_.whole) return 0;
    const TaskShape& task = request_.shape.task;
    std::int64_t most = room.whole / request_.whole;
    if (task.cpus > 0) most = std::min(most, room.cpus / task.cpus);
    if (task.memory.value() > 0) most = std::min(most, room.memory / task.memory.value());
    return std::max<std::int64_t>(0, most);
  }
  void free(const TaskAlloc& task) {
    if (!request_.node_set.contains(task.node) || !ledger_.node(task.node).open) return;
    std::int32_t& place = place_of_[static_cast<std::size_t>(task.node)];
    if (place < 0) {
      place = static_cast<std::int32_t>(rooms_.size());
      rooms_.push_back(room_on(ledger_.node(task.node)));
    }
    Room& room = rooms_[static_cast<std::size_t>(place)];
    tasks_ -= in(room);
    for (const DeviceShare& share : task.devices) room.whole += devices_of(task.node, share);
    room.cpus += task.cpus;
    room.memory += task.memory;
    tasks_ += in(room);
  }
  /// A device that several share counts as free as soon as one of them is gone.
  std::int64_t devices_of(NodeIndex node, const DeviceShare& share) {
    if (share.mig_start >= 0) return 0;
    if (share.slots == 0 && share.gpus == kWholeGpu) return 1;
    return shared_.insert({node, share.device}).second ? 1 : 0;
  }

  const Request& request_;
  const Ledger& ledger_;
  std::int64_t tasks_ = 0;
  std::vector<std::int32_t> place_of_;  // by node: its place in rooms_; -1: untouched
  std::vector<Room> rooms_;
  std::set<std::pair<NodeIndex, std::int32_t>> shared_;
};

/// Jobs whose place the claimant may take some day, by when that may be at the earliest.
class Takings {
 public:
  Takings(const Core& core, const JobRec& claimant)
      : core_(core), wish_{core, claimant, core.state.now, none_},
        allowed_(2 * core.state.queues.size(), 0) {
    for (const auto& [group, jobs] : core.takeable_jobs.groups()) {
      if (!wish_.may_take_from(group) || !wish_.shares_allow(group)) continue;
      allowed_[place_of(group.queue, group.charge)] = 1;
      auto next = jobs.begin();
      for (; next != jobs.end() && next->first == Takeable::kAlways; ++next) {
        const JobRec& job = *core.state.jobs.find(next->second);
        if (may_take(job)) early_.push({from(job), &job});
      }
      if (next != jobs.end()) groups_.push({next, jobs.end()});
    }
  }
  /// Whether the job is among them by then.
  [[nodiscard]] bool has(const JobRec& job, Instant by) const {
    const bool some = job.spec.min_runtime || job.shape.min_tasks > 0;
    return some && allowed_[place_of(job.queue, job.spec.charge)] != 0 && may_take(job) &&
           from(job) <= by;
  }
  /// The next one, in order of time, with its instant, up to `last`; null: there is none.
  std::pair<Instant, const JobRec*> next(Instant last) {
    while (true) {
      const bool from_group =
          !groups_.empty() && (early_.empty() || groups_.top().at->first < early_.top().first);
      if (!from_group) {
        if (early_.empty() || early_.top().first > last) return {last, nullptr};
        const auto out = early_.top();
        early_.pop();
        return out;
      }
      Rest rest = groups_.top();
      if (rest.at->first > last) return {last, nullptr};
      const auto [at, id] = *rest.at;
      groups_.pop();
      if (++rest.at != rest.end) groups_.push(rest);
      const JobRec& job = *core_.state.jobs.find(id);
      if (may_take(job)) return {std::max(at, core_.state.now), &job};
    }
  }

 private:
  struct Rest {
    Takeable::Jobs::const_iterator at;
    Takeable::Jobs::const_iterator end;
    friend bool operator>(const Rest& a, const Rest& b) { return *a.at > *b.at; }
  };
  using Early = std::pair<Instant, const JobRec*>;
  struct Later {
    bool operator()(const Early& a, const Early& b) const {
      return a.first != b.first ? a.first > b.first : a.second->id > b.second->id;
    }
  };
  static std::size_t place_of(QueueIndex queue, bool charge) {
    return 2 * static_cast<std::size_t>(queue) + (charge ? 1 : 0);
  }
  [[nodiscard]] bool may_take(const JobRec& job) const {
    if (!can_be_preempted(job) || !core_.lawful(wish_.claimant, job)) return false;
    // By priority across queues each job is looked at; elsewhere a group is allowed as a whole.
    return core_.state.policy.order != Order::kPriority ||
           core_.within_share(wish_.claimant, job, wish_.need());
  }
  /// Surplus tasks are never protected. They count for the whole job here.
  [[nodiscard]] Instant from(const JobRec& job) const {
    const Instant now = core_.state.now;
    if (job.shape.min_tasks > 0) return now;
    return std::max(now, job.contract_ends().value_or(later(now, *job.spec.min_runtime)));
  }

  const std::vector<Victim> none_;
  const Core& core_;
  Wish wish_;
  std::vector<std::uint8_t> allowed_;  // by queue, uncharged and charged
  std::priority_queue<Early, std::vector<Early>, Later> early_;
  std::priority_queue<Rest, std::vector<Rest>, std::greater<>> groups_;
};

}  // namespace

std::optional<Instant> soonest_room(const Core& core, const JobRec& claimant) {
  const Request& request = core.request(claimant);
  const Instant now = core.state.now;
  if (request.kind != NeedKind::kWhole) return now;
  RoomBound room(request, core.ledger);
  const std::int64_t need = claimant.tasks_min();
  if (room.tasks() >= need) return now;
  Takings takings(core, claimant);
  const auto take_until = [&](Instant last) -> std::optional<Instant> {
    for (auto next = takings.next(last); next.second != nullptr; next = takings.next(last)) {
      const auto [at, victim] = next;
      const auto leaves = victim->expected.held;
      if (leaves && std::max(*leaves, now) < at) continue;  // gone by then by itself
      room.free(victim->held);
      if (room.tasks() >= need) return at;
    }
    return std::nullopt;
  };
  std::optional<Instant> found;
  core.future.walk([&](Instant at, const JobRec& job, const Tasks& tasks) {
    at = std::max(at, now);
    found = take_until(at);
    if (found) return false;
    if (&tasks == &job.held && takings.has(job, at)) return true;
    room.free(tasks);
    if (room.tasks() >= need) found = at;
    return !found;
  });
  return found ? found : take_until(Instant(std::numeric_limits<std::int64_t>::max()));
}

}  // namespace rota::engine
