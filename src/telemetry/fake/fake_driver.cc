#include "telemetry/fake/fake_driver.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "telemetry/yaml_text.h"

namespace rota::telemetry {
namespace {

/// A zombie has given its devices back already.
bool process_exists(std::int64_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat", std::ios::binary);
  const std::string stat{std::istreambuf_iterator<char>(in), {}};
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  return state != 'Z' && state != 'X';
}

Error unknown_node(const std::string& node) {
  return Error{ErrorCode::kNotFound, "no node '" + node + "' among the simulated devices"};
}

}  // namespace

ShapeDriver::ShapeDriver(std::string shape, std::vector<NodeSpec> nodes)
    : shape_(std::move(shape)), nodes_(std::move(nodes)) {}

std::string ShapeDriver::describe() const { return "simulated " + shape_; }

Result<std::vector<NodeSpec>> ShapeDriver::discover() { return nodes_; }

Result<std::vector<DeviceReading>> ShapeDriver::read(const std::string& node) {
  for (const NodeSpec& spec : nodes_) {
    if (spec.name != node) continue;
    std::vector<DeviceReading> readings;
    for (const DeviceSpec& device : spec.devices) {
      DeviceReading reading;
      reading.uuid = device.uuid;
      reading.memory_total = device.memory;
      readings.push_back(std::move(reading));
    }
    return readings;
  }
  return unknown_node(node);
}

Result<std::unique_ptr<DeviceDriver>> FileDriver::open(std::filesystem::path file) {
  std::unique_ptr<FileDriver> driver(new FileDriver(std::move(file)));
  const Status status = driver->refresh();
  if (!status.ok()) return status.error();
  return std::unique_ptr<DeviceDriver>(std::move(driver));
}

std::string FileDriver::describe() const { return "file " + file_.filename().string(); }

Status FileDriver::refresh() {
  struct stat info {};
  if (::stat(file_.c_str(), &info) != 0) {
    stamp_ = {};
    parsed_ = Error{ErrorCode::kNotFound, "cannot read the device file " + file_.string() + ": " +
                                              std::strerror(errno)};
    return parsed_;
  }
  const Stamp stamp{info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
                    static_cast<std::int64_t>(info.st_size), info.st_ino};
  if (stamp == stamp_) return parsed_;
  const Result<std::string> text = read_text_file(file_.string());
  auto nodes = text.ok() ? parse_device_file(*text, file_.string()) : text.error();
  stamp_ = stamp;
  if (nodes.ok()) {
    nodes_ = *std::move(nodes);
    parsed_ = {};
  } else {
    parsed_ = nodes.error();
  }
  return parsed_;
}

Result<std::vector<NodeSpec>> FileDriver::discover() {
  const std::lock_guard lock(mutex_);
  if (const Status status = refresh(); !status.ok()) return status.error();
  std::vector<NodeSpec> specs;
  for (const FileNode& node : nodes_) specs.push_back(node.spec);
  return specs;
}

Result<std::vector<DeviceReading>> FileDriver::read(const std::string& node) {
  const std::lock_guard lock(mutex_);
  if (const Status status = refresh(); !status.ok()) return status.error();
  for (const FileNode& candidate : nodes_) {
    if (candidate.spec.name != node) continue;
    std::vector<DeviceReading> readings = candidate.readings;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      auto& processes = readings[i].processes.emplace();
      for (const FileProcess& entry : candidate.processes[i]) {
        if (entry.even_if_gone || process_exists(entry.process.pid)) {
          processes.push_back(entry.process);
        }
      }
    }
    return readings;
  }
  return unknown_node(node);
}

}  // namespace rota::telemetry
