#include <gtest/gtest.h>

#include "engine/state.h"

namespace rota::engine {
namespace {

TaskKind kind_of(std::int64_t milli) { return {milli, 0, 0, {}}; }

TEST(Mix, IsLookedAtAnewWhenA16thPartHasComeToIt) {
  Mix mix;
  for (int i = 1; i <= 31; ++i) {
    mix.add(kind_of(1000), 1);
    mix.look_if_grown();
    EXPECT_EQ(mix.used_total, i) << "every task counts at once while they are few";
  }
  mix.add(kind_of(500), 1);
  mix.look_if_grown();
  const std::uint64_t version = mix.version;
  EXPECT_EQ(mix.used_total, 32);
  mix.add(kind_of(500), 1);
  mix.look_if_grown();
  EXPECT_EQ(mix.version, version);
  EXPECT_EQ(mix.used.at(kind_of(500)), 1);
  mix.add(kind_of(500), 1);
  mix.look_if_grown();
  EXPECT_GT(mix.version, version);
  EXPECT_EQ(mix.used, mix.seen);
  EXPECT_EQ(mix.used.at(kind_of(500)), 3);
}

TEST(Mix, TheOrderOfWhatCameTogetherDoesNotMatter) {
  Mix one;
  Mix other;
  one.add(kind_of(1000), 20);
  one.add(kind_of(500), 1);
  other.add(kind_of(500), 1);
  other.add(kind_of(1000), 20);
  one.look_if_grown();
  other.look_if_grown();
  EXPECT_EQ(one.used, other.used);
  EXPECT_EQ(one.version, other.version);
}

}  // namespace
}  // namespace rota::engine
