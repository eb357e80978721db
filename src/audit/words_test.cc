#include "audit/words.h"

#include <gtest/gtest.h>

#include "audit/test_work.h"

namespace rota::audit {
namespace {

using namespace testing;

TEST(Words, Numbers) {
  EXPECT_EQ(grouped(82247), "82,247");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(counted(1, "run"), "1 run");
  EXPECT_EQ(counted(1000, "run"), "1,000 runs");
  EXPECT_EQ(hours_text(gpu_seconds(3600)), "1");
  EXPECT_EQ(hours_text(gpu_seconds(5400)), "1.5");
  EXPECT_EQ(hours_text(gpu_seconds(3600 * 12345)), "12,345");
  EXPECT_EQ(hours_text(gpu_seconds(36)), "0.01");
  EXPECT_EQ(hours_text(0), "0");
}

TEST(Words, PartsOfAWhole) {
  EXPECT_EQ(percent_text(1, 3), "33 %");
  EXPECT_EQ(percent_text(1, 30), "3.3 %");
  EXPECT_EQ(percent_text(1, 30000), "<0.1 %");
  EXPECT_EQ(percent_text(0, 3), "0 %");
  EXPECT_EQ(percent_text(0, 0), "n/a");
  EXPECT_EQ(permille_text(125), "13 %");
}

TEST(Words, RatiosChancesHours) {
  EXPECT_EQ(ratio_text(4.5), "4.5");
  EXPECT_EQ(ratio_text(0.03125), "0.0313");
  EXPECT_EQ(ratio_text(123.4), "123");
  EXPECT_EQ(ratio_text(1234.4), "1,234");
  EXPECT_EQ(chance_text(0.001), "1 in 1,000");
  EXPECT_EQ(chance_text(2e-13), "1 in 1e12");
  EXPECT_EQ(chance_text(0), "1 in 1e300");
  EXPECT_EQ(hour_of_week_text(0), "Mon 00:00");
  EXPECT_EQ(hour_of_week_text(167), "Sun 23:00");
}

}  // namespace
}  // namespace rota::audit
