#include "telemetry/fake/shape.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "telemetry/fake/models.h"

namespace rota::telemetry {
namespace {

constexpr std::int64_t kNodesMax = 1000;
constexpr std::int64_t kDevicesMax = 64;
constexpr int kDevicesPerSocketFrom = 8;

Error shape_error(std::string_view shape, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, "'" + std::string(shape) + "': " + what +
                                                "; write DEVICESxMODEL or NODESxDEVICESxMODEL, "
                                                "for example 8xh100 or 2x4xh100"};
}

bool is_count(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(),
                                      [](char c) { return c >= '0' && c <= '9'; });
}

struct Counts {
  std::vector<std::int64_t> values;
  std::string_view model;  // the rest of the text, which may hold an x itself (rtx4090)
};

Result<Counts> split_shape(std::string_view shape) {
  Counts counts;
  counts.model = shape;
  for (std::size_t x = counts.model.find('x'); x != std::string_view::npos;
       x = counts.model.find('x')) {
    const std::string_view part = counts.model.substr(0, x);
    if (!is_count(part)) break;
    const auto value = parse_int(part);
    if (!value.ok()) return shape_error(shape, value.error().message);
    counts.values.push_back(*value);
    counts.model.remove_prefix(x + 1);
  }
  if (counts.values.size() > 2) return shape_error(shape, "more than two counts");
  if (counts.model.empty() || is_count(counts.model)) return shape_error(shape, "no model");
  return counts;
}

}  // namespace

NodeSpec made_up_node(const std::string& name, std::vector<DeviceSpec> devices) {
  NodeSpec node;
  node.name = name;
  node.devices = std::move(devices);
  std::vector<int> all;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const int index = static_cast<int>(i);
    all.push_back(index);
    std::string& uuid = node.devices[i].uuid;
    if (uuid.empty()) uuid = "GPU-" + name + "-" + std::to_string(index);
  }
  if (all.size() >= kDevicesPerSocketFrom) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    node.sockets = {{all.begin(), middle}, {middle, all.end()}};
  } else if (!all.empty()) {
    node.sockets = {all};
  }
  if (!all.empty()) node.islands = {std::move(all)};
  return node;
}

Result<std::vector<NodeSpec>> parse_shape(std::string_view shape) {
  const auto counts = split_shape(shape);
  if (!counts.ok()) return counts.error();
  const auto memory = model_memory(counts->model);
  if (!memory) return unknown_model(counts->model, "simulate");
  const std::int64_t nodes = counts->values.size() == 2 ? counts->values[0] : 1;
  const std::int64_t devices = counts->values.empty() ? 1 : counts->values.back();
  if (nodes < 1 || nodes > kNodesMax) return shape_error(shape, "1 to 1000 nodes");
  if (devices < 1 || devices > kDevicesMax) return shape_error(shape, "1 to 64 devices a node");
  DeviceSpec device;
  device.model = std::string(counts->model);
  device.memory = *memory;
  std::vector<NodeSpec> result;
  for (std::int64_t i = 1; i <= nodes; ++i) {
    const std::vector<DeviceSpec> specs(static_cast<std::size_t>(devices), device);
    result.push_back(made_up_node("sim" + std::to_string(i), specs));
  }
  return result;
}

}  // namespace rota::telemetry
