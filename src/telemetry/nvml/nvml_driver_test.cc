// The real code path against a stand-in for the vendor's library (tests/fake_nvml).
#include "telemetry/nvml/nvml_driver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "telemetry/nvml/health.h"
#include "telemetry/nvml/names.h"
#include "telemetry/open_driver.h"
#include "telemetry/xid.h"

namespace rota::telemetry {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string library(const std::string& variant) {
  return std::string(ROTA_BIN_DIR) + "/../fake_nvml/" + variant + "/libnvidia-ml.so.1";
}

constexpr const char* kTwoDevices =
    "device NVIDIA H100 80GB HBM3\n"
    "device NVIDIA H100 80GB HBM3\n";

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("rota-nvml-" + std::to_string(::getpid()) + ".txt");
    ::setenv("ROTA_FAKE_NVML", path_.c_str(), 1);
  }
  void TearDown() override { fs::remove(path_); }

  void machine(const std::string& text) const {
    const fs::path fresh = path_.string() + ".new";
    std::ofstream(fresh) << text;
    fs::rename(fresh, path_);
  }
  std::unique_ptr<DeviceDriver> open(const std::string& variant = "full",
                                     milliseconds deadline = milliseconds(2000)) {
    auto driver = NvmlDriver::open({.library = library(variant),
                                    .deadline = deadline,
                                    .inventory_period = milliseconds(0)});
    EXPECT_TRUE(driver.ok()) << driver.error().message;
    return driver.ok() ? *std::move(driver) : nullptr;
  }
  static NodeSpec node_of(DeviceDriver& driver) { return driver.discover()->front(); }
  static std::vector<DeviceReading> read(DeviceDriver& driver) {
    return *driver.read(node_of(driver).name);
  }
  fs::path path_;
};

TEST_F(Nvml, FindsTheDevicesOfThisMachine) {
  machine(kTwoDevices);
  const auto driver = open();
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->describe(), "nvml 535.104.05");
  EXPECT_FALSE(driver->simulated());
  const NodeSpec node = node_of(*driver);
  ASSERT_EQ(node.devices.size(), 2U);
  EXPECT_EQ(node.devices[1].model, "h100");
  EXPECT_EQ(node.devices[1].uuid, "GPU-fake-1");
  EXPECT_EQ(node.devices[1].memory, Bytes(85520809984));
  EXPECT_GT(node.cpus, 0);
  EXPECT_GT(node.memory, gibibytes(0));
  EXPECT_FALSE(node.name.empty());
}

TEST_F(Nvml, ReadsWhatTheDriverKnowsAndNothingElse) {
  machine(std::string(kTwoDevices) +
          "used 0 12884901888\nbusy 0 60\npower 0 350000\n"
          "process 0 4711 12884901888\nmps 0 4712 1024\nmps 0 4711 1\n");
  const auto driver = open();
  const auto readings = read(*driver);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].memory_used, gibibytes(12));
  EXPECT_EQ(readings[0].busy_per_mille, 600);
  EXPECT_EQ(readings[0].power_milliwatts, 350'000);
  EXPECT_EQ(readings[0].temperature_celsius, 45);
  ASSERT_TRUE(readings[0].processes.has_value());
  ASSERT_EQ(readings[0].processes->size(), 2U) << "a process of both lists counts once";
  EXPECT_EQ((*readings[0].processes)[0].pid, 4711);
  EXPECT_EQ((*readings[0].processes)[0].memory, gibibytes(12));
  EXPECT_EQ((*readings[0].processes)[1].pid, 4712);
  EXPECT_EQ(readings[1].busy_per_mille, std::nullopt) << "not supported is not 0";
  EXPECT_EQ(readings[1].power_milliwatts, std::nullopt);
  EXPECT_TRUE(readings[1].processes->empty());
  EXPECT_EQ(readings[1].health, DeviceHealth::kOk);
}

TEST_F(Nvml, ALongProcessListIsReadWhole) {
  std::string text = kTwoDevices;
  for (int i = 1; i <= 500; ++i) text += "process 1 " + std::to_string(1000 + i) + " 7\n";
  machine(text);
  const auto driver = open();
  EXPECT_EQ(read(*driver)[1].processes->size(), 500U);
}

TEST_F(Nvml, AnOldDriverLacksFunctionsAndStillWorks) {
  machine(std::string(kTwoDevices) + "used 1 1024\nprocess 1 99 2048\nprocess 1 98 4096\n");
  const auto driver = open("old");
  ASSERT_NE(driver, nullptr);
  const auto readings = read(*driver);
  EXPECT_EQ(readings[1].memory_used, Bytes(1024));
  ASSERT_EQ(readings[1].processes->size(), 2U);
  EXPECT_EQ((*readings[1].processes)[1].pid, 98) << "the older list has a shorter stride";
  EXPECT_EQ((*readings[1].processes)[1].memory, Bytes(4096));
  EXPECT_EQ(readings[1].health, DeviceHealth::kOk);
}

