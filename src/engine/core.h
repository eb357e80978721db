// The engine's inside: the state, the indexes derived from it, and the rooms that change it.
//
//   apply.cc      requests and facts            jobs.cc     the life of a job
//   advance.cc    what falls due by itself      pass.cc     one scheduling pass
//   claim.cc      preemption                    reserve.cc  the one reservation of EASY
//   plan.cc       many reservations             explain.cc  verdicts
//   growth.cc     elastic jobs                  deadline.cc jobs that must be done in time
//   counted.cc    conservative, counted form    view.cc     plain values for people
//   snapshot.cc   save, load, digest            invariants.cc, forget.cc
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/future.h"
#include "engine/holders.h"
#include "engine/owners.h"
#include "engine/place.h"
#include "engine/plan.h"
#include "engine/sorted_ids.h"
#include "engine/takeable.h"
#include "engine/turns.h"
#include "engine/waiting.h"

namespace rota::engine {

using TimerSet = std::set<std::pair<Instant, JobId>>;

/// A running part that preemption may take: a whole job, or surplus tasks of an elastic one.
struct Victim {
  JobId job;
  Tasks tasks;           // what leaves
  bool whole = true;
  std::int64_t milli = 0;
};

/// A place that can be had by stopping victims.
struct Claim {
  std::vector<Victim> victims;  // in the order they were chosen
  Tasks tasks;
  std::string tie_rule;         // how the last choice was made when it was a tie
};

/// A place that can be had when small jobs move elsewhere.
struct Moves {
  Claim claim;
  std::vector<Tasks> places;   // where the victims go, one by one
};

/// What is asked of a search for victims: all of the claim, only the place it would give, or only
/// whether there is one. kMightFit: the same where a bound says already that there might be.
enum class ClaimAsks : std::uint8_t { kAll, kPlace, kWhether, kMightFit };

/// EASY: the first blocked job and the instant at which it can start.
struct Reservation {
  JobId job;
  Instant at;
  std::uint64_t made_on = 0;    // the future's changes when it was made
  std::optional<Tasks> place;   // where it would go then; found when somebody asks
  bool by_claim = false;        // it takes the place of others then
  std::vector<JobId> beside;    // started since, and there at that instant
  bool earliest = false;        // no sooner instant can hold it unless somebody leaves unforeseen
};

/// What the last try to place a shape has shown, good while what it looked at stays the same.
struct Refusal {
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  std::uint64_t full = kNothing;       // the present's changes: it does not fit what is free
  std::uint64_t beside = kNothing;     // the present's changes: it would delay the reservation
  std::uint64_t made_on = kNothing;    // of that reservation
  std::uint64_t future = kNothing;     // the future's changes
  JobId holder;
};

/// Expected starts found so far, in the order of turns; good until the state changes.
struct Estimates {
  bool ready = false;
  std::vector<JobId> order;
  std::size_t next = 0;
  std::optional<CountTimeline> counts;
  std::optional<Timeline> timeline;
  std::map<JobId, std::optional<Instant>> found;
};

/// What a shape lacks, without what preemption could do about it.
struct ShortagesFound {
  std::vector<Reason> reasons;
  /// What there is too little of even when all others have left, nodes out of use aside.
  std::optional<std::vector<ReasonResource>> never_enough;
};

struct Core {
  State state;
  Ledger ledger;
  Ledger empty;                      // every node open, well and idle
  Topology topology;
  RequestTable requests;
  Placer placer{state, topology};
  Owners owners{state};
  Waiting waiting{state};
  Turns turns{state, owners, waiting};

  // ---- derived indexes ----
  std::map<std::string, NodeIndex, std::less<>> node_by_name;
  std::map<std::string, UserIndex, std::less<>> user_by_name;
  TimerSet limit_timers;
  TimerSet contract_timers;
  TimerSet begin_timers;
  std::set<JobId> active;            // claiming, starting, running or stopping
  std::set<JobId> infeasible;        // pending, could never start on this cluster
  std::set<JobId> claiming;
  SortedIds unsettled;               // active, will leave at an instant that is not fixed yet
  std::set<JobId> moving;            // stopping, with a place held elsewhere
  std::set<JobId> interactive;       // running sessions
  std::set<JobId> elastic;           // active, may grow or shrink
  std::set<JobId> with_deadline;     // not final
  std::vector<JobId> finished;       // final or once were; to be forgotten
  std::map<JobId, std::vector<JobId>> dependents;
  std::map<GroupId, std::vector<JobId>> group_dependents;
  std::int64_t nodes_leaving = 0;    // take nothing new and still have jobs
  Takeable takeable_jobs;            // active ones with a finite contract or surplus tasks
  std::map<ShapeIndex, bool> feasible_cache;
  std::vector<Refusal> refusals;     // by shape
  bool shares_stale = true;

