#include "engine/fit_count.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace rota::engine {

namespace {

/// Tasks that fit on the open nodes; the count may end at `most`.
std::int64_t count_plain(const Ledger& ledger, const Request& request, std::int64_t most) {
  const FreeIndex& index = ledger.index();
  const auto whole = static_cast<std::size_t>(request.whole);
  std::int64_t count = 0;
  for (std::size_t free = index.pure().size(); free-- > whole && count < most;) {
    count += static_cast<std::int64_t>(free / whole) *
             index.pure()[free].count_common(request.node_set);
  }
  for (std::size_t free = index.mixed().size(); free-- > whole && count < most;) {
    const KeySet& keys = index.mixed()[free];
    for (std::uint64_t key = keys.at_least(0); key != KeySet::kEnd; key = keys.at_least(key + 1)) {
      if (request.node_set.contains(PlaceKey::node(key))) {
        count += static_cast<std::int64_t>(free / whole);
      }
    }
  }
  return count;
}

}  // namespace

bool plain_fits(const Ledger& ledger, const Request& request, std::int64_t tasks) {
  return request.milli * tasks <= ledger.index().milli() &&
         count_plain(ledger, request, tasks) >= tasks;
}

bool plain_fits_beside(const Ledger& ledger, const Request& request, std::int64_t tasks,
                       const Tasks& place) {
  if (request.milli * tasks > ledger.index().milli()) return false;
  std::int64_t count =
      count_plain(ledger, request, std::numeric_limits<std::int64_t>::max());
  std::vector<std::pair<std::int32_t, std::int32_t>> kept;  // node, device: free and in the place
  for (const TaskAlloc& task : place) {
    const NodeCap& node = ledger.node(task.node);
    if (!node.open || !request.node_set.contains(task.node)) continue;
    for (const DeviceShare& share : task.devices) {
      if (node.devices[share.device].whole_free()) kept.push_back({task.node, share.device});
    }
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (auto first = kept.begin(); first != kept.end() && count >= tasks;) {
    const auto last = std::find_if(first, kept.end(),
                                   [&](const auto& other) { return other.first != first->first; });
    const std::int64_t free = ledger.node(first->first).free.whole;
    count -= free / request.whole - (free - (last - first)) / request.whole;
    first = last;
  }
  return count >= tasks;
}

}  // namespace rota::engine
