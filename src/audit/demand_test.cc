#include "audit/demand.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using testing::gpu_seconds;
using testing::kSecond;
using testing::seconds;
using testing::work_of;

TEST(Demand, CountsFromTheInstantAtWhichARunCouldHaveStarted) {
  // Two GPUs for one and a half hours, wanted from 0:30 on; that it started at 5:00 is no matter.
  const Work work = work_of({{.submit = 1800, .start = 18'000, .run = 5400, .gpus = 2}});
  const Demand demand = measure_demand(work, seconds(0, 6 * 3600));
  ASSERT_EQ(demand.hours.size(), 6U);
  EXPECT_EQ(demand.hours[0], gpu_seconds(2 * 1800));
  EXPECT_EQ(demand.hours[1], gpu_seconds(2 * 3600));
  EXPECT_EQ(demand.hours[2], 0);
  EXPECT_EQ(demand.means(), (std::vector<std::int64_t>{1000, 2000, 0, 0, 0, 0}));
  EXPECT_EQ(demand.runs, 1);
}

TEST(Demand, TakesASubmitAndALengthWithoutAStart) {
  const Work work = work_of({{.submit = 0, .start = -1, .run = 7200, .gpus = 3}});
  const Demand demand = measure_demand(work, seconds(0, 3 * 3600));
  EXPECT_EQ(demand.means(), (std::vector<std::int64_t>{3000, 3000, 0}));
}

TEST(Demand, LooksAtWholeHoursAlone) {
  const Work work = work_of({{.submit = 0, .start = 0, .run = 36'000}});
  const Demand demand = measure_demand(work, seconds(600, 3 * 3600 + 1800));
  EXPECT_EQ(demand.first_hour, 1);
  EXPECT_EQ(demand.hours.size(), 2U);
  EXPECT_EQ(demand.begin_of(1), 7200 * kSecond);
  EXPECT_TRUE(measure_demand(work, seconds(600, 1800)).hours.empty());
}

TEST(Demand, WhatStillRunsOrWaitsIsWantedUntilTheEnd) {
  const Work work = work_of({
      {.submit = 0, .start = 3600, .run = 3600, .gpus = 1, .end = End::kRunning},
      {.submit = 3600, .start = -1, .run = -1, .gpus = 4, .end = End::kPending}});
  const Demand demand = measure_demand(work, seconds(0, 3 * 3600));
  EXPECT_EQ(demand.means(), (std::vector<std::int64_t>{1000, 5000, 5000}));
}

TEST(Demand, CountsWhatItLeavesOut) {
  Work work = work_of({
      {.submit = 0, .start = 0, .run = 3600, .gpus = -1},
      {.submit = 0, .start = 0, .run = -1},
      {.submit = -1, .start = -1, .run = 3600},
      {.submit = 0, .start = -1, .run = -1, .end = End::kCancelled},
      {.submit = 0, .start = 0, .run = 3600, .gpus = 0}});
  const Demand demand = measure_demand(work, seconds(0, 3600));
  EXPECT_EQ(demand.gpus_unknown, 1);
  EXPECT_EQ(demand.length_unknown, 1);
  EXPECT_EQ(demand.place_unknown, 1);
  EXPECT_EQ(demand.never_started, 1);
  EXPECT_EQ(demand.runs, 0);
}

TEST(Demand, KnowsTheHourOfTheWeek) {
  EXPECT_EQ(hour_of_week(0), 72);        // the epoch: Thursday 0:00
  EXPECT_EQ(hour_of_week(96), 0);        // Monday
  EXPECT_EQ(hour_of_week(-73), 167);     // Sunday 23:00
}

RC_GTEST_PROP(DemandProperty, HoursAddUpToTheGpuTimeInside, ()) {
  Work work = work_of({});
  const auto count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    testing::add(work, {.submit = *rc::gen::inRange(0, 90'000), .start = -1,
                        .run = *rc::gen::inRange(0, 90'000), .gpus = *rc::gen::inRange(0, 9)});
  }
  const Window window = seconds(*rc::gen::inRange(0, 20) * 3600,
                                (20 + *rc::gen::inRange(1, 20)) * 3600);
  const Demand demand = measure_demand(work, window);
  GpuTime sum = 0;
  for (const GpuTime hour : demand.hours) sum += hour;
  GpuTime expected = 0;
  for (const WorkRun& run : work.runs) {
    expected += GpuTime{work.wanted_of(run)} * inside(window, run.waiting_since, run.run);
  }
  RC_ASSERT(sum == expected);
}

TEST(HourWaits, StandInTheHourInWhichTheRunCouldHaveStarted) {
  const Work work = work_of({{.submit = 100, .start = 160, .run = 60},
                             {.submit = 3700, .start = 3700, .run = 60},
                             {.submit = 200, .start = 7200, .run = 60},
                             {.submit = 300, .start = -1, .run = -1, .end = End::kCancelled}});
  const Demand demand = measure_demand(work, seconds(0, 7200));
  const HourWaits waits = measure_hour_waits(work, demand);
  EXPECT_TRUE(waits.told());
  ASSERT_EQ(waits.of(0).size(), 2U);
  EXPECT_EQ(waits.of(0)[0], 60 * kSecond);
  EXPECT_EQ(waits.of(0)[1], 7000 * kSecond);
  ASSERT_EQ(waits.of(1).size(), 1U);
  EXPECT_EQ(waits.of(1)[0], 0);
}

TEST(HourWaits, AreKnownOnlyOnceTheRunHasStarted) {
  const Work work = work_of({{.submit = 100, .start = 160, .run = 60},
                             {.submit = 200, .start = 7200, .run = 60}});
  const Demand demand = measure_demand(work, seconds(0, 4 * 3600));
  const HourWaits waits = measure_hour_waits(work, demand);
  std::vector<std::int64_t> known;
  waits.add_known(0, 2, known);
  EXPECT_EQ(known, std::vector<std::int64_t>{60 * kSecond});
  known.clear();
  waits.add_known(0, 3, known);
  EXPECT_EQ(known.size(), 2U);
}

}  // namespace
}  // namespace rota::audit