TEST_F(Nvml, ALibraryOfThreeFunctionsIsEnough) {
  machine(kTwoDevices);
  const auto driver = open("minimal");
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->describe(), "nvml");
  const NodeSpec node = node_of(*driver);
  ASSERT_EQ(node.devices.size(), 2U);
  EXPECT_NE(node.devices[0].uuid, node.devices[1].uuid);
  const auto readings = read(*driver);
  EXPECT_EQ(readings[0].memory_used, std::nullopt);
  EXPECT_EQ(readings[0].processes, std::nullopt);
  EXPECT_EQ(readings[0].health, DeviceHealth::kOk);
}

TEST_F(Nvml, ALostDeviceIsShownAndTheOthersGoOn) {
  machine(kTwoDevices);
  const auto driver = open();
  machine(std::string(kTwoDevices) + "lost 1\n");
  const auto readings = read(*driver);
  EXPECT_EQ(readings[0].health, DeviceHealth::kOk);
  EXPECT_EQ(readings[1].health, DeviceHealth::kLost);
  EXPECT_EQ(readings[1].detail, "GPU is lost (15)");
  const NodeSpec node = node_of(*driver);
  EXPECT_EQ(node.devices[1].uuid, "GPU-fake-1") << "it keeps what was known of it";
  EXPECT_EQ(node.devices[1].model, "h100");
  machine(kTwoDevices);
  EXPECT_EQ(read(*driver)[1].health, DeviceHealth::kOk);
}

TEST_F(Nvml, ADeviceThatIsLostFromTheStartHasAPlace) {
  machine(std::string(kTwoDevices) + "lost 0\n");
  const auto driver = open();
  ASSERT_EQ(node_of(*driver).devices.size(), 2U);
  EXPECT_EQ(read(*driver)[0].health, DeviceHealth::kLost);
  EXPECT_EQ(read(*driver)[1].health, DeviceHealth::kOk);
}

TEST_F(Nvml, ADeviceThatVanishesIsLost) {
  machine(kTwoDevices);
  const auto driver = open();
  machine("device NVIDIA H100 80GB HBM3\n");
  const auto readings = read(*driver);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[1].health, DeviceHealth::kLost);
}

TEST_F(Nvml, TheDriversVerdictDecides) {
  machine(std::string(kTwoDevices) + "recovery 0 1\nrecovery 1 0\nxid 1 79\n");
  const auto driver = open();
  const auto readings = read(*driver);
  EXPECT_EQ(readings[0].health, DeviceHealth::kNeedsReset);
  EXPECT_EQ(readings[1].xid, 79);
  EXPECT_EQ(readings[1].health, DeviceHealth::kOk) << "no recovery is asked for";
  machine(std::string(kTwoDevices) + "recovery 0 2\nrecovery 1 0\nxid 1 79\n");
  EXPECT_EQ(read(*driver)[0].health, DeviceHealth::kNeedsReboot);
}

TEST_F(Nvml, WithoutAVerdictAFaultStays) {
  machine(std::string(kTwoDevices) + "xid 0 31\nxid 1 95\n");
  const auto driver = open();
  auto readings = read(*driver);
  EXPECT_EQ(readings[0].xid, 31);
  EXPECT_EQ(readings[0].health, DeviceHealth::kOk);
  EXPECT_EQ(readings[1].xid, 95);
  EXPECT_EQ(readings[1].health, DeviceHealth::kNeedsReset);
  readings = read(*driver);
  EXPECT_EQ(readings[0].xid, 0) << "an event is told once";
  EXPECT_EQ(readings[1].health, DeviceHealth::kNeedsReset);
}

TEST_F(Nvml, ACallThatHangsDoesNotHangUs) {
  machine(kTwoDevices);
  const auto driver = open("full", milliseconds(150));
  const std::string name = node_of(*driver).name;
  machine(std::string(kTwoDevices) + "hang memory\n");
  const auto begin = std::chrono::steady_clock::now();
  const auto readings = driver->read(name);
  ASSERT_TRUE(readings.ok());
  ASSERT_EQ(readings->size(), 2U);
  EXPECT_EQ((*readings)[0].health, DeviceHealth::kSuspect);
  EXPECT_EQ((*readings)[0].uuid, "GPU-fake-0");
  EXPECT_EQ((*readings)[0].busy_per_mille, std::nullopt);
  const auto first = std::chrono::steady_clock::now();
  EXPECT_LT(first - begin, milliseconds(1500));
  EXPECT_EQ((*driver->read(name))[0].health, DeviceHealth::kSuspect);
  EXPECT_LT(std::chrono::steady_clock::now() - first, milliseconds(100)) << "not waited for again";
  machine(kTwoDevices);
  DeviceHealth health = DeviceHealth::kSuspect;
  for (int i = 0; i < 200 && health == DeviceHealth::kSuspect; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    health = (*driver->read(name))[0].health;
  }
  EXPECT_EQ(health, DeviceHealth::kOk) << "it comes back when the call returns";
}

