// Finds the driver of this machine's devices, or makes up devices on request.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "telemetry/driver.h"

namespace rota::telemetry {

struct DriverOptions {
  /// Empty: the real devices of this machine. `8xh100`: one node of eight; `2x4xh100`: two nodes of
  /// four (sim1, sim2); `@FILE`, or a name that ends with .yaml, .yml or .json: devices of a file.
  std::string simulate = {};
  /// The library to open; a name without a slash is searched as the dynamic linker does.
  std::string nvml_library = "libnvidia-ml.so.1";
  /// How long one reading may take before its devices are reported as suspect.
  std::chrono::milliseconds deadline{2000};
};

/// A driver that has found at least one device. Errors: kInvalidArgument (the text of `simulate`,
/// with the nearest known model; a fault in the file, with file:line:column), kNotFound (no device
/// here, or no such file), kUnavailable (the library is there but does not work; says why).
Result<std::unique_ptr<DeviceDriver>> open_driver(const DriverOptions& options);

}  // namespace rota::telemetry
