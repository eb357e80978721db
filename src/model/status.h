// What the engine shows of its state: plain values, filled on demand for people, APIs and
// expectations. GPU time is in milli-GPU-nanoseconds (128 bits).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/allocation.h"
#include "model/cluster.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/job.h"
#include "model/queue.h"

namespace rota {

struct AttemptStatus {
  std::int64_t number = 0;
  Instant ordered;                 // the decision to start it
  std::optional<Instant> started;  // the fact
  std::optional<Instant> ended;
  std::string cause;               // how it ended: StopCause or EndKind name; empty while it runs
  JobId by;                        // the claimant that preempted it
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::string detail;
  std::vector<std::string> nodes;
};

struct JobStatus {
  JobId id;
  const JobSpec* spec = nullptr;  // owned by the engine; valid until the next apply or cycle
  JobState state = JobState::kPending;
  bool held = false;
  Instant submitted;
  std::optional<Instant> first_started;
  std::optional<Instant> started;  // of the latest attempt
  std::optional<Instant> ended;
  Allocation allocation;           // held now, or last held when final
  std::int64_t tasks_running = 0;
  std::int64_t attempts = 0;
  std::int64_t evictions = 0;      // preemptions, drains, quarantines; not failures
  std::optional<Instant> evicted_at;
  JobId evicted_by;
  std::string evicted_cause;
  std::optional<Instant> warned_at;
  std::optional<Instant> contract_ends;  // of a running attempt with a finite contract
  std::optional<Instant> limit_ends;
  Duration lost;                   // work lost to evictions and failures
  Int128 gpu_time = 0;
  Int128 gpu_time_lost = 0;
  Int128 gpu_time_idle = 0;        // measured idle part
  Int128 cost = 0;                 // micro-money x milli-GPU x nanoseconds per GPU-hour
  std::string end_cause;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::vector<AttemptStatus> history;  // filled by Engine::job only when asked for
};

struct DeviceStatus {
  std::int32_t index = 0;
  DeviceSpec spec;
  bool healthy = true;
  std::int64_t xid = 0;            // of the fault that took it out
  bool foreign = false;
  std::int64_t foreign_pid = 0;
  std::string foreign_user;
  Bytes foreign_memory;
  std::int64_t held_pid = 0;       // leftovers of an ended job
  MilliGpu used;                   // given out, in sums
  std::vector<JobId> jobs;
};

struct NodeStatus {
  const NodeSpec* spec = nullptr;
  NodeState state = NodeState::kUp;
  std::string reason;
  std::int64_t running = 0;        // jobs with a task here
  MilliGpu gpus_used;
  MilliGpu gpus_free;              // that could be given out now
  std::int64_t gpus_healthy = 0;
  std::int64_t cpus_free = 0;
  Bytes memory_free;
  std::vector<DeviceStatus> devices;
};

struct QueueStatus {
  QueueSpec spec;
  std::int64_t running = 0;
  std::int64_t pending = 0;
  MilliGpu gpus_used;
  std::int64_t evictions = 0;
  Int128 gpu_time = 0;
  Int128 gpu_time_lost = 0;
  Int128 charged = 0;
  Int128 usage = 0;                // what fairness counts now
  std::int64_t fair_share = 0;     // whole GPUs
  MilliGpu demand;
  Int128 owed = 0;
  Int128 delivered = 0;
};

struct UserStatus {
  UserSpec spec;
  std::int64_t running = 0;
  std::int64_t pending = 0;
  MilliGpu gpus_used;
  Int128 gpu_time = 0;
};

struct ClusterStatus {
  std::int64_t running = 0;
  std::int64_t pending = 0;
  MilliGpu gpus_used;
  MilliGpu gpus_free;
  std::int64_t gpus_healthy = 0;
  std::int64_t evictions = 0;
  Int128 gpu_time = 0;             // held
  Int128 gpu_time_lost = 0;
  Int128 gpu_time_healthy = 0;     // capacity over time
  Int128 gpu_time_busy = 0;        // measured
  Int128 cost = 0;                 // of all devices, units as JobStatus::cost
  Int128 cost_idle = 0;            // of it, given to nobody
  std::int64_t largest_hole = 0;   // whole free GPUs on one node
};

}  // namespace rota
