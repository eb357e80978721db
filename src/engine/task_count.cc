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

WholeTask whole_task(const TaskAlloc& task) {
  return {task.node, static_cast<std::int32_t>(task.devices.size()), task.cpus, task.memory};
}

}  // namespace

TaskCount::TaskCount(const Request& request, Ledger& ledger, Way way)
    : request_(request), ledger_(ledger), way_(way),
      no_instances_(ledger.index().instances().empty()) {
  if (way == Way::kByCounting) {
    place_of_.assign(ledger.nodes().size(), -1);
    rooms_.reserve(64);
  }
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
  for (const TaskAlloc& task : tasks) count(whole_task(task), 1);
  return true;
}

void TaskCount::take(const Tasks& tasks) {
  for (const TaskAlloc& task : tasks) {
    if (way_ == Way::kOnLedger) {
      change(task, [&] { ledger_.take(task); });
    } else {
      count(whole_task(task), -1);
    }
  }
}

bool TaskCount::counts(NodeIndex node) const {
  if (!request_.node_set.contains(node)) return false;
  return !ledger_.impaired().contains(node) || ledger_.node(node).open;
}

NodeRoom& TaskCount::room(NodeIndex node) {
  std::int32_t& place = place_of_[static_cast<std::size_t>(node)];
  if (place < 0) {
    place = static_cast<std::int32_t>(rooms_.size());
    rooms_.push_back(NodeRoom::free_on(ledger_.node(node)));
  }
  return rooms_[static_cast<std::size_t>(place)];
}

std::int64_t TaskCount::on(NodeIndex node) const {
  const NodeCap& cap = ledger_.node(node);
  return cap.open ? NodeRoom::free_on(cap).tasks(request_) : 0;
}

void TaskCount::count(const WholeTask& task, std::int64_t sign) {
  if (!counts(task.node)) return;
  NodeRoom& here = room(task.node);
  tasks_ -= here.tasks(request_);
  here.whole += sign * task.devices;
  here.cpus += sign * task.cpus;
  here.memory += sign * task.memory;
  tasks_ += here.tasks(request_);
}

std::int64_t TaskCount::tasks_without(const WholeTask& task) {
  if (!counts(task.node)) return tasks_;
  NodeRoom here = room(task.node);
  const std::int64_t with = here.tasks(request_);
  here.whole -= task.devices;
  here.cpus -= task.cpus;
  here.memory -= task.memory;
  return tasks_ - with + here.tasks(request_);
}

template <class Change>
void TaskCount::change(const TaskAlloc& task, Change&& change) {
  const bool counts = bounds() && request_.node_set.contains(task.node);
  if (counts) tasks_ -= on(task.node);
  change();
  if (counts) tasks_ += on(task.node);
}

RoomBound::RoomBound(const Request& request, const Ledger& ledger)
    : request_(request), ledger_(ledger), place_of_(ledger.nodes().size(), -1) {
  rooms_.reserve(64);
  FreeWalk walk(ledger.index(), request.node_set, {request.whole, 0}, FreeOrder::kLeastFirst);
  for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) {
    tasks_ += NodeRoom::free_on(ledger.node(n)).tasks(request);
  }
}

void RoomBound::free(const WholeTask& task) {
  if (!request_.node_set.contains(task.node)) return;
  std::int32_t& place = place_of_[static_cast<std::size_t>(task.node)];
  if (place < 0) {
    const NodeCap& node = ledger_.node(task.node);
    if (!node.open) return;
    place = static_cast<std::int32_t>(rooms_.size());
    rooms_.push_back(NodeRoom::free_on(node));
  }
  NodeRoom& room = rooms_[static_cast<std::size_t>(place)];
  tasks_ -= room.tasks(request_);
  room.whole += task.devices;
  room.cpus += task.cpus;
  room.memory += task.memory;
  tasks_ += room.tasks(request_);
}

void RoomBound::free(const Tasks& tasks) {
  for (const TaskAlloc& task : tasks) {
    std::int64_t devices = 0;
    for (const DeviceShare& share : task.devices) devices += devices_of(task.node, share);
    free({task.node, static_cast<std::int32_t>(devices), task.cpus, task.memory});
  }
}

/// A device that several share counts as free as soon as one of them is gone.
std::int64_t RoomBound::devices_of(NodeIndex node, const DeviceShare& share) {
  if (share.mig_start >= 0) return 0;
  if (share.slots == 0 && share.gpus == kWholeGpu) return 1;
  return shared_.insert({node, share.device}).second ? 1 : 0;
}

}  // namespace rota::engine
