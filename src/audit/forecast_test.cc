#include "audit/forecast.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "audit/test_work.h"
#include "base/random.h"

namespace rota::audit {
namespace {

using ::testing::HasSubstr;

/// `value(i)` is the mean of hour i in thousandths of a GPU; the first hour is a Thursday 0:00.
template <class Value>
Demand demand_of(std::size_t hours, Value value) {
  Demand demand;
  demand.runs = 1;
  for (std::size_t i = 0; i < hours; ++i) {
    demand.hours.push_back(GpuTime{static_cast<std::int64_t>(value(i))} * kHourLength);
  }
  return demand;
}

/// 40 GPUs by day, 10 by night, 5 at the weekend (the first hour of Demand is a Thursday's).
std::int64_t usual_week(std::size_t hour) {
  const int of_week = hour_of_week(static_cast<std::int64_t>(hour));
  if (of_week >= 120) return 5000;
  const int of_day = of_week % 24;
  return of_day >= 8 && of_day < 20 ? 40'000 : 10'000;
}

TestedForecast forecast(const Demand& demand, std::int64_t days) {
  const auto tested = forecast_demand(demand, days);
  EXPECT_TRUE(tested) << tested.error().message;
  return *tested;
}

TEST(Seasonal, ContinuesAWeekWithGrowthExactly) {
  std::vector<std::int64_t> past;
  for (std::size_t i = 0; i < 672; ++i) {
    past.push_back(usual_week(i) + static_cast<std::int64_t>(i) * 10);
  }
  EXPECT_DOUBLE_EQ(weekly_growth(past), 1680);
  const auto said = continued(past, 0, 48);
  ASSERT_EQ(said.size(), shapes().size());
  for (std::size_t i = 0; i < shapes().size(); ++i) {
    if (shapes()[i].season != Season::kWeek || shapes()[i].growth != Growth::kOn) continue;
    for (std::size_t hour = 0; hour < 48; ++hour) {
      const auto truth = static_cast<double>(usual_week(672 + hour)) + (672.0 + hour) * 10;
      EXPECT_NEAR(said[i][hour], truth, 1e-6) << shape_words(shapes()[i]) << hour;
    }
  }
}

TEST(Seasonal, OneBurstDoesNotBendTheShapeOfTheWeek) {
  std::vector<std::int64_t> past;
  for (std::size_t i = 0; i < 5 * 168; ++i) past.push_back(usual_week(i));
  for (std::size_t i = 30; i < 36; ++i) past[i] += 500'000;
  const auto said = continued(past, 0, 168);
  const Shape plain{Season::kWeek, Growth::kOff, 336};
  const auto at = static_cast<std::size_t>(
      std::find(shapes().begin(), shapes().end(), plain) - shapes().begin());
  // Its week is older than the four of the level, and one of five for the season.
  for (std::size_t hour = 0; hour < 168; ++hour) {
    EXPECT_NEAR(said[at][hour], static_cast<double>(usual_week(5 * 168 + hour)), 1e-6);
  }
}

TEST(Seasonal, IsNeverBelowNothing) {
  std::vector<std::int64_t> past(672, 100'000);
  for (std::size_t i = 300; i < past.size(); ++i) past[i] = 0;
  for (const auto& said : continued(past, 0, 336)) {
    for (const double value : said) EXPECT_GE(value, 0);
  }
}

TEST(Forecast, OfAConstantIsTheConstantWithoutError) {
  const TestedForecast tested = forecast(demand_of(40 * 24, [](std::size_t) { return 7000; }), 7);
  ASSERT_EQ(tested.forecast.hours.size(), 168U);
  for (const HourForecast& hour : tested.forecast.hours) {
    EXPECT_EQ(hour.low, 7000);
    EXPECT_EQ(hour.expected, 7000);
    EXPECT_EQ(hour.high, 7000);
  }
  EXPECT_EQ(tested.forecast.all.error(), 0);
  EXPECT_EQ(tested.forecast.all.below_high_permille(), 1000);
  EXPECT_EQ(tested.forecast.expected_of_day(3), 7000 * 24);
  EXPECT_EQ(tested.forecast.first_hour, 960);
  EXPECT_EQ(tested.forecast.shape, shapes().front());  // the plainest of equals
}

TEST(Forecast, FindsTheShapeOfTheWeek) {
  const Demand demand = demand_of(8 * 168, usual_week);
  const TestedForecast tested = forecast(demand, 7);
  EXPECT_EQ(tested.forecast.shape.season, Season::kWeek);
  EXPECT_EQ(tested.forecast.shape.growth, Growth::kOff);
  for (std::size_t i = 0; i < 168; ++i) {
    EXPECT_EQ(tested.forecast.hours[i].expected, usual_week(8 * 168 + i)) << i;
    EXPECT_EQ(tested.forecast.hours[i].high, usual_week(8 * 168 + i)) << i;
  }
  // Tests begin with the first origin that has seven forecasts come true: day 14 + 6 + 7.
  EXPECT_EQ(tested.forecast.tests, 56 - 7 - (14 + 6 + 7) + 1);
  EXPECT_EQ(tested.forecast.first_test_hour, 27 * 24);
  EXPECT_EQ(tested.forecast.all.error(), 0);
  EXPECT_EQ(tested.forecast.all.error_last_week(), 0);
}

TEST(Forecast, BeatsLastWeekWhereThereIsGrowth) {
  // 1.68 GPUs more each week on a level of 100: last week is off by exactly that.
  const Demand demand = demand_of(10 * 168, [](std::size_t i) { return 100'000 + 10 * i; });
  const TestedForecast tested = forecast(demand, 7);
  EXPECT_EQ(tested.forecast.shape.growth, Growth::kOn);
  EXPECT_EQ(tested.forecast.growth, 1680);
  EXPECT_EQ(tested.forecast.hours[0].expected, 100'000 + 10 * 1680);
  EXPECT_EQ(tested.forecast.hours[167].expected, 100'000 + 10 * (1680 + 167));
  const DayErrors& first = tested.forecast.days[0];
  EXPECT_EQ(first.off_last_week, first.hours * 1680);
  EXPECT_LT(first.off, first.off_last_week / 10);
}

TEST(Forecast, ABandCoversWhatNoiseDid) {
  // Every tenth hour asks for 20 instead of 10: the band must reach there or lie at most 10 % off.
  Random random(3);
  const Demand demand = demand_of(70 * 24, [&](std::size_t) {
    return random.chance(1, 20) ? 20'000 : 10'000;
  });
  const TestedForecast tested = forecast(demand, 3);
  EXPECT_GE(tested.forecast.all.below_high_permille(), 880);
  for (const HourForecast& hour : tested.forecast.hours) {
    EXPECT_LE(hour.low, hour.expected);
    EXPECT_LE(hour.expected, hour.high);
  }
}

TEST(Forecast, SaysWhatIsMissing) {
  const auto short_of = forecast_demand(demand_of(20 * 24, usual_week), 7);
  ASSERT_FALSE(short_of);
  EXPECT_EQ(short_of.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(short_of.error().message, HasSubstr("needs 34 days of history"));
  EXPECT_THAT(short_of.error().message, HasSubstr("this one has 20"));
  EXPECT_THAT(short_of.error().message, HasSubstr("a forecast of one day needs 22"));
  const auto fewer = forecast_demand(demand_of(27 * 24, usual_week), 7);
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().message, HasSubstr("ask for at most 3 days (--days)"));
  EXPECT_TRUE(forecast_demand(demand_of(27 * 24, usual_week), 3));
  Demand nothing = demand_of(40 * 24, [](std::size_t) { return 0; });
  nothing.runs = 0;
  const auto none = forecast_demand(nothing, 7);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no run of this history"));
}

TEST(Forecast, UsesNothingOfWhatCameLater) {
  // The last two weeks of one history differ; the first tests must not.
  const Demand one = demand_of(60 * 24, usual_week);
  Demand other = one;
  for (std::size_t i = 46 * 24; i < 60 * 24; ++i) other.hours[i] *= 3;
  const TestedForecast a = forecast(one, 2);
  const TestedForecast b = forecast(other, 2);
  ASSERT_EQ(a.tests.size(), b.tests.size());
  for (std::size_t i = 0; i < a.tests.size() && a.tests[i].origin <= 46 * 24; ++i) {
    for (std::size_t hour = 0; hour < 48; ++hour) {
      EXPECT_EQ(a.tests[i].hours[hour].expected, b.tests[i].hours[hour].expected);
      EXPECT_EQ(a.tests[i].hours[hour].high, b.tests[i].hours[hour].high);
    }
  }
}

RC_GTEST_PROP(ForecastProperty, BandsContainAndSumsAgree, ()) {
  const auto days = *rc::gen::inRange(1, 4);
  const auto hours = static_cast<std::size_t>(days_needed(days) * 24 + *rc::gen::inRange(0, 100));
  const auto level = *rc::gen::inRange(0, 1000);
  Random random(static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000)));
  const Demand demand = demand_of(hours, [&](std::size_t i) {
    return usual_week(i) * level / 100 + random.between(0, 20'000) +
           (random.chance(1, 50) ? 400'000 : 0);
  });
  const auto tested = forecast_demand(demand, days);
  RC_ASSERT(static_cast<bool>(tested));
  const DemandForecast& said = tested->forecast;
  RC_ASSERT(said.hours.size() == static_cast<std::size_t>(days) * 24);
  std::int64_t sum = 0;
  for (const HourForecast& hour : said.hours) {
    RC_ASSERT(0 <= hour.low && hour.low <= hour.expected && hour.expected <= hour.high);
    sum += hour.expected;
  }
  DayErrors all;
  std::int64_t sum_of_days = 0;
  for (std::size_t day = 0; day < said.days.size(); ++day) {
    sum_of_days += said.expected_of_day(day);
    RC_ASSERT(said.days[day].hours == said.tests * 24);
    RC_ASSERT(said.days[day].inside <= said.days[day].below_high);
    RC_ASSERT(said.days[day].below_high <= said.days[day].hours);
    all.add(said.days[day]);
  }
  RC_ASSERT(sum == sum_of_days);
  RC_ASSERT(all.off == said.all.off && all.wanted == said.all.wanted);
}

TEST(Bursts, AreDaysWithTwiceTheMean) {
  Work work = testing::work_of({});
  for (int day = 0; day < 8; ++day) {
    testing::add(work, {.submit = day * 86'400, .start = -1, .run = day == 5 ? 9000 : 1000});
  }
  const Bursts bursts = find_bursts(work, testing::seconds(0, 8 * 86'400));
  EXPECT_EQ(bursts.days, 8);
  EXPECT_EQ(bursts.bursts, 1);
  EXPECT_DOUBLE_EQ(bursts.largest, 4.5);  // 9000 of a mean of 2000
  EXPECT_EQ(bursts.largest_at, 5 * 86'400 * testing::kSecond);
}

}  // namespace
}  // namespace rota::audit
