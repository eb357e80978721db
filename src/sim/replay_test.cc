#include "sim/replay.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

ReplayJob job(std::int64_t submit_s, std::int64_t runtime_s, std::int64_t gpus) {
  return {Instant() + Duration::seconds(submit_s), Duration::seconds(runtime_s), gpus};
}

std::int64_t mean_wait_seconds(const std::vector<ReplayJob>& jobs, ReplayPolicy policy) {
  const auto result = replay(uniform_nodes(1, 4), jobs, policy, {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->wait.mean.whole_seconds() : -1;
}

// Four GPUs. A takes three for 100 s; B wants four; C wants one for 50 s, D one for 200 s.
const std::vector<ReplayJob> kFour{job(0, 100, 3), job(1, 10, 4), job(2, 50, 1), job(3, 200, 1)};

TEST(Replay, FifoWithoutBackfillBlocksAtTheFirstMisfit) {
  // B at 100, C and D at 110: waits 0, 99, 108, 107.
  EXPECT_EQ(mean_wait_seconds(kFour, {Order::kFifo, Backfill::kOff}), (0 + 99 + 108 + 107) / 4);
}

TEST(Replay, EasyLetsShortJobsPassWithoutDelayingTheFirstBlocked) {
  // C runs at 2 beside A and ends before 100; D would delay B: waits 0, 99, 0, 107.
  EXPECT_EQ(mean_wait_seconds(kFour, {Order::kFifo, Backfill::kEasy}), (0 + 99 + 0 + 107) / 4);
}

TEST(Replay, ShortestOrdersByTrueRuntime) {
  // At 100 s all that waits is ordered 10, 50, 200 s again; C and D fit beside B only after it.
  const std::vector<ReplayJob> jobs{job(0, 100, 4), job(1, 90, 4), job(2, 5, 4)};
  EXPECT_EQ(mean_wait_seconds(jobs, {Order::kShortest, Backfill::kOff}), (0 + 104 + 98) / 3);
  EXPECT_EQ(mean_wait_seconds(jobs, {Order::kFifo, Backfill::kOff}), (0 + 99 + 188) / 3);
}

TEST(Replay, CompletionsComeBeforeArrivalsOfTheSameInstant) {
  const std::vector<ReplayJob> jobs{job(0, 10, 4), job(10, 5, 4)};
  EXPECT_EQ(mean_wait_seconds(jobs, {Order::kFifo, Backfill::kOff}), 0);
}

TEST(Replay, CountsWhatTheClusterCanNeverHold) {
  const auto result = replay(uniform_nodes(1, 4), {job(0, 10, 4), job(0, 10, 5)}, {}, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->finished, 1);
  EXPECT_EQ(result->infeasible, 1);
}

TEST(Replay, LargeJobsBecomeGangsOfWholeNodes) {
  const auto result = replay(uniform_nodes(4, 8), {job(0, 10, 12), job(0, 10, 16)}, {}, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->finished, 2);
  EXPECT_EQ(result->rounded_up, 1);
  EXPECT_EQ(result->wait.max, Duration());
  // Both hold 16 GPUs for all of the ten seconds: the 32 GPUs are full.
  EXPECT_TRUE(result->gpu_time_held == result->gpu_time_capacity);
}

TEST(Replay, RefusesUnsortedJobsAndAnEmptyCluster) {
  EXPECT_FALSE(replay(uniform_nodes(1, 4), {job(5, 1, 1), job(4, 1, 1)}, {}, {}));
  EXPECT_FALSE(replay(uniform_nodes(1, 0), {job(5, 1, 1)}, {}, {}));
}

TEST(Replay, AJobOfNoDurationEndsAtOnce) {
  for (const Backfill backfill : {Backfill::kOff, Backfill::kEasy, Backfill::kConservative}) {
    const auto result = replay(uniform_nodes(1, 1), {job(0, 10, 1), job(1, 0, 1), job(1, 5, 1)},
                               {.backfill = backfill}, {});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->finished, 3);
    EXPECT_EQ(result->wait.max, Duration::seconds(9));
    EXPECT_EQ(result->completion.max, Duration::seconds(14));
    EXPECT_TRUE(result->gpu_time_held == Int128{15'000'000'000} * 1000);
  }
}

TEST(Replay, NoJobsGiveZeros) {
  const auto result = replay(uniform_nodes(1, 4), {}, {}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finished, 0);
  EXPECT_TRUE(result->gpu_time_capacity == 0);
}

TEST(Spread, PercentilesAreNearestRank) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 100; i >= 1; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_EQ(spread.p50.ns(), 50);
  EXPECT_EQ(spread.p90.ns(), 90);
  EXPECT_EQ(spread.p99.ns(), 99);
  EXPECT_EQ(spread.max.ns(), 100);
  EXPECT_EQ(spread.mean.ns(), 50);
  std::vector<std::int64_t> one{7};
  EXPECT_EQ(spread_of(one).p50.ns(), 7);
}

}  // namespace
}  // namespace rota::sim
