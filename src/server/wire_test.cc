#include "server/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace rota::server {
namespace {

TEST(Wire, TimesAreIsoAndComeBack) {
  const Instant time(1'772'352'900'250'000'000);
  EXPECT_EQ(iso_time(time), "2026-03-01T08:15:00.250Z");
  EXPECT_EQ(*parse_iso_time(iso_time(time)), time);
  EXPECT_EQ(*parse_iso_time("2026-03-01T09:15:00.25+01:00"), time);
  EXPECT_EQ(*parse_iso_time("2026-03-01 08:15"), Instant(1'772'352'900'000'000'000));
  EXPECT_EQ(*parse_iso_time("1970-01-02"), Instant(86'400'000'000'000));
  EXPECT_EQ(iso_time(std::nullopt), "");
  for (const char* bad : {"", "soon", "2026-13-01", "2026-02-30", "2026-03-01T25:00",
                          "2026-03-01T08:15:00Zx", "20260301", "2026-03-01T"}) {
    EXPECT_FALSE(parse_iso_time(bad).ok()) << bad;
  }
}

TEST(Wire, AmountsAreExactOrRefused) {
  EXPECT_EQ(*milli_gpus_of(0.125, "gpus"), MilliGpu(125));
  EXPECT_EQ(*milli_gpus_of(8, "gpus"), whole_gpus(8));
  EXPECT_FALSE(milli_gpus_of(0.0001, "gpus").ok());
  EXPECT_FALSE(milli_gpus_of(-1, "gpus").ok());
  EXPECT_FALSE(milli_gpus_of(std::numeric_limits<double>::quiet_NaN(), "gpus").ok());
  EXPECT_EQ(*duration_of(1.5, "x"), Duration::milliseconds(1500));
  EXPECT_FALSE(duration_of(-1, "x").ok());
  EXPECT_FALSE(duration_of(std::numeric_limits<double>::infinity(), "x").ok());
  EXPECT_DOUBLE_EQ(gpu_hours_of(Int128{1000} * 3600 * 1'000'000'000), 1.0);
}

TEST(Wire, JobNumbers) {
  EXPECT_EQ(parse_job_ref("7")->number, 7U);
  EXPECT_EQ(parse_job_ref("12.3")->index, 3);
  EXPECT_EQ(parse_job_ref("@")->number, 0U);
  EXPECT_EQ(parse_job_ref("@~2")->back, 2);
  for (const char* bad : {"", "0", "-1", "x", "12.", ".3", "@x", "@~", "7 ", "12.3.4",
                          "99999999999999999999"}) {
    EXPECT_FALSE(parse_job_ref(bad).ok()) << bad;
  }
  EXPECT_EQ(job_text(JobId(7), GroupId(), 0), "7");
  EXPECT_EQ(job_text(JobId(15), GroupId(12), 3), "12.3");
}

TEST(Wire, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64(std::string("\xff\x00\xfe", 3)), "/wD+");
}

}  // namespace
}  // namespace rota::server
