#include "audit/lemons.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(BinomialTail, ExactValues) {
  EXPECT_DOUBLE_EQ(binomial_tail(10, 0, 0.3), 1);
  EXPECT_NEAR(binomial_tail(1, 1, 0.25), 0.25, 1e-12);
  EXPECT_NEAR(binomial_tail(4, 2, 0.5), 11.0 / 16, 1e-12);
  EXPECT_NEAR(binomial_tail(10, 10, 0.1), 1e-10, 1e-20);
  EXPECT_NEAR(binomial_tail(3, 1, 0.1), 1 - 0.729, 1e-12);
  EXPECT_DOUBLE_EQ(binomial_tail(3, 4, 0.1), 0);
  EXPECT_DOUBLE_EQ(binomial_tail(3, 2, 0), 0);
  EXPECT_DOUBLE_EQ(binomial_tail(3, 2, 1), 1);
}

TEST(BinomialTail, LargeNumbersStayInRange) {
  EXPECT_NEAR(binomial_tail(1'000'000, 500'000, 0.5), 0.5, 0.001);
  const double tiny = binomial_tail(10'000, 1'000, 0.01);
  EXPECT_GE(tiny, 0);
  EXPECT_LT(tiny, 1e-100);
}

Work with_nodes(int good_runs, int bad_runs, int bad_failures) {
  Work work = work_of({});
  for (int i = 0; i < good_runs; ++i) {
    const std::uint32_t node = i % 2 == 0 ? 1 : 3;
    add(work, {.run = 100, .end = i % 50 == 0 ? End::kFailed : End::kCompleted, .nodes = node});
  }
  for (int i = 0; i < bad_runs; ++i) {
    add(work, {.run = 100, .end = i < bad_failures ? End::kFailed : End::kCompleted,
               .user = i % 2 == 0 ? 1U : 2U, .nodes = 2});
  }
  return work;
}

TEST(Lemons, ANodeThatFailsFarMoreOftenIsFound) {
  const Lemons lemons = find_lemons(with_nodes(200, 20, 10), seconds(0, 1000));
  EXPECT_EQ(lemons.nodes, 3);
  EXPECT_EQ(lemons.runs, 220);
  ASSERT_EQ(lemons.found.size(), 1U);
  const Lemon& lemon = lemons.found[0];
  EXPECT_EQ(lemon.node, "n2");
  EXPECT_EQ(lemon.runs, 20);
  EXPECT_EQ(lemon.failed, 10);
  EXPECT_EQ(lemon.users, 2);
  EXPECT_DOUBLE_EQ(lemon.others_rate, 5.0 / 201);
  EXPECT_LT(lemon.chance, 1e-8);
  // Ten failed runs of 100 GPU-seconds; 20 * 5/201 of them were to be expected.
  EXPECT_NEAR(gpu_hours(lemon.excess), (10 - 20 * 5.0 / 201) * 100 / 3600, 1e-9);
}

TEST(Lemons, ALittleMoreThanOthersIsNoLemon) {
  EXPECT_TRUE(find_lemons(with_nodes(200, 20, 2), seconds(0, 1000)).found.empty());
}

TEST(Lemons, TooFewRunsProveNothing) {
  EXPECT_TRUE(find_lemons(with_nodes(200, 4, 4), seconds(0, 1000)).found.empty());
}

TEST(Lemons, WhatPeopleStopTellsNothingOfANode) {
  Work work = with_nodes(200, 0, 0);
  for (int i = 0; i < 50; ++i) add(work, {.run = 10, .end = End::kCancelled, .nodes = 2});
  EXPECT_TRUE(find_lemons(work, seconds(0, 1000)).found.empty());
}

TEST(Lemons, WithoutNodesNothingIsSeen) {
  EXPECT_EQ(find_lemons(work_of({{.run = 10}}), seconds(0, 100)).nodes, 0);
}

}  // namespace
}  // namespace rota::audit
