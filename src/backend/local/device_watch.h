// Reads the device driver at intervals and after each attempt's end, on a thread of its own, and
// turns readings into facts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "backend/local/device_state.h"
#include "backend/local/shim/files.h"
#include "telemetry/driver.h"

namespace rota::backend {

/// A task that runs now.
struct DeviceClaim {
  AttemptKey attempt;
  std::string node;
  std::int64_t shim_pid = 0;
  std::vector<shim::Share> devices;
};

/// An attempt whose processes have ended; its devices are looked at before its end is told.
struct EndedAttempt {
  AttemptKey attempt;
  std::map<std::string, std::vector<std::int64_t>> devices;  // by node
  std::vector<shim::Process> leftovers;
  std::vector<std::string> marks;  // environment entries that its processes had
};

class DeviceWatch {
 public:
  struct Options {
    std::chrono::milliseconds period{1000};
    Duration suspect_after = Duration::seconds(30);
    std::string state_file;  // what was last told, for after a restart
  };
  /// Called on the watch's thread, without its locks.
  struct Callbacks {
    std::function<std::vector<DeviceClaim>()> claims;
    std::function<void(Facts)> facts;
    std::function<void(AttemptKey, Facts)> verified;  // kHeld facts, when something is left
  };

  DeviceWatch(std::shared_ptr<telemetry::DeviceDriver> driver, Options options,
              Callbacks callbacks);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  void begin();
  void verify(EndedAttempt ended);
  /// Readings of devices of the node by index.
  [[nodiscard]] std::map<std::string, std::vector<telemetry::DeviceReading>> readings() const;

 private:
  struct Holder {
    shim::Process process;
    DeviceKey device;
  };

  void run();
  void sample();
  void sample_node(const NodeSpec& node, const std::vector<DeviceClaim>& claims, Facts& out);
  void watch_inventory(const std::vector<NodeSpec>& nodes, Facts& out);
  void watch_holders(Facts& out);
  void measure(const std::vector<DeviceClaim>& claims, Facts& out);
  void check_ended(const EndedAttempt& ended);
  std::vector<Holder> listed_holders(const EndedAttempt& ended);
  bool belongs_to(std::int64_t pid, const EndedAttempt& ended) const;
  [[nodiscard]] bool is_listed(const Holder& holder) const;
  void forget_activity(const std::string& node);
  void remember(const std::string& node, std::vector<telemetry::DeviceReading> readings);
  void tell(Facts facts);

  std::shared_ptr<telemetry::DeviceDriver> driver_;
  Options options_;
  Callbacks callbacks_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<EndedAttempt> ended_;
  std::map<std::string, std::vector<telemetry::DeviceReading>> readings_;

  // Of the thread alone.
  DeviceStates states_;
  std::vector<NodeSpec> nodes_;
  std::set<std::string> missing_;
  std::map<std::int64_t, AttemptKey> owners_;  // of processes seen on devices
  std::vector<Holder> holders_;
  std::map<JobId, std::optional<std::int64_t>> activity_;
  std::thread thread_;
};

}  // namespace rota::backend