  // ---- results ----
  std::vector<Decision> queued;      // decided, and not handed out yet
  std::optional<Reservation> reservation;
  std::pair<JobId, Instant> reserved_last;  // whom the last was made for, and when
  Future future;                     // of the reservation
  std::optional<Instant> unsettled_known_at;  // the future has `unsettled` as of then but for
  std::vector<JobId> unsettled_noted;         // these and those that claim
  ConservativePlan plan;             // reservations of all blocked jobs (conservative)
  std::optional<JobId> blocked_by;   // the job nothing may pass (backfill=off)
  Estimates estimates;
  std::map<ShapeIndex, ShortagesFound> shortages;  // found so far, like the estimates
  std::optional<Holders> holders;    // gathered for verdicts, like the estimates

  // ---- apply.cc ----
  Status apply(Instant now, const Event& event);
  void move_to(Instant now);
  Status on(const PolicySet& e);
  Status on(const QueueSet& e);
  Status on(const UserSet& e);
  Status on(const GroupSubmitted& e);
  Status on(const JobSubmitted& e);
  Status on(const JobAdopted& e);
  Status on(const JobCommanded& e);
  Status on(const JobUpdated& e);
  Status on(const NodeCommanded& e);
  Status on(const UsageRecorded& e);
  Status on(const NodeReported& e);
  Status on(const DeviceReported& e);
  Status on(const AttemptStarted& e);
  Status on(const AttemptEnded& e);
  Status on(const TasksEnded& e);
  Status on(const ActivityMeasured& e);
  Status check_spec(const JobSpec& spec) const;
  Status check_dependencies_known(const JobSpec& spec) const;
  Result<Tasks> tasks_from(const Allocation& allocation) const;
  UserIndex user_of(const std::string& name);
  void add_node(const NodeSpec& spec);
  /// Changes a node's record and all that follows from it: open, healthy, leaving.
  template <class Fn>
  void change_node(NodeIndex node, Fn&& change) {
    NodeRec& rec = state.nodes[node];
    const bool leaving = rec.leaving();
    const bool open = rec.open();
    change(rec);
    nodes_leaving += (rec.leaving() ? 1 : 0) - (leaving ? 1 : 0);
    if (rec.open() != open) node_opened_or_closed(node);
  }
  void node_opened_or_closed(NodeIndex node);
  void count_healthy();
  void note_healthy(std::int64_t healthy, Int128 cost_rate);
  void requests_changed();
  /// Of a device that somebody from outside has: claims and moves to it are given up.
  void drop_promises_of(NodeIndex node, std::int32_t device);
  void stop_jobs_on(NodeIndex node, std::int32_t device, StopCause cause);
  std::vector<JobId> jobs_on(NodeIndex node, std::int32_t device) const;

