#include "report/words.h"

#include <gtest/gtest.h>

namespace rota::report {
namespace {

TEST(Words, CountWithTheirPlural) {
  EXPECT_EQ(counted(1, "job"), "1 job");
  EXPECT_EQ(counted(2, "job"), "2 jobs");
  EXPECT_EQ(counted(0, "job"), "0 jobs");
  EXPECT_EQ(counted(1, "job goes", "jobs go"), "1 job goes");
  EXPECT_EQ(counted(3, "job goes", "jobs go"), "3 jobs go");
}

TEST(Words, APartOfAGpuIsOne) {
  EXPECT_EQ(gpu_words(MilliGpu(500)), "0.5 GPU");
  EXPECT_EQ(gpu_words(MilliGpu(1000)), "1 GPU");
  EXPECT_EQ(gpu_words(MilliGpu(2000)), "2 GPUs");
  EXPECT_EQ(gpu_words(MilliGpu()), "0 GPUs");
}

TEST(Words, DurationsHaveAtMostTwoUnits) {
  EXPECT_EQ(short_duration(0.0), "0s");
  EXPECT_EQ(short_duration(-3.0), "0s");
  EXPECT_EQ(short_duration(0.04), "0s");
  EXPECT_EQ(short_duration(0.25), "0.2s");
  EXPECT_EQ(short_duration(2.0), "2s");
  EXPECT_EQ(short_duration(9.99), "9.9s");
  EXPECT_EQ(short_duration(59.9), "59s");
  EXPECT_EQ(short_duration(240), "4m");
  EXPECT_EQ(short_duration(250), "4m10s");
  EXPECT_EQ(short_duration(11100), "3h05m");
  EXPECT_EQ(short_duration(187200), "2d04h");
  EXPECT_EQ(short_duration(Duration::minutes(90)), "1h30m");
}

}  // namespace
}  // namespace rota::report
