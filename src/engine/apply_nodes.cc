// Requests and facts about nodes and devices.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

namespace {

Int128 cost_rate_of(const NodeSpec& spec) {
  return static_cast<Int128>(spec.cost.value()) * 1000 * std::ssize(spec.devices);
}

bool is_app_fault(std::int64_t xid) { return xid == 13 || xid == 31; }

Status check_node(const NodeSpec& spec) {
  const auto invalid = [&](const std::string& rule) {
    return Error{ErrorCode::kInvalidArgument, "node " + spec.name + ": " + rule, {}};
  };
  if (spec.name.empty()) return invalid("needs a name");
  constexpr Bytes kMemoryMax = gibibytes(1 << 20);
  if (spec.devices.size() > 65'536 || spec.cpus < 0 || spec.cpus > 1'000'000 ||
      spec.memory.value() < 0 || spec.memory > kMemoryMax || spec.slots < 0 ||
      spec.slots > 1000 || spec.cost.value() < 0 || spec.cost.value() > 1'000'000'000'000) {
    return invalid("amounts are out of range");
  }
  for (const auto* groups : {&spec.islands, &spec.sockets}) {
    std::vector<int> seen;
    for (const auto& group : *groups) seen.insert(seen.end(), group.begin(), group.end());
    std::sort(seen.begin(), seen.end());
    if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
      return invalid("a device may be in one island and one socket only");
    }
    if (!seen.empty() && (seen.front() < 0 || seen.back() >= std::ssize(spec.devices))) {
      return invalid("islands and sockets must name its devices");
    }
  }
  const bool bad_memory =
      std::any_of(spec.devices.begin(), spec.devices.end(),
                  [=](const DeviceSpec& d) {
                    return d.memory.value() < 0 || d.memory > kMemoryMax;
                  });
  if (bad_memory) return invalid("the memory of a device is out of range");
  return {};
}

}  // namespace

void Core::requests_changed() {
  feasible_cache.clear();
  refusals.clear();
  ++state.mix.version;   // what the mix says depends on the models there are
  // What a task counts may change with the nodes, so everything that waits is counted anew.
  waiting.clear();
  requests.compile_all(state, topology, ledger);
  state.jobs.for_each([this](const JobRec& const_job) {
    if (const_job.final()) return;
    JobRec& job = this->job(const_job.id);
    job.task_milli = requests.at(job.shape_index).milli_most;
    if (job.pending() && job.gates == 0) waiting.insert(job);
  });
  state.jobs.for_each([this](const JobRec& j) {
    if (j.pending()) refresh_infeasible(job(j.id));
  });
  plan.invalidate();
  reservation.reset();
  shares_stale = true;
}

void Core::add_node(const NodeSpec& spec) {
  NodeRec rec;
  rec.spec = spec;
  rec.devices.resize(spec.devices.size());
  rec.down = spec.state == NodeState::kDown;
  rec.future = spec.state == NodeState::kFuture;
  rec.drain = spec.state == NodeState::kDrained || spec.state == NodeState::kDraining;
  rec.quarantine = spec.state == NodeState::kQuarantined;
  NodeCap cap = topology.add(spec);
  cap.cpus_reserved = state.policy.cpus_reserved_per_gpu * std::ssize(spec.devices);
  empty.add_node(cap);
  cap.open = rec.open();
  ledger.add_node(std::move(cap));
  node_by_name[spec.name] = static_cast<NodeIndex>(state.nodes.size());
  state.nodes.push_back(std::move(rec));
}

void Core::count_healthy() {
  std::int64_t healthy = 0;
  Int128 cost_rate = 0;
  for (const NodeRec& node : state.nodes) {
    healthy += node.healthy();
    if (node.future || node.removed) continue;
    cost_rate += cost_rate_of(node.spec);
  }
  note_healthy(healthy, cost_rate);
}

void Core::note_healthy(std::int64_t healthy, Int128 cost_rate) {
  shares_stale = true;
  if (healthy == state.cluster.healthy && cost_rate == state.cluster.cost_rate) return;
  settle_cluster();
  state.cluster.healthy = healthy;
  state.cluster.cost_rate = cost_rate;
}

void Core::node_opened_or_closed(NodeIndex node) {
  ledger.set_open(node, state.nodes[node].open());
  count_healthy();
  plan.invalidate();
  reservation.reset();
}

Status Core::on(const NodeReported& e) {
  if (Status ok = check_node(e.node); !ok) return ok;
  const auto known = node_by_name.find(e.node.name);
  if (known == node_by_name.end()) {
    add_node(e.node);
    const NodeRec& added = state.nodes.back();
    note_healthy(state.cluster.healthy + added.healthy(),
                 state.cluster.cost_rate + (added.future ? 0 : cost_rate_of(added.spec)));
    requests_changed();
    return {};
  }
  NodeRec& rec = state.nodes[known->second];
  NodeSpec before = rec.spec;
  before.state = e.node.state;
  const bool same = before == e.node;
  if (!same && rec.running > 0) {
    return Error{ErrorCode::kConflict,
                 "node " + e.node.name + " has jobs, so its devices cannot change now", {}};
  }
  const NodeIndex node = known->second;
  if (!same) {
    // Only claims are left here: what they promised may not be there any more.
    drop_moves_to(node, kNone);
    for (const JobId id : jobs_on(node, kNone)) drop_claim(job(id));
  }
  const bool may_host_more = !same || rec.removed;
  change_node(node, [&](NodeRec& n) {
    if (!same) {
      n.spec = e.node;
      n.devices.assign(e.node.devices.size(), DeviceRec{});
    }
    n.removed = n.future = n.down = false;
  });
  if (!same) rebuild();
  if (may_host_more) requests_changed();
  count_healthy();
  return {};
}

