// What the engine orders. The server journals a decision before it hands it to the back-end;
// nothing is running until a fact says so.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/cluster.h"
#include "model/job.h"

namespace rota {

enum class StopCause {
  kPreempted,   // for another job (`by`)
  kDrain,
  kQuarantine,
  kTimeLimit,
  kCancelled,
  kRequeued,    // a person asked for it
  kSessionIdle,
  kNodeFailed,  // a gang lost a member: the others must go
  kDeviceFailed,
  kAppFault,    // the device reported an application's error
};
constexpr auto names_of(StopCause) {
  return std::array<std::string_view, 10>{"preempted",    "drain",       "quarantine",
                                          "time_limit",   "cancelled",   "requeued",
                                          "session_idle", "node_failed", "device_failed",
                                          "app_fault"};
}

/// Start this attempt exactly here. Idempotent by (job, attempt).
struct StartAttempt {
  JobId job;
  std::int64_t attempt = 0;
  Allocation allocation;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("allocation", self.allocation);
  }
};
/// Signal, wait `grace`, kill the whole tree, verify; then report AttemptEnded{kStopped}.
struct StopAttempt {
  JobId job;
  std::int64_t attempt = 0;
  StopCause cause = StopCause::kCancelled;
  JobId by;        // the claimant of a preemption
  Duration grace;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("cause", self.cause);
    visit("by", self.by);
    visit("grace", self.grace);
  }
};
/// Stop only these tasks of an elastic attempt; report TasksEnded.
struct StopTasks {
  JobId job;
  std::int64_t attempt = 0;
  std::vector<std::int64_t> tasks;
  StopCause cause = StopCause::kPreempted;
  JobId by;
  Duration grace;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("tasks", self.tasks);
    visit("cause", self.cause);
    visit("by", self.by);
    visit("grace", self.grace);
  }
};
/// Add tasks to a running elastic attempt.
struct GrowTasks {
  JobId job;
  std::int64_t attempt = 0;
  Allocation added;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("added", self.added);
  }
};
/// The job has reached a final state, or is pending again. Nothing to execute; for events, `wait`
/// and dependants.
struct JobChanged {
  JobId job;
  JobState state = JobState::kPending;
  std::string cause;  // a StopCause name, "exited", "dependency_never", "infeasible", ...
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("state", self.state);
    visit("cause", self.cause);
  }
};
struct SessionWarned {
  JobId job;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) { visit("job", self.job); }
};
/// The health rules took the node out; `jobs` are the failures in a row that did it.
struct NodeChanged {
  std::string node;
  NodeState state = NodeState::kUp;
  std::vector<JobId> jobs;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node);
    visit("state", self.state);
    visit("jobs", self.jobs);
  }
};

using Decision = std::variant<StartAttempt, StopAttempt, StopTasks, GrowTasks, JobChanged,
                              SessionWarned, NodeChanged>;
constexpr std::array<std::string_view, std::variant_size_v<Decision>> kDecisionNames{
    "start_attempt", "stop_attempt",   "stop_tasks",  "grow_tasks",
    "job_changed",   "session_warned", "node_changed"};

}  // namespace rota
