// The file that describes made-up devices (YAML, so JSON too).
//
//   count: 4                 # devices of the node; the only key that must be there
//   model: h100              # gives the memory; default h100
//   memory: 80GiB            # of each device
//   name: sim1               # of the node
//   cpus: 64                 # host resources
//   host_memory: 512GiB
//   pool: a                  # also site, block, rack
//   islands: [[0, 1], [2, 3]]   # default: all devices in one
//   sockets: [[0, 1], [2, 3]]
//   activity: [0%, 60%, unknown, 5%]   # one value for all, or one per device; default unknown
//   memory_used: 2GiB                  # likewise; default unknown
//   power_watts: 300                   # likewise
//   temperature: 45                    # likewise, Celsius
//   processes:               # who uses the devices; dropped once the process is gone
//     - {gpu: 2, pid: 4711, user: eve, memory: 12GiB}   # even_if_gone: true keeps it
//   errors:                  # in force as long as they stand here
//     - {gpu: 3, xid: 79}              # health: ok suspect needs_reset needs_reboot lost
//
// Several nodes stand in a list under `nodes:`, each with these keys and a name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "telemetry/driver.h"

namespace rota::telemetry {

struct FileProcess {
  DeviceProcess process;
  bool even_if_gone = false;
};

/// One node of the file; `readings` and `processes` are by device.
struct FileNode {
  NodeSpec spec;
  std::vector<DeviceReading> readings;
  std::vector<std::vector<FileProcess>> processes;
};

/// `name` is used in errors: Error::where is `name:line:column`. Unknown keys are errors with the
/// nearest known one.
Result<std::vector<FileNode>> parse_device_file(const std::string& text, const std::string& name);

}  // namespace rota::telemetry