TEST_F(Nvml, ADriverThatHangsCanBeThrownAway) {
  machine(kTwoDevices);
  auto driver = open("full", milliseconds(50));
  const std::string name = node_of(*driver).name;
  machine(std::string(kTwoDevices) + "hang memory\n");
  ASSERT_TRUE(driver->read(name).ok());
  const auto begin = std::chrono::steady_clock::now();
  driver.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  machine(kTwoDevices);
}

TEST_F(Nvml, PairsOfLinkedDevicesAreIslands) {
  machine(std::string(kTwoDevices) + kTwoDevices + "link 0 1\nlink 1 0\nlink 2 3\nlink 3 2\n" +
          "ancestor 0 1 30\nancestor 2 3 30\n");
  const auto driver = open();
  const NodeSpec node = node_of(*driver);
  EXPECT_EQ(node.islands, (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(node.sockets, (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
}

TEST_F(Nvml, ASwitchJoinsAllDevices) {
  machine(std::string(kTwoDevices) + kTwoDevices + "switch 0\nswitch 1\nswitch 2\nswitch 3\n");
  const auto driver = open();
  EXPECT_EQ(node_of(*driver).islands, (std::vector<std::vector<int>>{{0, 1, 2, 3}}));
}

TEST_F(Nvml, WithoutLinksACommonSwitchIsAnIsland) {
  machine(std::string(kTwoDevices) + kTwoDevices + "ancestor 1 2 10\nancestor 0 3 30\n");
  const auto driver = open();
  EXPECT_EQ(node_of(*driver).islands, (std::vector<std::vector<int>>{{1, 2}}));
}

TEST_F(Nvml, ADeviceInMigModeIsNotGivenOutAsAWhole) {
  machine(std::string(kTwoDevices) + "mig 1\n");
  const auto driver = open();
  EXPECT_EQ(read(*driver)[1].health, DeviceHealth::kSuspect);
  EXPECT_EQ(read(*driver)[0].health, DeviceHealth::kOk);
}

TEST_F(Nvml, SaysWhatIsWrongWithTheDriver) {
  machine("init 9\n");
  const auto unloaded = open_driver({.nvml_library = library("full")});
  ASSERT_FALSE(unloaded.ok());
  EXPECT_NE(unloaded.error().message.find("modprobe nvidia"), std::string::npos);
  EXPECT_NE(unloaded.error().message.find("--simulate 8xh100"), std::string::npos);
  machine("init 18\n");
  const auto mismatch = open_driver({.nvml_library = library("full")});
  EXPECT_NE(mismatch.error().message.find("reboot"), std::string::npos);
  machine("");
  const auto none = open_driver({.nvml_library = library("full")});
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no GPUs found: try rota serve --simulate 8xh100");
  machine(kTwoDevices);
  EXPECT_TRUE(open_driver({.nvml_library = library("full")}).ok());
}

TEST(NvmlNames, Models) {
  using nvml::model_of_name;
  EXPECT_EQ(model_of_name("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(model_of_name("NVIDIA A100-SXM4-40GB"), "a100");
  EXPECT_EQ(model_of_name("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(model_of_name("NVIDIA GeForce RTX 2080 Ti"), "rtx2080ti");
  EXPECT_EQ(model_of_name("Tesla V100-SXM2-16GB"), "v100");
  EXPECT_EQ(model_of_name("NVIDIA RTX A6000"), "a6000");
  EXPECT_EQ(model_of_name("NVIDIA RTX PRO 6000 Blackwell"), "rtxpro6000");
  EXPECT_EQ(model_of_name("NVIDIA Z900 Future"), "z900-future");
  EXPECT_EQ(model_of_name(""), "");
}

TEST(NvmlHealth, Codes) {
  using namespace nvml;
  EXPECT_EQ(health_of_code(kGpuIsLost), DeviceHealth::kLost);
  EXPECT_EQ(health_of_code(kResetRequired), DeviceHealth::kNeedsReset);
  EXPECT_EQ(health_of_code(kVersionMismatch), DeviceHealth::kNeedsReboot);
  EXPECT_EQ(health_of_code(kDriverNotLoaded), DeviceHealth::kSuspect);
  EXPECT_EQ(health_of_code(kNotSupported), std::nullopt);
  EXPECT_EQ(health_of_code(kNoPermission), std::nullopt);
  EXPECT_EQ(health_of_recovery_action(4), DeviceHealth::kNeedsReset);
  EXPECT_EQ(health_of_recovery_action(5), DeviceHealth::kSuspect);
}

TEST(Xid, Classes) {
  EXPECT_EQ(health_after_xid(0), DeviceHealth::kOk);
  EXPECT_EQ(health_after_xid(31), DeviceHealth::kOk);
  EXPECT_EQ(health_after_xid(79), DeviceHealth::kNeedsReboot);
  EXPECT_EQ(health_after_xid(119), DeviceHealth::kNeedsReset);
  EXPECT_EQ(health_after_xid(9999), DeviceHealth::kSuspect);
}

}  // namespace
}  // namespace rota::telemetry