  // ---- jobs.cc ----
  JobRec& create_job(JobId id, const JobSpec& spec);
  void set_shape(JobRec& job, const JobShape& shape);
  void count_pending(const JobRec& job, std::int64_t sign);
  void set_gate(JobRec& job, Gate gate, bool closed);
  void refresh_infeasible(JobRec& job);
  bool could_ever_run(const JobRec& job);
  /// How a dependency stands; dead: it can no longer be met.
  struct Standing {
    bool met = false;
    bool dead = false;
  };
  [[nodiscard]] Standing standing_of(const Dependency& dependency) const;
  void refresh_dependencies(JobRec& job);
  /// Closes the gate until the job may begin.
  void wait_for_begin(JobRec& job);
  void wake_dependents(const JobRec& job);
  void make_claim(JobRec& job, Claim claim);
  void drop_claim(JobRec& job);
  void order_start(JobRec& job, Tasks tasks);
  void order_stop(JobRec& job, StopCause cause, JobId by, Duration grace);
  void order_shrink(JobRec& job, const Tasks& tasks, StopCause cause, JobId by, Duration grace);
  void release(JobRec& job);
  void release_leaving(JobRec& job, const std::vector<std::int64_t>& ranks);
  void keep_until_gone(JobRec& victim);
  void started(JobRec& job);
  void ended(JobRec& job, const AttemptEnded& end);
  void failed(JobRec& job, const AttemptEnded& end);
  void vanished(JobRec& job, std::int64_t losses_before);
  void evicted(JobRec& job);
  void lose_work(JobRec& job);
  void note_node_failure(JobRec& job, NodeIndex node);
  void requeue(JobRec& job, std::string cause);
  void finish(JobRec& job, JobState state, std::string cause);
  void forget_finished(Instant before);
  void restart(JobRec& job);
  void settle_account(JobRec& job);
  void set_account(JobRec& job, std::int64_t milli_delta, Int128 cost_delta);
  void settle_cluster();
  void occupy(JobRec& job, const Tasks& tasks, std::int64_t sign);
  void hold_for_limits(JobRec& job, std::int64_t milli);
  void set_timers(const JobRec& job, bool on);
  void victim_left(JobId victim);

  // ---- advance.cc ----
  void advance(Instant now, std::vector<Decision>& out);
  /// The same; what is decided stays with the rest that is decided outside a pass.
  void fall_due(Instant now);
  void advance_limits();
  void advance_drains();
  void advance_sessions();
  std::optional<Instant> next_wakeup() const;

  // ---- pass.cc ----
  bool run_pass();
  CycleResult run_cycle(Instant now);
  /// What queues want and are owed, as of now.
  void count_owed();
  void divide_shares();
  /// The counted form of backfill=conservative; none when the jobs or rules need the general one.
  std::optional<bool> run_counted_plan();
  [[nodiscard]] bool over_limits(const JobRec& job) const;
  bool start_claims();
  [[nodiscard]] std::int64_t room_in_limits(const JobRec& job, std::int64_t most) const;

  // ---- claim.cc ----
  [[nodiscard]] bool any_preemptible() const { return !takeable_jobs.empty(); }
  /// What the rules know of a victim.
  struct VictimKind {
    QueueIndex queue = 0;
    bool charge = true;
    std::int64_t priority = 0;
    static VictimKind of(const JobRec& job) {
      return {job.queue, job.spec.charge, job.spec.priority};
    }
  };
  [[nodiscard]] bool lawful(const JobRec& claimant, const JobRec& victim) const {
    return claimant.id != victim.id && lawful(claimant, VictimKind::of(victim));
  }
  [[nodiscard]] bool lawful(const JobRec& claimant, const VictimKind& victim) const;
  /// Whether the claimant could take the candidate back at `at` if it started now.
  [[nodiscard]] bool takeable(const JobRec& claimant, const JobRec& candidate, Instant at);
  /// A place for the claimant at `at` on this ledger. `gone`: parts that another claim has taken
  /// from it already.
  std::optional<Claim> find_claim(const JobRec& claimant, Ledger& on, Instant at,
                                  const std::vector<Victim>& gone = {},
                                  ClaimAsks asks = ClaimAsks::kAll);
  std::int64_t freeable_for(const JobRec& claimant);
  bool within_share(const JobRec& claimant, const VictimKind& victim, std::int64_t milli) const;
  bool within_share(const JobRec& claimant, const JobRec& victim, std::int64_t milli) const {
    return within_share(claimant, VictimKind::of(victim), milli);
  }
  /// The same for charged victims of another queue.
  bool queue_within_share(const JobRec& claimant, QueueIndex victims, std::int64_t milli) const;

  // ---- consolidate.cc ----
  /// Moves of small jobs off one node that let a blocked job start; none: no such moves, or they
  /// would not pay. O(takeable jobs + tries * placements).
  std::optional<Moves> find_moves(const JobRec& claimant);
  void make_moves(JobRec& claimant, Moves moves);
  /// The job is gone from its old place and free to start: it does so where its new one is held.
  void arrive(JobRec& job);
  void drop_move(JobRec& job);
  /// Of places on that node, or on that device of it (kNone: any).
  void drop_moves_to(NodeIndex node, std::int32_t device);

