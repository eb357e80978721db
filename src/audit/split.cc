#include "audit/split.h"

#include <cmath>

namespace rota::audit {

std::optional<Cut> best_cut(std::span<const Moments> groups, std::int64_t permille_min) {
  Moments all;
  for (const Moments& group : groups) {
    all.count += group.count;
    all.sum += group.sum;
    all.squares += group.squares;
  }
  if (all.count == 0) return std::nullopt;
  const auto count = static_cast<double>(all.count);
  const double variance = all.squares / count - (all.sum / count) * (all.sum / count);
  if (variance <= 1e-9) return std::nullopt;
  std::optional<Cut> best;
  double best_between = 0;
  Moments low;
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    low.count += groups[i].count;
    low.sum += groups[i].sum;
    const std::int64_t high = all.count - low.count;
    if (low.count * 1000 < permille_min * all.count) continue;
    if (high * 1000 < permille_min * all.count || low.count == 0 || high == 0) continue;
    const double low_mean = low.sum / static_cast<double>(low.count);
    const double high_mean = (all.sum - low.sum) / static_cast<double>(high);
    const double between = static_cast<double>(low.count) / count * static_cast<double>(high) /
                           count * (low_mean - high_mean) * (low_mean - high_mean);
    if (between <= best_between * (1 + 1e-12) || between <= 1e-12) continue;
    best_between = between;
    best = Cut{.after = i,
               .explained = std::lround(between / variance * 1000),
               .falls = low_mean > high_mean};
  }
  return best;
}

}  // namespace rota::audit
