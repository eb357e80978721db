// The engine's records. `State` is everything that makes one engine differ from another: it is what
// snapshots and digests hold. Indexes derived from it live in the rooms that use them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/id.h"
#include "engine/ledger.h"
#include "engine/usage.h"
#include "model/event.h"
#include "model/status.h"

namespace rota::engine {

using NodeIndex = std::int32_t;
using QueueIndex = std::int32_t;
using UserIndex = std::int32_t;
using ShapeIndex = std::int32_t;
constexpr std::int32_t kNone = -1;

/// `from` plus `length`; the last instant there is where that lies beyond it.
inline Instant later(Instant from, Duration length) {
  std::int64_t ns = 0;
  if (!__builtin_add_overflow(from.ns(), length.ns(), &ns)) return Instant(ns);
  return Instant(length.ns() < 0 ? std::numeric_limits<std::int64_t>::min()
                                 : std::numeric_limits<std::int64_t>::max());
}

/// Where a job is in its life, finer than JobState.
enum class Phase : std::uint8_t {
  kPending,
  kClaiming,  // holds a place whose victims are leaving
  kStarting,
  kRunning,
  kStopping,
  kFinal,
};

/// Why a pending job may not be considered at all, as bits.
enum Gate : std::uint8_t {
  kGateHeld = 1,
  kGateBegin = 2,
  kGateDependency = 4,
  kGateNever = 8,       // a dependency that can never be met
  kGateInfeasible = 16,
};

struct AttemptRec {
  std::int64_t number = 0;
  Instant ordered;
  std::optional<Instant> started;
  std::optional<Instant> ended;
  std::string cause;
  JobId by;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::string detail;
  std::vector<std::int32_t> nodes;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("number", self.number);
    visit("ordered", self.ordered);
    visit("started", self.started);
    visit("ended", self.ended);
    visit("cause", self.cause);
    visit("by", self.by);
    visit("exit_code", self.exit_code);
    visit("signal", self.signal);
    visit("detail", self.detail);
    visit("nodes", self.nodes);
  }
};

/// The place in its lane that a deadline gave a job: right before the job `anchor`.
struct MovedBefore {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::uint64_t anchor = 0;
  friend bool operator==(const MovedBefore&, const MovedBefore&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("first", self.first);
    visit("second", self.second);
    visit("anchor", self.anchor);
  }
};

/// What a job has cost so far; rates hold from `since` on.
struct Account {
  Instant since;
  std::int64_t milli = 0;         // held now
  std::int64_t busy_per_mille = -1;  // -1: unknown
  Int128 cost_rate = 0;           // micro-money x milli-GPU per GPU-hour
  Int128 gpu_time = 0;
  Int128 gpu_time_lost = 0;
  Int128 gpu_time_idle = 0;
  Int128 gpu_time_busy = 0;
  Int128 cost = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("since", self.since);
    visit("milli", self.milli);
    visit("busy", self.busy_per_mille);
    visit("cost_rate", self.cost_rate);
    visit("gpu_time", self.gpu_time);
    visit("gpu_time_lost", self.gpu_time_lost);
    visit("gpu_time_idle", self.gpu_time_idle);
    visit("gpu_time_busy", self.gpu_time_busy);
    visit("cost", self.cost);
  }
};

/// When the parts of a job leave: what it holds, the tasks told to stop, and the place held for it
/// elsewhere. None: never.
struct Leaves {
  std::optional<Instant> held;
  std::optional<Instant> leaving;
  std::optional<Instant> next = std::nullopt;
  friend bool operator==(const Leaves&, const Leaves&) = default;
};

