#include "engine/place.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "engine/fit_count.h"
#include "engine/mig.h"
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

std::int64_t devices_free(const Ledger& ledger, const Domain& domain) {
  const NodeCap& node = ledger.node(domain.nodes.front());
  if (!node.open) return 0;
  if (domain.devices.empty()) return node.free.milli;
  std::int64_t sum = 0;
  for (const std::int32_t d : domain.devices) sum += node.devices[d].part_free();
  return sum;
}

/// Parts free in a domain of this level, by its number.
std::int64_t domain_free(const Ledger& ledger, TopologyLevel level,
                         const std::vector<Domain>& domains, std::size_t number) {
  switch (level) {
    case TopologyLevel::kNone: return ledger.milli_free_open();
    case TopologyLevel::kRack: return ledger.index().milli_in_rack(number);
    case TopologyLevel::kBlock: return ledger.index().milli_in_block(number);
    default: return devices_free(ledger, domains[number]);
  }
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
  // Several tasks of whole GPUs are counted sooner than they are placed in vain.
  if (request.plain && least > 1 && !plain_fits(ledger, request, least)) return std::nullopt;
  for (std::size_t s = 0; s < request.sites.size(); ++s) {
    for (std::size_t m = 0; m < request.models.size(); ++m) {
      auto tasks = place_in_levels(ledger, {request, least, most, request.sites[s],
                                            request.models[m], nullptr, nullptr,
                                            &request.nodes_for(s, m)});
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
  if (level == TopologyLevel::kNode && attempt.request.kind != NeedKind::kNoDevice) {
    return place_on_best_node(ledger, attempt);
  }
  const std::vector<Domain>& domains = topology_.domains(level);
  const std::int64_t need = attempt.request.milli * attempt.least;
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const std::int64_t free = domain_free(ledger, level, domains, i);
    if (free >= need) order.emplace_back(spread() ? -free : free, i);
  }
  // Usually one of the first holds all; a heap avoids sorting the rest.
  std::make_heap(order.begin(), order.end(), std::greater<>());
  while (!order.empty()) {
    std::pop_heap(order.begin(), order.end(), std::greater<>());
    attempt.domain = &domains[order.back().second];
    order.pop_back();
    if (!may_hold(ledger, attempt)) continue;
    Tasks tasks = place_greedily(ledger, attempt);
    if (std::ssize(tasks) >= attempt.least) return tasks;
  }
  return std::nullopt;
}

/// All tasks on one node: nodes are domains in the very order in which they are walked.
std::optional<Tasks> Placer::place_on_best_node(Ledger& ledger, Try attempt) const {
  const Request& request = attempt.request;
  const auto whole = static_cast<std::int32_t>(
      std::min<std::int64_t>(std::numeric_limits<std::int32_t>::max(),
                             request.whole * attempt.least));
  const std::vector<Domain>& domains = topology_.domains(TopologyLevel::kNode);
  FreeWalk walk(ledger.index(), attempt.nodes(), {whole, request.milli * attempt.least}, order());
  for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) {
    attempt.domain = &domains[n];
    Tasks tasks = place_greedily(ledger, attempt);
    if (std::ssize(tasks) >= attempt.least) return tasks;
  }
  return std::nullopt;
}

/// False when the domain has too few whole devices, counted node by node.
bool Placer::may_hold(const Ledger& ledger, const Try& attempt) const {
  if (attempt.request.kind != NeedKind::kWhole) return true;
  std::int64_t tasks = 0;
  for (const NodeIndex n : attempt.domain->nodes) {
    const NodeCap& node = ledger.node(n);
    if (!node.open || node.free.whole < attempt.request.whole) continue;
    if (attempt.nodes().contains(n)) tasks += node.free.whole / attempt.request.whole;
    if (tasks >= attempt.least) return true;
  }
  return false;
}

