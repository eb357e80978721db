// The smallest number of nodes that meets a goal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/result.h"

namespace rota::cli {

struct SearchBounds {
  std::int64_t today = 1;        // nodes
  std::int64_t most = 1;         // none above is tried
};

/// `more`: more nodes are better (waits, delivered); `fewer`: occupancy.
enum class Better { kMore, kFewer };

struct SearchResult {
  std::optional<std::int64_t> found;
  std::map<std::int64_t, bool> tried;    // by nodes: whether the goal was met
  bool monotone = true;                  // no count was met on the wrong side of one that was not
};

/// Doubles (or halves) from today's number until the goal is met on one side and not on the other,
/// then bisects; then tries the neighbours of what was found, since a bisection takes for granted
/// that more nodes are never worse. With kMore the least number that meets the goal is found; with
/// kFewer the largest. `meets` is asked once for each number. Cost: O(log n) calls.
[[nodiscard]] Result<SearchResult> search_nodes(
    const SearchBounds& bounds, Better better,
    const std::function<Result<bool>(std::int64_t nodes)>& meets);

}  // namespace rota::cli
