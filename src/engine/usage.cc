#include "engine/usage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace rota::engine {

namespace {

constexpr int kFractionBits = 40;

/// 2^(-1/2^k) for k = 1..40 in 40-bit fixed point, each the square root of the one before.
constexpr std::array<std::uint64_t, kFractionBits> make_roots() {
  std::array<std::uint64_t, kFractionBits> roots{};
  UInt128 value = static_cast<UInt128>(1) << (kFractionBits - 1);  // 2^-1
  for (auto& root : roots) {
    // Integer square root of value * 2^40 by bisection.
    const UInt128 square = value << kFractionBits;
    std::uint64_t low = 0;
    std::uint64_t high = std::uint64_t{1} << kFractionBits;
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      if (static_cast<UInt128>(middle) * middle <= square) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    root = low;
    value = low;
  }
  return roots;
}
constexpr auto kRoots = make_roots();

/// 2^(-x) for x of `kTableBits` bits after the point, as multiplying root by root gives it.
constexpr int kTableBits = 10;
constexpr std::array<std::uint64_t, 1 << kTableBits> make_powers() {
  std::array<std::uint64_t, 1 << kTableBits> powers{};
  powers[0] = std::uint64_t{1} << kFractionBits;
  for (std::size_t i = 1; i < powers.size(); ++i) {
    // The lowest bit set is the last root to be multiplied.
    const int last = kTableBits - 1 - std::countr_zero(i);
    powers[i] = static_cast<std::uint64_t>(
        (static_cast<UInt128>(powers[i & (i - 1)]) * kRoots[last]) >> kFractionBits);
  }
  return powers;
}
constexpr auto kPowers = make_powers();

/// 2^(-fraction) with fraction in [0, 1) in 40-bit fixed point.
std::uint64_t power_of_half(std::uint64_t fraction) {
  std::uint64_t power = kPowers[fraction >> (kFractionBits - kTableBits)];
  std::uint64_t rest = fraction << (64 - kFractionBits + kTableBits);
  while (rest != 0) {
    const int k = std::countl_zero(rest);
    rest &= ~(std::uint64_t{1} << (63 - k));
    power = static_cast<std::uint64_t>(
        (static_cast<UInt128>(power) * kRoots[kTableBits + k]) >> kFractionBits);
  }
  return power;
}

Int128 multiply_fixed(Int128 value, std::uint64_t factor) {
  // Split so that values up to 2^120 do not overflow.
  const Int128 high = value >> kFractionBits;
  const Int128 low = value & ((Int128{1} << kFractionBits) - 1);
  return high * static_cast<Int128>(factor) +
         ((low * static_cast<Int128>(factor)) >> kFractionBits);
}

/// value * part / whole, with part <= whole, without overflow.
Int128 share_of(Int128 value, Int128 part, Int128 whole) {
  return value / whole * part + value % whole * part / whole;
}

/// 1/ln 2 in 40-bit fixed point.
constexpr std::uint64_t kInverseLn2 = 1586259972127;

/// What is left of an amount some time ago.
class Decay {
 public:
  Decay(Duration elapsed, Duration half_life) {
    if (elapsed.ns() <= 0 || half_life.ns() <= 0) return;
    const std::int64_t halves = elapsed.ns() / half_life.ns();
    if (halves >= 120) {
      gone_ = true;
      return;
    }
    halves_ = static_cast<int>(halves);
    const std::int64_t rest = elapsed.ns() % half_life.ns();
    power_ = power_of_half(static_cast<std::uint64_t>(
        (static_cast<Int128>(rest) << kFractionBits) / half_life.ns()));
  }
  [[nodiscard]] Int128 of(Int128 value) const {
    return gone_ ? 0 : multiply_fixed(value >> halves_, power_);
  }

 private:
  std::uint64_t power_ = std::uint64_t{1} << kFractionBits;
  int halves_ = 0;
  bool gone_ = false;
};

}  // namespace

Int128 decayed(Int128 value, Duration elapsed, Duration half_life) {
  return Decay(elapsed, half_life).of(value);
}

void UsageLedger::set_rate(Instant now, std::int64_t milli) {
  if (milli == rate_) return;
  rate_ = milli;
  if (!points_.empty() && points_.back().at >= now) {
    points_.back().rate = milli;
    return;
  }
  points_.push_back({now, total_at(now), milli});
}

