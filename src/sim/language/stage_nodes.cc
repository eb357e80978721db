// `node` lines.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "sim/language/stage.h"

namespace rota::sim {

namespace {

constexpr std::int64_t kDevicesMax = 1024;
constexpr std::size_t kNodesMax = 100'000;

/// `8` or `a100:4,t4:2`.
std::vector<DeviceSpec> read_devices(const Reader& reader, Bytes memory) {
  std::vector<DeviceSpec> devices;
  const Argument* argument = reader.find("gpus");
  if (argument == nullptr) return devices;
  for (const auto part : split(argument->value, ',')) {
    const std::size_t colon = part.find(':');
    DeviceSpec device;
    device.memory = memory;
    if (colon != std::string_view::npos) device.model = part.substr(0, colon);
    const auto count = parse_int(colon == std::string_view::npos ? part : part.substr(colon + 1));
    const bool model_bad = colon != std::string_view::npos &&
                           (!is_name(device.model, Dots::kAllowed) || device.model == "any");
    if (!count || *count < 0 || *count > kDevicesMax || model_bad) {
      reader.error(*argument, "gpus: " + quoted(part) + " is not a number of GPUs: expected a "
                                                        "whole number up to 1024, or MODEL:NUMBER "
                                                        "like a100:4,t4:2");
      return {};
    }
    devices.insert(devices.end(), static_cast<std::size_t>(*count), device);
  }
  if (devices.size() > static_cast<std::size_t>(kDevicesMax)) {
    reader.error(*argument, "gpus: expected at most 1024 GPUs on a node");
    return {};
  }
  return devices;
}

/// `0-3/4-7`: disjoint groups of device indices.
std::vector<std::vector<int>> read_groups(const Reader& reader, std::string_view key,
                                          std::size_t device_count) {
  const Argument* argument = reader.find(key);
  if (argument == nullptr) return {};
  std::vector<std::vector<int>> groups;
  std::set<int> seen;
  for (const auto group_text : split(argument->value, '/')) {
    std::vector<int> group;
    for (const auto part : split(group_text, ',')) {
      const std::size_t dash = part.find('-');
      const auto low = parse_int(part.substr(0, dash));
      const auto high = dash == std::string_view::npos ? low : parse_int(part.substr(dash + 1));
      if (!low || !high || *low < 0 || *high < *low || *high >= kDevicesMax) {
        reader.error(*argument, argument->key + ": " + quoted(part) +
                                    " is not a range of GPUs: expected groups like 0-3/4-7");
        return {};
      }
      for (auto i = static_cast<int>(*low); i <= static_cast<int>(*high); ++i) {
        group.push_back(i);
        if (static_cast<std::size_t>(i) >= device_count) {
          reader.error(*argument, argument->key + ": GPU " + std::to_string(i) +
                                      " does not exist; the node has " +
                                      std::to_string(device_count) + ", counted from 0");
          return {};
        }
        if (!seen.insert(i).second) {
          reader.error(*argument,
                       argument->key + ": GPU " + std::to_string(i) + " is in two places");
          return {};
        }
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

void read_location(const Reader& reader, NodeSpec& node) {
  if (auto pool = reader.name("pool")) node.pool = *pool;
  if (auto site = reader.name("site")) node.site = *site;
  if (auto block = reader.name("block")) node.block = *block;
  if (auto rack = reader.name("rack")) node.rack = *rack;
  if (const auto cost = reader.decimal("cost", 6)) node.cost = MicroMoney(*cost);
  for (const Argument& argument : reader.line().arguments) {
    if (argument.key.starts_with("label.")) node.labels[argument.key.substr(6)] = argument.value;
  }
}

void read_sharing(const Reader& reader, NodeSpec& node) {
  if (const auto mig = reader.choice_index("mig", {"off", "on"})) node.mig = *mig == 1;
  if (const auto slots = reader.integer("slots", {1, 1000})) node.slots = static_cast<int>(*slots);
  if (node.mig && node.slots > 0) {
    reader.error(*reader.find("slots"), "slots: a device is shared in one way at a time; mig=on "
                                        "and slots exclude each other");
  }
}

NodeSpec read_spec(const Reader& reader) {
  NodeSpec node;
  const Bytes memory = reader.bytes("gpu_memory").value_or(gibibytes(80));
  node.devices = read_devices(reader, memory);
  if (const auto cpus = reader.integer("cpus", {0, 1'000'000})) node.cpus = *cpus;
  if (const auto bytes = reader.bytes("memory")) node.memory = *bytes;
  node.islands = read_groups(reader, "islands", node.devices.size());
  node.sockets = read_groups(reader, "sockets", node.devices.size());
  read_sharing(reader, node);
  read_location(reader, node);
  if (const auto index = reader.choice_index("state", {"up", "drained", "down", "future"})) {
    constexpr std::array<NodeState, 4> kStates{NodeState::kUp, NodeState::kDrained,
                                               NodeState::kDown, NodeState::kFuture};
    node.state = kStates[*index];
  }
  return node;
}

bool may_declare(const Reader& reader, const std::string& name) {
  const Symbols& symbols = reader.state().symbols;
  const std::int64_t column = reader.line().words[0].column;
  if (!is_name(name, Dots::kAllowed)) {
    reader.error_at(column, quoted(name) + " cannot name a node: expected letters, digits, '_', "
                                           "'-' and '.'");
    return false;
  }
  if (symbols.nodes.contains(name) || symbols.pools.contains(name)) {
    reader.error_at(column, "node " + quoted(name) + " is declared twice");
    return false;
  }
  if (symbols.nodes.size() >= kNodesMax) {
    reader.error_at(column, "more than 100000 nodes in one file");
    return false;
  }
  return true;
}

}  // namespace

std::optional<StatementBody> read_node(const Reader& reader) {
  reader.check_keys({"gpus", "gpu_memory", "cpus", "memory", "islands", "sockets", "mig", "slots",
                     "pool", "site", "block", "rack", "cost", "label.KEY", "state",
                     "fails_after"});
  NodeStatement statement;
  const NodeSpec spec = read_spec(reader);
  statement.fails_after = reader.duration("fails_after");
  ParseState& state = reader.state();
  if (!spec.pool.empty() && state.symbols.nodes.contains(spec.pool)) {
    reader.error(*reader.find("pool"), "pool: " + quoted(spec.pool) + " is the name of a node");
  }
  for (const auto& name : reader.names("the name of a node")) {
    if (!may_declare(reader, name)) break;
    NodeSpec node = spec;
    node.name = name;
    state.symbols.nodes[name] = NodeSymbol{spec.devices.size(), spec.mig, spec.slots};
    if (statement.fails_after) state.scenario.fails_after[name] = *statement.fails_after;
    statement.nodes.push_back(std::move(node));
  }
  if (!spec.pool.empty()) state.symbols.pools.insert(spec.pool);
  if (!spec.site.empty()) state.symbols.sites.insert(spec.site);
  return statement;
}

}  // namespace rota::sim