bool Placer::node_open(const Ledger& ledger, const Try& attempt, NodeIndex n) const {
  const NodeCap& node = ledger.node(n);
  if (!node.open) return false;
  if (attempt.site != kNone && topology_.sites().size() > 1 &&
      topology_.site_of(n) != attempt.site) {
    return false;
  }
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

std::optional<DeviceShare> Placer::fit_device(const Ledger& ledger, const Try& attempt,
                                              NodeIndex n, std::int32_t d) const {
  const PickRules rules = rules_for(attempt.model, attempt.domain, spread());
  return fit_part(ledger.node(n).devices[d], d, attempt.request, rules,
                  state_.nodes[n].spec.devices[d].model);
}

/// The best of the devices in use already; of MIG devices, of all.
std::optional<Placer::Part> Placer::first_shared(const Ledger& ledger, const Try& attempt) const {
  const Request& request = attempt.request;
  const TaskShape& task = request.shape.task;
  const bool mig = request.kind == NeedKind::kMig;
  const KeySet& keys = mig ? ledger.index().instances() : ledger.index().parts();
  PartWalk walk(keys, mig ? 992 + mig_compute_slices(task.mig) : task.gpus.value(), order());
  for (std::uint64_t key = walk.next(); key != KeySet::kEnd; key = walk.next()) {
    const NodeIndex n = PlaceKey::node(key);
    if (!attempt.nodes().contains(n) || !node_open(ledger, attempt, n)) continue;
    const NodeCap& node = ledger.node(n);
    for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
      const DeviceCap& device = node.devices[d];
      const bool meant = PlaceKey::of(room_on(device), node.free.milli, n) == key;
      if (!meant || (!mig && device.mode != DeviceMode::kFraction)) continue;
      if (auto share = fit_device(ledger, attempt, n, d)) return Part{key, n, *share};
    }
  }
  return std::nullopt;
}

std::optional<Placer::Part> Placer::first_empty(const Ledger& ledger, const Try& attempt) const {
  FreeWalk walk(ledger.index(), attempt.nodes(), {1, 0}, order());
  for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) {
    if (!node_open(ledger, attempt, n)) continue;
    const NodeCap& node = ledger.node(n);
    for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
      if (!node.devices[d].whole_free()) continue;
      if (auto share = fit_device(ledger, attempt, n, d)) {
        return Part{PlaceKey::of(kWholeGpu.value(), node.free.milli, n), n, *share};
      }
    }
  }
  return std::nullopt;
}

std::optional<Placer::Part> Placer::first_in_domain(const Ledger& ledger,
                                                    const Try& attempt) const {
  std::optional<Part> best;
  for_each_node(attempt, [&](NodeIndex n) {
    if (!node_open(ledger, attempt, n)) return;
    const NodeCap& node = ledger.node(n);
    for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
      const auto share = fit_device(ledger, attempt, n, d);
      if (!share) continue;
      const Part part{PlaceKey::of(room_on(node.devices[d]), node.free.milli, n), n, *share};
      const bool better =
          !best || PlaceKey::rank(part.key, order()) < PlaceKey::rank(best->key, order());
      if (better) best = part;
    }
  });
  return best;
}

/// A fraction or an instance: on the fullest device of all that holds it (spread: the emptiest);
/// ties: the fullest node, the first one, its first device.
std::optional<TaskAlloc> Placer::place_on_device(const Ledger& ledger, const Try& attempt) const {
  const Request& request = attempt.request;
  std::optional<Part> best;
  if (attempt.domain != nullptr) {
    best = first_in_domain(ledger, attempt);
  } else {
    best = first_shared(ledger, attempt);
    const bool full_enough = best && !spread() &&
                             best->key < PlaceKey::of(kWholeGpu.value(), 0, 0);
    if (request.kind == NeedKind::kFraction && !full_enough) {
      const auto empty = first_empty(ledger, attempt);
      const auto place = [this](const Part& part) {
        return std::pair{PlaceKey::rank(part.key, order()), part.share.device};
      };
      if (empty && (!best || place(*empty) < place(*best))) best = empty;
    }
  }
  if (!best) return std::nullopt;
  const TaskShape& task = request.shape.task;
  return TaskAlloc{best->node, 0, {best->share}, task.cpus, task.memory.value()};
}

