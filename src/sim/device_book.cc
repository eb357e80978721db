#include "sim/device_book.h"

#include <algorithm>

#include "engine/mig.h"

namespace rota::sim {

namespace {

DeviceShare whole_share(std::int32_t index, const DeviceSpec& device) {
  DeviceShare share;
  share.device = index;
  share.gpus = kWholeGpu;
  share.memory = device.memory;
  return share;
}

std::uint32_t mask_of(const DeviceShare& share) {
  return ((1U << share.mig_size) - 1U) << share.mig_start;
}

DeviceShare slot_share(const NodeSpec& node, std::int32_t device, std::int32_t slots) {
  DeviceShare share;
  share.device = device;
  share.slots = slots;
  share.gpus = MilliGpu(1000 * slots / std::max(1, node.slots));
  return share;
}

std::string where(const std::string& node, std::int32_t device) {
  return node + ":" + std::to_string(device);
}

}  // namespace

void DeviceBook::add_node(const NodeSpec& spec) {
  Node node;
  node.spec = spec;
  for (const auto& device : spec.devices) {
    Device entry;
    entry.spec = device;
    node.devices.push_back(std::move(entry));
  }
  nodes_[spec.name] = std::move(node);
}

bool DeviceBook::has_room(const Node& node, const DeviceShare& share) {
  const Device& device = node.devices[static_cast<std::size_t>(share.device)];
  if (share.mig_start >= 0) {
    const bool other_kind = device.milli_used > 0 && device.mig_used == 0;
    return node.spec.mig && !other_kind && (device.mig_used & mask_of(share)) == 0;
  }
  if (share.slots > 0) {
    const bool other_kind = device.shares > 0 && device.slots_used == 0;
    return !other_kind && device.slots_used + share.slots <= node.spec.slots;
  }
  if (device.slots_used > 0 || device.mig_used != 0) return false;
  return device.milli_used + share.gpus.value() <= 1000 &&
         device.memory_used + share.memory.value() <= device.spec.memory.value();
}

void DeviceBook::add(Device& device, const DeviceShare& share, int sign) {
  device.milli_used += sign * share.gpus.value();
  device.memory_used += sign * share.memory.value();
  device.slots_used += sign * share.slots;
  device.shares += sign;
  if (share.mig_start < 0) return;
  if (sign > 0) {
    device.mig_used |= mask_of(share);
  } else {
    device.mig_used &= ~mask_of(share);
  }
}

bool DeviceBook::is_wanted(const DeviceSpec& device, const JobShape& shape) {
  const bool whole = shape.task.gpus.value() >= 1000;
  if (whole && shape.task.gpu_memory && device.memory < *shape.task.gpu_memory) return false;
  if (shape.models.empty()) return true;
  return std::find(shape.models.begin(), shape.models.end(), device.model) != shape.models.end();
}

std::optional<DeviceShare> DeviceBook::part_of(const Node& node, std::int32_t index,
                                               const TaskShape& task) {
  const Device& device = node.devices[static_cast<std::size_t>(index)];
  DeviceShare share;
  share.device = index;
  if (!task.mig.empty()) {
    const auto profile =
        engine::mig_profile(task.mig, device.spec.model, device.spec.memory.value());
    if (!profile) return std::nullopt;
    const auto start =
        engine::best_mig_start(*profile, static_cast<std::uint8_t>(device.mig_used));
    if (!start) return std::nullopt;
    share.mig_start = *start;
    share.mig_size = profile->size;
    share.mig_compute = profile->compute;
    share.gpus = MilliGpu(std::int64_t{1000} * profile->compute / profile->compute_total);
    const std::int64_t slices = profile->compute_total == 7 ? 8 : 4;
    share.memory = Bytes(device.spec.memory.value() / slices * profile->size);
    return share;
  }
  share.gpus = task.gpus;
  const Int128 part = static_cast<Int128>(device.spec.memory.value()) * task.gpus.value() / 1000;
  share.memory = task.gpu_memory.value_or(Bytes(static_cast<std::int64_t>(part)));
  return share;
}

std::vector<DeviceShare> DeviceBook::pick_slots(const Node& node, const JobShape& shape) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const bool fits = has_room(node, slot_share(node.spec, index, 1));
    if (fits && is_wanted(node.devices[i].spec, shape)) order.push_back(index);
  }
  const auto free = [&](std::int32_t i) {
    return node.spec.slots - node.devices[static_cast<std::size_t>(i)].slots_used;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return free(a) < free(b); });
  auto left = static_cast<std::int32_t>(shape.task.slots);
  const auto distinct =
      static_cast<std::int32_t>(std::max<std::int64_t>(1, shape.task.distinct_devices));
  if (distinct == 1) {
    const auto one = std::find_if(order.begin(), order.end(),
                                  [&](std::int32_t i) { return free(i) >= left; });
    if (one != order.end()) order = {*one};
  }
  std::vector<DeviceShare> shares;
  for (const auto index : order) {
    if (left == 0) break;
    // Later devices must still get one slice each.
    const auto later = std::max(0, distinct - static_cast<std::int32_t>(shares.size()) - 1);
    const auto slots = std::min(free(index), left - std::min(later, left - 1));
    shares.push_back(slot_share(node.spec, index, slots));
    left -= slots;
  }
  if (left > 0 || static_cast<std::int32_t>(shares.size()) < distinct) return {};
  return shares;
}

