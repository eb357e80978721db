// Devices that do not exist, from a shape or from a file that tests and demonstrations change while
// the daemon runs.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "telemetry/driver.h"
#include "telemetry/fake/device_file.h"

namespace rota::telemetry {

/// Fixed nodes; their readings know health and total memory, nothing else is measurable.
class ShapeDriver final : public DeviceDriver {
 public:
  ShapeDriver(std::string shape, std::vector<NodeSpec> nodes);
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool simulated() const override { return true; }
  Result<std::vector<NodeSpec>> discover() override;
  Result<std::vector<DeviceReading>> read(const std::string& node) override;

 private:
  std::string shape_;
  std::vector<NodeSpec> nodes_;
};

/// The nodes of a file, read again whenever the file changes. While the file is missing or wrong,
/// discover() and read() give the error (file:line:column). Safe to call from any thread.
class FileDriver final : public DeviceDriver {
 public:
  /// Error: as parse_device_file(), or kNotFound.
  static Result<std::unique_ptr<DeviceDriver>> open(std::filesystem::path file);
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool simulated() const override { return true; }
  Result<std::vector<NodeSpec>> discover() override;
  Result<std::vector<DeviceReading>> read(const std::string& node) override;

 private:
  struct Stamp {
    std::int64_t modified_ns = 0;
    std::int64_t size = -1;
    std::uint64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  explicit FileDriver(std::filesystem::path file) : file_(std::move(file)) {}
  Status refresh();

  std::filesystem::path file_;
  std::mutex mutex_;
  Stamp stamp_;
  Status parsed_;
  std::vector<FileNode> nodes_;
};

}  // namespace rota::telemetry
