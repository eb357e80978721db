#include "engine/topology.h"

#include <algorithm>

namespace rota::engine {

namespace {

std::int32_t index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? kNone : static_cast<std::int32_t>(found - names.begin());
}

std::vector<Domain> device_groups(const std::vector<std::vector<int>>& groups, NodeIndex node) {
  std::vector<Domain> out;
  for (const auto& group : groups) {
    Domain domain{{node}, {}};
    domain.devices.assign(group.begin(), group.end());
    std::sort(domain.devices.begin(), domain.devices.end());
    out.push_back(std::move(domain));
  }
  return out;
}

}  // namespace

NodeCap Topology::add(const NodeSpec& spec) {
  const auto node = static_cast<NodeIndex>(node_site_.size());
  NodeCap cap;
  cap.cpus_total = spec.cpus;
  cap.memory_total = spec.memory.value();
  for (const DeviceSpec& device : spec.devices) {
    std::int32_t model = index_of(models_, device.model);
    if (model == kNone) {
      model = static_cast<std::int32_t>(models_.size());
      models_.push_back(device.model);
    }
    DeviceCap d;
    d.memory_free = d.memory_total = device.memory.value();
    d.model = static_cast<std::int16_t>(model);
    d.mig = spec.mig;
    d.slots_free = d.slots_total = static_cast<std::int16_t>(spec.slots);
    cap.devices.push_back(d);
  }
  std::int32_t site = index_of(sites_, spec.site);
  if (site == kNone) {
    site = static_cast<std::int32_t>(sites_.size());
    sites_.push_back(spec.site);
    site_cost_.push_back(spec.cost.value());
  }
  site_cost_[site] = std::min(site_cost_[site], spec.cost.value());
  node_site_.push_back(site);
  node_mixed_.push_back(std::any_of(
      cap.devices.begin(), cap.devices.end(),
      [&](const DeviceCap& d) { return d.model != cap.devices.front().model; }));

  const Domain whole{{node}, {}};
  node_domains_.push_back(whole);
  node_islands_.push_back(device_groups(spec.islands, node));
  node_sockets_.push_back(device_groups(spec.sockets, node));
  const auto append = [&](std::vector<Domain>& all, const std::vector<Domain>& own) {
    if (own.empty()) all.push_back(whole);
    all.insert(all.end(), own.begin(), own.end());
  };
  append(island_domains_, node_islands_.back());
  append(socket_domains_, node_sockets_.back());
  cap.rack = add_named_domain(rack_domains_, rack_names_, spec.rack, node);
  cap.block = add_named_domain(block_domains_, block_names_, spec.block, node);
  node_rack_.push_back(cap.rack);
  node_block_.push_back(cap.block);
  if (all_.empty()) all_.emplace_back();
  all_.front().nodes.push_back(node);
  return cap;
}

std::int32_t Topology::add_named_domain(std::vector<Domain>& domains,
                                        std::vector<std::string>& names, const std::string& name,
                                        NodeIndex node) {
  const std::int32_t known = name.empty() ? kNone : index_of(names, name);
  if (known != kNone) {
    domains[known].nodes.push_back(node);
    return known;
  }
  names.push_back(name);
  domains.push_back({{node}, {}});
  return static_cast<std::int32_t>(domains.size()) - 1;
}

std::int32_t Topology::model_index(std::string_view model) const {
  return index_of(models_, model);
}

std::int32_t Topology::site_index(std::string_view site) const { return index_of(sites_, site); }

const std::vector<Domain>& Topology::domains(TopologyLevel level) const {
  switch (level) {
    case TopologyLevel::kNode: return node_domains_;
    case TopologyLevel::kIsland: return island_domains_;
    case TopologyLevel::kSocket: return socket_domains_;
    case TopologyLevel::kRack: return rack_domains_;
    case TopologyLevel::kBlock: return block_domains_;
    case TopologyLevel::kNone: break;
  }
  return all_;
}

const Domain* Topology::domain_of(TopologyLevel level, NodeIndex node,
                                  std::int32_t device) const {
  if (level == TopologyLevel::kRack) return &rack_domains_[node_rack_[node]];
  if (level == TopologyLevel::kBlock) return &block_domains_[node_block_[node]];
  if (level == TopologyLevel::kNone) return &all_.front();
  const auto* groups = level == TopologyLevel::kIsland ? &node_islands_[node] : nullptr;
  if (level == TopologyLevel::kSocket) groups = &node_sockets_[node];
  if (groups == nullptr || groups->empty()) return &node_domains_[node];
  for (auto group = groups->rbegin(); group != groups->rend(); ++group) {
    const auto& devices = group->devices;
    if (device == kNone || devices.empty() ||
        std::binary_search(devices.begin(), devices.end(), device)) {
      return &*group;
    }
  }
  return nullptr;
}

}  // namespace rota::engine
