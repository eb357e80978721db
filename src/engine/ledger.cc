#include "engine/ledger.h"

#include <algorithm>

#include "base/check.h"

namespace rota::engine {

namespace {

bool is_whole(const DeviceShare& share) {
  return share.slots == 0 && share.mig_start < 0 && share.gpus == kWholeGpu;
}

std::uint8_t mig_mask(const DeviceShare& share) {
  return static_cast<std::uint8_t>(((1U << share.mig_size) - 1U) << share.mig_start);
}

/// What of `wanted` is still free. Where the device is used in another way by now, all that is left
/// of it that way: nobody else may have it while the holder of `wanted` is there.
void append_rest(const DeviceCap& device, const DeviceShare& wanted,
                 std::vector<DeviceShare>& out) {
  DeviceShare part = wanted;
  const bool wants_slots = wanted.slots > 0;
  const bool wants_mig = wanted.mig_start >= 0;
  switch (device.mode) {
    case DeviceMode::kUnused: break;
    case DeviceMode::kWhole: return;
    case DeviceMode::kFraction: {
      const std::int64_t milli = wants_slots ? device.milli_free : wanted.gpus.value();
      const std::int64_t memory = wants_slots ? device.memory_free : wanted.memory.value();
      part.slots = 0;
      part.gpus = MilliGpu(std::min<std::int64_t>({milli, device.milli_free, 999}));
      part.memory = Bytes(std::min(memory, device.memory_free));
      if (wants_mig || (part.gpus.value() == 0 && part.memory.value() == 0)) return;
      break;
    }
    case DeviceMode::kSlots:
      part.slots = wants_slots ? std::min<std::int32_t>(wanted.slots, device.slots_free)
                               : device.slots_free;
      part.gpus = MilliGpu(std::int64_t{1000} * part.slots / device.slots_total);
      if (!wants_slots) part.memory = Bytes();
      if (wants_mig || part.slots == 0) return;
      break;
    case DeviceMode::kMig:
      if (!wants_mig) return;
      if ((device.mig_used & mig_mask(wanted)) == 0) break;
      part.mig_size = 1;
      part.mig_compute = 0;
      part.gpus = MilliGpu();
      part.memory = Bytes(wanted.memory.value() / wanted.mig_size);
      for (std::int32_t i = 0; i < wanted.mig_size; ++i) {
        part.mig_start = wanted.mig_start + i;
        if ((device.mig_used & mig_mask(part)) == 0) out.push_back(part);
      }
      return;
  }
  out.push_back(part);
}

void give_share(DeviceCap& device, const DeviceShare& share) {
  --device.holders;
  ROTA_CHECK(device.holders >= 0);
  device.milli_free += static_cast<std::int32_t>(share.gpus.value());
  device.memory_free += share.memory.value();
  if (share.mig_start >= 0) device.mig_used &= static_cast<std::uint8_t>(~mig_mask(share));
  device.slots_free = static_cast<std::int16_t>(device.slots_free + share.slots);
  if (device.holders == 0) device.mode = DeviceMode::kUnused;
}

}  // namespace

void take_share(DeviceCap& device, const DeviceShare& share) {
  ++device.holders;
  if (is_whole(share)) {
    ROTA_CHECK(device.mode == DeviceMode::kUnused);
    device.mode = DeviceMode::kWhole;
    device.milli_free = 0;
  } else if (share.mig_start >= 0) {
    ROTA_CHECK((device.mig_used & mig_mask(share)) == 0);
    device.mode = DeviceMode::kMig;
    device.mig_used |= mig_mask(share);
    device.milli_free -= static_cast<std::int32_t>(share.gpus.value());
  } else if (share.slots > 0) {
    device.mode = DeviceMode::kSlots;
    device.slots_free = static_cast<std::int16_t>(device.slots_free - share.slots);
    ROTA_CHECK(device.slots_free >= 0);
    device.milli_free -= static_cast<std::int32_t>(share.gpus.value());
  } else {
    device.mode = DeviceMode::kFraction;
    device.milli_free -= static_cast<std::int32_t>(share.gpus.value());
  }
  device.memory_free -= share.memory.value();
  ROTA_CHECK(device.milli_free >= 0 && device.memory_free >= 0);
}

std::int64_t TaskAlloc::milli() const {
  std::int64_t sum = 0;
  for (const DeviceShare& share : devices) sum += share.gpus.value();
  return sum;
}

std::int64_t milli_of(const Tasks& tasks) {
  std::int64_t sum = 0;
  for (const TaskAlloc& task : tasks) sum += task.milli();
  return sum;
}

std::int32_t Ledger::add_node(NodeCap node) {
  ROTA_CHECK(open_marks_ == 0);
  node.free = NodeFree{};
  node.free.cpus = node.cpus_total;
  node.free.cpus_for_cpu_jobs = std::max<std::int64_t>(0, node.cpus_total - node.cpus_reserved);
  node.free.memory = node.memory_total;
  for (const DeviceCap& device : node.devices) count(node, device);
  ROTA_CHECK(node.free.milli <= PlaceKey::kMilliMax);
  adopt(std::move(node));
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

void Ledger::adopt(NodeCap node) {
  ++changes_;
  sliced_ = sliced_ || std::any_of(node.devices.begin(), node.devices.end(),
                                   [](const DeviceCap& d) { return d.slots_total > 0; });
  index_.admit(node);
  index_.add(static_cast<std::int32_t>(nodes_.size()), node);
  log_.note(static_cast<std::int32_t>(nodes_.size()));
  nodes_.push_back(std::move(node));
  note_impaired(static_cast<std::int32_t>(nodes_.size()) - 1);
}

void Ledger::note_impaired(std::int32_t node) {
  const NodeCap& cap = nodes_[node];
  const bool sound = cap.open && std::all_of(cap.devices.begin(), cap.devices.end(),
                                             [](const DeviceCap& d) { return d.usable(); });
  if (sound) {
    impaired_.erase(node);
  } else {
    impaired_.insert(node);
  }
}

/// Changes the devices of the task's shares and keeps the node's counts in step. `usual` does the
/// whole change of a share at once where the device goes between unused and held whole, and says
/// so; `other` does any change.
template <class Usual, class Other>
inline void Ledger::change(const TaskAlloc& task, std::int32_t sign, Usual&& usual,
                           Other&& other) {
  ++changes_;
  log_.note(task.node);
  remember(task.node);
  NodeCap& node = nodes_[task.node];
  index_.remove(task.node, node);
  const auto known = std::ssize(node.devices);
  DeviceCap* const devices = node.devices.data();
  const bool undoable = open_marks_ > 0;
  std::int64_t milli = 0;
  std::int32_t whole = 0;
  for (const DeviceShare& share : task.devices) {
    ROTA_CHECK(share.device >= 0 && share.device < known);
    if (undoable) remember(task.node, share.device);
    DeviceCap& device = devices[share.device];
    if (is_whole(share) && usual(device, share)) {
      whole += sign;
      milli += sign * kWholeGpu.value();
      continue;
    }
    milli -= device.part_free();
    whole -= device.whole_free() ? 1 : 0;
    other(device, share);
    milli += device.part_free();
    whole += device.whole_free() ? 1 : 0;
  }
  node.free.milli += milli;
  node.free.whole += whole;
}

void Ledger::take(const TaskAlloc& task) {
  const auto usual = [](DeviceCap& device, const DeviceShare& share) {
    if (!device.whole_free() || device.milli_free != kWholeGpu.value()) return false;
    device.mode = DeviceMode::kWhole;
    device.milli_free = 0;
    ++device.holders;
    device.memory_free -= share.memory.value();
    ROTA_CHECK(device.memory_free >= 0);
    return true;
  };
  change(task, -1, usual, take_share);
  NodeCap& node = nodes_[task.node];
  node.free.cpus -= task.cpus;
  if (task.devices.empty()) node.free.cpus_for_cpu_jobs -= task.cpus;
  node.free.memory -= task.memory;
  node.free.tasks += 1;
  index_.add(task.node, node);
}

void Ledger::give(const TaskAlloc& task) {
  const auto usual = [](DeviceCap& device, const DeviceShare& share) {
    const bool held_whole = device.mode == DeviceMode::kWhole && device.holders == 1 &&
                            device.milli_free == 0 && device.usable() && !device.mig;
    if (!held_whole) return false;
    device.mode = DeviceMode::kUnused;
    device.milli_free = static_cast<std::int32_t>(kWholeGpu.value());
    device.holders = 0;
    device.memory_free += share.memory.value();
    return true;
  };
  change(task, 1, usual, give_share);
  NodeCap& node = nodes_[task.node];
  node.free.cpus += task.cpus;
  if (task.devices.empty()) node.free.cpus_for_cpu_jobs += task.cpus;
  node.free.memory += task.memory;
  node.free.tasks -= 1;
  index_.add(task.node, node);
}

bool Ledger::can_take(const Tasks& tasks) {
  const Mark mark = checkpoint();
  bool ok = true;
  for (const TaskAlloc& task : tasks) {
    const TaskAlloc rest = take_rest(task);
    ok = ok && rest == task;
  }
  rollback(mark);
  return ok;
}

TaskAlloc Ledger::take_rest(const TaskAlloc& wanted) {
  TaskAlloc rest = wanted;
  rest.devices.clear();
  const NodeCap& node = nodes_[wanted.node];
  for (const DeviceShare& share : wanted.devices) {
    append_rest(node.devices[share.device], share, rest.devices);
  }
  rest.cpus = std::max<std::int64_t>(0, std::min(wanted.cpus, node.free.cpus));
  rest.memory = std::max<std::int64_t>(0, std::min(wanted.memory, node.free.memory));
  take(rest);
  return rest;
}

void Ledger::set_open(std::int32_t node, bool open) {
  ++changes_;
  log_.note(node);
  NodeCap& cap = nodes_[node];
  index_.remove(node, cap);
  cap.open = open;
  index_.add(node, cap);
  note_impaired(node);
}

void Ledger::set_out(std::int32_t node, std::int32_t device, std::uint8_t bits) {
  ROTA_CHECK(open_marks_ == 0);
  ++changes_;
  log_.note(node);
  NodeCap& cap = nodes_[node];
  index_.remove(node, cap);
  uncount(cap, cap.devices[device]);
  cap.devices[device].out = bits;
  count(cap, cap.devices[device]);
  index_.add(node, cap);
  note_impaired(node);
}

void Ledger::set_reserved(std::int32_t node, std::int64_t cpus) {
  ++changes_;
  log_.note(node);
  NodeCap& cap = nodes_[node];
  const std::int64_t before = std::max<std::int64_t>(0, cap.cpus_total - cap.cpus_reserved);
  const std::int64_t after = std::max<std::int64_t>(0, cap.cpus_total - cpus);
  cap.cpus_reserved = cpus;
  cap.free.cpus_for_cpu_jobs += after - before;
}

Ledger::Mark Ledger::checkpoint() {
  ++open_marks_;
  return undo_.size();
}

void Ledger::rollback(Mark mark) {
  ROTA_CHECK(open_marks_ > 0 && mark <= undo_.size());
  // A change left its node's counts first, then its devices: backwards they come last.
  bool begun = false;
  while (undo_.size() > mark) {
    const Undo& undo = undo_.back();
    NodeCap& node = nodes_[undo.node];
    if (!begun) index_.remove(undo.node, node);
    begun = undo.device >= 0;
    if (begun) {
      node.devices[undo.device] = undo.device_before;
    } else {
      node.free = undo.free_before;
      index_.add(undo.node, node);
      log_.note(undo.node);
      --changes_;
    }
    undo_.pop_back();
  }
  --open_marks_;
}

void Ledger::commit(Mark mark) {
  ROTA_CHECK(open_marks_ > 0 && mark <= undo_.size());
  --open_marks_;
  if (open_marks_ == 0) undo_.clear();
}

}  // namespace rota::engine
