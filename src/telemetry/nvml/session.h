// One session with the library. Every function here may hang: call it on the driver's worker only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "telemetry/driver.h"
#include "telemetry/nvml/library.h"

namespace rota::telemetry::nvml {

/// Threads: used by one thread at a time.
class Session {
 public:
  /// Errors: kNotFound (no library, no device), kUnavailable (driver not loaded, version mismatch,
  /// ...), each with what to do.
  static Result<std::shared_ptr<Session>> open(const std::string& library);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const std::string& driver_version() const { return driver_version_; }
  /// This machine. A device that does not answer keeps what was known of it.
  NodeSpec discover();
  std::vector<DeviceReading> read();

 private:
  struct Known {
    Device handle = nullptr;
    Return handle_status = kSuccess;
    DeviceSpec spec;
    std::string pci;         // "0000:3b:00.0"; empty: unknown
    std::int64_t xid = 0;    // since the last reading
    DeviceHealth after_xid = DeviceHealth::kOk;
  };

  explicit Session(Library library) : library_(library) {}
  Status begin();
  void enumerate();
  void describe(Known& device);
  void register_for_events();
  void drain_events();
  DeviceReading read_device(Known& device);
  void read_memory(Known& device, DeviceReading& reading);
  void read_health(Known& device, DeviceReading& reading);
  void read_processes(Known& device, DeviceReading& reading);
  bool add_processes(Known& device, Return (*list)(Device, std::uint32_t*, void*),
                     std::size_t stride, DeviceReading& reading);
  void note(DeviceReading& reading, Return code) const;

  Library library_;
  std::string driver_version_;
  std::vector<Known> devices_;
  EventSet events_ = nullptr;
};

}  // namespace rota::telemetry::nvml
