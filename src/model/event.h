// What the engine is told: requests of people and facts of back-ends. Events are journaled in
// order; the same events give the same decisions, to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/allocation.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/policy.h"
#include "model/queue.h"

namespace rota {

// ---- requests ----
struct PolicySet {
  Policy policy;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) { visit("policy", self.policy); }
};
/// Adds a queue or changes weight, quota and limit of an existing one (same parent).
struct QueueSet {
  QueueSpec queue;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) { visit("queue", self.queue); }
};
struct UserSet {
  UserSpec user;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) { visit("user", self.user); }
};
/// Declares an array, periodic job or service before its members are submitted.
struct GroupSubmitted {
  GroupId group;
  std::int64_t size = 0;                   // members in all, also those submitted later
  std::optional<std::int64_t> throttle;    // members that may run at once
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("group", self.group);
    visit("size", self.size);
    visit("throttle", self.throttle);
  }
};
struct JobSubmitted {
  JobId job;
  JobSpec spec;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("spec", self.spec);
  }
};
/// A job that already holds devices when the engine first hears of it (`started` may lie before
/// the first event). Its attempt is number 1.
struct JobAdopted {
  JobId job;
  JobSpec spec;
  Allocation allocation;
  Instant started;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("spec", self.spec);
    visit("allocation", self.allocation);
    visit("started", self.started);
  }
};
enum class JobVerb { kCancel, kHold, kRelease, kRequeue };
constexpr auto names_of(JobVerb) {
  return std::array<std::string_view, 4>{"cancel", "hold", "release", "requeue"};
}
/// cancel: ends it. hold: a pending job waits until release (running ones stay). requeue: a running
/// job is stopped and becomes pending again; a finished one is started over as a new attempt.
struct JobCommanded {
  JobId job;
  JobVerb verb = JobVerb::kCancel;
  std::string by;  // user, for the record
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("verb", self.verb);
    visit("by", self.by);
  }
};
/// New wishes for a job: of a pending one all but group and dependencies; of a running one
/// priority, time limit and tasks (elastic).
struct JobUpdated {
  JobId job;
  JobSpec spec;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("spec", self.spec);
  }
};
enum class NodeVerb { kDrain, kUndrain, kQuarantine, kRecover, kFail, kRemove };
constexpr auto names_of(NodeVerb) {
  return std::array<std::string_view, 6>{"drain",   "undrain", "quarantine",
                                         "recover", "fail",    "remove"};
}
struct NodeCommanded {
  std::string node;
  NodeVerb verb = NodeVerb::kDrain;
  std::string reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node);
    visit("verb", self.verb);
    visit("reason", self.reason);
  }
};
/// Use that counts for fairness from before the engine's time: milli-GPU-nanoseconds spread evenly
/// over [from, to]; from == to is one point.
struct UsageRecorded {
  std::string queue;
  std::int64_t milli_gpu_seconds = 0;
  Instant from;
  Instant to;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("queue", self.queue);
    visit("milli_gpu_seconds", self.milli_gpu_seconds);
    visit("from", self.from);
    visit("to", self.to);
  }
};

// ---- facts ----
/// A node is there (new, or known and back with this inventory).
struct NodeReported {
  NodeSpec node;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) { visit("node", self.node); }
};
enum class DeviceCondition { kHealthy, kError, kForeign, kForeignGone, kHeld, kHeldGone };
constexpr auto names_of(DeviceCondition) {
  return std::array<std::string_view, 6>{"healthy",      "error", "foreign",
                                         "foreign_gone", "held",  "held_gone"};
}
/// kError: a fault (xid). kForeign: a process from outside uses it. kHeld: leftovers of an ended
/// job still hold it (pid), so it is not free yet.
struct DeviceReported {
  std::string node;
  std::int32_t device = 0;
  DeviceCondition condition = DeviceCondition::kHealthy;
  std::int64_t xid = 0;
  Bytes memory;
  std::int64_t pid = 0;
  std::string user;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node);
    visit("device", self.device);
    visit("condition", self.condition);
    visit("xid", self.xid);
    visit("memory", self.memory);
    visit("pid", self.pid);
    visit("user", self.user);
  }
};
/// `at`: when it truly happened, where the back-end knows; learned later, it is applied at that
/// instant as far as the engine's time allows.
struct AttemptStarted {
  JobId job;
  std::int64_t attempt = 0;
  std::optional<Instant> at = {};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("at", self.at);
  }
};
enum class EndKind {
  kExited,        // its processes ended by themselves: exit_code, signal
  kStopped,       // gone after a Stop decision; the decision's cause decides what follows. Without
                  // one: past its time limit for that cause, else begun again
  kLaunchFailed,  // never ran: a fault of node or back-end, not of the job
  kLost,          // its node or device failed under it
};
constexpr auto names_of(EndKind) {
  return std::array<std::string_view, 4>{"exited", "stopped", "launch_failed", "lost"};
}
struct AttemptEnded {
  JobId job;
  std::int64_t attempt = 0;
  EndKind kind = EndKind::kExited;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::string node;    // where it failed first, when known
  std::string detail;  // for people
  std::optional<Instant> at = {};  // as AttemptStarted::at: when nothing of it was left
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("kind", self.kind);
    visit("exit_code", self.exit_code);
    visit("signal", self.signal);
    visit("node", self.node);
    visit("detail", self.detail);
    visit("at", self.at);
  }
};
/// Tasks of an elastic attempt that are gone after a StopTasks decision.
struct TasksEnded {
  JobId job;
  std::int64_t attempt = 0;
  std::vector<std::int64_t> tasks;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("attempt", self.attempt);
    visit("tasks", self.tasks);
  }
};
/// Measured activity of a job from now on, in thousandths; absent: unknown.
struct ActivityMeasured {
  JobId job;
  std::optional<std::int64_t> busy_per_mille;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("busy_per_mille", self.busy_per_mille);
  }
};

using Event = std::variant<PolicySet, QueueSet, UserSet, GroupSubmitted, JobSubmitted, JobAdopted,
                           JobCommanded, JobUpdated, NodeCommanded, UsageRecorded, NodeReported,
                           DeviceReported, AttemptStarted, AttemptEnded, TasksEnded,
                           ActivityMeasured>;
/// Position = variant index. Names are permanent: they stand in journals.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kEventNames{
    "policy_set",      "queue_set",     "user_set",        "group_submitted",
    "job_submitted",   "job_adopted",   "job_commanded",   "job_updated",
    "node_commanded",  "usage_recorded", "node_reported",  "device_reported",
    "attempt_started", "attempt_ended", "tasks_ended",     "activity_measured"};

}  // namespace rota
