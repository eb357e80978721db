#include "engine/fit_count.h"

#include <algorithm>
#include <limits>

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

/// Whole free devices among those of the task on this node.
std::int32_t whole_free_of(const NodeCap& node, const TaskAlloc& task) {
  if (task.devices.size() == node.devices.size()) return node.free.whole;
  std::int32_t count = 0;
  for (const DeviceShare& share : task.devices) {
    count += node.devices[share.device].whole_free() ? 1 : 0;
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
  std::int64_t count = count_plain(ledger, request, std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 0; i < place.size() && count >= tasks;) {
    const std::int32_t n = place[i].node;
    const NodeCap& node = ledger.node(n);
    const std::int32_t free = node.free.whole;
    std::int32_t kept = 0;
    for (; i < place.size() && place[i].node == n; ++i) {
      if (free > 0) kept += whole_free_of(node, place[i]);
    }
    if (kept == 0 || !node.open || !request.node_set.contains(n)) continue;
    count -= free / request.whole - (free - kept) / request.whole;
  }
  return count >= tasks;
}

}  // namespace rota::engine
