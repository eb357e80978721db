#include "audit/timeline.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

Timeline measure(const Work& work, Window window, std::int64_t gpus) {
  return measure_timeline(work, window, {.capacity = gpus * 1000, .parts = {}});
}

TEST(Timeline, HeldWantedAndFreeAddUp) {
  // 0-10: one of 2 GPUs held. 4-10: 2 wanted, do not fit. 10-20: those 2 held.
  const Work work = work_of({{.submit = 0, .start = 0, .run = 10, .gpus = 1},
                             {.submit = 4, .start = 10, .run = 10, .gpus = 2}});
  const Timeline timeline = measure(work, seconds(0, 20), 2);
  EXPECT_EQ(timeline.held, gpu_seconds(30));
  EXPECT_EQ(timeline.wanted, gpu_seconds(30 + 12));
  EXPECT_EQ(timeline.free, gpu_seconds(10));
  EXPECT_EQ(timeline.idle_while_wanted, 0);
  EXPECT_EQ(timeline.held_peak, 2000);
  EXPECT_EQ(timeline.wanted_peak, 3000);
  EXPECT_EQ(timeline.waiting_peak, 1);
  EXPECT_EQ(timeline.placed, 2);
}

TEST(Timeline, IdleWhileWantedCountsWholeRunsThatFit) {
  // 3 of 8 held; from 2 to 6 wait one of 4 and two of 2: five free take both of 2, not the 4.
  const Work work = work_of({{.submit = 0, .start = 0, .run = 10, .gpus = 3},
                             {.submit = 2, .start = 6, .run = 1, .gpus = 4},
                             {.submit = 2, .start = 6, .run = 1, .gpus = 2},
                             {.submit = 2, .start = 6, .run = 1, .gpus = 2}});
  EXPECT_EQ(measure(work, seconds(0, 10), 8).idle_while_wanted, gpu_seconds(4 * 4));
}

TEST(Timeline, WhoNeverStartedWaitedUntilItLeft) {
  Work work = work_of({{.submit = 0, .start = 0, .run = 10},
                       {.submit = 2, .start = -1, .run = -1, .end = End::kCancelled},
                       {.submit = 3, .start = -1, .run = -1, .end = End::kPending}});
  work.runs[1].left = 5 * kSecond;
  const Timeline timeline = measure(work, seconds(0, 10), 2);
  EXPECT_EQ(timeline.wanted, gpu_seconds(10 + 3 + 7));
  EXPECT_EQ(timeline.idle_while_wanted, gpu_seconds(8));
}

TEST(Timeline, OneAfterAnotherIsNoPeakOfTwo) {
  const Work work = work_of({{.submit = 0, .start = 0, .run = 10},
                             {.submit = 0, .start = 10, .run = 10}});
  EXPECT_EQ(peak_held(work, seconds(0, 20)), 1000);
  EXPECT_EQ(measure(work, seconds(0, 20), 1).held_peak, 1000);
}

TEST(Timeline, IsCutAtTheWindow) {
  const Work work = work_of({{.submit = 0, .start = 0, .run = 100, .gpus = 2}});
  const Timeline timeline = measure(work, seconds(10, 30), 4);
  EXPECT_EQ(timeline.held, gpu_seconds(40));
  EXPECT_EQ(timeline.free, gpu_seconds(40));
}

TEST(Timeline, MoreThanTheCapacityIsSaid) {
  const Work work = work_of({{.submit = 0, .start = 0, .run = 10, .gpus = 3}});
  const Timeline timeline = measure(work, seconds(0, 10), 2);
  EXPECT_EQ(timeline.beyond, gpu_seconds(10));
  EXPECT_EQ(timeline.free, 0);
}

TEST(Timeline, UnplacedRunsAreCounted) {
  const Work work = work_of({{.submit = 0, .start = -1, .run = 10},
                             {.submit = 0, .start = 0, .run = 10, .gpus = -1},
                             {.submit = 0, .start = 0, .run = 10, .gpus = 0}});
  const Timeline timeline = measure(work, seconds(0, 10), 2);
  EXPECT_EQ(timeline.unplaced, 2);
  EXPECT_EQ(timeline.held, 0);
}

TEST(Timeline, HoursOfTheWeekBeginOnMonday) {
  // The epoch was a Thursday: Monday 0:00 came four days later.
  const std::int64_t monday = 4 * 24 * 3600;
  const Work work = work_of({{.submit = monday, .start = monday + 1800, .run = 3600}});
  const Timeline timeline = measure(work, seconds(monday, monday + 7200), 1);
  EXPECT_EQ(timeline.held_by_hour[0], gpu_seconds(1800));
  EXPECT_EQ(timeline.held_by_hour[1], gpu_seconds(1800));
  EXPECT_EQ(timeline.length_by_hour[0], kHour);
  EXPECT_EQ(timeline.length_by_hour[2], 0);
}

// The case of owed and delivered by the hour: ten GPUs, the team owns 40 %. Hour 1 it wants and
// holds 2; hours 2 and 3 it wants 8 and holds 3, then 4. Owed 0+2+4+4, delivered 0+2+3+4.
TEST(Timeline, OwedIsWhatATeamWantsUpToItsPart) {
  constexpr std::int64_t h = 3600;
  const Work work = work_of({
      {.submit = h, .start = h, .run = 3 * h, .gpus = 2, .owner = 1},
      {.submit = 2 * h, .start = 2 * h, .run = 2 * h, .gpus = 1, .owner = 1},
      {.submit = 2 * h, .start = 3 * h, .run = h, .gpus = 1, .owner = 1},
      {.submit = 2 * h, .start = 4 * h, .run = h, .gpus = 4, .owner = 1},
  });
  const Timeline timeline =
      measure_timeline(work, seconds(0, 4 * h), {.capacity = 10000, .parts = {0, 4000}});
  EXPECT_EQ(timeline.teams[1].owed, gpu_seconds(10 * h));
  EXPECT_EQ(timeline.teams[1].delivered, gpu_seconds(9 * h));
  EXPECT_EQ(timeline.teams[1].held, gpu_seconds((2 + 3 + 4) * h));
}

}  // namespace
}  // namespace rota::audit
