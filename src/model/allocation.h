// Devices and host resources held by the tasks of one attempt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/fields.h"

namespace rota {

/// A part of one device. Whole device: gpus = 1,000. Fraction: gpus < 1,000 with its memory.
/// Time slices: slots > 0. MIG instance: mig_start >= 0 with its sizes.
struct DeviceShare {
  std::int32_t device = 0;     // index in its node
  std::int32_t slots = 0;      // time slices on this device
  std::int32_t mig_start = -1;  // memory-slice position; -1: no instance
  std::int32_t mig_size = 0;    // memory slices taken
  std::int32_t mig_compute = 0;  // compute slices, of seven
  MilliGpu gpus;               // as counted in sums (a slice or instance counts as its part)
  Bytes memory;

  friend bool operator==(const DeviceShare&, const DeviceShare&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("device", self.device);
    visit("slots", self.slots);
    visit("mig_start", self.mig_start);
    visit("mig_size", self.mig_size);
    visit("mig_compute", self.mig_compute);
    visit("gpus", self.gpus);
    visit("memory", self.memory);
  }
};

/// One task's place. `node` is the node's name.
struct TaskPlace {
  std::int64_t task = 0;  // rank, from 0
  std::string node;
  std::vector<DeviceShare> devices;
  std::int64_t cpus = 0;
  Bytes memory;

  friend bool operator==(const TaskPlace&, const TaskPlace&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("task", self.task);
    visit("node", self.node);
    visit("devices", self.devices);
    visit("cpus", self.cpus);
    visit("memory", self.memory);
  }
};

struct Allocation {
  std::vector<TaskPlace> tasks;

  friend bool operator==(const Allocation&, const Allocation&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("tasks", self.tasks);
  }
};

}  // namespace rota