std::vector<DeviceShare> DeviceBook::pick(const Node& node, const JobShape& shape) {
  const TaskShape& task = shape.task;
  if (task.slots > 0) return pick_slots(node, shape);
  std::vector<DeviceShare> shares;
  const std::int64_t whole = task.mig.empty() ? task.gpus.value() / 1000 : 0;
  const Device* fullest = nullptr;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const Device& device = node.devices[i];
    const auto index = static_cast<std::int32_t>(i);
    if (!is_wanted(device.spec, shape)) continue;
    if (whole > 0) {
      const auto share = whole_share(index, device.spec);
      const bool room = !node.spec.mig && has_room(node, share) && device.shares == 0;
      if (room && std::ssize(shares) < whole) shares.push_back(share);
      continue;
    }
    const auto part = part_of(node, index, task);
    if (!part || !has_room(node, *part)) continue;
    if (fullest != nullptr && device.milli_used <= fullest->milli_used) continue;
    fullest = &device;
    shares = {*part};
  }
  if (whole > 0 && std::ssize(shares) < whole) shares.clear();
  return shares;
}

std::optional<TaskPlace> DeviceBook::room_beside(const Node& node, const JobShape& shape,
                                                 std::int64_t task) {
  if (node.cpus_used + shape.task.cpus > node.spec.cpus) return std::nullopt;
  if (node.memory_used + shape.task.memory.value() > node.spec.memory.value()) return std::nullopt;
  TaskPlace place;
  place.task = task;
  place.node = node.spec.name;
  place.cpus = shape.task.cpus;
  place.memory = shape.task.memory;
  return place;
}

std::optional<TaskPlace> DeviceBook::place_task(const std::string& name, const JobShape& shape,
                                                std::int64_t task) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return std::nullopt;
  auto place = room_beside(found->second, shape, task);
  if (!place) return std::nullopt;
  const TaskShape& wish = shape.task;
  if (wish.gpus.value() > 0 || wish.slots > 0 || !wish.mig.empty()) {
    place->devices = pick(found->second, shape);
    if (place->devices.empty()) return std::nullopt;
  }
  (void)take({*place});
  return place;
}

std::optional<TaskPlace> DeviceBook::place_on(const std::string& name, const JobShape& shape,
                                              std::int64_t task,
                                              const std::vector<DeviceName>& devices) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return std::nullopt;
  const Node& node = found->second;
  auto place = room_beside(node, shape, task);
  if (!place) return std::nullopt;
  for (const auto& device : devices) {
    if (shape.task.slots > 0) {
      auto& shares = place->devices;
      if (!shares.empty() && shares.back().device == device.device) {
        shares.back() = slot_share(node.spec, device.device, shares.back().slots + 1);
      } else {
        shares.push_back(slot_share(node.spec, device.device, 1));
      }
      continue;
    }
    auto share = shape.task.gpus.value() >= 1000
                     ? whole_share(device.device,
                                   node.devices[static_cast<std::size_t>(device.device)].spec)
                     : part_of(node, device.device, shape.task);
    if (!share) return std::nullopt;
    if (device.mig_start >= 0) share->mig_start = device.mig_start;
    place->devices.push_back(*share);
  }
  for (const auto& share : place->devices) {
    if (!has_room(node, share)) return std::nullopt;
  }
  (void)take({*place});
  return place;
}

std::vector<std::string> DeviceBook::take(const std::vector<TaskPlace>& places) {
  std::vector<std::string> broken;
  for (const auto& place : places) {
    const auto found = nodes_.find(place.node);
    if (found == nodes_.end()) {
      broken.push_back("a place on node " + place.node + ", which does not exist");
      continue;
    }
    Node& node = found->second;
    node.cpus_used += place.cpus;
    node.memory_used += place.memory.value();
    if (node.cpus_used > node.spec.cpus) broken.push_back("CPUs of " + place.node + " given twice");
    if (node.memory_used > node.spec.memory.value()) {
      broken.push_back("memory of " + place.node + " given twice");
    }
    for (const auto& share : place.devices) {
      if (share.device < 0 || share.device >= std::ssize(node.devices)) {
        broken.push_back("device " + where(place.node, share.device) + ", which does not exist");
        continue;
      }
      if (!has_room(node, share)) {
        broken.push_back("device " + where(place.node, share.device) + " given twice");
      }
      add(node.devices[static_cast<std::size_t>(share.device)], share, 1);
    }
  }
  return broken;
}

void DeviceBook::release(const std::vector<TaskPlace>& places) {
  for (const auto& place : places) {
    const auto found = nodes_.find(place.node);
    if (found == nodes_.end()) continue;
    Node& node = found->second;
    node.cpus_used -= place.cpus;
    node.memory_used -= place.memory.value();
    for (const auto& share : place.devices) {
      if (share.device < 0 || share.device >= std::ssize(node.devices)) continue;
      add(node.devices[static_cast<std::size_t>(share.device)], share, -1);
    }
  }
}

}  // namespace rota::sim
