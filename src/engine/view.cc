// Plain values for people, APIs and expectations, filled from the state on demand.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

namespace {

JobState state_of(const JobRec& job) {
  switch (job.phase) {
    case Phase::kPending:
    case Phase::kClaiming: return JobState::kPending;
    case Phase::kStarting: return JobState::kStarting;
    case Phase::kRunning: return JobState::kRunning;
    case Phase::kStopping: return JobState::kStopping;
    case Phase::kFinal: break;
  }
  return job.final_state;
}

Allocation allocation_of(const State& state, const Tasks& tasks) {
  Allocation out;
  for (const TaskAlloc& t : tasks) {
    out.tasks.push_back(
        {t.rank, state.nodes[t.node].spec.name, t.devices, t.cpus, Bytes(t.memory)});
  }
  return out;
}

AttemptStatus attempt_status(const State& state, const AttemptRec& rec) {
  AttemptStatus out;
  out.number = rec.number;
  out.ordered = rec.ordered;
  out.started = rec.started;
  out.ended = rec.ended;
  out.cause = rec.cause;
  out.by = rec.by;
  out.exit_code = rec.exit_code;
  out.signal = rec.signal;
  out.detail = rec.detail;
  for (const std::int32_t n : rec.nodes) out.nodes.push_back(state.nodes[n].spec.name);
  return out;
}

}  // namespace

JobStatus Core::job_status(const JobRec& job, Engine::Detail detail) const {
  JobStatus out;
  out.id = job.id;
  out.spec = &job.spec;
  out.state = state_of(job);
  out.held = (job.gates & kGateHeld) != 0;
  out.submitted = job.submitted;
  out.first_started = job.first_started;
  out.started = job.started;
  out.ended = job.ended;
  out.allocation = allocation_of(state, job.alloc);
  out.tasks_running = job.holds_devices() ? std::ssize(job.alloc) : 0;
  out.attempts = job.attempts;
  out.evictions = job.evictions;
  out.evicted_at = job.evicted_at;
  out.evicted_by = job.evicted_by;
  out.evicted_cause = job.evicted_cause;
  out.warned_at = job.warned_at;
  out.contract_ends = job.contract_ends();
  out.limit_ends = job.limit_ends();
  out.lost = job.lost;
  const Account& a = job.account;
  const Int128 passed = std::max<std::int64_t>(0, (state.now - a.since).ns());
  out.gpu_time = a.gpu_time + passed * a.milli;
  out.gpu_time_lost = a.gpu_time_lost;
  out.gpu_time_idle = a.gpu_time_idle;
  if (a.busy_per_mille >= 0) {
    out.gpu_time_idle += passed * a.milli * (1000 - a.busy_per_mille) / 1000;
  }
  out.cost = a.cost + passed * a.cost_rate;
  out.end_cause = job.end_cause;
  out.exit_code = job.exit_code;
  out.signal = job.signal;
  if (detail == Engine::Detail::kHistory) {
    for (const AttemptRec& rec : job.history) out.history.push_back(attempt_status(state, rec));
  }
  return out;
}

NodeStatus Core::node_status(NodeIndex index) const {
  const NodeRec& node = state.nodes[index];
  const NodeCap& cap = ledger.node(index);
  NodeStatus out;
  out.spec = &node.spec;
  out.state = node.state();
  out.reason = node.reason;
  out.running = node.running;
  out.gpus_free = MilliGpu(node.open() ? cap.free.milli : 0);
  out.gpus_healthy = node.healthy();
  out.cpus_free = cap.free.cpus;
  out.memory_free = Bytes(cap.free.memory);
  for (std::size_t d = 0; d < node.devices.size(); ++d) {
    const DeviceRec& rec = node.devices[d];
    DeviceStatus device;
    device.index = static_cast<std::int32_t>(d);
    device.spec = node.spec.devices[d];
    device.healthy = (rec.out & kUnhealthy) == 0;
    device.xid = rec.xid;
    device.foreign = (rec.out & kForeign) != 0;
    device.foreign_pid = rec.foreign_pid;
    device.foreign_user = rec.foreign_user;
    device.foreign_memory = rec.foreign_memory;
    device.held_pid = rec.held_pid;
    out.devices.push_back(std::move(device));
  }
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    for (const TaskAlloc& task : job.alloc) {
      if (task.node != index || job.phase == Phase::kClaiming) continue;
      out.gpus_used += MilliGpu(task.milli());
      for (const DeviceShare& share : task.devices) {
        DeviceStatus& device = out.devices[share.device];
        device.used += share.gpus;
        if (device.jobs.empty() || device.jobs.back() != id) device.jobs.push_back(id);
      }
    }
  }
  return out;
}

ClusterStatus Core::cluster_status() const {
  const ClusterRec& c = state.cluster;
  ClusterStatus out;
  out.running = state.queues[0].running;
  out.pending = 0;
  for (const QueueRec& queue : state.queues) {
    if (queue.parent == 0) out.pending += queue.pending;
    if (queue.parent == 0) out.running += queue.running;
  }
  out.gpus_used = MilliGpu(c.milli);
  out.gpus_free = MilliGpu(ledger.milli_free_open());
  out.gpus_healthy = c.healthy;
  out.evictions = c.evictions;
  const Int128 passed = std::max<std::int64_t>(0, (state.now - c.since).ns());
  out.gpu_time = c.gpu_time + passed * c.milli;
  out.gpu_time_lost = c.gpu_time_lost;
  out.gpu_time_healthy = c.gpu_time_healthy + passed * c.healthy * 1000;
  out.gpu_time_busy = c.gpu_time_busy;
  for (const JobId id : active) {
    const Account& a = state.jobs.find(id)->account;
    if (a.busy_per_mille < 0) continue;
    out.gpu_time_busy += static_cast<Int128>((state.now - a.since).ns()) * a.milli *
                         a.busy_per_mille / 1000;
  }
  out.cost = c.cost + passed * c.cost_rate;
  out.cost_idle = out.cost - (c.cost_held + passed * c.cost_rate_held);
  for (const NodeCap& node : ledger.nodes()) {
    if (node.open) out.largest_hole = std::max<std::int64_t>(out.largest_hole, node.free.whole);
  }
  return out;
}

}  // namespace rota::engine
