// Units handed out one at a time to whoever is served least, without doing it one at a time.
//
// Every unit goes to the taker with the smallest has/weight that wants more; ties: the one listed
// first; weight 0 stands behind every other weight, and among its like the smaller `has` comes
// first. Since has/weight of one taker only grows, the units given are those with the smallest
// has/weight of all: a level is searched below which each taker takes what it can, and the few
// units at the level itself are ordered. Integers only: levels are multiples of a power of two not
// below the greatest weight, so that between two levels a taker takes at most one unit.
// Cost: O(takers) for each step of the search, usually below ten and at most two for each bit of
// units times weight.
#pragma once

#include <cstdint>
#include <vector>

namespace rota::engine {

struct Taker {
  std::int64_t weight = 1;  // 0 to 2^20
  std::int64_t has = 0;
  std::int64_t wants = 0;   // in all; at most `has`: nothing more
};

/// What a taker's turn goes by: has/weight before the unit, or with it.
enum class ServedBy : std::uint8_t { kBefore, kWith };

/// Raises `has` by up to `units` (at most 2^40) in all. Taking units back from the best served one
/// at a time, ties: listed last, leaves what kWith hands out from nothing.
void serve(std::vector<Taker>& takers, std::int64_t units, ServedBy by);

}  // namespace rota::engine
