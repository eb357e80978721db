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
  NodeIndex node = 0;
  std::vector<std::size_t> leaving;  // indices into the node's residents
};

bool model_fits(const Request& wish, std::int32_t model) {
  return std::any_of(wish.models.begin(), wish.models.end(),
                     [&](std::int32_t m) { return m == engine::kNone || m == model; });
}

/// The fewest residents whose leaving gives the node as many whole devices as the wish needs.
std::optional<Candidate> candidate_on(const Ledger& ledger, const Request& wish, NodeIndex n,
                                      const std::vector<Resident>& residents,
                                      std::size_t moves_max) {
  const engine::NodeCap& node = ledger.node(n);
  if (!node.open) return std::nullopt;
  struct Device {
    std::vector<std::size_t> holders;
    bool movable = true;
  };
  std::vector<Device> devices(node.devices.size());
  for (std::size_t i = 0; i < residents.size(); ++i) {
    const TaskAlloc& held = residents[i].held;
    for (const DeviceShare& share : held.devices) {
      Device& device = devices[static_cast<std::size_t>(share.device)];
      device.holders.push_back(i);
      device.movable = device.movable && held.devices.size() == 1;
    }
  }
  std::int64_t lacking = wish.whole;
  std::vector<const Device*> order;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const engine::DeviceCap& cap = node.devices[d];
    if (!cap.usable() || cap.mig || !model_fits(wish, cap.model)) continue;
    if (cap.whole_free()) {
      --lacking;
    } else if (devices[d].movable) {
      order.push_back(&devices[d]);
    }
  }
  if (lacking <= 0 || std::ssize(order) < lacking) return std::nullopt;
  std::stable_sort(order.begin(), order.end(), [](const Device* a, const Device* b) {
    return a->holders.size() < b->holders.size();
  });
  Candidate found;
  found.node = n;
  for (std::int64_t i = 0; i < lacking; ++i) {
    const auto& holders = order[static_cast<std::size_t>(i)]->holders;
    found.leaving.insert(found.leaving.end(), holders.begin(), holders.end());
  }
  found.moves = found.leaving.size();
  if (found.moves > moves_max) return std::nullopt;
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
                   [](const Candidate& a, const Candidate& b) { return a.moves < b.moves; });
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
