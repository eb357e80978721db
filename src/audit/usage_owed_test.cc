#include "audit/usage_owed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace rota::audit {
namespace {

Instant hour(std::int64_t n) { return Instant() + Duration::hours(n); }
Int128 gpu_hours(std::int64_t n) { return Int128{n} * 1000 * Duration::hours(1).ns(); }

TEST(UsageOwed, APartCappedByWhatWasWanted) {
  OwedInput input{.begin = hour(0), .end = hour(4), .parts = {4000}, .wanted = {}, .held = {}};
  input.wanted = {{hour(1), hour(2), whole_gpus(2), 0}, {hour(2), hour(4), whole_gpus(8), 0}};
  input.held = {{hour(1), hour(2), whole_gpus(2), 0},
                {hour(2), hour(3), whole_gpus(3), 0},
                {hour(3), hour(4), whole_gpus(4), 0}};
  const Owed owed = measure_owed(input).at(0);
  EXPECT_EQ(owed.owed, gpu_hours(10));
  EXPECT_EQ(owed.delivered, gpu_hours(9));
  EXPECT_EQ(owed.wanted, gpu_hours(18));
  EXPECT_EQ(owed.held, gpu_hours(9));
}

TEST(UsageOwed, LentGpusDoNotMakeUpForAShortHour) {
  OwedInput input{.begin = hour(0), .end = hour(2), .parts = {4000}, .wanted = {}, .held = {}};
  input.wanted = {{hour(0), hour(2), whole_gpus(8), 0}};
  input.held = {{hour(0), hour(1), whole_gpus(8), 0}};
  const Owed owed = measure_owed(input).at(0);
  EXPECT_EQ(owed.owed, gpu_hours(8));
  EXPECT_EQ(owed.delivered, gpu_hours(4));
  EXPECT_EQ(owed.held, gpu_hours(8));
}

TEST(UsageOwed, APartNeedNotBeWhole) {
  // A third of one GPU, over three hours.
  OwedInput input{.begin = hour(0), .end = hour(3), .parts = {1000}, .denominator = 3,
                  .wanted = {}, .held = {}};
  input.wanted = {{hour(-1), hour(9), whole_gpus(1), 0}};
  input.held = input.wanted;
  const Owed owed = measure_owed(input).at(0);
  EXPECT_EQ(owed.owed, gpu_hours(1));
  EXPECT_EQ(owed.delivered, gpu_hours(1));
  EXPECT_EQ(owed.held, gpu_hours(3));
}

TEST(UsageOwedProperty, NeverMoreThanThePartNorThanWhatWasWantedOrHeld) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    OwedInput input{.begin = Instant(0), .end = Instant(100), .parts = {}, .wanted = {},
                    .held = {}};
    input.denominator = static_cast<std::int64_t>(1 + random.below(9));
    for (int team = 0; team < 3; ++team) input.parts.push_back(random.below(9000));
    for (int n = 0; n < 20; ++n) {
      const auto from = static_cast<std::int64_t>(random.below(120)) - 10;
      const TeamStretch stretch{Instant(from),
                                Instant(from + static_cast<std::int64_t>(random.below(50))),
                                MilliGpu(static_cast<std::int64_t>(random.below(2000))),
                                static_cast<std::uint32_t>(random.below(3))};
      input.wanted.push_back(stretch);
      if (random.below(2) == 0) input.held.push_back(stretch);
    }
    const std::vector<Owed> owed = measure_owed(input);
    for (std::size_t team = 0; team < owed.size(); ++team) {
      EXPECT_LE(owed[team].delivered, owed[team].owed);
      EXPECT_LE(owed[team].delivered, owed[team].held);
      EXPECT_LE(owed[team].owed, owed[team].wanted);
      EXPECT_LE(owed[team].owed * input.denominator, input.parts[team] * 100);
    }
  }
}

}  // namespace
}  // namespace rota::audit
