// Which devices are close to each other.
#pragma once

#include <string>
#include <vector>

#include "telemetry/nvml/library.h"

namespace rota::telemetry::nvml {

struct TopologyDevice {
  Device handle = nullptr;  // null: does not answer; it is a group of its own
  std::string pci;
};

/// Groups of two and more devices, by index: those joined by NVLink, directly or through switches;
/// on machines without NVLink those below common PCIe switches.
std::vector<std::vector<int>> find_islands(const Functions& call,
                                           const std::vector<TopologyDevice>& devices);
/// Groups of devices at the same NUMA node.
std::vector<std::vector<int>> find_sockets(const Functions& call,
                                           const std::vector<TopologyDevice>& devices);

}  // namespace rota::telemetry::nvml