Int128 UsageLedger::total_at(Instant at) const {
  if (!points_.empty() && points_.back().at <= at) {
    const Point& last = points_.back();
    return last.total + static_cast<Int128>(last.rate) * (at - last.at).ns();
  }
  // What a window looks back to is among the first, so the search widens from there.
  std::ptrdiff_t reach = 8;
  while (reach < std::ssize(points_) && points_[static_cast<std::size_t>(reach)].at <= at) {
    reach *= 2;
  }
  const auto end = points_.begin() + std::min(reach, std::ssize(points_));
  const auto after = std::upper_bound(points_.begin(), end, at,
                                      [](Instant t, const Point& p) { return t < p.at; });
  if (after == points_.begin()) return 0;
  const Point& point = *std::prev(after);
  return point.total + static_cast<Int128>(point.rate) * (at - point.at).ns();
}

void UsageLedger::add_past(Instant from, Instant to, Int128 amount) {
  if (amount != 0) past_.push_back({from, to, amount});
}

/// The part of it that lies in (after, now].
Int128 UsageLedger::past_in_window(const Past& past, Instant after, Instant now) {
  if (past.from == past.to) return past.to > after && past.to <= now ? past.amount : 0;
  const std::int64_t overlap = (std::min(past.to, now) - std::max(past.from, after)).ns();
  return overlap <= 0 ? 0 : share_of(past.amount, overlap, (past.to - past.from).ns());
}

Int128 UsageLedger::past_decayed(const Past& past, Instant now, Duration half_life) {
  if (past.to > now && past.from >= now) return 0;
  if (past.from == past.to) return decayed(past.amount, now - past.to, half_life);
  const Instant to = std::min(past.to, now);
  const Int128 length = (to - past.from).ns();
  const Int128 amount = share_of(past.amount, length, (past.to - past.from).ns());
  // So short against a half-life that all of it lies at its middle.
  constexpr int kShort = 4096;
  if (length * kShort < half_life.ns()) {
    return decayed(amount, now - (past.from + (to - past.from) / 2), half_life);
  }
  // amount * H / (length ln2) * (2^(-(now-to)/H) - 2^(-(now-from)/H))
  const Int128 left = decayed(amount, now - to, half_life) -
                      decayed(amount, now - past.from, half_life);
  const Int128 scaled = left / length * half_life.ns() + left % length * half_life.ns() / length;
  return multiply_fixed(scaled, kInverseLn2);
}

Int128 UsageLedger::used(Instant now, const Policy& policy) const {
  const Duration span = policy.fairness_span;
  Int128 sum = 0;
  if (policy.fairness == FairnessKind::kInstant) return 0;
  if (policy.fairness == FairnessKind::kWindow) {
    const Instant after = now - span;
    for (const Past& past : past_) sum += past_in_window(past, after, now);
    return sum + total_at(now) - total_at(after);
  }
  for (const Past& past : past_) sum += past_decayed(past, now, span);
  return sum + rates_decayed(now, span);
}

/// Use at a constant rate from `from` to `to`, as a half-life H counts it at `now`:
/// rate * H/ln2 * (2^(-(now-to)/H) - 2^(-(now-from)/H)). One interval ends where the next begins.
Int128 UsageLedger::rates_decayed(Instant now, Duration half_life) const {
  Int128 sum = 0;
  std::optional<Decay> begin;
  for (auto point = points_.begin(); point != points_.end() && point->at <= now; ++point) {
    const auto next = std::next(point);
    const Instant to = next != points_.end() ? std::min(next->at, now) : now;
    std::optional<Decay> end;
    if (point->rate != 0 && to > point->at) {
      if (!begin) begin.emplace(now - point->at, half_life);
      end.emplace(now - to, half_life);
      const Int128 whole =
          multiply_fixed(static_cast<Int128>(point->rate) * half_life.ns(), kInverseLn2);
      sum += end->of(whole) - begin->of(whole);
    }
    begin = end;
  }
  return sum;
}

void UsageLedger::trim(Instant before) {
  while (points_.size() > 1 && points_[1].at <= before) points_.pop_front();
  std::erase_if(past_, [before](const Past& past) { return past.to <= before; });
}

void UsageLedger::sum_up_older() {
  const auto kept = points_.begin() + static_cast<std::ptrdiff_t>(points_.size() / 2);
  const Int128 base = kept->total;
  add_past(points_.front().at, kept->at, base - points_.front().total);
  points_.erase(points_.begin(), kept);
  for (Point& point : points_) point.total -= base;
}

void UsageLedger::fold(Instant now, const Policy& policy) {
  constexpr std::size_t kKept = 256;
  if (policy.fairness == FairnessKind::kInstant) {
    if (points_.size() > kKept) sum_up_older();
    return;
  }
  if (policy.fairness != FairnessKind::kHalfLife || points_.size() + past_.size() <= kKept) return;
  const bool future = std::any_of(past_.begin(), past_.end(),
                                  [now](const Past& past) { return past.to > now; });
  if (future) return;
  const Int128 counts = used(now, policy);
  past_.assign(1, {now, now, counts});
  points_.assign(1, {now, 0, rate_});
}

}  // namespace rota::engine
