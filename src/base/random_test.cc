#include "base/random.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace rota {
namespace {

TEST(Random, IsTheSameEverywhere) {
  Random random(0);
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4ULL);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452aULL);
}

TEST(Random, ChildrenDoNotShiftEachOther) {
  const Random root(7);
  Random first = root.child("arrivals");
  Random again = root.child("arrivals");
  Random other = root.child("sizes");
  const auto value = first.next();
  EXPECT_EQ(again.next(), value);
  EXPECT_NE(other.next(), value);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto draw = random.below(7);
    ASSERT_LT(draw, 7U);
    seen.insert(draw);
  }
  EXPECT_EQ(seen.size(), 7U);
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(2);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(-1, 1));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-1, 0, 1}));
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto highest = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(random.between(lowest, highest), random.between(lowest, highest));
}

TEST(Random, ChanceIsExactAtItsEnds) {
  Random random(3);
  int hits = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(random.chance(0, 5));
    EXPECT_TRUE(random.chance(5, 5));
    hits += random.chance(1, 4) ? 1 : 0;
  }
  EXPECT_GT(hits, 180);
  EXPECT_LT(hits, 320);
}

}  // namespace
}  // namespace rota