std::vector<JobId> Core::jobs_on(NodeIndex node, std::int32_t device) const {
  std::vector<JobId> out;
  for (const JobId id : active) {
    const JobRec& job = *state.jobs.find(id);
    const Tasks& tasks = job.phase == Phase::kClaiming ? job.held : job.alloc;
    const bool here = std::any_of(tasks.begin(), tasks.end(), [&](const TaskAlloc& task) {
      if (task.node != node) return false;
      return device == kNone || std::any_of(task.devices.begin(), task.devices.end(),
                                            [&](const auto& s) { return s.device == device; });
    });
    if (here) out.push_back(id);
  }
  return out;
}

void Core::drop_promises_of(NodeIndex node, std::int32_t device) {
  drop_moves_to(node, device);
  for (const JobId id : jobs_on(node, device)) {
    if (job(id).phase == Phase::kClaiming) drop_claim(job(id));
  }
}

void Core::stop_jobs_on(NodeIndex node, std::int32_t device, StopCause cause) {
  drop_moves_to(node, device);
  for (const JobId id : jobs_on(node, device)) {
    JobRec& job = this->job(id);
    if (job.phase == Phase::kClaiming) {
      drop_claim(job);
      continue;
    }
    order_stop(job, cause, JobId(), Duration());
  }
}

Status Core::on(const NodeCommanded& e) {
  const auto known = node_by_name.find(e.node);
  if (known == node_by_name.end()) {
    return Error{ErrorCode::kNotFound, "node " + e.node + " is not known", {}};
  }
  const NodeIndex node = known->second;
  const NodeState before = state.nodes[node].state();
  switch (e.verb) {
    case NodeVerb::kDrain:
      change_node(node, [&](NodeRec& n) { n.drain = true; n.reason = e.reason; });
      break;
    case NodeVerb::kUndrain:
      // What keeps it out all the same keeps its reason.
      change_node(node, [](NodeRec& n) {
        n.drain = false;
        if (n.open()) n.reason.clear();
      });
      break;
    case NodeVerb::kQuarantine:
      change_node(node, [&](NodeRec& n) { n.quarantine = true; n.reason = e.reason; });
      break;
    case NodeVerb::kRecover:
      change_node(node, [](NodeRec& n) {
        n.down = n.quarantine = n.future = n.removed = false;
        n.failures.clear();
        n.reason.clear();
      });
      break;
    case NodeVerb::kFail:
    case NodeVerb::kRemove:
      change_node(node, [&](NodeRec& n) {
        (e.verb == NodeVerb::kFail ? n.down : n.removed) = true;
        n.reason = e.reason;
      });
      stop_jobs_on(node, kNone, StopCause::kNodeFailed);
      break;
  }
  count_healthy();
  if (e.verb == NodeVerb::kRemove || e.verb == NodeVerb::kRecover) requests_changed();
  if (state.nodes[node].state() != before) {
    decide(NodeChanged{e.node, state.nodes[node].state(), {}});
  }
  return {};
}

Status Core::on(const DeviceReported& e) {
  const auto known = node_by_name.find(e.node);
  if (known == node_by_name.end()) {
    return Error{ErrorCode::kNotFound, "node " + e.node + " is not known", {}};
  }
  NodeRec& node = state.nodes[known->second];
  if (e.device < 0 || e.device >= std::ssize(node.devices)) {
    return Error{ErrorCode::kNotFound,
                 "node " + e.node + " has no device " + std::to_string(e.device), {}};
  }
  DeviceRec& device = node.devices[e.device];
  const auto set = [&](std::uint8_t bit, bool on) {
    device.out = static_cast<std::uint8_t>(on ? device.out | bit : device.out & ~bit);
  };
  switch (e.condition) {
    case DeviceCondition::kHealthy:
      set(kUnhealthy, false);
      device.xid = 0;
      break;
    case DeviceCondition::kError:
      if (is_app_fault(e.xid)) {
        stop_jobs_on(known->second, e.device, StopCause::kAppFault);
        return {};
      }
      set(kUnhealthy, true);
      device.xid = e.xid;
      stop_jobs_on(known->second, e.device, StopCause::kDeviceFailed);
      break;
    case DeviceCondition::kForeign:
      set(kForeign, true);
      drop_promises_of(known->second, e.device);
      device.foreign_pid = e.pid;
      device.foreign_user = e.user;
      device.foreign_memory = e.memory;
      break;
    case DeviceCondition::kForeignGone:
      set(kForeign, false);
      device.foreign_pid = 0;
      device.foreign_user.clear();
      device.foreign_memory = Bytes();
      break;
    case DeviceCondition::kHeld:
      set(kHeldByLeftovers, true);
      drop_promises_of(known->second, e.device);
      device.held_pid = e.pid;
      break;
    case DeviceCondition::kHeldGone:
      set(kHeldByLeftovers, false);
      device.held_pid = 0;
      break;
  }
  ledger.set_out(known->second, e.device, device.out);
  count_healthy();
  plan.invalidate();
  reservation.reset();
  return {};
}

}  // namespace rota::engine
