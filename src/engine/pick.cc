#include "engine/pick.h"

#include <algorithm>

#include "engine/mig.h"

namespace rota::engine {

namespace {

bool admitted(const PickRules& rules, const DeviceCap& device, std::int32_t index) {
  if (rules.model != kNone && rules.model != device.model) return false;
  return rules.devices == nullptr ||
         std::binary_search(rules.devices->begin(), rules.devices->end(), index);
}

bool whole_fits(const NodeCap& node, const Request& request, const PickRules& rules,
                std::int32_t index) {
  const DeviceCap& device = node.devices[index];
  if (!device.whole_free() || !admitted(rules, device, index)) return false;
  const auto& least = request.shape.task.gpu_memory;
  return !least || device.memory_total >= least->value();
}

std::int32_t count_fitting(const NodeCap& node, const Request& request, const PickRules& rules,
                           const std::vector<std::int32_t>& devices) {
  std::int32_t count = 0;
  for (const std::int32_t index : devices) {
    count += whole_fits(node, request, rules, index) ? 1 : 0;
  }
  return count;
}

/// The best group that has enough free fitting devices; null when none has.
const Domain* best_group(const NodeCap& node, const Request& request, const PickRules& rules,
                         const std::vector<Domain>& groups) {
  const Domain* best = nullptr;
  std::int32_t best_free = 0;
  for (const Domain& group : groups) {
    const std::int32_t free = count_fitting(node, request, rules, group.devices);
    if (free < request.whole) continue;
    const bool better = rules.spread ? free > best_free : free < best_free;
    if (best != nullptr && !better) continue;
    best = &group;
    best_free = free;
  }
  return best;
}

}  // namespace

bool host_fits(const NodeCap& node, const Request& request) {
  const TaskShape& task = request.shape.task;
  if (task.memory.value() > node.free.memory) return false;
  if (task.cpus > node.free.cpus) return false;
  return request.kind != NeedKind::kNoDevice || task.cpus <= node.free.cpus_for_cpu_jobs;
}

std::vector<DeviceShare> pick_whole(const NodeCap& node, const Request& request,
                                    const PickRules& rules, const std::vector<Domain>& islands,
                                    const std::vector<Domain>& sockets) {
  std::vector<DeviceShare> out;
  if (node.free.whole < request.whole) return out;
  const Domain* group = best_group(node, request, rules, islands);
  if (group == nullptr) group = best_group(node, request, rules, sockets);
  DeviceShare whole;
  whole.gpus = kWholeGpu;
  out.assign(static_cast<std::size_t>(request.whole), whole);
  auto next = out.begin();
  const bool any_device = rules.model == kNone && rules.devices == nullptr &&
                          !request.shape.task.gpu_memory;
  const DeviceCap* const devices = node.devices.data();
  const auto offered = group == nullptr ? std::ssize(node.devices) : std::ssize(group->devices);
  for (std::ptrdiff_t i = 0; i < offered && next != out.end(); ++i) {
    const auto index = group == nullptr ? static_cast<std::int32_t>(i)
                                        : group->devices[static_cast<std::size_t>(i)];
    const DeviceCap& device = devices[index];
    if (!device.whole_free()) continue;
    if (!any_device && !whole_fits(node, request, rules, index)) continue;
    next->device = index;
    next->memory = Bytes(device.memory_total);
    ++next;
  }
  if (next != out.end()) out.clear();
  return out;
}

std::vector<DeviceShare> pick_slots(const NodeCap& node, const Request& request,
                                    const PickRules& rules) {
  const TaskShape& task = request.shape.task;
  std::vector<std::int32_t> order;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(node.devices.size()); ++i) {
    const DeviceCap& device = node.devices[i];
    const bool sliced = device.mode == DeviceMode::kUnused || device.mode == DeviceMode::kSlots;
    if (device.usable() && sliced && device.slots_free > 0 && admitted(rules, device, i)) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto x = node.devices[a].slots_free;
    const auto y = node.devices[b].slots_free;
    return rules.spread ? x > y : x < y;
  });
  const std::int64_t distinct = std::max<std::int64_t>(1, task.distinct_devices);
  if (distinct == 1) {
    const auto one = std::find_if(order.begin(), order.end(), [&](std::int32_t i) {
      return node.devices[i].slots_free >= task.slots;
    });
    if (one != order.end()) order = {*one};
  }
  std::vector<DeviceShare> out;
  std::int64_t left = task.slots;
  for (const std::int32_t i : order) {
    if (left == 0) break;
    const auto still = std::max<std::int64_t>(0, distinct - std::ssize(out) - 1);
    DeviceShare share;
    share.device = i;
    share.slots = static_cast<std::int32_t>(
        std::min<std::int64_t>(node.devices[i].slots_free, left - std::min(still, left - 1)));
    share.gpus = MilliGpu(std::int64_t{1000} * share.slots / node.devices[i].slots_total);
    left -= share.slots;
    out.push_back(share);
  }
  if (left > 0 || std::ssize(out) < distinct) out.clear();
  std::sort(out.begin(), out.end(),
            [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
  return out;
}

std::optional<DeviceShare> fit_part(const DeviceCap& device, std::int32_t index,
                                    const Request& request, const PickRules& rules,
                                    const std::string& model_name) {
  if (!device.usable() || !admitted(rules, device, index)) return std::nullopt;
  const TaskShape& task = request.shape.task;
  DeviceShare share;
  share.device = index;
  if (request.kind == NeedKind::kMig) {
    if (!device.mig) return std::nullopt;
    const auto profile = mig_profile(task.mig, model_name, device.memory_total);
    if (!profile) return std::nullopt;
    const auto start = best_mig_start(*profile, device.mig_used);
    if (!start) return std::nullopt;
    share.mig_start = *start;
    share.mig_size = profile->size;
    share.mig_compute = profile->compute;
    share.gpus = MilliGpu(std::int64_t{1000} * profile->compute / profile->compute_total);
    share.memory = Bytes(device.memory_total / (profile->compute_total == 7 ? 8 : 4) *
                         profile->size);
    return share;
  }
  const bool divisible = device.mode == DeviceMode::kUnused || device.mode == DeviceMode::kFraction;
  if (device.mig || !divisible || device.milli_free < task.gpus.value()) return std::nullopt;
  share.gpus = task.gpus;
  share.memory = Bytes(fraction_memory(task, device));
  if (share.memory.value() > device.memory_free) return std::nullopt;
  return share;
}

}  // namespace rota::engine
