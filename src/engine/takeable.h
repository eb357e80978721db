// Active jobs that preemption may take at some time, by queue and by when their contract ends, and
// those whose contract is over in the order in which victims are chosen.
//
// A job is here from its start to its end if it states a minimum runtime or may shrink; once told
// to stop it is known still, and in no list. Whether it may be taken by a certain job is for the
// caller to say; this room leaves out whole queues and all whose contract still runs.
// What a search looks at lies in the lists themselves: the jobs' records are large and far apart.
// Cost: put, erase O(log jobs); ripen() O(log jobs) for each contract that has ended since.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "engine/sorted_blocks.h"
#include "engine/state.h"

namespace rota::engine {

class Takeable {
 public:
  struct Group {
    QueueIndex queue = 0;
    bool charge = true;
    friend auto operator<=>(const Group&, const Group&) = default;
  };
  /// A job that runs and keeps its size.
  struct Entry {
    std::int64_t order = 0;    // what its list is sorted by, in nanoseconds
    Instant started;
    JobId id;
    const JobRec* job = nullptr;
    Instant leaves;            // at its own limit; the last instant there is: never
    std::int64_t milli = 0;
    std::int64_t priority = 0;
    std::int64_t checkpoint = 0;  // nanoseconds between two; 0: none
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
    NodeIndex node = kNone;    // of its one task, which holds whole devices; kNone: see `held`
    std::int32_t devices = 0;  // of that task
    UserIndex user = kNone;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.order, a.started, a.id) < std::tie(b.order, b.started, b.id);
    }
  };
  using Entries = SortedBlocks<Entry>;
  /// Jobs of which at any instant the one that has lost least is the one that passed its checkpoint
  /// last: in the order of when that is, round and round; without checkpoints of their starts.
  struct RunKey {
    std::int64_t priority = 0;
    std::int64_t milli = 0;
    std::int64_t checkpoint = 0;
    friend auto operator<=>(const RunKey&, const RunKey&) = default;
  };
  struct Jobs {
    std::map<RunKey, Entries> ripe;  // the contract was over when ripen() was called
    Entries waiting;                 // by the end of the contract
    std::set<JobId> loose;           // may shrink or only start: a closer look says more
    [[nodiscard]] bool empty() const {
      return ripe.empty() && waiting.empty() && loose.empty();
    }
    /// The ids of all of which something may be taken at `until`, in no particular order.
    template <class Visit>
    void for_each(Instant until, Visit&& visit) const {
      for (const JobId id : loose) visit(id);
      for (const auto& [key, run] : ripe) {
        for (auto at = run.begin(); at != run.end(); at = run.after(at)) visit(run[at].id);
      }
      for (auto at = waiting.begin(); at != waiting.end(); at = waiting.after(at)) {
        if (waiting[at].order > until.ns()) break;
        visit(waiting[at].id);
      }
    }
  };

  /// Adds the job, or moves it to where it belongs by now.
  void put(const JobRec& job);
  void erase(JobId job);
  /// The job was told to stop: nobody can take it any more.
  void stop(const JobRec& job) {
    if (places_.contains(job.id)) put(job);
  }
  void clear() {
    groups_.clear();
    places_.clear();
    ripe_until_ = Instant(std::numeric_limits<std::int64_t>::min());
  }
  /// Sorts in those whose contract is over by now, which never goes back.
  void ripen(Instant now);
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] const std::map<Group, Jobs>& groups() const { return groups_; }

 private:
  enum class List : std::uint8_t { kNone, kLoose, kWaiting, kRipe };
  struct Place {
    Group group;
    List list = List::kNone;
    RunKey run;
    std::int64_t order = 0;
    Instant started;
  };
  void enter(Place& place, Entry entry);

  std::map<Group, Jobs> groups_;  // none empty
  std::map<JobId, Place> places_;
  Instant ripe_until_ = Instant(std::numeric_limits<std::int64_t>::min());
};

}  // namespace rota::engine