  // ---- reserve.cc ----
  std::optional<Reservation> reserve(const JobRec& job);
  /// Of a job of whole devices that may take nobody, near where its last reservation was: the
  /// instant to search on from, before which it cannot start.
  [[nodiscard]] Instant earliest_near_last(const JobRec& job);
  /// True when reserve() would give what is reserved already. Then it is as if made anew.
  [[nodiscard]] bool reservation_stands(const JobRec& job);
  [[nodiscard]] bool fits_then(const Request& wish, std::int64_t tasks);
  [[nodiscard]] const Tasks& reserved_place();
  /// Before the first change since it was made: the place of one by claim depends on everything.
  void settle_reserved_place();
  /// Whether a job of this shape was refused on the very same state, and the means to note it.
  [[nodiscard]] bool known_full(ShapeIndex shape) const {
    const auto at = static_cast<std::size_t>(shape);
    return at < refusals.size() && refusals[at].full == ledger.changes();
  }
  [[nodiscard]] Refusal& refusal_of(const JobRec& candidate);
  void note_full(const JobRec& candidate);
  [[nodiscard]] bool known_to_delay(const JobRec& candidate);
  [[nodiscard]] bool leaves_too_little(const JobRec& candidate, std::int64_t tasks);
  void note_delays(const JobRec& candidate);
  bool respects(const Reservation& reservation, const JobRec& candidate, const Tasks& tasks,
                const std::vector<Victim>& victims = {});
  std::optional<Tasks> place_beside(const Reservation& reservation, const JobRec& candidate,
                                    std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<Instant> leaves(const JobRec& job) const;
  [[nodiscard]] std::optional<Instant> leaves_next_place(const JobRec& job) const;
  [[nodiscard]] Leaves leaves_in_parts(const JobRec& job) const;
  /// Brings the future in step with the present.
  void follow_present();
  /// Takes or gives back what the present counts for a job, and tells the future.
  void take_present(JobRec& job);
  void give_present(JobRec& job);
  void note_unsettled(const JobRec& job);
  /// The instants at which a job leaves may have changed.
  void note_leaves(JobRec& job);
  std::vector<Busy> busy_intervals() const;
  /// The present ledger without the jobs on it.
  Ledger idle_ledger() const;

  // ---- deadline.cc ----
  void place_deadlines();
  void move_before(JobRec& job, std::optional<MovedBefore> place);
  std::optional<Instant> expected_in_queue(const std::vector<JobId>& order, JobId target);

  // ---- growth.cc ----
  bool grow_elastic();

  // ---- explain.cc ----
  Result<Verdict> explain(JobId id);
  std::optional<Instant> estimate(JobId id);
  void open_estimates();
  std::optional<Instant> estimate_next(JobId next, bool keep);
  /// Waiting jobs in the order of turns if none could start, up to `most`.
  std::vector<JobId> turn_order(std::size_t most) const;
  CountTimeline counted_timeline() const;

  // ---- view.cc, snapshot.cc, invariants.cc ----
  JobStatus job_status(const JobRec& job, Engine::Detail detail) const;
  NodeStatus node_status(NodeIndex node) const;
  ClusterStatus cluster_status() const;
  std::string save() const;
  Status load(std::string_view snapshot);
  void rebuild();
  void forget_derived();
  void restore_node(NodeIndex index);
  void restore_job(JobRec& job);
  void restore_timers(const JobRec& job);
  std::vector<std::string> check_invariants() const;

  JobRec& job(JobId id) { return state.jobs.at(id); }
  /// Forgets what was found out about the state.
  void state_changes() {
    estimates.ready = false;
    shortages.clear();
    holders.reset();
    unsettled_known_at.reset();
    unsettled_noted.clear();
  }
  void decide(Decision decision) { queued.push_back(std::move(decision)); }
  [[nodiscard]] const Request& request(const JobRec& j) const {
    return requests.at(j.shape_index);
  }
};

struct Engine::Impl : Core {};

}  // namespace rota::engine
