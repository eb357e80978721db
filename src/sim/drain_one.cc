#include "sim/drain_one.h"

#include <algorithm>

namespace rota::sim {
namespace {

using engine::Ledger;
using engine::NodeIndex;
using engine::Request;
using engine::TaskAlloc;

struct Candidate {
  std::size_t moves = 0;
  std::int64_t milli = 0;  // of those that leave
  NodeIndex node = 0;
  std::vector<std::size_t> leaving;  // indices into the node's residents
};

bool model_fits(const Request& wish, std::int32_t model) {
  return std::any_of(wish.models.begin(), wish.models.end(),
                     [&](std::int32_t m) { return m == engine::kNone || m == model; });
}

bool may_move(const TaskAlloc& held) { return held.devices.size() <= 1; }

/// What is on a device, and whether all of it may move.
struct Holders {
  std::vector<std::size_t> residents;
  bool movable = true;
};

std::vector<Holders> holders_of(const engine::NodeCap& node,
                                const std::vector<Resident>& residents) {
  std::vector<Holders> devices(node.devices.size());
  for (std::size_t i = 0; i < residents.size(); ++i) {
    for (const DeviceShare& share : residents[i].held.devices) {
      Holders& device = devices[static_cast<std::size_t>(share.device)];
      device.residents.push_back(i);
      device.movable = device.movable && may_move(residents[i].held);
    }
  }
  return devices;
}

/// The fewest residents whose leaving gives the node as many whole devices as the wish needs; none:
/// some would stay too few.
std::optional<std::vector<std::size_t>> free_devices(const engine::NodeCap& node,
                                                     const Request& wish,
                                                     const std::vector<Holders>& devices) {
  std::int64_t lacking = wish.whole;
  std::vector<const Holders*> order;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const engine::DeviceCap& cap = node.devices[d];
    if (!cap.usable() || cap.mig || !model_fits(wish, cap.model)) continue;
    if (cap.whole_free()) {
      --lacking;
    } else if (devices[d].movable) {
      order.push_back(&devices[d]);
    }
  }
  if (std::ssize(order) < lacking) return std::nullopt;
  std::stable_sort(order.begin(), order.end(), [](const Holders* a, const Holders* b) {
    return a->residents.size() < b->residents.size();
  });
  std::vector<std::size_t> leaving;
  for (std::int64_t i = 0; i < lacking; ++i) {
    const auto& holders = order[static_cast<std::size_t>(i)]->residents;
    leaving.insert(leaving.end(), holders.begin(), holders.end());
  }
  return leaving;
}

/// Adds to those that leave, largest first, until the node has so much free of what the task takes
/// of the host. False: it never has.
bool free_host(std::int64_t TaskAlloc::* amount, std::int64_t lacking,
               const std::vector<Resident>& residents, std::vector<std::size_t>& leaving) {
  for (const std::size_t i : leaving) lacking -= residents[i].held.*amount;
  while (lacking > 0) {
    std::optional<std::size_t> largest;
    for (std::size_t i = 0; i < residents.size(); ++i) {
      const TaskAlloc& held = residents[i].held;
      if (!may_move(held) || held.*amount <= 0) continue;
      if (std::find(leaving.begin(), leaving.end(), i) != leaving.end()) continue;
      if (!largest || held.*amount > residents[*largest].held.*amount) largest = i;
    }
    if (!largest) return false;
    lacking -= residents[*largest].held.*amount;
    leaving.push_back(*largest);
  }
  return true;
}

/// Few residents whose leaving makes room for the wish on the node.
std::optional<Candidate> candidate_on(const Ledger& ledger, const Request& wish, NodeIndex n,
                                      const std::vector<Resident>& residents,
                                      std::size_t moves_max) {
  const engine::NodeCap& node = ledger.node(n);
  if (!node.open) return std::nullopt;
  auto leaving = free_devices(node, wish, holders_of(node, residents));
  if (!leaving || leaving->size() > moves_max) return std::nullopt;
  const TaskShape& task = wish.shape.task;
  const bool enough =
      free_host(&TaskAlloc::cpus, task.cpus - node.free.cpus, residents, *leaving) &&
      free_host(&TaskAlloc::memory, task.memory.value() - node.free.memory, residents, *leaving);
  if (!enough || leaving->empty() || leaving->size() > moves_max) return std::nullopt;
  Candidate found;
  found.node = n;
  found.moves = leaving->size();
  for (const std::size_t i : *leaving) found.milli += residents[i].held.milli();
  found.leaving = *std::move(leaving);
  return found;
}

/// Makes the moves on the ledger; false when the task does not fit then or a resident finds no
/// other place.
bool try_moves(const engine::Placer& placer, Ledger& ledger, const Request& wish,
               const Candidate& candidate, const std::vector<Resident>& residents,
               DrainPlan& plan) {
  for (const std::size_t i : candidate.leaving) ledger.give(residents[i].held);
  std::optional<TaskAlloc> place;
  for (const std::int32_t model : wish.models) {
    place = placer.fit_on_node(ledger, wish, candidate.node, model, nullptr);
    if (place) break;
  }
  if (!place) return false;
  ledger.take(*place);
  plan.place = std::move(*place);
  for (const std::size_t i : candidate.leaving) {
    auto there = placer.place(ledger, *residents[i].wish, 1);
    if (!there) return false;
    ledger.take(there->front());
    plan.moves.emplace_back(residents[i].id, std::move(there->front()));
  }
  return true;
}

}  // namespace

std::optional<DrainPlan> drain_one(const engine::Placer& placer, Ledger& ledger,
                                   const Request& wish,
                                   const std::vector<std::vector<Resident>>& residents,
                                   std::int64_t moves_max) {
  if (wish.kind != engine::NeedKind::kWhole || moves_max <= 0) return std::nullopt;
  std::vector<Candidate> candidates;
  for (const NodeIndex n : wish.nodes) {
    auto candidate = candidate_on(ledger, wish, n, residents[static_cast<std::size_t>(n)],
                                  static_cast<std::size_t>(moves_max));
    if (candidate) candidates.push_back(std::move(*candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::pair(a.moves, a.milli) < std::pair(b.moves, b.milli);
                   });
  const auto tried = std::min<std::size_t>(candidates.size(), kNodesTried);
  for (std::size_t i = 0; i < tried; ++i) {
    const Candidate& candidate = candidates[i];
    DrainPlan plan;
    const Ledger::Mark mark = ledger.checkpoint();
    const bool works = try_moves(placer, ledger, wish, candidate,
                                 residents[static_cast<std::size_t>(candidate.node)], plan);
    ledger.rollback(mark);
    if (works) return plan;
  }
  return std::nullopt;
}

}  // namespace rota::sim
