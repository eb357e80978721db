#include "engine/request.h"

#include <algorithm>

#include "engine/mig.h"

namespace rota::engine {

namespace {

NeedKind kind_of(const TaskShape& task) {
  if (!task.mig.empty()) return NeedKind::kMig;
  if (task.slots > 0) return NeedKind::kSlots;
  if (task.gpus.value() == 0) return NeedKind::kNoDevice;
  return task.gpus.value() % 1000 == 0 ? NeedKind::kWhole : NeedKind::kFraction;
}

bool names_node(const std::vector<std::string>& names, const NodeSpec& node) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == node.name || (!node.pool.empty() && name == node.pool);
  });
}

bool contains(const std::vector<std::int32_t>& list, std::int32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool model_matches(const Request& request, const DeviceCap& device) {
  return std::any_of(request.models.begin(), request.models.end(),
                     [&](std::int32_t m) { return m == kNone || m == device.model; });
}

/// One empty and healthy device of the node could serve (part of) a task, if it is of this model
/// (kNone: of any that the task may use).
bool device_could_serve(const Request& request, const DeviceCap& device,
                        const std::string& model, std::int32_t only) {
  const TaskShape& task = request.shape.task;
  if (only == kNone ? !model_matches(request, device) : device.model != only) return false;
  if (request.kind == NeedKind::kMig) {
    return device.mig && mig_profile(task.mig, model, device.memory_total).has_value();
  }
  if (device.mig) return false;
  switch (request.kind) {
    case NeedKind::kWhole:
      return !task.gpu_memory || device.memory_total >= task.gpu_memory->value();
    case NeedKind::kFraction: return fraction_memory(task, device) <= device.memory_total;
    case NeedKind::kSlots: return device.slots_total > 0;
    default: return true;
  }
}

/// The empty node could hold one task, on devices of this model (kNone: of any it may use).
bool node_could_hold(const Request& request, const NodeSpec& spec, const NodeCap& cap,
                     std::int32_t only = kNone) {
  const TaskShape& task = request.shape.task;
  if (task.cpus > cap.cpus_total || task.memory.value() > cap.memory_total) return false;
  if (request.kind == NeedKind::kNoDevice) return task.cpus <= cap.cpus_total - cap.cpus_reserved;
  std::int64_t devices = 0;
  std::int64_t slots = 0;
  for (std::size_t i = 0; i < cap.devices.size(); ++i) {
    if (!device_could_serve(request, cap.devices[i], spec.devices[i].model, only)) continue;
    ++devices;
    slots += cap.devices[i].slots_total;
  }
  switch (request.kind) {
    case NeedKind::kWhole: return devices >= request.whole;
    case NeedKind::kSlots: return slots >= task.slots && devices >= task.distinct_devices;
    default: return devices > 0;
  }
}

/// What one task counts in sums: slices and instances are other parts of other devices.
void compile_milli(Request& request, const State& state, const Ledger& ledger) {
  const TaskShape& task = request.shape.task;
  request.milli = request.milli_most = task.gpus.value();
  if (request.kind != NeedKind::kSlots && request.kind != NeedKind::kMig) return;
  bool any = false;
  const auto add = [&](std::int64_t least, std::int64_t most) {
    request.milli = any ? std::min(request.milli, least) : least;
    request.milli_most = any ? std::max(request.milli_most, most) : most;
    any = true;
  };
  for (const NodeIndex n : request.nodes) {
    for (const DeviceCap& device : ledger.node(n).devices) {
      // Slices on several devices are rounded down one device at a time.
      if (request.kind == NeedKind::kSlots && device.slots_total > 0) {
        add(task.slots * (1000 / device.slots_total), 1000 * task.slots / device.slots_total);
      }
    }
    if (request.kind != NeedKind::kMig) continue;
    for (const DeviceSpec& device : state.nodes[n].spec.devices) {
      const auto profile = mig_profile(task.mig, device.model, device.memory.value());
      if (!profile) continue;
      const std::int64_t part = 1000 * profile->compute / profile->compute_total;
      add(part, part);
    }
  }
  if (!any) request.milli = request.milli_most = 0;
}

void compile_models(Request& request, const Topology& topology) {
  request.models.clear();
  if (request.kind == NeedKind::kNoDevice || request.shape.any_model ||
      (request.shape.models.empty() &&
       (topology.models().size() <= 1 || request.shape.tasks == 1))) {
    request.models.push_back(kNone);
    return;
  }
  for (const std::string& model : request.shape.models) {
    const std::int32_t index = topology.model_index(model);
    if (index != kNone) request.models.push_back(index);
  }
  if (!request.shape.models.empty()) return;
  for (std::size_t i = 0; i < topology.models().size(); ++i) {
    request.models.push_back(static_cast<std::int32_t>(i));
  }
}

void compile_sites(Request& request, const State& state, const Topology& topology) {
  request.sites.clear();
  request.elsewhere.clear();
  const bool ruled = !request.shape.site.empty();
  const std::string& named = ruled ? request.shape.site : request.shape.data;
  const std::int32_t home = named.empty() ? 0 : topology.site_index(named);
  if (home != kNone && !topology.sites().empty()) request.sites.push_back(home);
  std::vector<std::int32_t> others;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(topology.sites().size()); ++i) {
    if (i != home) others.push_back(i);
  }
  std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
    return topology.site_cost(a) < topology.site_cost(b);
  });
  auto& list = ruled || state.policy.spill == Spill::kOff ? request.elsewhere : request.sites;
  list.insert(list.end(), others.begin(), others.end());
}

