// Device drivers behind one interface: what devices there are, how they are, who uses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/cluster.h"

namespace rota::telemetry {

struct DeviceProcess {
  std::int64_t pid = 0;
  Bytes memory;
  std::string user = {};  // account, when the driver itself knows it; empty: ask the system
};

enum class DeviceHealth { kOk, kSuspect, kNeedsReset, kNeedsReboot, kLost };
constexpr auto names_of(DeviceHealth) {
  return std::array<std::string_view, 5>{"ok", "suspect", "needs_reset", "needs_reboot", "lost"};
}

/// One reading of one device. An absent value means "not supported" or "not measurable"; it is
/// never reported as 0.
struct DeviceReading {
  std::string uuid;
  DeviceHealth health = DeviceHealth::kOk;
  std::int64_t xid = 0;                       // latest fault event since the last reading; 0: none
  std::optional<std::int64_t> busy_per_mille;
  std::optional<Bytes> memory_used;
  std::optional<Bytes> memory_total;
  std::optional<std::int64_t> power_milliwatts;
  std::optional<std::int64_t> temperature_celsius;
  std::optional<std::vector<DeviceProcess>> processes;
  std::string detail;                         // what was wrong, for people
};

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  /// "nvml 535.104", "simulated", "file gpus.yaml".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// True for made-up devices: shown plainly wherever devices are shown.
  [[nodiscard]] virtual bool simulated() const = 0;
  /// Nodes with their devices, islands and sockets. Real drivers give one node, this machine.
  virtual Result<std::vector<NodeSpec>> discover() = 0;
  /// A reading of every device of `node`, in index order. May block up to its deadline (2 s).
  virtual Result<std::vector<DeviceReading>> read(const std::string& node) = 0;
};

}  // namespace rota::telemetry
