#include "engine/usage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace rota::engine {
namespace {

Policy window(Duration span) {
  Policy policy;
  policy.fairness = FairnessKind::kWindow;
  policy.fairness_span = span;
  return policy;
}

Policy half_life(Duration span) {
  Policy policy = window(span);
  policy.fairness = FairnessKind::kHalfLife;
  return policy;
}

Instant at(std::int64_t seconds) { return Instant() + Duration::seconds(seconds); }

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Usage, AWindowCountsWhatLiesInIt) {
  UsageLedger ledger;
  ledger.set_rate(at(0), 2000);
  ledger.set_rate(at(10), 0);
  const Policy policy = window(Duration::seconds(100));
  EXPECT_EQ(ledger.used(at(10), policy), Int128{20'000} * kSecond);
  EXPECT_EQ(ledger.used(at(100), policy), Int128{20'000} * kSecond);
  EXPECT_EQ(ledger.used(at(104), policy), Int128{12'000} * kSecond);
  EXPECT_EQ(ledger.used(at(110), policy), 0);
}

TEST(Usage, InstantFairnessHasNoMemory) {
  UsageLedger ledger;
  ledger.set_rate(at(0), 2000);
  EXPECT_EQ(ledger.used(at(100), Policy{}), 0);
}

TEST(Usage, UnderInstantFairnessOldChangesBecomeASum) {
  UsageLedger ledger;
  Int128 sum = 0;
  std::int64_t rate = 0;
  for (std::int64_t second = 0; second < 5000; ++second) {
    sum += Int128{rate} * kSecond;
    rate = 1000 + second % 7;
    ledger.set_rate(at(second), rate);
    ledger.fold(at(second), Policy{});
  }
  // A policy that looks back later still finds all of it, and the latest changes one by one.
  EXPECT_EQ(ledger.used(at(4999), window(Duration::seconds(10'000))), sum);
  UsageLedger recent;
  for (std::int64_t second = 4900; second < 5000; ++second) {
    recent.set_rate(at(second), 1000 + second % 7);
  }
  EXPECT_EQ(ledger.used(at(4999), window(Duration::seconds(90))),
            recent.used(at(4999), window(Duration::seconds(90))));
}

TEST(Usage, WholeHalfLivesAreExact) {
  const Int128 amount = Int128{1} << 90;
  const Duration day = Duration::days(1);
  EXPECT_EQ(decayed(amount, Duration(), day), amount);
  for (int halves = 1; halves < 90; ++halves) {
    EXPECT_EQ(decayed(amount, day * halves, day), amount >> halves);
  }
  UsageLedger ledger;
  ledger.add_past(at(0), at(0), Int128{3'600'000} * kSecond);
  EXPECT_EQ(ledger.used(at(2 * 86'400), half_life(day)), Int128{900'000} * kSecond);
}

TEST(Usage, PartsOfAHalfLifeAreCloseToThePowerOfTwo) {
  const Int128 amount = Int128{1} << 100;
  for (int tenth = 0; tenth < 100; ++tenth) {
    const double expected = std::ldexp(std::exp2(-tenth / 10.0), 100);
    const auto got = static_cast<double>(
        decayed(amount, Duration::seconds(360) * tenth, Duration::seconds(3600)));
    EXPECT_NEAR(got / expected, 1.0, 1e-9) << tenth;
  }
}

TEST(Usage, DecayNeverGrowsWithTime) {
  const Int128 amount = 123'456'789'012'345;
  Int128 before = amount;
  for (int i = 1; i < 5000; ++i) {
    const Int128 now = decayed(amount, Duration::seconds(i), Duration::seconds(777));
    ASSERT_LE(now, before);
    before = now;
  }
}

/// 2^(-x) as the product of the roots 2^(-1/2), 2^(-1/4), ... for the bits of x, rounded down each.
std::uint64_t power_root_by_root(std::uint64_t fraction) {
  std::uint64_t power = std::uint64_t{1} << 40;
  std::uint64_t root = power / 2;
  for (int bit = 39; bit >= 0; --bit) {
    const UInt128 square = static_cast<UInt128>(root) << 40;
    std::uint64_t low = 0;
    for (std::uint64_t step = std::uint64_t{1} << 40; step > 0; step /= 2) {
      if (static_cast<UInt128>(low + step) * (low + step) <= square) low += step;
    }
    root = low;
    if ((fraction >> bit) & 1U) {
      power = static_cast<std::uint64_t>((static_cast<UInt128>(power) * root) >> 40);
    }
  }
  return power;
}

TEST(Usage, ThePowerOfAHalfIsTheProductOfRootsToTheLastBit) {
  Random random(5);
  const Duration half_life(std::int64_t{1} << 40);  // so that the fraction is the elapsed time
  for (int i = 0; i < 2000; ++i) {
    const auto elapsed = static_cast<std::int64_t>(random.below(1ULL << 40) >> random.below(40));
    const Int128 amount = Int128{1} << 40;
    ASSERT_EQ(decayed(amount, Duration(elapsed), half_life),
              static_cast<Int128>(power_root_by_root(static_cast<std::uint64_t>(elapsed))))
        << elapsed;
  }
}

/// Random rates over an hour, against a sum over single seconds.
class SlowSum {
 public:
  explicit SlowSum(std::uint64_t seed) {
    Random random(seed);
    std::int64_t rate = 0;
    for (std::int64_t second = 0; second < kLength; ++second) {
      if (random.chance(1, 40)) {
        rate = random.between(0, 8000);
        ledger_.set_rate(at(second), rate);
      }
      rates_.push_back(rate);
    }
    from_ = random.between(0, 1000);
    to_ = from_ + random.between(1, 1000);
    past_ = random.between(1, 50);
    ledger_.add_past(at(from_), at(to_), Int128{past_} * (to_ - from_) * kSecond);
  }

  void check_window(std::int64_t now, std::int64_t span) const {
    Int128 sum = 0;
    for (std::int64_t s = std::max<std::int64_t>(0, now - span); s < now; ++s) {
      sum += Int128{rate(s)} * kSecond;
    }
    EXPECT_EQ(ledger_.used(at(now), window(Duration::seconds(span))), sum) << now << " " << span;
  }
  void check_half_life(std::int64_t now, std::int64_t span) const {
    double sum = 0;
    const double per_second = std::log(2.0) / static_cast<double>(span);
    for (std::int64_t s = 0; s < now; ++s) {
      // A second of use at a constant rate, integrated.
      const double young = std::exp(-per_second * static_cast<double>(now - s - 1));
      const double old = std::exp(-per_second * static_cast<double>(now - s));
      sum += static_cast<double>(rate(s)) * (young - old) / per_second;
    }
    const auto got = static_cast<double>(ledger_.used(at(now), half_life(Duration::seconds(span))));
    EXPECT_NEAR(got / 1e9, sum, 1e-7 * sum + 0.01) << now << " " << span;
  }
  static constexpr std::int64_t kLength = 3600;

 private:
  [[nodiscard]] std::int64_t rate(std::int64_t second) const {
    return rates_[static_cast<std::size_t>(second)] +
           (second >= from_ && second < to_ ? past_ : 0);
  }
  UsageLedger ledger_;
  std::vector<std::int64_t> rates_;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
  std::int64_t past_ = 0;
};

TEST(Usage, ClosedFormsAgreeWithASlowSum) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const SlowSum slow(seed);
    Random random(seed + 1000);
    for (int i = 0; i < 4; ++i) {
      const std::int64_t now = random.between(2001, SlowSum::kLength);
      slow.check_window(now, random.between(1, SlowSum::kLength));
      slow.check_half_life(now, random.between(30, SlowSum::kLength));
    }
  }
}

// One GPU-hour spread over a week is a rate of less than six milli-GPUs: rounding the rate down
// would lose a sixth of it.
TEST(Usage, PastUseIsNotLostToRounding) {
  const Int128 hour = Int128{3600} * 1000 * kSecond;
  UsageLedger ledger;
  ledger.add_past(at(-7 * 86'400), at(0), hour);
  EXPECT_EQ(ledger.used(at(0), window(Duration::days(7))), hour);
  EXPECT_EQ(ledger.used(at(0), window(Duration::hours(84))), hour / 2);
  const auto decayed_hour = static_cast<double>(
      ledger.used(at(0), half_life(Duration::days(7))));
  EXPECT_NEAR(decayed_hour / static_cast<double>(hour), 0.5 / std::log(2.0), 1e-6);
}

TEST(Usage, PastUseDoesNotDisturbTheRate) {
  UsageLedger ledger;
  ledger.set_rate(at(0), 1000);
  ledger.add_past(at(5), at(5), Int128{7000} * kSecond);
  ledger.add_past(at(2), at(20), Int128{18'000} * kSecond);
  EXPECT_EQ(ledger.used(at(10), window(Duration::hours(1))),
            Int128{10'000 + 7'000 + 8'000} * kSecond);
  ledger.set_rate(at(10), 0);
  EXPECT_EQ(ledger.used(at(30), window(Duration::hours(1))),
            Int128{10'000 + 7'000 + 18'000} * kSecond);
}

TEST(Usage, HugePastUseOverALongTimeStaysExact) {
  UsageLedger ledger;
  const Int128 amount = Int128{9'000'000'000'000'000'000} * kSecond;
  const Instant from(-4'000'000'000'000'000'000);
  const Instant to(4'000'000'000'000'000'000);
  ledger.add_past(from, to, amount);
  EXPECT_EQ(ledger.used(Instant(0), window(Duration(4'000'000'000'000'000'000))), amount / 2);
}

TEST(Usage, TrimForgetsNothingThatAWindowSees) {
  Random random(5);
  UsageLedger kept;
  UsageLedger trimmed;
  const Policy policy = window(Duration::seconds(500));
  for (std::int64_t second = 0; second < 5000; second += 20) {
    const std::int64_t rate = random.between(0, 4000);
    kept.set_rate(at(second), rate);
    trimmed.set_rate(at(second), rate);
    trimmed.trim(at(second) - policy.fairness_span);
    ASSERT_EQ(kept.used(at(second + 7), policy), trimmed.used(at(second + 7), policy));
  }
}

}  // namespace
}  // namespace rota::engine
