// Nodes and their devices, and what can be asked of a node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

struct Device {
  std::string node;
  std::int64_t index = 0;
  std::string uuid;
  std::string model;
  std::int64_t memory_bytes = 0;
  std::string state;
  std::string detail;
  double used = 0;
  std::vector<std::string> jobs;
  std::vector<std::string> users;
  std::string isolation;
  std::optional<double> busy_ratio;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  bool simulated = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node, "its machine");
    visit("index", self.index, "in PCI order");
    visit("uuid", self.uuid, "the driver's identity", kMayLack);
    visit("model", self.model, "h100, a100, ...", kMayLack);
    visit("memory_bytes", self.memory_bytes, "in all");
    visit("state", self.state, "free, used, shared, foreign, draining, unhealthy");
    visit("detail", self.detail, "who uses it from outside, what is wrong", kMayLack);
    visit("used", self.used, "part given out, 0 to 1");
    visit("jobs", self.jobs, "that hold it");
    visit("users", self.users, "of these jobs");
    visit("isolation", self.isolation, "exclusive, mig, time_slice or advisory", kMayLack);
    visit("busy_ratio", self.busy_ratio, "measured; absent: not measurable");
    visit("memory_used_bytes", self.memory_used_bytes, "measured");
    visit("power_watts", self.power_watts, "measured");
    visit("temperature_celsius", self.temperature_celsius, "measured");
    visit("simulated", self.simulated, "not a real device");
  }
};

struct DeviceList {
  std::vector<Device> devices;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("devices", self.devices, "by node, then index");
  }
};

struct Node {
  std::string name;
  std::string state;
  std::string reason;
  std::int64_t gpus = 0;
  std::int64_t gpus_healthy = 0;
  double gpus_used = 0;
  double gpus_free = 0;
  std::vector<std::string> models;
  std::int64_t cpus = 0;
  std::int64_t cpus_free = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_free_bytes = 0;
  std::int64_t running = 0;
  std::string pool;
  std::string site;
  std::string block;
  std::string rack;
  std::map<std::string, std::string> labels;
  bool simulated = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the machine");
    visit("state", self.state, "up, draining, drained, quarantined, down, future");
    visit("reason", self.reason, "why it is not up", kMayLack);
    visit("gpus", self.gpus, "devices in all");
    visit("gpus_healthy", self.gpus_healthy, "of these healthy");
    visit("gpus_used", self.gpus_used, "given out");
    visit("gpus_free", self.gpus_free, "that could be given out now");
    visit("models", self.models, "GPU models");
    visit("cpus", self.cpus, "in all");
    visit("cpus_free", self.cpus_free, "not given out");
    visit("memory_bytes", self.memory_bytes, "in all");
    visit("memory_free_bytes", self.memory_free_bytes, "not given out");
    visit("running", self.running, "jobs with a task here");
    visit("pool", self.pool, "named set of nodes", kMayLack);
    visit("site", self.site, "topology", kMayLack);
    visit("block", self.block, "topology", kMayLack);
    visit("rack", self.rack, "topology", kMayLack);
    visit("labels", self.labels, "for placement");
    visit("simulated", self.simulated, "not a real machine");
  }
};

struct NodeList {
  std::vector<Node> nodes;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("nodes", self.nodes, "in the order of the cluster");
  }
};

struct NodeCommandRequest {
  std::string reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("reason", self.reason, "why, shown with the node");
  }
};

}  // namespace rota::api
