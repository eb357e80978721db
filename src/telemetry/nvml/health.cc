#include "telemetry/nvml/health.h"

#include <algorithm>

namespace rota::telemetry::nvml {

std::optional<DeviceHealth> health_of_code(Return code) {
  switch (code) {
    case kGpuIsLost: return DeviceHealth::kLost;
    case kResetRequired: return DeviceHealth::kNeedsReset;
    case kVersionMismatch: return DeviceHealth::kNeedsReboot;
    case kUninitialized:
    case kDriverNotLoaded:
    case kOperatingSystem:
    case kTimeout:
    case kUnknownError: return DeviceHealth::kSuspect;
    default: return std::nullopt;
  }
}

DeviceHealth health_of_recovery_action(std::uint64_t action) {
  switch (action) {
    case 0: return DeviceHealth::kOk;
    case 1: return DeviceHealth::kNeedsReset;
    case 2: return DeviceHealth::kNeedsReboot;
    case 4: return DeviceHealth::kNeedsReset;  // drain, then reset
    default: return DeviceHealth::kSuspect;    // drain peer-to-peer, recover the fabric, newer ones
  }
}

DeviceHealth worse(DeviceHealth a, DeviceHealth b) { return std::max(a, b); }

}  // namespace rota::telemetry::nvml
