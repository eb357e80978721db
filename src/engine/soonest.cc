#include "engine/soonest.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

#include "engine/claim_search.h"

namespace rota::engine {

namespace {

WholeTask task_of(const Takeable::Entry& entry) {
  return {entry.node, entry.devices, entry.cpus, entry.memory};
}

/// Jobs whose place the claimant may take some day, by when that may be at the earliest.
class Takings {
 public:
  struct Taking {
    Instant at;
    const JobRec* job = nullptr;  // null: no other
    WholeTask task;               // all it holds; on kNone: see its record
  };
  Takings(const Core& core, const JobRec& claimant)
      : core_(core), wish_{core, claimant, core.state.now, none_},
        allowed_(2 * core.state.queues.size(), 0) {
    for (const auto& [group, jobs] : core.takeable_jobs.groups()) {
      if (!wish_.may_take_from(group) || !wish_.shares_allow(group)) continue;
      allowed_[place_of(group.queue, group.charge)] = 1;
      for (const auto& [key, entries] : jobs.ripe) {
        if (wish_.may_take_of(group, key.priority)) ripe_.push_back(&entries);
      }
      for (const JobId id : jobs.loose) {
        const JobRec& job = *core.state.jobs.find(id);
        if (may_take(job)) loose_.push_back({from(job), &job, {}});
      }
      if (!jobs.waiting.empty()) {
        const auto begin = jobs.waiting.begin();
        waiting_.push({jobs.waiting.front().order, &group, &jobs.waiting, begin});
      }
    }
    std::sort(loose_.begin(), loose_.end(),
              [](const Taking& a, const Taking& b) { return a.at > b.at; });
  }
  /// Whose contract is over by now.
  [[nodiscard]] const std::vector<const Takeable::Entries*>& ripe() const { return ripe_; }
  /// Whether the job is among them all by then.
  [[nodiscard]] bool has(const JobRec& job, Instant by) const {
    const bool allowed = allowed_[place_of(job.queue, job.spec.charge)] != 0;
    return allowed && job.may_be_taken() && may_take(job) && from(job) <= by;
  }
  /// The next one beside those, in order of time, up to `last`.
  Taking next(Instant last) {
    while (!waiting_.empty() && waiting_.top().order <= last.ns()) {
      if (!loose_.empty() && loose_.back().at.ns() < waiting_.top().order) break;
      Waiting first = waiting_.top();
      waiting_.pop();
      const Takeable::Entry& entry = (*first.entries)[first.at];
      first.at = first.entries->after(first.at);
      if (first.at != first.entries->end()) {
        first.order = (*first.entries)[first.at].order;
        waiting_.push(first);
      }
      if (!wish_.may_take_of(*first.group, entry.priority)) continue;
      return {std::max(Instant(entry.order), core_.state.now), entry.job, task_of(entry)};
    }
    if (loose_.empty() || loose_.back().at > last) return {};
    const Taking out = loose_.back();
    loose_.pop_back();
    return out;
  }

 private:
  struct Waiting {
    std::int64_t order = 0;
    const Takeable::Group* group = nullptr;
    const Takeable::Entries* entries = nullptr;
    Takeable::Entries::Place at;
    friend bool operator>(const Waiting& a, const Waiting& b) {
      return a.order != b.order ? a.order > b.order : *a.group > *b.group;
    }
  };
  static std::size_t place_of(QueueIndex queue, bool charge) {
    return 2 * static_cast<std::size_t>(queue) + (charge ? 1 : 0);
  }
  [[nodiscard]] bool may_take(const JobRec& job) const {
    return can_be_preempted(job) &&
           wish_.may_take_of({job.queue, job.spec.charge}, job.spec.priority);
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
  std::vector<const Takeable::Entries*> ripe_;
  std::vector<Taking> loose_;          // the latest first
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

void free(RoomBound& room, const WholeTask& task, const JobRec& job) {
  if (task.node != kNone) {
    room.free(task);
  } else {
    room.free(job.held);
  }
}

}  // namespace

std::optional<Instant> soonest_room(const Core& core, const JobRec& claimant) {
  const Request& request = core.request(claimant);
  const Instant now = core.state.now;
  if (request.kind != NeedKind::kWhole) return now;
  RoomBound room(request, core.ledger);
  const std::int64_t need = claimant.tasks_min();
  if (room.tasks() >= need) return now;
  Takings takings(core, claimant);
  for (const Takeable::Entries* run : takings.ripe()) {
    for (auto i = run->begin(); i != run->end(); i = run->after(i)) {
      free(room, task_of((*run)[i]), *(*run)[i].job);
    }
  }
  if (room.tasks() >= need) return now;
  const auto take_until = [&](Instant last) -> std::optional<Instant> {
    for (auto next = takings.next(last); next.job != nullptr; next = takings.next(last)) {
      const auto& leaves = next.job->expected.held;
      if (leaves && std::max(*leaves, now) < next.at) continue;  // gone by then by itself
      free(room, next.task, *next.job);
      if (room.tasks() >= need) return next.at;
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
