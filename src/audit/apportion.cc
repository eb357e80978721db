#include "audit/apportion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace rota::audit {
namespace {

Int128 rounded_down(Int128 part, Int128 unit) {
  const Int128 quotient = part / unit;
  return part % unit < 0 ? quotient - 1 : quotient;
}

}  // namespace

Int128 rounded_to(Int128 part, Int128 unit) { return rounded_down(2 * part + unit, 2 * unit); }

std::vector<Int128> apportioned(std::span<const Int128> parts, Int128 unit) {
  std::vector<Int128> whole;
  std::vector<Int128> remainders;
  Int128 sum = 0;
  Int128 sum_whole = 0;
  for (const Int128 part : parts) {
    const Int128 down = rounded_down(part, unit);
    whole.push_back(down);
    remainders.push_back(part - down * unit);
    sum += part;
    sum_whole += down;
  }
  std::vector<std::size_t> order(whole.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
  });
  const auto up = static_cast<std::size_t>(rounded_to(sum, unit) - sum_whole);
  for (std::size_t i = 0; i < up; ++i) ++whole[order[i]];
  return whole;
}

}  // namespace rota::audit
