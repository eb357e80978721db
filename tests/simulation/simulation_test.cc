// The whole server loop under faults. Fixed seeds here; ROTA_SOAK_SECONDS=600 runs fresh seeds for
// so long, ROTA_SEED=17 runs one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "world.h"

namespace rota::simulation {
namespace {

std::int64_t setting(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

Outcome expect_sound(const Plan& plan) {
  const Outcome outcome = run(plan);
  for (const std::string& what : outcome.broken) ADD_FAILURE() << what;
  return outcome;
}

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, WithoutFaultsEverythingEnds) {
  const Outcome outcome = expect_sound({.seed = GetParam(), .clean = true});
  EXPECT_GT(outcome.done, 0);
  EXPECT_EQ(outcome.crashes, 0);
}

TEST_P(Seeds, UnderFaultsNothingIsLostAndNothingRunsTwice) {
  const Outcome outcome = expect_sound({.seed = GetParam()});
  EXPECT_GT(outcome.jobs, 20);
}

TEST_P(Seeds, CrashesAtEveryTurnOfTheRoad) {
  expect_sound({.seed = GetParam(), .submits = 20, .crash = 150, .commit_fails = 0});
}

TEST_P(Seeds, ASnapshotOfAnyMomentLoadsToTheSameEngine) {
  expect_sound({.seed = GetParam(), .submits = 20, .check_snapshots = true});
}

TEST_P(Seeds, TheSameSeedGivesTheSameRun) {
  const Plan plan{.seed = GetParam(), .submits = 20};
  EXPECT_EQ(run(plan).digest, run(plan).digest);
}

TEST_P(Seeds, OneLineKeepsItsOrderThroughCrashes) {
  expect_sound({.seed = GetParam(), .submits = 30, .nodes = 1, .one_line = true});
}

INSTANTIATE_TEST_SUITE_P(Fixed, Seeds, testing::Range<std::uint64_t>(1, 9));

TEST(Simulation, FaultsReallyHappen) {
  int crashes = 0;
  int failed_commits = 0;
  for (std::uint64_t seed = 100; seed < 104; ++seed) {
    const Outcome outcome = expect_sound({.seed = seed});
    crashes += outcome.crashes;
    failed_commits += outcome.failed_commits;
  }
  EXPECT_GT(crashes, 10);
  EXPECT_GT(failed_commits, 4);
}

TEST(Simulation, OneSeed) {
  if (setting("ROTA_SEED") == 0) GTEST_SKIP() << "ROTA_SEED is not set";
  const auto seed = static_cast<std::uint64_t>(setting("ROTA_SEED"));
  expect_sound({.seed = seed, .submits = 80});
  expect_sound({.seed = seed, .submits = 30, .crash = 150, .commit_fails = 50});
  expect_sound({.seed = seed, .submits = 40, .nodes = 1, .one_line = true});
}

TEST(Simulation, Soak) {
  const std::int64_t seconds = setting("ROTA_SOAK_SECONDS");
  if (seconds == 0) GTEST_SKIP() << "ROTA_SOAK_SECONDS is not set";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t seed = 10'000;
  for (; std::chrono::steady_clock::now() < end && !HasFailure(); ++seed) {
    expect_sound({.seed = seed, .submits = 80});
    expect_sound({.seed = seed, .submits = 30, .crash = 150, .commit_fails = 50});
    expect_sound({.seed = seed, .submits = 40, .nodes = 1, .one_line = true});
  }
  RecordProperty("seeds", static_cast<int>(seed - 10'000));
}

}  // namespace
}  // namespace rota::simulation
