// Made-up scenarios must run without a broken invariant and twice alike. ROTA_SEEDS=n runs that
// many (default 150 of each kind), ROTA_SEED=s one, with its text and trace.
#include "sim/generate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/text.h"
#include "sim/run.h"

namespace rota::sim {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void check(std::uint64_t seed, Wildness wildness) {
  const auto text = random_scenario(seed, wildness);
  RunOptions options;
  options.trace = std::getenv("ROTA_SEED") != nullptr;
  if (options.trace) std::cout << text << std::endl;
  const auto report = run_scenario_text(text, "seed " + std::to_string(seed), options);
  if (options.trace) std::cout << join(report.trace, "\n") << "\n";
  EXPECT_TRUE(report.broken.empty() && report.problems.empty())
      << report_text(report) << "run again with ROTA_SEED=" << seed;
}

void check_all(Wildness wildness) {
  if (std::getenv("ROTA_SEED") != nullptr) return check(number_from("ROTA_SEED", 0), wildness);
  const auto seeds = number_from("ROTA_SEEDS", 150);
  for (std::uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    check(seed, wildness);
  }
}

TEST(RandomScenario, PlainOnesKeepEveryInvariant) { check_all(Wildness::kPlain); }
TEST(RandomScenario, WildOnesKeepEveryInvariant) { check_all(Wildness::kAll); }

TEST(RandomScenario, IsTheSameForTheSameSeed) {
  EXPECT_EQ(random_scenario(5, Wildness::kAll), random_scenario(5, Wildness::kAll));
  EXPECT_NE(random_scenario(5, Wildness::kAll), random_scenario(6, Wildness::kAll));
}

}  // namespace
}  // namespace rota::sim