template <class Visit>
void Placer::for_each_in_domain(const Ledger& ledger, const Try& attempt, Visit&& visit) const {
  const Request& request = attempt.request;
  std::vector<std::pair<bool, std::uint64_t>> nodes;
  for_each_node(attempt, [&](NodeIndex n) {
    const NodeCap& node = ledger.node(n);
    if (!node.open || node.free.whole < request.whole) return;
    const bool has_gpus = request.kind == NeedKind::kNoDevice && !node.devices.empty();
    nodes.emplace_back(has_gpus,
                       PlaceKey::rank(PlaceKey::of(0, node.free.milli, n), order()));
  });
  std::make_heap(nodes.begin(), nodes.end(), std::greater<>());
  while (!nodes.empty()) {
    std::pop_heap(nodes.begin(), nodes.end(), std::greater<>());
    const NodeIndex n = PlaceKey::node(nodes.back().second);
    nodes.pop_back();
    if (node_open(ledger, attempt, n) && visit(n)) return;
  }
}

template <class Visit>
void Placer::for_each_by_free(const Ledger& ledger, const Try& attempt, Visit&& visit) const {
  if (attempt.domain != nullptr) {
    for_each_in_domain(ledger, attempt, visit);
    return;
  }
  const NodeSet& nodes = attempt.nodes();
  FreeWalk::Least least{attempt.request.whole, 0};
  if (attempt.request.kind == NeedKind::kSlots) least.milli = 1;
  if (attempt.request.kind == NeedKind::kNoDevice) {
    const NodeSet& bare = ledger.index().bare();
    for (NodeIndex n = bare.next_common(nodes, 0); n != NodeSet::kEnd;
         n = bare.next_common(nodes, n + 1)) {
      if (node_open(ledger, attempt, n) && visit(n)) return;
    }
  }
  FreeWalk walk(ledger.index(), nodes, least, order());
  for (NodeIndex n = walk.next(); n != NodeSet::kEnd; n = walk.next()) {
    if (node_open(ledger, attempt, n) && visit(n)) return;
  }
}

std::optional<TaskAlloc> Placer::place_task(const Ledger& ledger, const Try& attempt) const {
  const Request& request = attempt.request;
  if (by_fragmentation()) return place_least_fragmenting(ledger, attempt);
  if (request.kind == NeedKind::kFraction || request.kind == NeedKind::kMig) {
    return place_on_device(ledger, attempt);
  }
  std::optional<TaskAlloc> task;
  for_each_by_free(ledger, attempt, [&](NodeIndex n) {
    task = fit_on_node(ledger, request, n, attempt.model, attempt.domain);
    return task.has_value();
  });
  return task;
}

Tasks Placer::place_node_by_node(Ledger& ledger, const Try& attempt) const {
  // Packing fills the fullest node that holds a task until it holds no more: the same result as
  // task by task, since taking only makes that node fuller and no other.
  const Request& request = attempt.request;
  constexpr std::int64_t kAtOnce = 1'024;
  Tasks out;
  out.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(attempt.most, 0, kAtOnce)));
  const auto fill = [&](NodeIndex n) {
    while (std::ssize(out) < attempt.most) {
      auto task = fit_on_node(ledger, request, n, attempt.model, attempt.domain);
      if (!task) return false;
      task->rank = static_cast<std::int32_t>(out.size());
      out.push_back(std::move(*task));
      const bool last = request.kind == NeedKind::kWhole &&
                        ledger.node(n).free.whole < 2 * std::int64_t{request.whole};
      if (last) break;
      ledger.take(out.back());
    }
    return std::ssize(out) == attempt.most;
  };
  if (attempt.most > 0) for_each_by_free(ledger, attempt, fill);
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
      const std::int32_t device = first.devices.empty() ? kNone : first.devices.front().device;
      attempt.domain = topology_.domain_of(request.shape.same, first.node, device);
    }
  }
  return place_task(ledger, attempt);
}

std::int64_t Placer::count_tasks(Ledger& ledger, const Request& request, std::int64_t most,
                                 std::int32_t model, const Domain* domain) const {
  return std::ssize(place_greedily(ledger, {request, 0, most, kNone, model, domain, nullptr}));
}

}  // namespace rota::engine
