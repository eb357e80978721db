// What will be free at a later instant if all that runs leaves when it is expected to.
//
// A second ledger: the present one plus the parts of jobs that leave up to an instant, which may be
// moved to and fro. It is kept in step with the present by the few changes that happen all the
// time, starts and ends; after any other change it no longer follows and is made anew. A cache: it
// always equals what the present and the expected leaves give.
// Cost: join and part O(devices of the job + log jobs); move_to O(devices of the jobs between);
// start O(devices + jobs).
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <set>

#include "engine/state.h"

namespace rota::engine {

class Future {
 public:
  void forget() { follows_ = false; }
  /// True when it is in step with the present.
  [[nodiscard]] bool follows(const Ledger& present) const {
    return follows_ && seen_ == present.changes();
  }
  /// Says that all that changed in the present was told here.
  void follow(const Ledger& present) { seen_ = present.changes(); }

  /// The present as it is. join() the jobs on it next, of which it holds everything.
  void start(const Ledger& present, Instant at);
  /// A job that the future's ledger holds already.
  void adopt(JobRec& job, const Leaves& leaves);
  /// A job has taken its part of the present.
  void join(JobRec& job, const Leaves& leaves);
  /// A job that is known has taken more.
  void take(const JobRec& job, const TaskAlloc& task);
  /// A job gives back all it has. Call it while it still has it.
  void part(JobRec& job);
  /// A job leaves at other instants than was said. True when a part leaves earlier.
  bool expect(JobRec& job, const Leaves& leaves);

  /// Goes to the instant; whoever leaves at it is gone.
  void move_to(Instant at);
  [[nodiscard]] Instant at() const { return at_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// For trying: changes must be rolled back.
  [[nodiscard]] Ledger& ledger() { return ledger_; }
  /// The first instant from `from` on at which somebody leaves; with `late`, `from` itself when
  /// somebody should have left before.
  enum class Late : std::uint8_t { kSkip, kCountAsNow };
  [[nodiscard]] std::optional<Instant> next_leave(Instant from, Late late) const;
  /// The last instant up to `until` at which somebody leaves. It may lie in the past.
  [[nodiscard]] std::optional<Instant> last_leave(Instant until) const;
  /// Visits what leaves, with its job and when, in order of time, until `visit` returns false.
  template <class Visit>
  void walk(Visit&& visit) const {
    for (const Entry& entry : order_) {
      if (!visit(entry.at, *entry.job, entry.tasks())) return;
    }
  }

 private:
  /// What of a job leaves at one instant.
  struct Part {
    int number = 0;
    std::optional<Instant> Leaves::* at = nullptr;
    Tasks JobRec::* tasks = nullptr;
  };
  static constexpr std::array<Part, 3> kParts{Part{0, &Leaves::held, &JobRec::held},
                                              Part{1, &Leaves::leaving, &JobRec::leaving},
                                              Part{2, &Leaves::next, &JobRec::next_place}};
  struct Entry {
    Instant at;
    JobId id;
    Part part;
    const JobRec* job = nullptr;
    [[nodiscard]] const Tasks& tasks() const { return job->*part.tasks; }
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.at != b.at) return a.at < b.at;
      return a.id != b.id ? a.id < b.id : a.part.number < b.part.number;
    }
  };
  [[nodiscard]] bool gone(const std::optional<Instant>& leaves) const {
    return leaves && *leaves <= at_;
  }
  void enter(const JobRec& job, const Leaves& leaves);
  void remove(const JobRec& job);

  Ledger ledger_;
  Instant at_;
  std::set<Entry> order_;
  std::uint64_t seen_ = 0;
  bool follows_ = false;
};

}  // namespace rota::engine
