#include "telemetry/fake/device_file.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"
#include "telemetry/fake/models.h"
#include "telemetry/fake/shape.h"
#include "telemetry/xid.h"
#include "telemetry/yaml_text.h"

namespace rota::telemetry {
namespace {

constexpr std::int64_t kDevicesMax = 64;

constexpr std::array<std::string_view, 18> kNodeKeys = {
    "count", "model",   "memory",  "name",     "cpus",        "host_memory", "pool",
    "site",  "block",   "rack",    "islands",  "sockets",     "activity",    "memory_used",
    "power_watts", "temperature", "processes", "errors"};
constexpr std::array<std::string_view, 1> kTopKeys = {"nodes"};
constexpr std::array<std::string_view, 5> kProcessKeys = {"gpu", "pid", "user", "memory",
                                                          "even_if_gone"};
constexpr std::array<std::string_view, 4> kErrorKeys = {"gpu", "xid", "health", "detail"};

/// Carries an Error out of nested parsing; never leaves this file.
struct Fault {
  Error error;
};

class Parser {
 public:
  explicit Parser(std::string name) : name_(std::move(name)) {}

  std::vector<FileNode> file(const YAML::Node& root) const {
    if (!root.IsMap()) fail(root, "expected a map with the key count, or nodes");
    std::vector<FileNode> nodes;
    if (!root["nodes"]) {
      nodes.push_back(node(root, "sim1"));
      return nodes;
    }
    check_keys(root, kTopKeys);
    const YAML::Node list = root["nodes"];
    if (!list.IsSequence()) fail(list, "nodes: expected a list");
    for (const YAML::Node& item : list) {
      nodes.push_back(node(item, "sim" + std::to_string(nodes.size() + 1)));
      const std::string& added = nodes.back().spec.name;
      const auto same = [&](const FileNode& n) { return n.spec.name == added; };
      if (std::count_if(nodes.begin(), nodes.end(), same) > 1) {
        fail(item, "two nodes have the name '" + added + "'");
      }
    }
    return nodes;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& at, std::string message) const {
    fail_at(at.Mark(), std::move(message));
  }
  [[noreturn]] void fail_at(const YAML::Mark& mark, std::string message) const {
    throw Fault{Error{ErrorCode::kInvalidArgument, std::move(message), place_of(name_, mark)}};
  }

  void check_keys(const YAML::Node& map, std::span<const std::string_view> known) const {
    if (!map.IsMap()) fail(map, "expected a map");
    for (const auto& entry : map) {
      const std::string key = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string_view nearest = nearest_word(key, known);
      fail(entry.first, "unknown key '" + key + "'" +
                            (nearest.empty() ? std::string()
                                             : "; did you mean " + std::string(nearest) + "?"));
    }
  }

  template <class T>
  T take(const YAML::Node& at, Result<T> result) const {
    if (!result.ok()) fail(at, result.error().message);
    return *std::move(result);
  }

  std::string text(const YAML::Node& at) const {
    if (!at.IsScalar()) fail(at, "expected one value");
    return at.Scalar();
  }

  std::int64_t number(const YAML::Node& at, std::int64_t low, std::int64_t high) const {
    const std::int64_t value = take(at, parse_int(text(at)));
    if (value < low || value > high) {
      fail(at, "expected " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
                   std::to_string(value));
    }
    return value;
  }

  Bytes bytes(const YAML::Node& at) const {
    const Bytes value = take(at, parse_bytes(text(at)));
    if (value < Bytes()) fail(at, "expected an amount above 0");
    return value;
  }

  bool flag(const YAML::Node& at) const {
    const std::string word = text(at);
    if (word == "true" || word == "yes") return true;
    if (word == "false" || word == "no") return false;
    fail(at, "expected true or false, got '" + word + "'");
  }

  /// `60%`, `60` and `0.5%` are per cent.
  std::int64_t per_mille(const YAML::Node& at) const {
    std::string word = text(at);
    if (word.ends_with('%')) word.pop_back();
    const std::int64_t value = take(at, parse_fixed(word, 1));
    if (value < 0 || value > 1000) fail(at, "expected 0% to 100%");
    return value;
  }

  FileNode node(const YAML::Node& map, const std::string& default_name) const {
    check_keys(map, kNodeKeys);
    if (!map["count"]) fail(map, "the key count is missing (how many devices)");
    const std::int64_t count = number(map["count"], 0, kDevicesMax);
    FileNode result;
    result.spec = spec(map, default_name, static_cast<std::size_t>(count));
    result.processes.resize(static_cast<std::size_t>(count));
    for (const DeviceSpec& device : result.spec.devices) {
      DeviceReading reading;
      reading.uuid = device.uuid;
      reading.memory_total = device.memory;
      result.readings.push_back(std::move(reading));
    }
    readings(map, result);
    if (map["processes"]) processes(map["processes"], result);
    if (map["errors"]) errors(map["errors"], result);
    return result;
  }

