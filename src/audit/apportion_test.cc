#include "audit/apportion.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace rota::audit {
namespace {

Int128 sum(const std::vector<Int128>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Int128{0});
}

TEST(Apportion, RoundsHalvesUp) {
  EXPECT_EQ(rounded_to(14, 10), 1);
  EXPECT_EQ(rounded_to(15, 10), 2);
  EXPECT_EQ(rounded_to(-15, 10), -1);
  EXPECT_EQ(rounded_to(-16, 10), -2);
  EXPECT_EQ(rounded_to(0, 10), 0);
}

TEST(Apportion, ThirdsAddUpToOne) {
  const std::vector<Int128> parts{100, 100, 100};
  EXPECT_EQ(apportioned(parts, 3), (std::vector<Int128>{34, 33, 33}));
}

TEST(Apportion, TheLargestRemainderIsRoundedUp) {
  const std::vector<Int128> parts{11, 19, 20};
  EXPECT_EQ(apportioned(parts, 10), (std::vector<Int128>{1, 2, 2}));
}

TEST(Apportion, WholeNumbersStay) {
  const std::vector<Int128> parts{0, 30, -10, 0};
  EXPECT_EQ(apportioned(parts, 10), (std::vector<Int128>{0, 3, -1, 0}));
}

TEST(Apportion, NothingIsNothing) { EXPECT_TRUE(apportioned({}, 10).empty()); }

TEST(Apportion, AddsUpWhateverTheParts) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const auto unit = Int128{1} + random.below(1000);
    std::vector<Int128> parts;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      parts.push_back(static_cast<Int128>(random.below(5000)) - 1000);
    }
    const std::vector<Int128> rounded = apportioned(parts, unit);
    EXPECT_EQ(sum(rounded), rounded_to(sum(parts), unit));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LT(rounded[i] * unit - parts[i], unit);
      EXPECT_LT(parts[i] - rounded[i] * unit, unit);
      if (parts[i] % unit == 0) {
        EXPECT_EQ(rounded[i] * unit, parts[i]);
      }
    }
  }
}

}  // namespace
}  // namespace rota::audit
