#include "sim/resize.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rota::sim {
namespace {

std::string model_of_node(const NodeSpec& node) {
  return node.devices.empty() ? std::string() : node.devices.front().model;
}

std::set<std::string> names_in(const std::vector<NodeSpec>& nodes) {
  std::set<std::string> names;
  for (const NodeSpec& node : nodes) names.insert(node.name);
  return names;
}

/// `new1`, `new2`, ... past those that are taken.
std::string free_name(std::set<std::string>& taken) {
  for (std::size_t i = taken.size() + 1;; ++i) {
    std::string name = "new" + std::to_string(i);
    if (taken.insert(name).second) return name;
  }
}

}  // namespace

NodeKind usual_kind(const std::vector<NodeSpec>& nodes, const std::string& model) {
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> counts;
  for (const NodeSpec& node : nodes) {
    if (node.devices.empty()) continue;
    const std::string own = model_of_node(node);
    if (model.empty() || own == model) ++counts[{std::ssize(node.devices), own}];
  }
  NodeKind best{.gpus = 8, .model = model};
  std::int64_t most = 0;
  for (const auto& [kind, count] : counts) {
    if (count <= most) continue;
    most = count;
    best = {kind.first, kind.second};
  }
  return best;
}

void add_nodes(std::vector<NodeSpec>& nodes, std::int64_t count, const NodeKind& kind) {
  std::set<std::string> taken = names_in(nodes);
  for (std::int64_t i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = free_name(taken);
    node.devices.assign(static_cast<std::size_t>(kind.gpus), {kind.model});
    nodes.push_back(std::move(node));
  }
}

void add_gpus(std::vector<NodeSpec>& nodes, std::int64_t gpus, const NodeKind& kind) {
  add_nodes(nodes, gpus / kind.gpus, kind);
  if (gpus % kind.gpus > 0) add_nodes(nodes, 1, {gpus % kind.gpus, kind.model});
}

std::int64_t take_gpus(std::vector<NodeSpec>& nodes, std::int64_t gpus, const std::string& model) {
  std::int64_t taken = 0;
  for (auto node = nodes.rbegin(); node != nodes.rend() && taken < gpus; ++node) {
    if (!model.empty() && model_of_node(*node) != model) continue;
    const std::int64_t part = std::min<std::int64_t>(gpus - taken, std::ssize(node->devices));
    node->devices.resize(node->devices.size() - static_cast<std::size_t>(part));
    node->islands.clear();
    node->sockets.clear();
    taken += part;
  }
  std::erase_if(nodes, [](const NodeSpec& node) { return node.devices.empty(); });
  return taken;
}

std::vector<NodeSpec> with_node_count(const std::vector<NodeSpec>& nodes, std::int64_t count) {
  std::vector<NodeSpec> out;
  if (nodes.empty()) return out;
  std::set<std::string> taken = names_in(nodes);
  std::set<std::string> used;
  for (std::int64_t i = 0; i < count; ++i) {
    NodeSpec node = nodes[static_cast<std::size_t>(i * std::ssize(nodes) / count)];
    if (!used.insert(node.name).second) node.name = free_name(taken);
    out.push_back(std::move(node));
  }
  return out;
}

}  // namespace rota::sim