  NodeSpec spec(const YAML::Node& map, const std::string& default_name, std::size_t count) const {
    DeviceSpec device;
    device.model = map["model"] ? text(map["model"]) : "h100";
    if (map["memory"]) {
      device.memory = bytes(map["memory"]);
    } else if (const auto memory = model_memory(device.model)) {
      device.memory = *memory;
    } else {
      fail(map["model"], unknown_model(device.model, "").message + " (or state its memory)");
    }
    const std::string name = map["name"] ? text(map["name"]) : default_name;
    if (name.empty()) fail(map["name"], "a node needs a name");
    NodeSpec spec = made_up_node(name, std::vector<DeviceSpec>(count, device));
    if (map["cpus"]) spec.cpus = number(map["cpus"], 0, 1'000'000);
    if (map["host_memory"]) spec.memory = bytes(map["host_memory"]);
    if (map["pool"]) spec.pool = text(map["pool"]);
    if (map["site"]) spec.site = text(map["site"]);
    if (map["block"]) spec.block = text(map["block"]);
    if (map["rack"]) spec.rack = text(map["rack"]);
    if (map["islands"]) spec.islands = groups(map["islands"], count);
    if (map["sockets"]) spec.sockets = groups(map["sockets"], count);
    return spec;
  }

  std::vector<std::vector<int>> groups(const YAML::Node& list, std::size_t count) const {
    if (!list.IsSequence()) fail(list, "expected a list of lists of device numbers");
    std::vector<std::vector<int>> result;
    std::vector<bool> seen(count, false);
    for (const YAML::Node& part : list) {
      if (!part.IsSequence()) fail(part, "expected a list of device numbers");
      std::vector<int>& group = result.emplace_back();
      for (const YAML::Node& item : part) {
        const std::size_t index = device_index(item, count);
        if (seen[index]) fail(item, "device " + std::to_string(index) + " is in two groups");
        seen[index] = true;
        group.push_back(static_cast<int>(index));
      }
    }
    return result;
  }

  std::size_t device_index(const YAML::Node& at, std::size_t count) const {
    if (count == 0) fail(at, "this node has no devices");
    return static_cast<std::size_t>(number(at, 0, static_cast<std::int64_t>(count) - 1));
  }

  /// Calls `set` with the value of each device: one for all, or a list as long as there are
  /// devices.
  template <class Set>
  void per_device(const YAML::Node& value, std::size_t count, Set&& set) const {
    if (!value) return;
    if (value.IsSequence() && value.size() != count) {
      fail(value, "expected one value or " + std::to_string(count) + ", one per device");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const YAML::Node item = value.IsSequence() ? value[i] : value;
      if (item.IsNull() || text(item) == "unknown") continue;
      set(i, item);
    }
  }

  void readings(const YAML::Node& map, FileNode& result) const {
    const std::size_t count = result.readings.size();
    per_device(map["activity"], count, [&](std::size_t i, const YAML::Node& item) {
      result.readings[i].busy_per_mille = per_mille(item);
    });
    per_device(map["memory_used"], count, [&](std::size_t i, const YAML::Node& item) {
      result.readings[i].memory_used = bytes(item);
    });
    per_device(map["power_watts"], count, [&](std::size_t i, const YAML::Node& item) {
      result.readings[i].power_milliwatts = number(item, 0, 100'000) * 1000;
    });
    per_device(map["temperature"], count, [&](std::size_t i, const YAML::Node& item) {
      result.readings[i].temperature_celsius = number(item, -100, 1000);
    });
  }

  void processes(const YAML::Node& list, FileNode& result) const {
    if (!list.IsSequence()) fail(list, "processes: expected a list");
    for (const YAML::Node& item : list) {
      check_keys(item, kProcessKeys);
      if (!item["gpu"] || !item["pid"]) fail(item, "a process needs gpu and pid");
      const std::size_t index = device_index(item["gpu"], result.processes.size());
      FileProcess& added = result.processes[index].emplace_back();
      added.process.pid = number(item["pid"], 1, 1LL << 31);
      if (item["user"]) added.process.user = text(item["user"]);
      if (item["memory"]) added.process.memory = bytes(item["memory"]);
      if (item["even_if_gone"]) added.even_if_gone = flag(item["even_if_gone"]);
    }
  }

  void errors(const YAML::Node& list, FileNode& result) const {
    if (!list.IsSequence()) fail(list, "errors: expected a list");
    for (const YAML::Node& item : list) {
      check_keys(item, kErrorKeys);
      if (!item["gpu"]) fail(item, "an error needs gpu, the number of the device");
      DeviceReading& reading =
          result.readings[device_index(item["gpu"], result.readings.size())];
      reading.xid = item["xid"] ? number(item["xid"], 0, 100'000) : 0;
      reading.health = reading.xid == 0 ? DeviceHealth::kLost : health_after_xid(reading.xid);
      if (item["health"]) reading.health = health(item["health"]);
      reading.detail = item["detail"] ? text(item["detail"])
                       : reading.xid != 0 ? "XID " + std::to_string(reading.xid)
                                          : std::string(name_of(reading.health));
    }
  }

  DeviceHealth health(const YAML::Node& at) const {
    const std::string word = text(at);
    if (const auto value = enum_from<DeviceHealth>(word)) return *value;
    fail(at, "expected ok, suspect, needs_reset, needs_reboot or lost, got '" + word + "'");
  }

  std::string name_;
};

}  // namespace

Result<std::vector<FileNode>> parse_device_file(const std::string& text, const std::string& name) {
  const Result<YAML::Node> root = load_yaml(text, name);
  if (!root.ok()) return root.error();
  try {
    return Parser(name).file(*root);
  } catch (const Fault& fault) {
    return fault.error;
  } catch (const YAML::Exception& e) {
    return Error{ErrorCode::kInvalidArgument, e.msg, place_of(name, e.mark)};
  }
}

}  // namespace rota::telemetry
