#include "audit/scale_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using ::testing::HasSubstr;

DemandForecast forecast_of(std::initializer_list<std::int64_t> high) {
  DemandForecast forecast{.first_hour = 100, .hours = {}, .days = {}, .all = {}};
  for (const std::int64_t milli : high) forecast.hours.push_back({0, milli / 2, milli});
  return forecast;
}

TEST(ScaleUp, ReadsConditions) {
  const auto plain = scale_up_from("p90 demand > 64", std::nullopt);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->above, 64'000);
  EXPECT_EQ(plain->hours, 1);
  const auto stretch = scale_up_from("p50  demand > capacity for 4h", 32'500);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->band, Band::kP50);
  EXPECT_EQ(stretch->above, 32'500);
  EXPECT_EQ(stretch->hours, 4);
  const auto wait = scale_up_from("p90 wait > 90m", std::nullopt);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->measure, Measure::kWait);
  EXPECT_EQ(wait->above, 5400 * testing::kSecond);
}

TEST(ScaleUp, RefusesOtherWords) {
  const auto why = [](std::string_view text) {
    const auto rule = scale_up_from(text, std::nullopt);
    return rule ? std::string("accepted") : rule.error().message;
  };
  EXPECT_THAT(why(""), HasSubstr("four words"));
  EXPECT_THAT(why("p95 demand > 64"), HasSubstr("p50 or p90"));
  EXPECT_THAT(why("p90 load > 64"), HasSubstr("demand or wait"));
  EXPECT_THAT(why("p90 demand < 64"), HasSubstr("the third word is >"));
  EXPECT_THAT(why("p90 demand > many"), HasSubstr("no number of GPUs"));
  EXPECT_THAT(why("p90 demand > -1"), HasSubstr("no number of GPUs"));
  EXPECT_THAT(why("p90 demand > capacity"), HasSubstr("--capacity or --on"));
  EXPECT_THAT(why("p90 wait > 12"), HasSubstr("no length of time"));
  EXPECT_THAT(why("p90 demand > 64 for 90m"), HasSubstr("whole hours"));
  EXPECT_THAT(why("p90 demand > 64 in 2h"), HasSubstr("whole hours"));
}

TEST(ScaleUp, FindsStretchesThatAreLongEnough) {
  const DemandForecast forecast = forecast_of({1000, 5000, 7000, 4000, 6000, 4001, 1000, 9000});
  const auto one = shortages_of({.above = 4000}, forecast, {});
  ASSERT_EQ(one.size(), 3U);
  EXPECT_EQ(one[0].first_hour, 101);
  EXPECT_EQ(one[0].hours, 2);
  EXPECT_EQ(one[0].short_max, 3000);
  EXPECT_EQ(one[0].short_sum, 4000);
  EXPECT_EQ(one[1].first_hour, 104);
  EXPECT_EQ(one[1].short_sum, 2001);
  EXPECT_EQ(one[2].first_hour, 107);
  const auto two = shortages_of({.above = 4000, .hours = 2}, forecast, {});
  ASSERT_EQ(two.size(), 2U);
  const auto middle = shortages_of({.band = Band::kP50, .above = 4000}, forecast, {});
  ASSERT_EQ(middle.size(), 1U);
  EXPECT_EQ(middle[0].short_max, 500);
  EXPECT_TRUE(shortages_of({.above = 9000}, forecast, {}).empty());
}

TEST(ScaleUp, LooksAtWaits) {
  const DemandForecast forecast = forecast_of({1000, 1000, 1000});
  const std::vector<HourWait> waits{{10, 20}, {30, 60}, {10, 20}};
  const auto found = shortages_of({.measure = Measure::kWait, .above = 25}, forecast, waits);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].first_hour, 101);
  EXPECT_EQ(found[0].short_max, 35);
  EXPECT_EQ(found[0].short_sum, 0);
}

}  // namespace
}  // namespace rota::audit
