#include "cli/time_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace rota::cli {
namespace {

TEST(IsoTime, RoundTrips) {
  for (const std::int64_t seconds : {0L, 951782400L, 1507532515L, 4102444799L, -1L}) {
    EXPECT_EQ(parse_iso_time(iso_time(seconds)), seconds) << iso_time(seconds);
  }
  EXPECT_EQ(iso_time(1507532515), "2017-10-09T07:01:55Z");
  EXPECT_EQ(parse_iso_time("2017-10-09T07:01:55.250Z"), 1507532515);
  EXPECT_EQ(parse_iso_time("2017-10-09T09:01:55+02:00"), 1507532515);
  for (const char* text : {"", "2017", "2017-02-30T00:00:00Z", "2017-10-09T25:00", "x"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

TEST(RelativeTime, LooksBothWays) {
  EXPECT_EQ(relative_time(100, 100), "now");
  EXPECT_EQ(relative_time(40, 100), "1m ago");
  EXPECT_EQ(relative_time(100 + 7200, 100), "in 2h");
  EXPECT_EQ(iso_and_relative("1970-01-01T00:00:40Z", 100), "1970-01-01T00:00:40Z (1m ago)");
  EXPECT_EQ(iso_and_relative("", 100), "");
}

struct LimitCase {
  const char* text;
  std::int64_t seconds;
};

TEST(TimeLimit, TakesOurFormsAndSlurms) {
  for (const LimitCase& c :
       {LimitCase{"4h", 14400}, {"1h30m", 5400}, {"90s", 90}, {"30", 1800}, {"30:15", 1815},
        {"02:00:00", 7200}, {"1-12", 129600}, {"1-12:30", 131400}, {"2-00:00:05", 172805}}) {
    const auto parsed = parse_time_limit(c.text);
    ASSERT_TRUE(parsed) << c.text;
    ASSERT_TRUE(parsed->has_value()) << c.text;
    EXPECT_EQ((*parsed)->whole_seconds(), c.seconds) << c.text;
  }
  for (const char* text : {"unlimited", "INFINITE", "0", "0:00"}) {
    const auto parsed = parse_time_limit(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_FALSE(parsed->has_value()) << text;
  }
  for (const char* text : {"", "4 h", "-4h", "1:2:3:4", "soon", "1-", "-", "4x"}) {
    EXPECT_FALSE(parse_time_limit(text)) << text;
  }
}

TEST(Span, CountsSecondsWithoutUnit) {
  EXPECT_EQ(*parse_span("120"), Duration::seconds(120));
  EXPECT_EQ(*parse_span("2m"), Duration::minutes(2));
  EXPECT_FALSE(parse_span("unlimited"));
}

/// The zone of the process for one test. Without a data base of zones: POSIX's own form.
class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~Zone() {
    if (before_) {
      ::setenv("TZ", before_->c_str(), 1);
    } else {
      ::unsetenv("TZ");
    }
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  std::optional<std::string> before_;
};

constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";

TEST(Point, IsReadOnTheLocalClock) {
  const Zone zone(kBerlin);
  const std::int64_t now = *parse_iso_time("2026-06-10T20:00:00Z");  // 22:00 there
  const auto at = [&](const char* text) { return iso_time(parse_point(text, now).value()); };
  EXPECT_EQ(at("2026-12-24T09:00"), "2026-12-24T08:00:00Z");
  EXPECT_EQ(at("2026-07-01T09:00"), "2026-07-01T07:00:00Z");
  EXPECT_EQ(at("2026-07-01"), "2026-06-30T22:00:00Z");
  EXPECT_EQ(at("2026-12-24T09:00Z"), "2026-12-24T09:00:00Z");
  EXPECT_EQ(at("2026-12-24 09:00+05:30"), "2026-12-24T03:30:00Z");
  EXPECT_EQ(at("23:00"), "2026-06-10T21:00:00Z");
  EXPECT_EQ(at("18:00"), "2026-06-11T16:00:00Z");
  EXPECT_EQ(at("midnight"), "2026-06-10T22:00:00Z");
  EXPECT_EQ(at("noon"), "2026-06-11T10:00:00Z");
  // What a daemon says is the same everywhere.
  EXPECT_EQ(parse_iso_time("2026-12-24T09:00:00"), parse_iso_time("2026-12-24T09:00:00Z"));
}

TEST(Point, OfADayWithAnHourMore) {
  const Zone zone(kBerlin);
  const std::int64_t now = *parse_iso_time("2026-10-24T20:00:00Z");  // summer ends in the night
  EXPECT_EQ(iso_time(*parse_point("18:00", now)), "2026-10-25T17:00:00Z");
}

TEST(Past, IsReadOnTheLocalClock) {
  const Zone zone(kBerlin);
  const std::int64_t now = *parse_iso_time("2026-06-10T23:00:00Z");  // 01:00 of the 11th there
  const auto at = [&](const char* text) { return iso_time(parse_past(text, now).value()); };
  EXPECT_EQ(at("today"), "2026-06-10T22:00:00Z");
  EXPECT_EQ(at("yesterday"), "2026-06-09T22:00:00Z");
  EXPECT_EQ(at("09:00"), "2026-06-10T07:00:00Z");
  EXPECT_EQ(at("2026-01-31T16:00"), "2026-01-31T15:00:00Z");
}

TEST(Point, TooFarOffIsSaidSo) {
  const std::int64_t now = 1507532515;
  const auto error = [](const auto& result) { return result ? "" : result.error().message; };
  EXPECT_EQ(error(parse_point("9999-12-31", now)),
            "'9999-12-31' is too far off; the latest time is 2262-04-11");
  EXPECT_EQ(error(parse_point("now+99999999days", now)),
            "'99999999days' is too long; the longest time is 36500d");
  EXPECT_EQ(error(parse_span("100000d")), "'100000d' is too long; the longest time is 36500d");
  EXPECT_EQ(error(parse_time_limit("99999999:00:00")),
            "'99999999:00:00' is too long; the longest time is 36500d");
  EXPECT_EQ(*parse_span("36500d"), Duration::days(36500));
}

TEST(Point, TakesIsoClocksAndOffsets) {
  const Zone zone("UTC0");
  const std::int64_t now = 1507532515;  // 2017-10-09T07:01:55Z
  EXPECT_EQ(*parse_point("2017-10-09T08:00", now), 1507536000);
  EXPECT_EQ(*parse_point("08:00", now), 1507536000);
  EXPECT_EQ(*parse_point("07:00", now), 1507532400 + 86400);
  EXPECT_EQ(*parse_point("now+2h", now), now + 7200);
  EXPECT_EQ(*parse_point("now+30minutes", now), now + 1800);
  EXPECT_EQ(*parse_point("now+1hour", now), now + 3600);
  EXPECT_EQ(*parse_point("now+90", now), now + 90);
  EXPECT_EQ(*parse_point("30m", now), now + 1800);
  EXPECT_EQ(*parse_point("midnight", now), 1507593600);
  EXPECT_EQ(*parse_point("noon", now), 1507550400);
  EXPECT_FALSE(parse_point("teatime", now));
  EXPECT_FALSE(parse_point("", now));
  EXPECT_FALSE(parse_point("now+", now));
}

TEST(Past, TakesSpansDaysClocksAndDates) {
  const Zone zone("UTC0");
  const std::int64_t now = 1507532515;  // 2017-10-09T07:01:55Z
  EXPECT_EQ(*parse_past("2d", now), now - 172800);
  EXPECT_EQ(*parse_past("3days", now), now - 259200);
  EXPECT_EQ(*parse_past("90m", now), now - 5400);
  EXPECT_EQ(*parse_past("now-2h", now), now - 7200);
  EXPECT_EQ(*parse_past("today", now), 1507507200);
  EXPECT_EQ(*parse_past("yesterday", now), 1507507200 - 86400);
  EXPECT_EQ(*parse_past("07:00", now), 1507532400);
  EXPECT_EQ(*parse_past("08:00", now), 1507536000 - 86400);
  EXPECT_EQ(*parse_past("2017-10-01", now), 1506816000);
  const auto wrong = parse_past("tomorrow", now);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("yesterday"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(parse_past("", now));
}

}  // namespace
}  // namespace rota::cli
