// What was last told about each device, and which facts follow from a new reading. Pure: times and
// owners of processes are arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "model/event.h"
#include "telemetry/driver.h"

namespace rota::backend {

using Facts = std::vector<Event>;
using AttemptKey = std::pair<JobId, std::int64_t>;
using DeviceKey = std::pair<std::string, std::int32_t>;  // node, index

/// Conditions as last told.
struct DeviceTold {
  bool error = false;
  std::int64_t xid = 0;
  bool foreign = false;
  std::int64_t foreign_pid = 0;
  Bytes foreign_memory;
  bool held = false;
  std::int64_t held_pid = 0;
};

struct ForeignProcess {
  std::int64_t pid = 0;
  Bytes memory;
  std::string user;
};

class DeviceStates {
 public:
  explicit DeviceStates(Duration suspect_after) : suspect_after_(suspect_after) {}

  /// Health and faults. Application faults (XID 13, 31) are told once each and leave the device
  /// healthy; a suspect device is an error once it has been so for `suspect_after`.
  void health(const DeviceKey& key, const telemetry::DeviceReading& reading, Instant now,
              Facts& out);
  /// `use`: every process from outside, empty when there is none. The largest is told; again when
  /// it is another one or its memory changed by 256 MiB or more.
  void foreign(const DeviceKey& key, const std::vector<ForeignProcess>& use, Facts& out);
  /// Leftovers of an ended attempt. pid 0: none.
  void held(const DeviceKey& key, std::int64_t pid, Facts& out);

  [[nodiscard]] bool any_held() const;
  /// The process that was last told to hold each device.
  [[nodiscard]] std::map<DeviceKey, std::int64_t> held_pids() const;

  /// Text that load() understands; holds only devices that are not in order.
  [[nodiscard]] std::string save() const;
  /// What was told before a restart: a device that is in order now is told so at its next reading.
  /// A line that cannot be read is left out.
  void load(const std::string& text);

 private:
  Duration suspect_after_;
  std::map<DeviceKey, DeviceTold> told_;
  std::map<DeviceKey, bool> fresh_;  // loaded, not confirmed by a reading: tell again
  std::map<DeviceKey, Instant> suspect_since_;
};

/// Activity of a job from the readings of its devices, in thousandths: the mean, rounded up so that
/// any activity is above 0. Absent as soon as one reading is absent, or a shared device is busy and
/// cannot be attributed.
struct DeviceActivity {
  std::optional<std::int64_t> busy_per_mille;
  bool attributable = true;
};
std::optional<std::int64_t> job_activity(const std::vector<DeviceActivity>& devices);

/// Whether a change is worth a fact: to or from absent or 0, or by 50 thousandths or more.
bool is_material(std::optional<std::int64_t> before, std::optional<std::int64_t> after);

}  // namespace rota::backend
