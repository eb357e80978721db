#include "engine/serving.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/units.h"

namespace rota::engine {

namespace {

constexpr std::int64_t kUnitsMax = std::int64_t{1} << 40;

/// Takers of one kind of weight: all positive ones, or those of weight 0 as equals.
class Serving {
 public:
  Serving(std::vector<Taker>& takers, bool weighted, ServedBy by)
      : takers_(takers), offset_(by == ServedBy::kWith ? 1 : 0) {
    std::int64_t weight_max = 1;
    for (std::size_t i = 0; i < takers.size(); ++i) {
      const Taker& taker = takers[i];
      if (taker.wants <= taker.has || (taker.weight > 0) != weighted) continue;
      wanting_.push_back({i, taker.has, taker.wants, weighted ? taker.weight : 1});
      wanted_ += taker.wants - taker.has;
      weight_max = std::max(weight_max, wanting_.back().weight);
    }
    bits_ = std::bit_width(static_cast<std::uint64_t>(weight_max - 1));
  }

  /// Returns what is left.
  std::int64_t hand_out(std::int64_t units) {
    if (wanted_ <= units) {
      for (const Wanting& w : wanting_) takers_[w.taker].has = w.most;
      return units - wanted_;
    }
    if (units == 0) return 0;
    if (wanting_.size() == 1) {
      takers_[wanting_.front().taker].has += units;
      return 0;
    }
    for (Wanting& w : wanting_) w.most = std::min(w.most, w.least + units);
    hand_out_at(level_for(units), units);
    return 0;
  }

 private:
  struct Wanting {
    std::size_t taker = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int64_t weight = 1;
  };
  struct Sum {
    std::int64_t units = 0;   // given below the level
    std::int64_t weight = 0;  // of those whom the level moves
  };

  /// What it has when every unit below the level is given.
  [[nodiscard]] std::int64_t has_at(const Wanting& w, std::int64_t level) const {
    const Int128 scaled = static_cast<Int128>(level) * w.weight;
    return static_cast<std::int64_t>((scaled + (Int128{1} << bits_) - 1) >> bits_) - offset_;
  }
  [[nodiscard]] Sum sum_at(std::int64_t level) const {
    Sum sum;
    for (const Wanting& w : wanting_) {
      const std::int64_t has = has_at(w, level);
      if (has > w.least && has < w.most) sum.weight += w.weight;
      sum.units += std::clamp(has, w.least, w.most) - w.least;
    }
    return sum;
  }

  /// The highest level below which no more than `units` are given.
  [[nodiscard]] std::int64_t level_for(std::int64_t units) const {
    std::int64_t low = 0;
    std::int64_t high = 0;
    Sum at_low;
    for (const Wanting& w : wanting_) {
      high = std::max(high, (w.most + 1) << bits_);
      at_low.weight += w.weight;
    }
    std::int64_t from = low;
    Sum at = at_low;
    for (int step = 1; high - low > 1; ++step) {
      // By the slope where we stand, or halfway when that does not get us there.
      std::int64_t next = low + (high - low) / 2;
      if (step % 3 != 0 && at.weight > 0) {
        const Int128 missing = units - at.units;
        next = from + static_cast<std::int64_t>((missing << bits_) / at.weight);
        next = std::clamp(next, low + 1, high - 1);
      }
      from = next;
      at = sum_at(next);
      (at.units <= units ? low : high) = next;
    }
    return low;
  }

  void hand_out_at(std::int64_t level, std::int64_t units) {
    std::vector<Wanting> next;  // one unit each, between this level and the next
    for (const Wanting& w : wanting_) {
      const std::int64_t has = std::clamp(has_at(w, level), w.least, w.most);
      takers_[w.taker].has = has;
      units -= has - w.least;
      if (std::clamp(has_at(w, level + 1), w.least, w.most) > has) next.push_back(w);
    }
    ROTA_CHECK(units >= 0 && units < std::ssize(next));
    const auto sooner = [this](const Wanting& a, const Wanting& b) {
      const Int128 left = static_cast<Int128>(takers_[a.taker].has + offset_) * b.weight;
      const Int128 right = static_cast<Int128>(takers_[b.taker].has + offset_) * a.weight;
      return left != right ? left < right : a.taker < b.taker;
    };
    std::nth_element(next.begin(), next.begin() + units, next.end(), sooner);
    for (std::int64_t i = 0; i < units; ++i) ++takers_[next[i].taker].has;
  }

  std::vector<Taker>& takers_;
  std::vector<Wanting> wanting_;
  std::int64_t wanted_ = 0;
  std::int64_t offset_ = 0;
  int bits_ = 0;
};

}  // namespace

void serve(std::vector<Taker>& takers, std::int64_t units, ServedBy by) {
  units = std::min(units, kUnitsMax);
  if (units <= 0) return;
  for (const bool weighted : {true, false}) {
    units = Serving(takers, weighted, by).hand_out(units);
    if (units == 0) return;
  }
}

}  // namespace rota::engine
