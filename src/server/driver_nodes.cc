// The driver and its nodes: what the back-end finds, and how that is made known to the engine.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "report/words.h"
#include "server/driver.h"

namespace rota::server {
namespace {

constexpr Duration kDiscoverRetry = Duration::seconds(1);
constexpr std::int64_t kGoneXid = 79;  // "GPU has fallen off the bus"
constexpr const char* kMoved = "its GPUs have other numbers now; it is emptied first";

bool is_same(const DeviceSpec& a, const DeviceSpec& b) {
  if (!a.uuid.empty() && !b.uuid.empty()) return a.uuid == b.uuid;
  return a.model == b.model && a.memory == b.memory;
}

/// Something of the node is closed because its devices are not as the engine knows them.
bool is_marked(const NodeStatus& node) {
  return node.reason == kMoved ||
         std::any_of(node.devices.begin(), node.devices.end(),
                     [](const DeviceStatus& d) { return !d.healthy && d.xid == kGoneXid; });
}

}  // namespace

void Driver::discover(Instant now) {
  const Result<std::vector<NodeSpec>> nodes = options_.backend->discover();
  if (!nodes.ok()) {
    backend_problem_ = nodes.error().message;
    backend_retry_at_ = now + kDiscoverRetry;
    return;
  }
  discovered_ = true;
  compare_nodes(*nodes);
}

/// Nodes that are new or changed are reported; ones that are gone are removed when empty, else
/// failed, so that their jobs move.
void Driver::compare_nodes(const std::vector<NodeSpec>& found) {
  const engine::Engine& engine = log_->engine();
  for (const NodeSpec& node : found) {
    const Result<NodeStatus> known = engine.node(node.name);
    const bool is_down = known.ok() && known->state == NodeState::kDown;
    NodeSpec declared = known.ok() ? *known->spec : NodeSpec();
    declared.state = node.state;  // people's verbs change it, not the inventory
    if (!known.ok() || !(declared == node) || is_down || is_marked(*known)) {
      facts_.push_back(NodeReported{node});
    }
  }
  for (const std::string& name : engine.node_names()) {
    const bool is_there = std::any_of(found.begin(), found.end(),
                                      [&](const NodeSpec& node) { return node.name == name; });
    const Result<NodeStatus> known = engine.node(name);
    if (is_there || !known.ok()) continue;
    const NodeVerb verb = known->running == 0 ? NodeVerb::kRemove : NodeVerb::kFail;
    facts_.push_back(NodeCommanded{name, verb, "no longer there when the daemon started"});
  }
}

void Driver::node_fact(Turn& turn, const Event& fact) {
  const Status status = apply(turn, fact);
  const auto* reported = std::get_if<NodeReported>(&fact);
  if (reported != nullptr && !status.ok() && status.error().code == ErrorCode::kConflict) {
    spdlog::warn("{}", status.error().message);
    node_differs(turn, reported->node);
    return;
  }
  if (!status.ok()) {
    spdlog::warn("fact of a node not taken: {}", status.error().message);
    return;
  }
  if (reported != nullptr) {
    const NodeSpec& node = reported->node;
    note_node(turn, node.name,
              {.kind = "node_reported",
               .state = std::string(name_of(node.state)),
               .message = fmt::format(
                   "node {} is there with {}", node.name,
                   report::counted(static_cast<std::int64_t>(node.devices.size()), "GPU"))});
    unmark(turn, node.name);
  } else if (const auto* command = std::get_if<NodeCommanded>(&fact)) {
    const std::string verb(name_of(command->verb));
    note_node(turn, command->node,
              {.kind = "node_" + verb,
               .cause = command->reason,
               .message = "node " + command->node + ": " + verb +
                          (command->reason.empty() ? "" : " (" + command->reason + ")")});
  } else if (const auto* device = std::get_if<DeviceReported>(&fact)) {
    const std::string condition(name_of(device->condition));
    std::string words = fmt::format("device {} of node {}: {}", device->device, device->node,
                                    condition);
    if (device->xid != 0) words += fmt::format(", xid {}", device->xid);
    if (device->pid != 0) words += fmt::format(", pid {}", device->pid);
    if (!device->user.empty()) words += " of " + device->user;
    note_node(turn, device->node,
              {.kind = "device_" + condition, .state = condition, .message = words});
  }
}

/// A node with jobs has other devices than the engine knows, and they cannot change under the jobs.
/// What is gone is out of order at once; where a device has another number now, nothing new may
/// start, since numbers are what jobs are given. Once the node is empty it becomes what it is.
void Driver::node_differs(Turn& turn, const NodeSpec& node) {
  waiting_nodes_[node.name] = node;
  const Result<NodeStatus> known = log_->engine().node(node.name);
  if (!known.ok()) return;
  bool moved = false;
  std::vector<std::int32_t> gone;
  for (const DeviceStatus& device : known->devices) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index < node.devices.size() && is_same(device.spec, node.devices[index])) continue;
    const bool elsewhere =
        !device.spec.uuid.empty() &&
        std::any_of(node.devices.begin(), node.devices.end(),
                    [&](const DeviceSpec& d) { return d.uuid == device.spec.uuid; });
    moved = moved || elsewhere;
    if (!elsewhere && device.healthy) gone.push_back(device.index);
  }
  const bool is_closed = known->state == NodeState::kQuarantined;
  for (const std::int32_t index : gone) {
    node_fact(turn, DeviceReported{.node = node.name,
                                   .device = index,
                                   .condition = DeviceCondition::kError,
                                   .xid = kGoneXid});
  }
  if (moved && !is_closed) {
    node_fact(turn, NodeCommanded{node.name, NodeVerb::kQuarantine, kMoved});
  }
}

/// Nodes that have become empty take the devices they have now.
void Driver::change_waiting_nodes(Turn& turn) {
  const std::map<std::string, NodeSpec> waiting = waiting_nodes_;
  for (const auto& [name, spec] : waiting) {
    const Result<NodeStatus> known = log_->engine().node(name);
    if (known.ok() && known->running > 0) continue;
    waiting_nodes_.erase(name);
    node_fact(turn, NodeReported{spec});
  }
}

/// The node's devices are those that the engine knows.
void Driver::unmark(Turn& turn, const std::string& node) {
  waiting_nodes_.erase(node);
  const Result<NodeStatus> known = log_->engine().node(node);
  if (!known.ok() || !is_marked(*known)) return;
  std::vector<std::int32_t> back;
  for (const DeviceStatus& device : known->devices) {
    if (!device.healthy && device.xid == kGoneXid) back.push_back(device.index);
  }
  const bool is_closed = known->reason == kMoved;
  for (const std::int32_t index : back) {
    node_fact(turn, DeviceReported{.node = node, .device = index});
  }
  if (is_closed) node_fact(turn, NodeCommanded{node, NodeVerb::kRecover, {}});
}

}  // namespace rota::server
