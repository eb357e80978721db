// "Drain one node": when a task of whole GPUs fits nowhere, find a node that would hold it after
// few of its small residents moved elsewhere, each to the place the policy would choose.
//
// Only residents of at most one GPU move, those without GPUs where CPUs or memory are short. Nodes
// are tried by the number of moves they need, then by the GPUs that move, then as declared; at most
// kNodesTried of them are tried in full. Cost: O(devices of all nodes) to rank
// them, then one placement for each move of a tried node.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/place.h"

namespace rota::sim {

constexpr std::int64_t kNodesTried = 64;

/// A placed task that may move: what it holds and what it asked for (not owned).
struct Resident {
  std::int64_t id = 0;
  engine::TaskAlloc held;
  const engine::Request* wish = nullptr;
};

struct DrainPlan {
  std::vector<std::pair<std::int64_t, engine::TaskAlloc>> moves;  // resident, its new place
  engine::TaskAlloc place;                                        // of the task itself
};

/// `residents[n]` are all tasks on node n. The ledger is used for trying and left as it was. None:
/// no tried node can be emptied enough with `moves_max` moves.
[[nodiscard]] std::optional<DrainPlan> drain_one(
    const engine::Placer& placer, engine::Ledger& ledger, const engine::Request& wish,
    const std::vector<std::vector<Resident>>& residents, std::int64_t moves_max);

}  // namespace rota::sim