struct JobRec {
  JobId id;
  JobSpec spec;
  JobShape shape;                // the spec's, less the nodes its failures exclude
  ShapeIndex shape_index = kNone;  // derived
  std::int64_t task_milli = 0;     // derived: what one task counts in sums
  Leaves expected;                 // derived: as the future has it
  QueueIndex queue = 0;
  UserIndex user = kNone;
  Phase phase = Phase::kPending;
  JobState final_state = JobState::kDone;
  std::uint8_t gates = 0;
  bool stop_ordered = false;     // a StopAttempt was decided for this attempt
  StopCause stop_cause = StopCause::kCancelled;
  JobId stop_by;
  std::optional<Instant> leaves_at;  // when the kill of an ordered stop is due
  Instant submitted;
  std::optional<MovedBefore> moved_before;
  std::optional<Instant> first_started;
  std::optional<Instant> started;
  std::optional<Instant> ended;
  std::int64_t attempts = 0;
  std::int64_t failures = 0;     // that used up a retry
  std::int64_t evictions = 0;
  std::optional<Instant> evicted_at;
  JobId evicted_by;
  std::string evicted_cause;
  std::string tie_rule;
  std::optional<Instant> idle_since;
  std::optional<Instant> warned_at;
  Duration lost;
  std::string end_cause;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  Tasks alloc;                   // what its tasks hold
  Tasks held;                    // what the ledger counts for it; less than alloc when claimed
  Tasks leaving;                 // elastic tasks told to stop: their part of the ledger
  Tasks next_place;              // of one that moves: held for it elsewhere until it is gone
  Tasks leaving_alloc;           // the same tasks as they physically are
  std::vector<JobId> leaving_for;  // whom each of them leaves for; none: nobody
  bool yielded = false;          // its whole place is claimed: shares and limits count it as gone
  std::vector<JobId> victims;    // of a claim, still leaving
  std::int64_t launch_failures = 0;  // in a row
  std::int64_t losses = 0;           // in a row: attempts that vanished under a sound node
  std::optional<Instant> not_before;  // after a loss
  Account account;
  std::vector<AttemptRec> history;

  [[nodiscard]] bool pending() const { return phase == Phase::kPending; }
  [[nodiscard]] bool holds_devices() const {
    return phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kStopping;
  }
  /// Told to stop for a cause that no time limit overrides.
  [[nodiscard]] bool ends_anyway() const {
    return stop_ordered && stop_cause != StopCause::kPreempted && stop_cause != StopCause::kDrain &&
           stop_cause != StopCause::kQuarantine;
  }
  /// Told to stop, and not to be begun again.
  [[nodiscard]] bool ends_for_good() const {
    return stop_ordered && (stop_cause == StopCause::kCancelled ||
                            stop_cause == StopCause::kTimeLimit ||
                            stop_cause == StopCause::kSessionIdle);
  }
  [[nodiscard]] bool final() const { return phase == Phase::kFinal; }
  /// Once started, preemption may take all or some of it at some time.
  [[nodiscard]] bool may_be_taken() const { return spec.min_runtime || shape.min_tasks != 0; }
  /// What the whole job counts in sums: as held, else as asked for.
  [[nodiscard]] std::int64_t milli_total() const;
  /// Of the attempt that holds devices now; none while it only starts.
  [[nodiscard]] std::optional<Instant> attempt_started() const;
  [[nodiscard]] std::optional<Instant> contract_ends() const;
  /// When a pending job may start at the earliest, where that was ever limited.
  [[nodiscard]] std::optional<Instant> begins_at() const;
  [[nodiscard]] std::optional<Instant> limit_ends() const;
  [[nodiscard]] std::int64_t tasks_min() const {
    return shape.min_tasks > 0 ? shape.min_tasks : shape.tasks;
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id);
    visit("spec", self.spec);
    visit("shape", self.shape);
    visit("queue", self.queue);
    visit("user", self.user);
    visit("phase", self.phase);
    visit("final_state", self.final_state);
    visit("gates", self.gates);
    visit("stop_ordered", self.stop_ordered);
    visit("stop_cause", self.stop_cause);
    visit("stop_by", self.stop_by);
    visit("leaves_at", self.leaves_at);
    visit("submitted", self.submitted);
    visit("moved_before", self.moved_before);
    visit("first_started", self.first_started);
    visit("started", self.started);
    visit("ended", self.ended);
    visit("attempts", self.attempts);
    visit("failures", self.failures);
    visit("evictions", self.evictions);
    visit("evicted_at", self.evicted_at);
    visit("evicted_by", self.evicted_by);
    visit("evicted_cause", self.evicted_cause);
    visit("tie_rule", self.tie_rule);
    visit("idle_since", self.idle_since);
    visit("warned_at", self.warned_at);
    visit("lost", self.lost);
    visit("end_cause", self.end_cause);
    visit("exit_code", self.exit_code);
    visit("signal", self.signal);
    visit("alloc", self.alloc);
    visit("held", self.held);
    visit("leaving", self.leaving);
    visit("next_place", self.next_place);
    visit("leaving_alloc", self.leaving_alloc);
    visit("leaving_for", self.leaving_for);
    visit("yielded", self.yielded);
    visit("victims", self.victims);
    visit("launch_failures", self.launch_failures);
    visit("losses", self.losses);
    visit("not_before", self.not_before);
    visit("account", self.account);
    visit("history", self.history);
  }
};

