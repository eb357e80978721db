// The devices of this machine through NVIDIA's management library.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "telemetry/driver.h"
#include "telemetry/nvml/deadline_worker.h"
#include "telemetry/nvml/session.h"

namespace rota::telemetry {

/// All calls of the library run on a thread of its own. When one does not return in time its
/// devices are reported as suspect, with what is known of them, until it does. Safe to call from
/// any thread.
class NvmlDriver final : public DeviceDriver {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    std::chrono::milliseconds deadline{2000};
    std::chrono::milliseconds open_deadline{30000};  // a first contact may start the driver
    std::chrono::milliseconds inventory_period{30000};
  };

  /// Errors: as nvml::Session::open(), or kTimeout.
  static Result<std::unique_ptr<DeviceDriver>> open(const Options& options);
  ~NvmlDriver() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool simulated() const override { return false; }
  Result<std::vector<NodeSpec>> discover() override;
  Result<std::vector<DeviceReading>> read(const std::string& node) override;

 private:
  using Clock = std::chrono::steady_clock;

  explicit NvmlDriver(const Options& options) : options_(options) {}
  std::vector<DeviceReading> stalled_readings() const;

  Options options_;
  DeadlineWorker worker_;
  std::shared_ptr<nvml::Session> session_;  // touched on the worker's thread only
  std::string driver_version_;
  mutable std::mutex mutex_;
  NodeSpec node_;
  Clock::time_point inventory_at_;
};

}  // namespace rota::telemetry
