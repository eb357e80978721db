// The best place to cut an ordered row of groups in two (Otsu 1979).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rota::audit {

/// Values that fell into one group.
struct Moments {
  std::int64_t count = 0;
  double sum = 0;
  double squares = 0;
  void add(double value) {
    ++count;
    sum += value;
    squares += value * value;
  }
};

struct Cut {
  std::size_t after = 0;        // groups 0 to `after` are the lower side
  std::int64_t explained = 0;   // permille of the variance that lies between the two sides
  bool falls = false;           // the lower side has the greater mean
};

/// The cut with the greatest variance between its sides, the first of equal ones; each side has at
/// least `permille_min` of the values. Absent when there is none, or all values are equal. O(n).
[[nodiscard]] std::optional<Cut> best_cut(std::span<const Moments> groups,
                                          std::int64_t permille_min);

}  // namespace rota::audit