struct GroupRec {
  std::int64_t size = 0;
  std::optional<std::int64_t> throttle;
  std::int64_t started = 0;    // members that have ever started
  std::int64_t done = 0;
  std::int64_t ended = 0;
  std::int64_t never_started = 0;  // ended without a start
  std::int64_t active = 0;     // members that hold a place now
  std::vector<JobId> members;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("size", self.size);
    visit("throttle", self.throttle);
    visit("started", self.started);
    visit("done", self.done);
    visit("ended", self.ended);
    visit("never_started", self.never_started);
    visit("active", self.active);
    visit("members", self.members);
  }
};

struct DeviceRec {
  std::uint8_t out = 0;  // DeviceOut bits
  std::int64_t xid = 0;
  std::int64_t foreign_pid = 0;
  std::string foreign_user;
  Bytes foreign_memory;
  std::int64_t held_pid = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("out", self.out);
    visit("xid", self.xid);
    visit("foreign_pid", self.foreign_pid);
    visit("foreign_user", self.foreign_user);
    visit("foreign_memory", self.foreign_memory);
    visit("held_pid", self.held_pid);
  }
};

struct NodeRec {
  NodeSpec spec;
  bool down = false;
  bool future = false;
  bool removed = false;
  bool drain = false;
  bool quarantine = false;
  std::string reason;
  std::vector<JobId> failures;  // in a row
  std::vector<DeviceRec> devices;
  std::int64_t running = 0;     // jobs with a task here

  [[nodiscard]] bool up() const { return !down && !future && !removed; }
  [[nodiscard]] bool open() const { return up() && !drain && !quarantine; }
  /// Takes nothing new and still has jobs on it.
  [[nodiscard]] bool leaving() const { return running > 0 && !open(); }
  [[nodiscard]] NodeState state() const;
  [[nodiscard]] std::int64_t healthy() const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("spec", self.spec);
    visit("down", self.down);
    visit("future", self.future);
    visit("removed", self.removed);
    visit("drain", self.drain);
    visit("quarantine", self.quarantine);
    visit("reason", self.reason);
    visit("failures", self.failures);
    visit("devices", self.devices);
    visit("running", self.running);
  }
};

struct QueueRec {
  QueueSpec spec;
  QueueIndex parent = kNone;
  std::vector<QueueIndex> children;
  std::int64_t held = 0;         // milli-GPU for shares: charged claims and jobs, less victims
  std::int64_t held_all = 0;     // the same with uncharged work, for limits
  std::int64_t running = 0;
  std::int64_t pending = 0;
  std::int64_t evictions = 0;
  UsageLedger usage;             // charged, physical
  Instant since;                 // of the integrals below
  std::int64_t milli = 0;        // held physically, uncharged work included
  std::int64_t milli_charged = 0;
  std::int64_t owed_rate = 0;
  Int128 gpu_time = 0;
  Int128 gpu_time_lost = 0;
  Int128 charged = 0;
  Int128 owed = 0;
  Int128 delivered = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("spec", self.spec);
    visit("parent", self.parent);
    visit("children", self.children);
    visit("held", self.held);
    visit("held_all", self.held_all);
    visit("running", self.running);
    visit("pending", self.pending);
    visit("evictions", self.evictions);
    visit("usage", self.usage);
    visit("since", self.since);
    visit("milli", self.milli);
    visit("milli_charged", self.milli_charged);
    visit("owed_rate", self.owed_rate);
    visit("gpu_time", self.gpu_time);
    visit("gpu_time_lost", self.gpu_time_lost);
    visit("charged", self.charged);
    visit("owed", self.owed);
    visit("delivered", self.delivered);
  }
};

struct UserRec {
  UserSpec spec;
  std::int64_t held = 0;
  std::int64_t running = 0;
  std::int64_t pending = 0;
  Instant since;
  std::int64_t milli = 0;
  Int128 gpu_time = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("spec", self.spec);
    visit("held", self.held);
    visit("running", self.running);
    visit("pending", self.pending);
    visit("since", self.since);
    visit("milli", self.milli);
    visit("gpu_time", self.gpu_time);
  }
};

