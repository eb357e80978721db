#include "audit/device_use.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace rota::audit {
namespace {

ClusterUse use_of(const std::string& text) {
  return device_use_of(parse_metric_text(text, "scrape").value());
}

ClusterUse case_of(const std::string& name) {
  std::ifstream file(std::string(ROTA_SOURCE_DIR) + "/tests/reports/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return use_of(text.str());
}

TEST(DeviceUse, ASharedCardCountsOnce) {
  const ClusterUse use = case_of("A41a-shared-card.prom");
  ASSERT_EQ(use.devices.size(), 1u);
  EXPECT_EQ(use.power_watts, 60);
  EXPECT_EQ(use.devices[0].node, "n1");
  EXPECT_EQ(use.devices[0].index, "0");
  EXPECT_EQ(use.devices[0].utilization, 88);
  EXPECT_EQ(use.devices[0].jobs.size(), 4u);
  ASSERT_EQ(use.jobs.size(), 4u);
  for (const JobUse& job : use.jobs) {
    EXPECT_EQ(job.utilization, std::nullopt) << job.name;
    EXPECT_EQ(job.power_watts, std::nullopt) << job.name;
  }
}

TEST(DeviceUse, AMigCardIsMeasuredByItsInstances) {
  const ClusterUse use = case_of("A41b-mig-card.prom");
  ASSERT_EQ(use.devices.size(), 1u);
  EXPECT_EQ(use.instances, 2);
  EXPECT_EQ(use.power_watts, 210);
  const DeviceUse& card = use.devices[0];
  EXPECT_EQ(card.utilization, std::nullopt);
  ASSERT_EQ(card.instances.size(), 2u);
  EXPECT_EQ(card.instances[0].id, "1");
  EXPECT_EQ(card.instances[0].profile, "3g.40gb");
  EXPECT_EQ(card.instances[0].utilization, 42);
  EXPECT_EQ(card.instances[1].utilization, std::nullopt);
  ASSERT_EQ(use.jobs.size(), 2u);
  EXPECT_EQ(use.jobs[0].name, "ml/mig-a");
  EXPECT_EQ(use.jobs[0].utilization, 42);
  EXPECT_EQ(use.jobs[0].power_watts, std::nullopt);
  EXPECT_EQ(use.jobs[1].utilization, std::nullopt);
}

TEST(DeviceUse, AMigCardBesideAWholeOne) {
  const ClusterUse use = case_of("mig-and-whole.prom");
  ASSERT_EQ(use.devices.size(), 2u);
  EXPECT_EQ(use.instances, 3);
  EXPECT_NEAR(use.power_watts.value(), 233.551 + 389.904, 1e-9);
  EXPECT_EQ(use.devices[0].instances[2].id, "13");  // by number, not by text
  EXPECT_TRUE(use.devices[0].instances[2].jobs.empty());
  EXPECT_EQ(use.devices[1].utilization, 99);
  ASSERT_EQ(use.jobs.size(), 3u);
  EXPECT_EQ(use.jobs[1].name, "ml-research/train-moe-0");
  EXPECT_EQ(use.jobs[1].devices, 1);
  EXPECT_EQ(use.jobs[1].power_watts, 389.904);
}

TEST(DeviceUse, BlanksAreNoValues) {
  const ClusterUse use = case_of("blanks.prom");
  ASSERT_EQ(use.devices.size(), 2u);
  EXPECT_EQ(use.devices[1].utilization, 0);  // told as zero, hence zero
  const auto power = [](const char* value) {
    return use_of(std::string("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",hostname=\"a\"} ") + value);
  };
  for (const char* blank : {"9223372036854775794", "9223372036854775792", "140737488355328",
                            "2147483632", "2147483644", "NaN", "+Inf", "-1"}) {
    const ClusterUse unknown = power(blank);
    EXPECT_EQ(unknown.power_watts, std::nullopt) << blank;
    EXPECT_EQ(unknown.devices_without_power, 1) << blank;
  }
  EXPECT_EQ(power("0").power_watts, 0);
}

TEST(DeviceUse, NewNamesOfFieldsAndJobsOfABatchSystem) {
  const ClusterUse use = use_of(
      "DCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"10\",uuid=\"G1\",hostname=\"a\",hpc_job=\"7\"} 300\n"
      "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"10\",uuid=\"G1\",hostname=\"a\",hpc_job=\"7\"} 50\n"
      "DCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"9\",uuid=\"G2\",hostname=\"a\",hpc_job=\"7\"} 100\n"
      "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"9\",uuid=\"G2\",hostname=\"a\",hpc_job=\"7\"} 0.7\n");
  ASSERT_EQ(use.devices.size(), 2u);
  EXPECT_EQ(use.devices[0].index, "9");
  EXPECT_EQ(use.devices[0].utilization, 70);
  ASSERT_EQ(use.jobs.size(), 1u);
  EXPECT_EQ(use.jobs[0].utilization, 60);
  EXPECT_EQ(use.jobs[0].power_watts, 400);
}

TEST(DeviceUse, OneUnknownPlaceMakesAJobsMeanUnknown) {
  const ClusterUse use = use_of(
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",hostname=\"a\",pod=\"p\"} 90\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",hostname=\"a\",pod=\"p\"} 9223372036854775794\n");
  EXPECT_EQ(use.jobs.at(0).utilization, std::nullopt);
  EXPECT_EQ(use.jobs.at(0).devices, 2);
}

TEST(DeviceUse, NamesAreNoCommandsOfATerminal) {
  const ClusterUse use = use_of(
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",hostname=\"a\u009b1m\","
      "namespace=\"n\x1b\",pod=\"p\u202e\"} 90\n");
  EXPECT_EQ(use.devices.at(0).node, "a 1m");
  EXPECT_EQ(use.jobs.at(0).name, "n /p ");
}

TEST(DeviceUse, OtherSeriesArePassedOver) {
  EXPECT_TRUE(use_of("up 1\nDCGM_FI_DEV_GPU_UTIL 5\nnode_load1{gpu=\"0\"} 3\n").devices.empty());
}

}  // namespace
}  // namespace rota::audit
