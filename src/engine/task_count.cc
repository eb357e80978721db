#include "engine/task_count.h"

#include <algorithm>

namespace rota::engine {

namespace {

/// Whether giving the task's devices makes each of them a whole free one.
bool frees_whole_devices(const NodeCap& node, const TaskAlloc& task) {
  return std::all_of(task.devices.begin(), task.devices.end(), [&](const DeviceShare& share) {
    const DeviceCap& device = node.devices[static_cast<std::size_t>(share.device)];
    return device.mode == DeviceMode::kWhole && device.holders == 1 && device.milli_free == 0 &&
           device.usable() && !device.mig;
  });
}

}  // namespace

TaskCount::TaskCount(const Request& request, Ledger& ledger, Way way)
    : request_(request), ledger_(ledger), way_(way) {
  if (way == Way::kByCounting) place_of_.assign(ledger.nodes().size(), -1);
  if (!bounds()) return;
  FreeWalk walk(ledger.index(), request.node_set, {request.whole, 0}, FreeOrder::kLeastFirst);
  for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) tasks_ += on(n);
}

bool TaskCount::give(const Tasks& tasks) {
  if (way_ == Way::kOnLedger) {
    for (const TaskAlloc& task : tasks) change(task, [&] { ledger_.give(task); });
    return true;
  }
  const bool countable = std::all_of(tasks.begin(), tasks.end(), [this](const TaskAlloc& task) {
    return frees_whole_devices(ledger_.node(task.node), task);
  });
  if (!countable) return false;
  for (const TaskAlloc& task : tasks) count(task, 1);
  return true;
}

void TaskCount::take(const Tasks& tasks) {
  for (const TaskAlloc& task : tasks) {
    if (way_ == Way::kOnLedger) {
      change(task, [&] { ledger_.take(task); });
    } else {
      count(task, -1);
    }
  }
}

TaskCount::Room& TaskCount::room(NodeIndex node) {
  std::int32_t& place = place_of_[static_cast<std::size_t>(node)];
  if (place < 0) {
    place = static_cast<std::int32_t>(rooms_.size());
    const NodeFree& free = ledger_.node(node).free;
    rooms_.push_back({free.whole, free.cpus, free.memory});
  }
  return rooms_[static_cast<std::size_t>(place)];
}

std::int64_t TaskCount::in(const Room& room) const {
  if (room.whole < request_.whole) return 0;
  const TaskShape& task = request_.shape.task;
  std::int64_t most = room.whole / request_.whole;
  if (task.cpus > 0) most = std::min(most, room.cpus / task.cpus);
  if (task.memory.value() > 0) most = std::min(most, room.memory / task.memory.value());
  return std::max<std::int64_t>(0, most);
}

std::int64_t TaskCount::on(NodeIndex node) const {
  const NodeCap& cap = ledger_.node(node);
  return cap.open ? in({cap.free.whole, cap.free.cpus, cap.free.memory}) : 0;
}

void TaskCount::count(const TaskAlloc& task, std::int64_t sign) {
  if (!request_.node_set.contains(task.node) || !ledger_.node(task.node).open) return;
  Room& here = room(task.node);
  tasks_ -= in(here);
  here.whole += sign * std::ssize(task.devices);
  here.cpus += sign * task.cpus;
  here.memory += sign * task.memory;
  tasks_ += in(here);
}

template <class Change>
void TaskCount::change(const TaskAlloc& task, Change&& change) {
  const bool counts = bounds() && request_.node_set.contains(task.node);
  if (counts) tasks_ -= on(task.node);
  change();
  if (counts) tasks_ += on(task.node);
}

}  // namespace rota::engine
