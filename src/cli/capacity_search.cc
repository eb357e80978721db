#include "cli/capacity_search.h"

#include <algorithm>

namespace rota::cli {
namespace {

constexpr std::int64_t kNeighbours = 2;  // tried on each side of what was found

class NodeSearch {
 public:
  NodeSearch(const SearchBounds& bounds, Better better,
             const std::function<Result<bool>(std::int64_t)>& meets)
      : bounds_(bounds), better_(better), meets_(meets) {}

  Result<SearchResult> run() {
    auto status = bracket();
    if (!status) return status.error();
    if (!met_) return finish();
    if (missed_) {
      if (status = bisect(); !status) return status.error();
    }
    if (status = look_around(); !status) return status.error();
    return finish();
  }

 private:
  Result<bool> ask(std::int64_t nodes) {
    const auto known = result_.tried.find(nodes);
    if (known != result_.tried.end()) return known->second;
    const auto met = meets_(nodes);
    if (!met) return met.error();
    result_.tried[nodes] = *met;
    return *met;
  }
  [[nodiscard]] bool grows(bool met) const { return met != (better_ == Better::kMore); }

  Status bracket() {
    std::int64_t nodes = std::clamp<std::int64_t>(bounds_.today, 1, bounds_.most);
    while (true) {
      const auto met = ask(nodes);
      if (!met) return met.error();
      (*met ? met_ : missed_) = nodes;
      if (met_ && missed_) return {};
      const std::int64_t next = grows(*met) ? std::min(nodes * 2, bounds_.most)
                                            : std::max<std::int64_t>(nodes / 2, 1);
      if (next == nodes) return {};
      nodes = next;
    }
  }

  Status bisect() {
    while (std::max(*met_, *missed_) - std::min(*met_, *missed_) > 1) {
      const std::int64_t middle = (*met_ + *missed_) / 2;
      const auto met = ask(middle);
      if (!met) return met.error();
      (*met ? met_ : missed_) = middle;
    }
    return {};
  }

  Status look_around() {
    for (std::int64_t step = -kNeighbours; step <= kNeighbours; ++step) {
      const std::int64_t nodes = *met_ + step;
      if (nodes < 1 || nodes > bounds_.most) continue;
      if (const auto met = ask(nodes); !met) return met.error();
    }
    return {};
  }

  SearchResult finish() {
    for (const auto& [nodes, met] : result_.tried) {
      if (!met) continue;
      const bool nearer = !result_.found || (better_ == Better::kMore ? nodes < *result_.found
                                                                      : nodes > *result_.found);
      if (nearer) result_.found = nodes;
    }
    bool ahead = false;  // the goal was met on the worse side
    const auto look = [&](bool met) {
      if (met) ahead = true;
      else if (ahead) result_.monotone = false;
    };
    if (better_ == Better::kMore) {
      for (const auto& [nodes, met] : result_.tried) look(met);
    } else {
      for (auto at = result_.tried.rbegin(); at != result_.tried.rend(); ++at) look(at->second);
    }
    return std::move(result_);
  }

  SearchBounds bounds_;
  Better better_;
  const std::function<Result<bool>(std::int64_t)>& meets_;
  std::optional<std::int64_t> met_;
  std::optional<std::int64_t> missed_;
  SearchResult result_;
};

}  // namespace

Result<SearchResult> search_nodes(const SearchBounds& bounds, Better better,
                                  const std::function<Result<bool>(std::int64_t)>& meets) {
  return NodeSearch(bounds, better, meets).run();
}

}  // namespace rota::cli