void compile_options(Request& request, const State& state, const Topology& topology,
                     const Ledger& ledger) {
  request.options.clear();
  const bool one_model = request.models == std::vector<std::int32_t>{kNone};
  if (one_model && request.sites.size() == 1 && topology.sites().size() == 1) return;
  for (const std::int32_t site : request.sites) {
    for (const std::int32_t model : request.models) {
      NodeSet& set = request.options.emplace_back();
      for (const NodeIndex n : request.nodes) {
        if (topology.site_of(n) != site) continue;
        if (node_could_hold(request, state.nodes[n].spec, ledger.node(n), model)) set.insert(n);
      }
    }
  }
}

}  // namespace

std::int64_t fraction_memory(const TaskShape& task, const DeviceCap& device) {
  if (task.gpu_memory) return task.gpu_memory->value();
  return static_cast<std::int64_t>(static_cast<Int128>(device.memory_total) * task.gpus.value() /
                                   1000);
}

bool node_may_host(const State& state, const JobShape& shape, NodeIndex node) {
  const NodeSpec& spec = state.nodes[node].spec;
  if (state.nodes[node].removed) return false;
  if (!shape.on.empty() && !names_node(shape.on, spec)) return false;
  if (names_node(shape.exclude, spec)) return false;
  return std::all_of(shape.labels.begin(), shape.labels.end(), [&](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && found->second == label.second;
  });
}

ShapeIndex RequestTable::intern(const JobShape& shape) {
  const auto [place, added] =
      index_.try_emplace(shape, static_cast<ShapeIndex>(requests_.size()));
  if (added) {
    requests_.emplace_back();
    requests_.back().shape = shape;
    ++not_plain_;
  }
  return place->second;
}

void RequestTable::compile(ShapeIndex index, const State& state, const Topology& topology,
                           const Ledger& ledger) {
  Request& request = requests_[index];
  request.kind = kind_of(request.shape.task);
  request.whole = request.kind == NeedKind::kWhole
                      ? static_cast<std::int32_t>(request.shape.task.gpus.value() / 1000)
                      : 0;
  compile_models(request, topology);
  compile_sites(request, state, topology);
  request.nodes.clear();
  request.node_set = NodeSet();
  request.hosts = NodeSet();
  for (NodeIndex n = 0; n < static_cast<NodeIndex>(state.nodes.size()); ++n) {
    if (!node_may_host(state, request.shape, n)) continue;
    if (contains(request.sites, topology.site_of(n))) request.hosts.insert(n);
    if (!node_could_hold(request, state.nodes[n].spec, ledger.node(n))) continue;
    request.nodes.push_back(n);
    request.node_set.insert(n);
  }
  compile_options(request, state, topology, ledger);
  compile_milli(request, state, ledger);
  const JobShape& shape = request.shape;
  const bool any_mixed = std::any_of(request.nodes.begin(), request.nodes.end(),
                                     [&](NodeIndex n) { return topology.mixed(n); });
  request.countable = request.kind == NeedKind::kWhole && !shape.task.gpu_memory &&
                      shape.same == TopologyLevel::kNone && request.options.empty() &&
                      request.sites.size() == 1 && !any_mixed;
  const bool plain = request.kind == NeedKind::kWhole && shape.task.cpus == 0 &&
                     shape.task.memory.value() == 0 && !shape.task.gpu_memory &&
                     shape.same == TopologyLevel::kNone && shape.prefer == TopologyLevel::kNone &&
                     request.models == std::vector<std::int32_t>{kNone} &&
                     request.sites.size() == 1 && topology.sites().size() == 1 && !any_mixed;
  not_plain_ += (request.plain ? 1 : 0) - (plain ? 1 : 0);
  request.plain = plain;
}

void RequestTable::compile_all(const State& state, const Topology& topology,
                               const Ledger& ledger) {
  for (ShapeIndex i = 0; i < static_cast<ShapeIndex>(requests_.size()); ++i) {
    compile(i, state, topology, ledger);
  }
}

}  // namespace rota::engine
