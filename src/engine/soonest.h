// The soonest instant at which a blocked job might start, found by counting alone: before it, even
// all who have left by themselves and all whose place it might take are not enough together.
//
// What is gone by an instant only grows, so one walk over the ends of limits and of contracts in
// order of time finds it, without a search for victims at each of them. A bound: at that instant
// or later somebody has to look whether the job really fits.
// Cost: O(nodes / 64 + tasks that are gone by then * log groups).
#pragma once

#include <optional>

#include "engine/core.h"

namespace rota::engine {

/// From now on; none: never as things are. The future must follow the present, shares be divided
/// and contracts that are over be sorted in.
[[nodiscard]] std::optional<Instant> soonest_room(const Core& core, const JobRec& claimant);

}  // namespace rota::engine
