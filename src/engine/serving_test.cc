#include "engine/serving.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/units.h"

namespace rota::engine {
namespace {

using Held = std::vector<std::int64_t>;

Held held(const std::vector<Taker>& takers) {
  Held out;
  for (const Taker& taker : takers) out.push_back(taker.has);
  return out;
}

/// Whether a, holding `x`, is served less than b, holding `y`.
bool less_served(const Taker& a, std::int64_t x, const Taker& b, std::int64_t y) {
  if (a.weight == 0 || b.weight == 0) {
    return (a.weight == 0) != (b.weight == 0) ? b.weight == 0 : x < y;
  }
  return static_cast<Int128>(x) * b.weight < static_cast<Int128>(y) * a.weight;
}

/// One unit at a time, looking at every taker every time.
Held served_one_by_one(std::vector<Taker> takers, std::int64_t units) {
  for (; units > 0; --units) {
    Taker* best = nullptr;
    for (Taker& taker : takers) {
      if (taker.has >= taker.wants) continue;
      if (best == nullptr || less_served(taker, taker.has, *best, best->has)) best = &taker;
    }
    if (best == nullptr) break;
    ++best->has;
  }
  return held(takers);
}

/// All take what they want; then one at a time is taken back until no more than `units` are out.
Held taken_back_one_by_one(std::vector<Taker> takers, std::int64_t units) {
  std::int64_t out = 0;
  for (Taker& taker : takers) out += taker.has = taker.wants;
  for (; out > units; --out) {
    Taker* most = nullptr;
    for (Taker& taker : takers) {
      if (taker.has == 0) continue;
      if (most == nullptr || !less_served(taker, taker.has, *most, most->has)) most = &taker;
    }
    --most->has;
  }
  return held(takers);
}

std::int64_t some_weight(Random& random) {
  switch (random.below(4)) {
    case 0: return random.between(0, 2);
    case 1: return random.between(1, 1'000'000);
    case 2: return random.chance(1, 2) ? 1 : 1'000'000;
    default: return random.between(0, 9);
  }
}

std::vector<Taker> some_takers(Random& random, bool with_holdings) {
  std::vector<Taker> takers(random.between(0, 12));
  const std::int64_t most = random.chance(1, 4) ? 3 : 60;
  for (Taker& taker : takers) {
    taker.weight = some_weight(random);
    taker.wants = random.between(0, most);
    if (with_holdings && random.chance(1, 2)) taker.has = random.between(0, most);
  }
  return takers;
}

std::int64_t wanted(const std::vector<Taker>& takers) {
  std::int64_t sum = 0;
  for (const Taker& t : takers) sum += std::max<std::int64_t>(0, t.wants - t.has);
  return sum;
}

TEST(Serving, AgreesWithOneUnitAtATime) {
  Random random(21);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Taker> takers = some_takers(random, true);
    const std::int64_t units = random.between(0, wanted(takers) + 2);
    const Held expected = served_one_by_one(takers, units);
    serve(takers, units, ServedBy::kBefore);
    ASSERT_EQ(held(takers), expected) << "round " << round;
  }
}

TEST(Serving, AgreesWithTakingBackOneUnitAtATime) {
  Random random(22);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Taker> takers = some_takers(random, false);
    const std::int64_t units = random.between(0, wanted(takers));
    const Held expected = taken_back_one_by_one(takers, units);
    serve(takers, units, ServedBy::kWith);
    ASSERT_EQ(held(takers), expected) << "round " << round;
  }
}

TEST(Serving, ManyUnitsAndFarApartWeights) {
  // A thousand million GPUs to three: by weight exactly, the odd ones by the tie rule.
  std::vector<Taker> takers{{1, 0, 2'000'000'000}, {2, 0, 2'000'000'000}, {3, 0, 2'000'000'000}};
  serve(takers, 1'000'000'003, ServedBy::kBefore);
  EXPECT_EQ(held(takers), (Held{166'666'668, 333'333'334, 500'000'001}));
  takers = {{1, 0, 2'000'000'000}, {1'000'000, 0, 2'000'000'000}};
  serve(takers, 1'000'001'000, ServedBy::kBefore);
  EXPECT_EQ(held(takers), (Held{1000, 1'000'000'000}));
}

TEST(Serving, GivesNobodyMoreThanItWants) {
  std::vector<Taker> takers{{1, 5, 3}, {0, 0, 4}, {7, 1, 2}};
  serve(takers, 100, ServedBy::kBefore);
  EXPECT_EQ(held(takers), (Held{5, 4, 2}));
}

}  // namespace
}  // namespace rota::engine
