// Rounds many amounts so that the rounded ones still add up.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"

namespace rota::audit {

/// Each part as a whole number of `unit`s (> 0), rounded down or up, such that they add up to the
/// sum of the parts rounded to the nearest whole number (halves up). Those with the largest
/// remainders are rounded up, ties by place; what is a whole number stays. Parts may be negative.
/// O(n log n).
[[nodiscard]] std::vector<Int128> apportioned(std::span<const Int128> parts, Int128 unit);

/// `part / unit` rounded to the nearest whole number, halves up. `unit` > 0.
[[nodiscard]] Int128 rounded_to(Int128 part, Int128 unit);

}  // namespace rota::audit
