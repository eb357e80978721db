// Active jobs that preemption may take at some time, by queue and by when their contract ends.
//
// A job is here from its start to its end if it states a minimum runtime or may shrink. Whether it
// may be taken by a certain job is for the caller to say; this room leaves out whole queues and
// all whose contract still runs. Cost: put, erase O(log jobs).
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "engine/state.h"

namespace rota::engine {

class Takeable {
 public:
  struct Group {
    QueueIndex queue = 0;
    bool charge = true;
    friend auto operator<=>(const Group&, const Group&) = default;
  };
  /// Of one that may shrink or only starts: always, and a closer look says more.
  static constexpr Instant kAlways = Instant(std::numeric_limits<std::int64_t>::min());
  /// Jobs by the earliest instant at which something of them may be taken.
  using Jobs = std::set<std::pair<Instant, JobId>>;

  /// Adds the job, or moves it to where it belongs by now.
  void put(const JobRec& job) {
    if (!job.spec.min_runtime && job.shape.min_tasks == 0) return;
    erase(job.id);
    const Place place{{job.queue, job.spec.charge}, earliest(job)};
    groups_[place.group].insert({place.from, job.id});
    places_.emplace(job.id, place);
  }
  void erase(JobId job) {
    const auto known = places_.find(job);
    if (known == places_.end()) return;
    const auto group = groups_.find(known->second.group);
    group->second.erase({known->second.from, job});
    if (group->second.empty()) groups_.erase(group);
    places_.erase(known);
  }
  void clear() {
    groups_.clear();
    places_.clear();
  }
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] const std::map<Group, Jobs>& groups() const { return groups_; }

 private:
  struct Place {
    Group group;
    Instant from;
  };
  static Instant earliest(const JobRec& job) {
    const auto contract = job.contract_ends();
    const bool known = job.shape.min_tasks == 0 && job.phase != Phase::kStarting && contract;
    return known ? *contract : kAlways;
  }
  std::map<Group, Jobs> groups_;
  std::map<JobId, Place> places_;
};

}  // namespace rota::engine
