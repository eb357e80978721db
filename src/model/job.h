// What a job asks for, as the engine sees it. How to run it (command, environment, files) is a
// LaunchSpec and never reaches the engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"

namespace rota {

enum class TopologyLevel { kNone, kNode, kIsland, kSocket, kRack, kBlock };
constexpr auto names_of(TopologyLevel) {
  return std::array<std::string_view, 6>{"none", "node", "island", "socket", "rack", "block"};
}

enum class JobState {
  kPending,
  kStarting,  // ordered to start; no fact yet
  kRunning,
  kStopping,  // told to stop; not gone yet
  kDone,
  kFailed,
  kCancelled,
  kTimeout,
};
constexpr auto names_of(JobState) {
  return std::array<std::string_view, 8>{"pending",  "starting", "running",   "stopping",
                                         "done",     "failed",   "cancelled", "timeout"};
}
constexpr bool is_final(JobState s) { return s >= JobState::kDone; }

/// What one task (one process group on one node) needs. Exactly one of gpus, slots, mig is used.
struct TaskShape {
  MilliGpu gpus = kWholeGpu;          // whole devices (multiples of 1,000) or below 1,000
  std::int64_t slots = 0;             // time slices
  std::int64_t distinct_devices = 0;  // of the slices; 0: no rule
  std::string mig;                    // "1g.10gb"; empty: no MIG instance
  std::optional<Bytes> gpu_memory;    // whole GPUs: least per device; fraction: the part taken
  std::int64_t cpus = 0;
  Bytes memory;

  friend bool operator==(const TaskShape&, const TaskShape&) = default;
  friend auto operator<=>(const TaskShape&, const TaskShape&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("gpus", self.gpus);
    visit("slots", self.slots);
    visit("distinct_devices", self.distinct_devices);
    visit("mig", self.mig);
    visit("gpu_memory", self.gpu_memory);
    visit("cpus", self.cpus);
    visit("memory", self.memory);
  }
};

/// Where and how the tasks of a job may be placed. Equal shapes share one record in the engine.
struct JobShape {
  TaskShape task;
  std::int64_t tasks = 1;
  std::int64_t min_tasks = 0;        // 0: not elastic (all tasks or none)
  std::vector<std::string> models;   // in order of preference; empty: the first that can hold all
  bool any_model = false;            // model=any: tasks may mix models
  TopologyLevel same = TopologyLevel::kNone;    // must hold for all tasks
  TopologyLevel prefer = TopologyLevel::kNone;  // tried first
  std::vector<std::string> on;       // node or pool names; empty: any
  std::vector<std::string> exclude;
  std::map<std::string, std::string> labels;
  std::string site;                  // a rule
  std::string data;                  // a home

  friend bool operator==(const JobShape&, const JobShape&) = default;
  friend auto operator<=>(const JobShape&, const JobShape&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("task", self.task);
    visit("tasks", self.tasks);
    visit("min_tasks", self.min_tasks);
    visit("models", self.models);
    visit("any_model", self.any_model);
    visit("same", self.same);
    visit("prefer", self.prefer);
    visit("on", self.on);
    visit("exclude", self.exclude);
    visit("labels", self.labels);
    visit("site", self.site);
    visit("data", self.data);
  }
};

enum class DependencyKind { kAfter, kAfterOk, kAfterAny };
constexpr auto names_of(DependencyKind) {
  return std::array<std::string_view, 3>{"after", "afterok", "afterany"};
}

/// Waits for a job or for every member of a group; exactly one of the two ids is valid.
struct Dependency {
  DependencyKind kind = DependencyKind::kAfterOk;
  JobId job;
  GroupId group;

  friend bool operator==(const Dependency&, const Dependency&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("job", self.job);
    visit("group", self.group);
  }
};

struct JobSpec {
  JobShape shape;
  std::string queue = "default";
  std::string user;
  std::int64_t priority = 0;
  std::optional<Duration> time_limit;   // of one attempt; absent: unlimited
  std::optional<Duration> min_runtime;  // the contract; absent: protected for ever (`all`)
  bool charge = true;
  bool interactive = false;             // falls under the session idle rules
  std::optional<Duration> checkpoint;   // interval at which work is saved
  std::optional<Instant> deadline;
  std::optional<Instant> begin;
  std::vector<Dependency> dependencies;
  bool held = false;                    // submitted on hold
  std::optional<std::int64_t> retries;  // absent: the policy's
  bool requeue = true;                  // false: ends instead of being requeued after an eviction
  bool hold_infeasible = true;          // false: refuse when this cluster can never hold it
  GroupId group;                        // the array or service it is a member of; may be none
  std::int64_t group_index = 0;         // its number in the group, from 1
  std::optional<Duration> true_runtime;  // replay with order=shortest only

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("shape", self.shape);
    visit("queue", self.queue);
    visit("user", self.user);
    visit("priority", self.priority);
    visit("time_limit", self.time_limit);
    visit("min_runtime", self.min_runtime);
    visit("charge", self.charge);
    visit("interactive", self.interactive);
    visit("checkpoint", self.checkpoint);
    visit("deadline", self.deadline);
    visit("begin", self.begin);
    visit("dependencies", self.dependencies);
    visit("held", self.held);
    visit("retries", self.retries);
    visit("requeue", self.requeue);
    visit("hold_infeasible", self.hold_infeasible);
    visit("group", self.group);
    visit("group_index", self.group_index);
    visit("true_runtime", self.true_runtime);
  }
};

}  // namespace rota
