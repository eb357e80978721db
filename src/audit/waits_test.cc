#include "audit/waits.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(Waits, PercentilesAreNearestRank) {
  Work work = work_of({});
  for (int i = 1; i <= 100; ++i) add(work, {.submit = 0, .start = i, .run = 1});
  const Waits waits = measure_waits(work, seconds(0, 1000));
  EXPECT_EQ(waits.all.count, 100);
  EXPECT_EQ(waits.all.p50, 50 * kSecond);
  EXPECT_EQ(waits.all.p90, 90 * kSecond);
  EXPECT_EQ(waits.all.p99, 99 * kSecond);
  EXPECT_EQ(waits.all.max, 100 * kSecond);
  EXPECT_EQ(waits.all.sum, Int128{5050} * kSecond);
  EXPECT_EQ(waits.all.gpu_time, gpu_seconds(100));
}

TEST(Waits, OneRunIsEachPercentile) {
  const Waits waits = measure_waits(work_of({{.submit = 2, .start = 9, .run = 1}}), seconds(0, 20));
  EXPECT_EQ(waits.all.p50, 7 * kSecond);
  EXPECT_EQ(waits.all.p99, 7 * kSecond);
}

TEST(Waits, GroupsByClassTeamAndSize) {
  const Work work = work_of({
      {.submit = 0, .start = 1, .run = 5, .gpus = 1, .owner = 1, .job_class = 1},
      {.submit = 0, .start = 3, .run = 5, .gpus = 4, .owner = 1, .job_class = 2},
      {.submit = 0, .start = 7, .run = 5, .gpus = 5, .owner = 2, .job_class = 2},
      {.submit = 0, .start = 9, .run = 5, .gpus = 9, .owner = 2, .job_class = 2},
  });
  const Waits waits = measure_waits(work, seconds(0, 100));
  ASSERT_EQ(waits.by_class.size(), 2U);
  EXPECT_EQ(waits.by_class[0].name, "train");
  EXPECT_EQ(waits.by_class[0].figures.p50, 7 * kSecond);
  ASSERT_EQ(waits.by_team.size(), 2U);
  EXPECT_EQ(waits.by_team[0].name, "a");
  EXPECT_EQ(waits.by_team[1].figures.max, 9 * kSecond);
  ASSERT_EQ(waits.by_size.size(), 4U);
  EXPECT_EQ(waits.by_size[0].name, "1");
  EXPECT_EQ(waits.by_size[1].name, "2-4");
  EXPECT_EQ(waits.by_size[2].name, "5-8");
  EXPECT_EQ(waits.by_size[3].name, "9+");
}

TEST(Waits, WhatIsNotToldIsCountedAndNeverZero) {
  const Work work = work_of({
      {.submit = -1, .start = 5, .run = 5},
      {.submit = 3, .start = -1, .run = 5},
      {.submit = 3, .start = -1, .run = -1, .gpus = 2, .end = End::kCancelled},
      {.submit = 3, .start = -1, .run = -1, .gpus = 2, .end = End::kRejected},
      {.submit = 3, .start = 4, .run = 5, .gpus = 0},
  });
  const Waits waits = measure_waits(work, seconds(0, 100));
  EXPECT_EQ(waits.all.count, 0);
  EXPECT_EQ(waits.all.unknown, 2);
  EXPECT_EQ(waits.all.never, 1);
}

TEST(Waits, OnlyThoseThatBeginInsideTheWindow) {
  const Work work = work_of({{.submit = 5, .start = 6, .run = 5},
                             {.submit = 15, .start = 18, .run = 5},
                             {.submit = 25, .start = 26, .run = 5}});
  const Waits waits = measure_waits(work, seconds(10, 20));
  EXPECT_EQ(waits.all.count, 1);
  EXPECT_EQ(waits.all.max, 3 * kSecond);
}

TEST(Waits, SizesOfParts) {
  EXPECT_EQ(size_name(size_of(500)), "<1");
  EXPECT_EQ(size_name(size_of(1000)), "1");
  EXPECT_EQ(size_name(size_of(1500)), "1");
  EXPECT_EQ(size_name(size_of(2000)), "2-4");
  EXPECT_EQ(size_name(size_of(8000)), "5-8");
  EXPECT_EQ(size_name(size_of(8001)), "9+");
}

}  // namespace
}  // namespace rota::audit
