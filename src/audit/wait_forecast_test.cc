#include "audit/wait_forecast.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

constexpr std::int64_t kMinute = 60 * testing::kSecond;

struct Past {
  Demand demand;
  HourWaits waits;
};

/// From 6 to 12 o'clock 30 GPUs are wanted, else 10.
bool is_full(std::size_t hour) { return hour % 24 >= 6 && hour % 24 < 12; }

/// Two runs an hour wait `wait(hour)`.
template <class Wait>
Past past_of(std::size_t hours, Wait wait) {
  Past past;
  past.demand.runs = 1;
  past.waits.first.push_back(0);
  for (std::size_t i = 0; i < hours; ++i) {
    past.demand.hours.push_back(GpuTime{is_full(i) ? 30'000 : 10'000} * kHourLength);
    past.waits.lengths.insert(past.waits.lengths.end(), 2, wait(i));
    past.waits.first.push_back(static_cast<std::uint32_t>(past.waits.lengths.size()));
  }
  return past;
}

std::int64_t ten_minutes_when_full(std::size_t hour) { return is_full(hour) ? 10 * kMinute : 0; }

TEST(WaitForecast, FullHoursWaitAsFullHoursDid) {
  const Past past = past_of(60 * 24, ten_minutes_when_full);
  const auto tested = forecast_demand(past.demand, 3);
  ASSERT_TRUE(tested);
  const auto waits = forecast_waits(past.demand, past.waits, *tested, 40'000);
  ASSERT_TRUE(waits);
  ASSERT_EQ(waits->hours.size(), 72U);
  for (std::size_t i = 0; i < 72; ++i) {
    EXPECT_EQ(waits->hours[i].p50, ten_minutes_when_full(i)) << i;
    EXPECT_EQ(waits->hours[i].p90, ten_minutes_when_full(i)) << i;
  }
  EXPECT_EQ(waits->left_over, 0);
  EXPECT_EQ(waits->all.runs, tested->forecast.tests * 72 * 2);
  EXPECT_EQ(waits->all.mean_off(), 0);
  // The median of a week is 0, so that the full hours are off by ten minutes: a quarter of all.
  EXPECT_EQ(waits->all.mean_off_last_week(), 10 * kMinute / 4);
  EXPECT_EQ(waits->all.below_p90_permille(), 1000);
}

TEST(WaitForecast, WorkIsLeftOverForLaterHours) {
  // 20 GPUs fall behind by ten each full hour and catch up as fast: at noon, when ten are wanted,
  // there is work for 70. At three o'clock ten are wanted, too, and nothing is left over.
  std::vector<std::int64_t> served;
  std::int64_t left = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    served.push_back(left + (is_full(i) ? 30 : 10));
    left = std::max<std::int64_t>(0, served.back() - 20);
  }
  ASSERT_EQ(served[12], 70);
  ASSERT_EQ(served[3], 10);
  const auto wait = [&](std::size_t i) {
    return std::max<std::int64_t>(0, served[i % 24] - 20) * kMinute;
  };
  const Past past = past_of(60 * 24, wait);
  const auto tested = forecast_demand(past.demand, 3);
  ASSERT_TRUE(tested);
  const auto waits = forecast_waits(past.demand, past.waits, *tested, 20'000);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->hours[3].p90, 0);
  for (std::size_t i = 0; i < 72; ++i) {
    EXPECT_NEAR(static_cast<double>(waits->hours[i].p50), static_cast<double>(wait(i)),
                10.0 * kMinute) << i;
  }
  EXPECT_GE(waits->hours[12].p50, 40 * kMinute);
  EXPECT_LE(*waits->all.mean_off(), 5 * kMinute);
}

TEST(WaitForecast, WithoutWaitsThereIsNone) {
  const Past past = past_of(60 * 24, ten_minutes_when_full);
  const auto tested = forecast_demand(past.demand, 3);
  ASSERT_TRUE(tested);
  HourWaits none;
  none.first.resize(past.demand.hours.size() + 1, 0);
  EXPECT_FALSE(none.told());
  EXPECT_FALSE(forecast_waits(past.demand, none, *tested, 20'000));
}

}  // namespace
}  // namespace rota::audit
