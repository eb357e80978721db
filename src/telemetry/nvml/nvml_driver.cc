#include "telemetry/nvml/nvml_driver.h"

#include <utility>

namespace rota::telemetry {
namespace {

struct Opened {
  Result<std::shared_ptr<nvml::Session>> session;
  NodeSpec node;
};

}  // namespace

Result<std::unique_ptr<DeviceDriver>> NvmlDriver::open(const Options& options) {
  std::unique_ptr<NvmlDriver> driver(new NvmlDriver(options));
  auto opened = driver->worker_.run<std::shared_ptr<Opened>>(
      [library = options.library] {
        auto result = std::make_shared<Opened>(Opened{nvml::Session::open(library), {}});
        if (result->session.ok()) result->node = (*result->session)->discover();
        return result;
      },
      options.open_deadline);
  if (!opened) {
    return Error{ErrorCode::kTimeout,
                 "NVIDIA's management library does not answer; see what nvidia-smi says"};
  }
  if (!(*opened)->session.ok()) return (*opened)->session.error();
  driver->session_ = *(*opened)->session;
  driver->driver_version_ = driver->session_->driver_version();
  driver->node_ = (*opened)->node;
  driver->inventory_at_ = Clock::now();
  return std::unique_ptr<DeviceDriver>(std::move(driver));
}

NvmlDriver::~NvmlDriver() {
  // Closing the session is a call like any other: on the worker, and not waited for for ever.
  worker_.run<bool>(
      [session = std::move(session_)]() mutable {
        session.reset();
        return true;
      },
      options_.deadline);
}

std::string NvmlDriver::describe() const {
  return driver_version_.empty() ? std::string("nvml") : "nvml " + driver_version_;
}

Result<std::vector<NodeSpec>> NvmlDriver::discover() {
  {
    const std::lock_guard lock(mutex_);
    if (Clock::now() - inventory_at_ < options_.inventory_period) return std::vector{node_};
  }
  auto node = worker_.run<NodeSpec>([session = session_] { return session->discover(); },
                                    options_.deadline);
  const std::lock_guard lock(mutex_);
  inventory_at_ = Clock::now();
  if (node) node_ = *std::move(node);
  return std::vector{node_};
}

Result<std::vector<DeviceReading>> NvmlDriver::read(const std::string& node) {
  {
    const std::lock_guard lock(mutex_);
    if (node != node_.name) {
      return Error{ErrorCode::kNotFound, "no node '" + node + "'; this machine is " + node_.name};
    }
  }
  auto readings = worker_.run<std::vector<DeviceReading>>(
      [session = session_] { return session->read(); }, options_.deadline);
  if (readings) return *std::move(readings);
  return stalled_readings();
}

std::vector<DeviceReading> NvmlDriver::stalled_readings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceReading> readings;
  for (const DeviceSpec& device : node_.devices) {
    DeviceReading reading;
    reading.uuid = device.uuid;
    reading.health = DeviceHealth::kSuspect;
    reading.detail = "the driver does not answer";
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace rota::telemetry
