// Nodes and their devices as declared or discovered. Plain values; the engine holds the state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"

namespace rota {

/// One accelerator of a node; its index is its position in NodeSpec::devices.
struct DeviceSpec {
  std::string model;              // "h100"; empty when no model was named
  Bytes memory = gibibytes(80);
  std::string uuid = {};          // the driver's identity; empty in scenarios

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("model", self.model);
    visit("memory", self.memory);
    visit("uuid", self.uuid);
  }
};

enum class NodeState { kUp, kDraining, kDrained, kQuarantined, kDown, kFuture };
constexpr auto names_of(NodeState) {
  return std::array<std::string_view, 6>{"up",          "draining", "drained",
                                         "quarantined", "down",     "future"};
}

/// A machine. `islands` and `sockets` are disjoint groups of device indices; a device in no group
/// is a group of its own kind "none". Empty site/block/rack/pool mean "not stated".
struct NodeSpec {
  std::string name;
  std::vector<DeviceSpec> devices;
  std::int64_t cpus = 64;
  Bytes memory = gibibytes(512);
  std::vector<std::vector<int>> islands;
  std::vector<std::vector<int>> sockets;
  bool mig = false;  // devices may be cut into MIG instances, and then take MIG jobs only
  int slots = 0;     // time slices per device; 0: not time-sliced
  std::string pool;
  std::string site;
  std::string block;
  std::string rack;
  MicroMoney cost;   // price of one GPU-hour
  std::map<std::string, std::string> labels;
  NodeState state = NodeState::kUp;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("devices", self.devices);
    visit("cpus", self.cpus);
    visit("memory", self.memory);
    visit("islands", self.islands);
    visit("sockets", self.sockets);
    visit("mig", self.mig);
    visit("slots", self.slots);
    visit("pool", self.pool);
    visit("site", self.site);
    visit("block", self.block);
    visit("rack", self.rack);
    visit("cost", self.cost);
    visit("labels", self.labels);
    visit("state", self.state);
  }
};

}  // namespace rota
