// The scheduling engine: events in, decisions and verdicts out.
//
// apply() folds one event into the state; advance() handles what falls due by itself (time limits,
// contract ends of drained nodes, begin times, idle rules); run_cycle() decides. The engine calls
// nobody, keeps no clock, opens nothing: time is an argument. Same events at equal instants, same
// decisions, to the byte.
//
// Threads: none; the owner serialises all calls. Instants never go backwards; a lower one than the
// last is taken as the last.
// Errors: apply() refuses an event that names unknown things or breaks a rule, with the state
// unchanged; facts about attempts that are no longer current are accepted and ignored (late or
// duplicate facts are normal). No event can make a check() fail.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/status.h"
#include "model/verdict.h"

namespace rota::engine {

/// What submitting a job now would do, without doing it.
struct Preview {
  bool starts_now = false;
  Allocation allocation;              // when it starts now
  std::vector<JobId> victims;         // jobs that would be preempted for it
  std::optional<Instant> estimate;    // expected start; absent: unknown
  Verdict verdict;                    // reasons when it would wait
};

struct CycleResult {
  std::vector<Decision> decisions;
  bool changed = false;               // anything decided: the caller may run another cycle
};

/// Whether the engine would take this policy. Error: kInvalidArgument, with the rule.
[[nodiscard]] Status check_policy(const Policy& policy);

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  [[nodiscard]] Status apply(Instant now, const Event& event);
  /// Applies what fell due up to `now`. Appends to `out`.
  void advance(Instant now, std::vector<Decision>& out);
  /// advance(), then one scheduling pass.
  [[nodiscard]] CycleResult run_cycle(Instant now);
  /// The next instant at which advance() or a cycle could change anything by itself; none: only an
  /// event can.
  [[nodiscard]] std::optional<Instant> next_wakeup() const;

  /// Why the job waits or ended, from the last cycle's state. Error: kNotFound.
  [[nodiscard]] Result<Verdict> explain(JobId job) const;
  /// Expected start as if every blocked job held a reservation. Cost O(jobs ahead).
  [[nodiscard]] std::optional<Instant> estimate(JobId job) const;
  /// Error: as apply(JobSubmitted) would give.
  [[nodiscard]] Result<Preview> preview(Instant now, const JobSpec& spec) const;

  enum class Detail { kBrief, kHistory };
  [[nodiscard]] Result<JobStatus> job(JobId job, Detail detail = Detail::kBrief) const;
  [[nodiscard]] std::vector<JobId> jobs() const;          // all known, ascending
  [[nodiscard]] std::vector<JobId> live_jobs() const;     // not final, ascending
  /// Final jobs whose end no advance() or cycle has handed out yet, ascending.
  [[nodiscard]] std::vector<JobId> just_ended() const;
  [[nodiscard]] std::vector<JobId> group_members(GroupId group) const;
  [[nodiscard]] std::vector<std::string> node_names() const;   // as declared
  [[nodiscard]] Result<NodeStatus> node(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> queue_names() const;
  [[nodiscard]] Result<QueueStatus> queue(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> user_names() const;
  [[nodiscard]] Result<UserStatus> user(std::string_view name) const;
  [[nodiscard]] ClusterStatus cluster() const;
  [[nodiscard]] const Policy& policy() const;
  [[nodiscard]] Instant now() const;                      // the latest instant seen

  /// Forgets final jobs that ended before `before` and that nothing refers to. Cost: O(final jobs
  /// log) where there are neither groups nor dependencies, else O(jobs log).
  void forget_finished(Instant before);

  /// Equal states have equal digests.
  [[nodiscard]] std::uint64_t digest() const;
  /// A snapshot from which load() restores an engine with the same digest and behaviour.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Result<Engine> load(std::string_view snapshot);

  /// For tests and simulations: every broken invariant, in words; empty: none.
  [[nodiscard]] std::vector<std::string> check_invariants() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::engine