struct ClusterRec {
  Instant since;
  std::int64_t healthy = 0;      // devices
  Int128 cost_rate = 0;
  Int128 cost_rate_held = 0;
  std::int64_t milli = 0;        // held physically
  std::int64_t evictions = 0;
  Int128 gpu_time = 0;
  Int128 gpu_time_lost = 0;
  Int128 gpu_time_healthy = 0;
  Int128 gpu_time_busy = 0;
  Int128 cost = 0;
  Int128 cost_held = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("since", self.since);
    visit("healthy", self.healthy);
    visit("cost_rate", self.cost_rate);
    visit("cost_rate_held", self.cost_rate_held);
    visit("milli", self.milli);
    visit("evictions", self.evictions);
    visit("gpu_time", self.gpu_time);
    visit("gpu_time_lost", self.gpu_time_lost);
    visit("gpu_time_healthy", self.gpu_time_healthy);
    visit("gpu_time_busy", self.gpu_time_busy);
    visit("cost", self.cost);
    visit("cost_held", self.cost_held);
  }
};

/// Jobs by id: pages of records that never move, visited in ascending order of id.
/// Cost: find O(1). Ids may be at most `kIdSpan` above the highest so far.
class JobTable {
 public:
  static constexpr std::uint64_t kPage = 256;
  static constexpr std::uint64_t kIdSpan = 1U << 22;

  [[nodiscard]] JobRec* find(JobId id) {
    return const_cast<JobRec*>(static_cast<const JobTable*>(this)->find(id));
  }
  [[nodiscard]] const JobRec* find(JobId id) const {
    const std::uint64_t page = id.value() / kPage;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    return pages_[page]->jobs[id.value() % kPage].get();
  }
  JobRec& at(JobId id) {
    JobRec* job = find(id);
    ROTA_CHECK(job != nullptr);
    return *job;
  }
  JobRec& add(JobId id);
  void erase(JobId id);
  [[nodiscard]] std::uint64_t id_end() const { return pages_.size() * kPage; }
  [[nodiscard]] std::size_t size() const { return size_; }

  template <class Fn>
  void for_each(Fn&& fn) const {
    for (const auto& page : pages_) {
      if (!page) continue;
      for (const auto& job : page->jobs) {
        if (job) fn(*job);
      }
    }
  }

 private:
  struct Page {
    std::array<std::unique_ptr<JobRec>, kPage> jobs;
    std::size_t used = 0;
  };
  static constexpr std::size_t kSparesMax = 64;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<JobRec>> spares_;  // empty records to be used again
  std::size_t size_ = 0;
};

/// A kind of task as the mix of requests counts it.
struct TaskKind {
  std::int64_t milli = 0;
  std::int64_t cpus = 0;
  std::int64_t memory = 0;
  std::vector<std::string> models;
  friend auto operator<=>(const TaskKind&, const TaskKind&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("milli", self.milli);
    visit("cpus", self.cpus);
    visit("memory", self.memory);
    visit("models", self.models);
  }
};

/// How many tasks of each kind have been asked for. Placement goes by the numbers as they were when
/// last looked at, which happens as soon as a 16th part has come to them: what is known about nodes
/// under a mix stays true for that long, and the 95 % that count hardly change.
struct Mix {
  std::map<TaskKind, std::int64_t> seen;  // tasks submitted so far, by kind
  std::int64_t seen_total = 0;
  std::map<TaskKind, std::int64_t> used;  // what placement goes by
  std::int64_t used_total = 0;
  std::uint64_t version = 0;              // changes with `used`

  void add(const TaskKind& kind, std::int64_t tasks);
  void look();
  /// Called once for all that came at one instant, so that the order among them cannot matter.
  void look_if_grown();
  /// Then it was looked at with every task.
  template <class Reader>
  void get_as_of_format_3(Reader& reader) {
    reader.get(seen);
    reader.get(version);
    for (const auto& [kind, tasks] : seen) seen_total += tasks;
    used = seen;
    used_total = seen_total;
  }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("seen", self.seen);
    visit("seen_total", self.seen_total);
    visit("used", self.used);
    visit("used_total", self.used_total);
    visit("version", self.version);
  }
};

struct State {
  Instant now;
  bool begun = false;            // an instant was seen
  Policy policy;
  std::vector<NodeRec> nodes;
  std::vector<QueueRec> queues;  // 0 is the root
  std::vector<UserRec> users;
  std::map<GroupId, GroupRec> groups;
  ClusterRec cluster;
  JobId reservation_holder;
  Mix mix;
  JobTable jobs;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("now", self.now);
    visit("begun", self.begun);
    visit("policy", self.policy);
    visit("nodes", self.nodes);
    visit("queues", self.queues);
    visit("users", self.users);
    visit("groups", self.groups);
    visit("cluster", self.cluster);
    visit("reservation_holder", self.reservation_holder);
    visit("mix", self.mix);
  }
};

}  // namespace rota::engine
