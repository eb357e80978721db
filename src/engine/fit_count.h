// Whether a plain request fits, by counting alone.
//
// A plain request takes whole GPUs of any device and nothing else, so it fits just when its nodes
// hold enough tasks, however they are packed.
// Cost: O(words of the bit sets of nodes + nodes with shared devices).
#pragma once

#include <cstdint>

#include "engine/ledger.h"
#include "engine/request.h"

namespace rota::engine {

/// The request must be plain. True just when Placer::place() finds a place for so many tasks.
bool plain_fits(const Ledger& ledger, const Request& request, std::int64_t tasks);
/// The same beside a place that is to stay free: what is free of it now counts as taken.
/// The place is one of whole GPUs, each named once, those of a node one after the other.
/// Cost: as above, and O(devices of the place).
bool plain_fits_beside(const Ledger& ledger, const Request& request, std::int64_t tasks,
                       const Tasks& place);

}  // namespace rota::engine
