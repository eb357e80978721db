#include "engine/place.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "engine/pick.h"

namespace rota::engine {

namespace {

/// From the tightest level to the widest, for "is the wish finer than the rule".
int width(TopologyLevel level) {
  switch (level) {
    case TopologyLevel::kIsland: return 1;
    case TopologyLevel::kSocket: return 2;
    case TopologyLevel::kNode: return 3;
    case TopologyLevel::kRack: return 4;
    case TopologyLevel::kBlock: return 5;
    case TopologyLevel::kNone: break;
  }
  return 6;
}

bool host_fits(const NodeCap& node, const Request& request) {
  const TaskShape& task = request.shape.task;
  if (task.memory.value() > node.free.memory) return false;
  if (task.cpus > node.free.cpus) return false;
  return request.kind != NeedKind::kNoDevice || task.cpus <= node.free.cpus_for_cpu_jobs;
}

std::int64_t domain_free(const Ledger& ledger, const Domain& domain) {
  std::int64_t sum = 0;
  for (const NodeIndex n : domain.nodes) {
    const NodeCap& node = ledger.node(n);
    if (!node.open) continue;
    if (domain.devices.empty()) {
      sum += node.free.milli;
      continue;
    }
    for (const std::int32_t d : domain.devices) sum += node.devices[d].part_free();
  }
  return sum;
}

PickRules rules_for(std::int32_t model, const Domain* domain, bool spread) {
  PickRules rules;
  rules.model = model;
  rules.spread = spread;
  if (domain != nullptr && !domain->devices.empty()) rules.devices = &domain->devices;
  return rules;
}

}  // namespace

std::optional<Tasks> Placer::place(Ledger& ledger, const Request& request,
                                   std::int64_t tasks) const {
  return place_most(ledger, request, tasks, tasks);
}

std::optional<Tasks> Placer::place_most(Ledger& ledger, const Request& request,
                                        std::int64_t least, std::int64_t most) const {
  if (request.milli * least > ledger.milli_free_open()) return std::nullopt;
  for (const std::int32_t site : request.sites) {
    for (const std::int32_t model : request.models) {
      auto tasks = place_in_levels(ledger, {request, least, most, site, model, nullptr, nullptr});
      if (tasks) return tasks;
    }
  }
  return std::nullopt;
}

std::optional<Tasks> Placer::place_in_levels(Ledger& ledger, Try attempt) const {
  const JobShape& shape = attempt.request.shape;
  if (shape.prefer != TopologyLevel::kNone && width(shape.prefer) <= width(shape.same)) {
    auto tasks = place_in_best_domain(ledger, attempt, shape.prefer);
    if (tasks) return tasks;
  }
  if (shape.same != TopologyLevel::kNone) return place_in_best_domain(ledger, attempt, shape.same);
  Tasks tasks = place_greedily(ledger, attempt);
  if (std::ssize(tasks) < attempt.least) return std::nullopt;
  return tasks;
}

std::optional<Tasks> Placer::place_in_best_domain(Ledger& ledger, Try attempt,
                                                  TopologyLevel level) const {
  // The domain with the fewest free GPUs (spread: the most) that holds all; ties: declared first.
  std::optional<Tasks> best;
  std::int64_t best_free = 0;
  for (const Domain& domain : topology_.domains(level)) {
    const std::int64_t free = domain_free(ledger, domain);
    if (free < attempt.request.milli * attempt.least) continue;
    const bool better = spread() ? free > best_free : free < best_free;
    if (best && !better) continue;
    attempt.domain = &domain;
    Tasks tasks = place_greedily(ledger, attempt);
    if (std::ssize(tasks) < attempt.least) continue;
    best = std::move(tasks);
    best_free = free;
  }
  return best;
}

bool Placer::node_open(const Ledger& ledger, const Try& attempt, NodeIndex n) const {
  const NodeCap& node = ledger.node(n);
  if (!node.open) return false;
  if (attempt.site != kNone && topology_.site_of(n) != attempt.site) return false;
  if (attempt.barred != nullptr && (*attempt.barred)[n] != 0) return false;
  return host_fits(node, attempt.request);
}

/// Whole devices for one task, of one model unless the job may mix.
std::vector<DeviceShare> Placer::pick_one_model(const NodeCap& node, const Request& request,
                                                PickRules rules, NodeIndex n) const {
  const auto& islands = topology_.islands_of(n);
  const auto& sockets = topology_.sockets_of(n);
  const bool mixed = rules.model == kNone && request.whole > 1 && !request.shape.any_model &&
                     topology_.mixed(n);
  if (!mixed) return pick_whole(node, request, rules, islands, sockets);
  for (std::size_t m = 0; m < topology_.models().size(); ++m) {
    rules.model = static_cast<std::int32_t>(m);
    auto devices = pick_whole(node, request, rules, islands, sockets);
    if (!devices.empty()) return devices;
  }
  return {};
}

std::optional<TaskAlloc> Placer::fit_on_node(const Ledger& ledger, const Request& request,
                                             NodeIndex n, std::int32_t model,
                                             const Domain* domain) const {
  const NodeCap& node = ledger.node(n);
  if (!host_fits(node, request)) return std::nullopt;
  const PickRules rules = rules_for(model, domain, spread());
  TaskAlloc task;
  task.node = n;
  task.cpus = request.shape.task.cpus;
  task.memory = request.shape.task.memory.value();
  switch (request.kind) {
    case NeedKind::kNoDevice: return task;
    case NeedKind::kWhole: task.devices = pick_one_model(node, request, rules, n); break;
    case NeedKind::kSlots: task.devices = pick_slots(node, request, rules); break;
    case NeedKind::kFraction:
    case NeedKind::kMig:
      for (std::int32_t d = 0; d < static_cast<std::int32_t>(node.devices.size()); ++d) {
        auto share = fit_part(node.devices[d], d, request, rules,
                              state_.nodes[n].spec.devices[d].model);
        if (share) {
          task.devices.push_back(*share);
          return task;
        }
      }
      break;
  }
  if (task.devices.empty()) return std::nullopt;
  return task;
}

/// The choice after which free devices stay most useful; ties: fewest free GPUs of the node, then
/// declared first. Inside a node whole devices are packed; a part goes to the best device.
std::optional<TaskAlloc> Placer::place_least_fragmenting(const Ledger& ledger,
                                                         const Try& attempt) const {
  fragmentation_.update(state_.mix, state_.mix_version, topology_, ledger);
  const Request& request = attempt.request;
  const PickRules rules = rules_for(attempt.model, attempt.domain, false);
  const std::size_t named = request.shape.models.size();
  std::optional<TaskAlloc> best;
  std::tuple<bool, std::int64_t, std::int64_t> best_key;
  const auto offer = [&](TaskAlloc task) {
    const NodeCap& node = ledger.node(task.node);
    const bool beside_gpus = task.devices.empty() && !node.devices.empty();
    const std::tuple key{beside_gpus, -fragmentation_.score(node, task, named), node.free.milli};
    if (best && key >= best_key) return;
    best_key = key;
    best = std::move(task);
  };
  const auto consider = [&](NodeIndex n) {
    if (!node_open(ledger, attempt, n)) return;
    const NodeCap& node = ledger.node(n);
    if (request.kind != NeedKind::kFraction && request.kind != NeedKind::kMig) {
      if (request.kind == NeedKind::kWhole && node.free.whole < request.whole) return;
      auto task = fit_on_node(ledger, request, n, attempt.model, attempt.domain);
      if (task) offer(std::move(*task));
      return;
    }
    for (std::int32_t d = 0; d < static_cast<std::int32_t>(node.devices.size()); ++d) {
      auto share =
          fit_part(node.devices[d], d, request, rules, state_.nodes[n].spec.devices[d].model);
      if (!share) continue;
      offer({n, 0, {*share}, request.shape.task.cpus, request.shape.task.memory.value()});
    }
  };
  for_each_node(attempt, consider);
  return best;
}

std::optional<TaskAlloc> Placer::place_on_device(const Ledger& ledger, const Try& attempt) const {
  const Request& request = attempt.request;
  const PickRules rules = rules_for(attempt.model, attempt.domain, spread());
  std::optional<TaskAlloc> best;
  std::tuple<std::int64_t, std::int64_t> best_key;
  const auto consider = [&](NodeIndex n) {
    if (!node_open(ledger, attempt, n)) return;
    const NodeCap& node = ledger.node(n);
    for (std::int32_t d = 0; d < static_cast<std::int32_t>(node.devices.size()); ++d) {
      const auto& model_name = state_.nodes[n].spec.devices[d].model;
      auto share = fit_part(node.devices[d], d, request, rules, model_name);
      if (!share) continue;
      const std::int64_t full = fullness(node.devices[d]);
      const std::tuple<std::int64_t, std::int64_t> key =
          spread() ? std::tuple{full, -node.free.milli} : std::tuple{-full, node.free.milli};
      if (best && key >= best_key) continue;
      best_key = key;
      best = TaskAlloc{n, 0, {*share}, request.shape.task.cpus, request.shape.task.memory.value()};
    }
  };
  for_each_node(attempt, consider);
  return best;
}

std::optional<TaskAlloc> Placer::place_task(const Ledger& ledger, const Try& attempt) const {
  const Request& request = attempt.request;
  if (by_fragmentation()) return place_least_fragmenting(ledger, attempt);
  if (request.kind == NeedKind::kFraction || request.kind == NeedKind::kMig) {
    return place_on_device(ledger, attempt);
  }
  std::vector<std::pair<std::tuple<bool, std::int64_t, NodeIndex>, NodeIndex>> order;
  const auto consider = [&](NodeIndex n) {
    if (!node_open(ledger, attempt, n)) return;
    const NodeCap& node = ledger.node(n);
    if (request.kind == NeedKind::kWhole && node.free.whole < request.whole) return;
    const bool has_gpus = request.kind == NeedKind::kNoDevice && !node.devices.empty();
    const std::int64_t free = spread() ? -node.free.milli : node.free.milli;
    order.push_back({{has_gpus, free, n}, n});
  };
  for_each_node(attempt, consider);
  // Usually the first candidate holds the task; a heap avoids sorting the rest.
  const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
  std::make_heap(order.begin(), order.end(), later);
  while (!order.empty()) {
    std::pop_heap(order.begin(), order.end(), later);
    auto task = fit_on_node(ledger, request, order.back().second, attempt.model, attempt.domain);
    if (task) return task;
    order.pop_back();
  }
  return std::nullopt;
}

Tasks Placer::place_node_by_node(Ledger& ledger, const Try& attempt) const {
  // Packing fills the fullest node that holds a task until it holds no more: the same result as
  // task by task, since taking only makes that node fuller.
  Tasks out;
  while (std::ssize(out) < attempt.most) {
    auto task = place_task(ledger, attempt);
    if (!task) break;
    const NodeIndex node = task->node;
    while (task) {
      task->rank = static_cast<std::int32_t>(out.size());
      ledger.take(*task);
      out.push_back(std::move(*task));
      if (std::ssize(out) == attempt.most) break;
      task = fit_on_node(ledger, attempt.request, node, attempt.model, attempt.domain);
    }
  }
  return out;
}

Tasks Placer::place_greedily(Ledger& ledger, const Try& attempt) const {
  Tasks out;
  if (attempt.most == 1) {
    auto task = place_task(ledger, attempt);
    if (task) out.push_back(std::move(*task));
    return out;
  }
  const Ledger::Mark mark = ledger.checkpoint();
  const bool by_node = !spread() && !by_fragmentation() &&
                       attempt.request.kind != NeedKind::kFraction &&
                       attempt.request.kind != NeedKind::kMig;
  if (by_node) {
    out = place_node_by_node(ledger, attempt);
  } else {
    while (std::ssize(out) < attempt.most) {
      auto task = place_task(ledger, attempt);
      if (!task) break;
      task->rank = static_cast<std::int32_t>(out.size());
      ledger.take(*task);
      out.push_back(std::move(*task));
    }
  }
  ledger.rollback(mark);
  return out;
}

std::optional<TaskAlloc> Placer::place_one_more(Ledger& ledger, const Request& request,
                                                const Tasks& present,
                                                const NodeFlags& barred) const {
  Try attempt{request, 1, 1, kNone, kNone, nullptr, &barred};
  if (!present.empty()) {
    attempt.site = topology_.site_of(present.front().node);
    const TaskAlloc& first = present.front();
    if (!first.devices.empty() && !request.shape.any_model) {
      attempt.model = ledger.node(first.node).devices[first.devices.front().device].model;
    }
    if (request.shape.same != TopologyLevel::kNone) {
      for (const Domain& domain : topology_.domains(request.shape.same)) {
        const bool inside =
            std::find(domain.nodes.begin(), domain.nodes.end(), first.node) != domain.nodes.end();
        const bool device_inside =
            domain.devices.empty() || first.devices.empty() ||
            std::binary_search(domain.devices.begin(), domain.devices.end(),
                               first.devices.front().device);
        if (inside && device_inside) attempt.domain = &domain;
      }
    }
  }
  return place_task(ledger, attempt);
}

std::int64_t Placer::count_tasks(Ledger& ledger, const Request& request, std::int64_t most,
                                 std::int32_t model, const Domain* domain) const {
  return std::ssize(place_greedily(ledger, {request, 0, most, kNone, model, domain, nullptr}));
}

}  // namespace rota::engine
