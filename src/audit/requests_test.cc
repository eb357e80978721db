#include "audit/requests.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(Limits, UseOfLimitsByJobsThatEndedWell) {
  const Work work = work_of({{.run = 90, .gpus = 2, .limit = 100},
                             {.run = 40, .limit = 100},
                             {.run = 5, .limit = 100},
                             {.run = 10},
                             {.run = 100, .end = End::kTimeLimit, .limit = 100}});
  const LimitUse use = measure_limits(work, seconds(0, 1000));
  EXPECT_EQ(use.jobs, 3);
  EXPECT_EQ(use.without_limit, 1);
  EXPECT_EQ(use.used_p50, 400);
  EXPECT_EQ(use.below_half, 2);
  EXPECT_EQ(use.below_tenth, 1);
  EXPECT_EQ(use.asked, gpu_seconds(400));
  EXPECT_EQ(use.used, gpu_seconds(180 + 40 + 5));
}

TEST(Sessions, LongAndHardlyBusySquats) {
  constexpr std::int64_t h = 3600;
  const Work work = work_of({
      {.run = 5 * h, .gpus = 2, .user = 1, .busy_permille = 50, .interactive = true},
      {.run = 5 * h, .user = 2, .busy_permille = 100, .interactive = true},  // just busy enough
      {.run = 3 * h, .user = 2, .busy_permille = 0},                         // not long
      {.run = 6 * h, .user = 2, .interactive = true},                        // not measured
  });
  const Sessions sessions = find_sessions(work, seconds(0, 10 * h));
  EXPECT_EQ(sessions.measured, 3);
  EXPECT_EQ(sessions.squatting, 1);
  EXPECT_EQ(sessions.squatting_held, gpu_seconds(10 * h));
  EXPECT_EQ(sessions.squatting_idle, gpu_seconds(10 * h * 95 / 100));
  EXPECT_EQ(sessions.interactive, 3);
  EXPECT_EQ(sessions.interactive_long, 3);
  EXPECT_EQ(sessions.interactive_long_held, gpu_seconds(6 * h));
  ASSERT_EQ(sessions.by_user.size(), 1U);
  EXPECT_EQ(sessions.by_user[0].user, "ann");
}

TEST(Arrivals, TheBusiestDayOverTheMean) {
  constexpr std::int64_t day = 24 * 3600;
  const Work work = work_of({{.submit = 10, .start = 20, .run = 100},
                             {.submit = day + 10, .start = 3 * day, .run = 700},
                             {.submit = 3 * day, .start = 3 * day, .run = 0}});
  const Arrivals arrivals = measure_arrivals(work, seconds(0, 4 * day - 1));
  EXPECT_EQ(arrivals.days, 4);
  EXPECT_EQ(arrivals.all, gpu_seconds(800));
  EXPECT_EQ(arrivals.day_max, gpu_seconds(700));
  EXPECT_EQ(arrivals.day_max_at, day * kSecond);
  EXPECT_DOUBLE_EQ(arrivals.burst(), 3.5);
}

TEST(Arrivals, WithoutSubmitTimesThereAreNone) {
  const Arrivals arrivals = measure_arrivals(work_of({{.submit = -1, .run = 5}}), seconds(0, 10));
  EXPECT_EQ(arrivals.days, 0);
  EXPECT_DOUBLE_EQ(arrivals.burst(), 0);
}

}  // namespace
}  // namespace rota::audit
