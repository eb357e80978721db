// What the fault numbers of NVIDIA's driver (XID) ask for, for drivers that have no word on it
// themselves. Classes after NVIDIA's public XID catalog; where sources contradict each other, the
// milder one stands here, since the driver's own recovery action (nvml/health.h) overrides it.
#pragma once

#include <cstdint>

#include "telemetry/driver.h"

namespace rota::telemetry {

enum class XidClass {
  kIgnore,       // information
  kApplication,  // the program's own fault; the device goes on
  kReset,        // the device needs a reset before it is used again
  kReboot,
  kReview,       // unknown, or needs a person
};

XidClass classify_xid(std::int64_t xid);
/// The health a device is in after this fault when nothing else is known. 0 gives kOk.
DeviceHealth health_after_xid(std::int64_t xid);

}  // namespace rota::telemetry
