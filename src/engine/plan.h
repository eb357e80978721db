// Many reservations side by side: who holds what until when, and the earliest instant at which a
// job can be placed beside all of it.
//
// Used by backfill=conservative and estimates. A timeline holds intervals of running jobs and of
// reservations made so far; earliest() tries now and every end of an interval.
// Cost: earliest() O(intervals^2) at worst; of whole-GPU jobs (the counted form) O(intervals).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/place.h"
#include "engine/waiting.h"

namespace rota::engine {

/// Tasks held over [from, to); `to` absent: for ever.
struct Busy {
  JobId job;
  Instant from;
  std::optional<Instant> to;
  Tasks tasks;
};

struct Slot {
  Instant at;
  Tasks tasks;
};

/// What a job asks of a timeline.
struct PlanQuery {
  const Request& request;
  std::int64_t tasks = 1;
  std::optional<Duration> length;  // absent: for ever
  Instant from;
};

/// Exact for every kind of request: the free part over a window is the least at any instant of it.
class Timeline {
 public:
  /// `empty` is the ledger with nothing running on it.
  Timeline(Ledger empty, std::vector<Busy> busy);
  void add(Busy busy);
  [[nodiscard]] std::optional<Slot> earliest(const Placer& placer, const PlanQuery& query) const;
  /// The least that is free over [from, from+length).
  [[nodiscard]] Ledger window(Instant from, const std::optional<Duration>& length) const;

 private:
  Ledger empty_;
  std::vector<Busy> busy_;
};

/// Counts of free whole GPUs by node over time; for jobs of whole GPUs without further wishes.
class CountTimeline {
 public:
  explicit CountTimeline(const std::vector<std::int64_t>& free_by_node);
  void take(NodeIndex node, Instant from, const std::optional<Instant>& to, std::int64_t count);
  struct Found {
    Instant at;
    std::vector<std::pair<NodeIndex, std::int64_t>> tasks;  // tasks on each node
  };
  [[nodiscard]] std::optional<Found> earliest(const PlanQuery& query) const;
  /// Tasks of the request that what is free at this one instant holds.
  [[nodiscard]] std::int64_t tasks_at(Instant at, const Request& request) const;
  /// Forgets what lies before `now`.
  void trim(Instant now);

 private:
  struct Step {
    std::int64_t at = 0;
    std::int64_t free = 0;  // from `at` to the next step
  };
  using Steps = std::vector<Step>;
  /// What is asked of one node: `need` GPUs for `length` from `from` on, by `bound` at the latest.
  struct Need {
    std::int64_t from = 0;
    std::int64_t length = 0;
    std::int64_t need = 0;
    std::int64_t bound = 0;
  };
  /// The instant, or the end of time. `full` of the node is raised by what is learned.
  [[nodiscard]] std::int64_t earliest_on(const Steps& steps, const Need& ask,
                                         std::int64_t& full) const;
  /// By node: from `asked_from_` until this instant it never has `need` free. It only rises, since
  /// nothing is given back.
  [[nodiscard]] std::vector<std::int64_t>& full_until(std::int64_t need) const;
  [[nodiscard]] std::int64_t least_free(const Steps& steps, std::int64_t from,
                                        std::int64_t to) const;
  [[nodiscard]] std::optional<Found> gang_at(const PlanQuery& query, std::int64_t at) const;
  std::vector<Steps> nodes_;
  std::multiset<std::int64_t> releases_;
  mutable std::vector<std::vector<std::int64_t>> full_until_;  // by need, then node
  mutable std::int64_t asked_from_ = std::numeric_limits<std::int64_t>::min();
};

/// The reservations of a conservative pass, kept from cycle to cycle while nothing unforeseen
/// happens (counted form only).
struct ConservativePlan {
  struct Entry {
    OrderKey key;
    Instant at;
    std::vector<std::pair<NodeIndex, std::int64_t>> tasks;
    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit("key", self.key);
      visit("at", self.at);
      visit("tasks", self.tasks);
    }
  };
  bool valid = false;
  std::optional<CountTimeline> timeline;
  std::map<JobId, Entry> entries;
  std::set<std::pair<Instant, JobId>> by_start;
  std::optional<OrderKey> last;      // everything up to here is planned
  std::set<JobId> unplanned;         // arrived since the last pass

  void invalidate() {
    if (valid || !unplanned.empty()) *this = ConservativePlan{};
  }
  /// A job joins the line. Without a plan it is planned with all others.
  void join(JobId job) {
    if (valid) unplanned.insert(job);
  }
  /// A job leaves the line. One that held no reservation leaves the others as they are.
  void leave(JobId job) {
    unplanned.erase(job);
    if (entries.contains(job)) invalidate();
  }
};

}  // namespace rota::engine
