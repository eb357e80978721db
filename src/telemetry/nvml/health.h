// What return codes and recovery actions of the library say about a device. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "telemetry/driver.h"
#include "telemetry/nvml/abi.h"

namespace rota::telemetry::nvml {

/// The health that a failed call shows; absent: the code says nothing about the device (not
/// supported, no permission, ...).
std::optional<DeviceHealth> health_of_code(Return code);
/// The driver's own verdict (field 230): what it takes to recover.
DeviceHealth health_of_recovery_action(std::uint64_t action);
DeviceHealth worse(DeviceHealth a, DeviceHealth b);

}  // namespace rota::telemetry::nvml
