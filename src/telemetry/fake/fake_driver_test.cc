#include "telemetry/fake/fake_driver.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "telemetry/fake/models.h"
#include "telemetry/fake/shape.h"
#include "telemetry/open_driver.h"

namespace rota::telemetry {
namespace {

namespace fs = std::filesystem;

class DeviceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("rota-devices-" + std::to_string(::getpid()) + ".yaml");
  }
  void TearDown() override { fs::remove(path_); }
  void write(const std::string& text) const {
    const fs::path fresh = path_.string() + ".new";
    std::ofstream(fresh) << text;
    fs::rename(fresh, path_);
  }
  fs::path path_;
};

std::string error_of(const std::string& text) {
  const auto nodes = parse_device_file(text, "gpus.yaml");
  if (nodes.ok()) return "no error";
  return nodes.error().where + ": " + nodes.error().message;
}

TEST(Shape, OneNodeAndTwoNodes) {
  const auto one = parse_shape("8xh100");
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ((*one)[0].name, "sim1");
  EXPECT_EQ((*one)[0].devices.size(), 8U);
  EXPECT_EQ((*one)[0].devices[3].memory, gibibytes(80));
  EXPECT_EQ((*one)[0].devices[3].uuid, "GPU-sim1-3");
  EXPECT_EQ((*one)[0].sockets.size(), 2U);
  const auto two = parse_shape("2x4xh200");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ((*two)[1].name, "sim2");
  EXPECT_EQ((*two)[1].devices.size(), 4U);
  EXPECT_EQ((*two)[1].devices[0].memory, gibibytes(141));
}

TEST(Shape, AModelMayHoldAnX) {
  const auto nodes = parse_shape("2xrtx4090");
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ((*nodes)[0].devices.size(), 2U);
  EXPECT_EQ((*nodes)[0].devices[0].model, "rtx4090");
}

TEST(Shape, ErrorsNameTheNearestModel) {
  const auto typo = parse_shape("8xh10");
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.error().message, "unknown GPU model 'h10'; did you mean a10?");
  EXPECT_NE(parse_shape("8xquantum").error().message.find("known models: a10, a100"),
            std::string::npos);
}

TEST(Shape, RefusesBadCounts) {
  for (const char* bad : {"", "8", "8x", "0xh100", "65xh100", "1001x4xh100", "2x2x2xh100",
                          "99999999999999999999xh100", "-1xh100"}) {
    EXPECT_FALSE(parse_shape(bad).ok()) << bad;
  }
}

TEST(Models, AreSortedAndHaveMemory) {
  const auto& names = model_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) EXPECT_TRUE(model_memory(name).has_value()) << name;
}

TEST_F(DeviceFile, ReadsEverythingItPromises) {
  write(R"(count: 4
memory: 40GiB
model: custom
name: box
activity: [0%, 60%, unknown, 0.5%]
memory_used: 2GiB
power_watts: 300
temperature: 45
islands: [[0, 1], [2, 3]]
processes:
  - {gpu: 2, pid: 1, user: eve, memory: 12GiB}
errors:
  - {gpu: 3, xid: 79}
)");
  const auto driver = FileDriver::open(path_);
  ASSERT_TRUE(driver.ok()) << driver.error().message;
  const auto nodes = (*driver)->discover();
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ((*nodes)[0].islands.size(), 2U);
  const auto readings = (*driver)->read("box");
  ASSERT_TRUE(readings.ok());
  ASSERT_EQ(readings->size(), 4U);
  EXPECT_EQ((*readings)[0].busy_per_mille, 0);
  EXPECT_EQ((*readings)[1].busy_per_mille, 600);
  EXPECT_EQ((*readings)[2].busy_per_mille, std::nullopt);
  EXPECT_EQ((*readings)[3].busy_per_mille, 5);
  EXPECT_EQ((*readings)[0].power_milliwatts, 300'000);
  ASSERT_EQ((*readings)[2].processes->size(), 1U);
  EXPECT_EQ((*readings)[2].processes->front().user, "eve");
  EXPECT_EQ((*readings)[2].processes->front().memory, gibibytes(12));
  EXPECT_EQ((*readings)[3].health, DeviceHealth::kNeedsReboot);
  EXPECT_EQ((*readings)[3].xid, 79);
}

TEST_F(DeviceFile, IsReadAgainWhenItChanges) {
  write("count: 2\n");
  const auto driver = FileDriver::open(path_);
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*(*driver)->read("sim1"))[1].health, DeviceHealth::kOk);
  write("count: 2\nerrors: [{gpu: 1, health: lost}]\n");
  EXPECT_EQ((*(*driver)->read("sim1"))[1].health, DeviceHealth::kLost);
  write("count: 2\nerrors: [{gpu: 9}]\n");
  ASSERT_FALSE((*driver)->read("sim1").ok());
  EXPECT_EQ((*driver)->read("sim1").error().where, path_.string() + ":2:16");
  write("count: 3\n");
  EXPECT_EQ((*driver)->read("sim1")->size(), 3U);
}

TEST_F(DeviceFile, DropsAProcessOnceItIsGone) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  write("count: 1\nprocesses:\n  - {gpu: 0, pid: " + std::to_string(child) + "}\n");
  const auto driver = FileDriver::open(path_);
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*(*driver)->read("sim1"))[0].processes->size(), 1U);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE((*(*driver)->read("sim1"))[0].processes->empty()) << "a zombie holds nothing";
  ::waitpid(child, nullptr, 0);
  write("count: 1\nprocesses:\n  - {gpu: 0, pid: " + std::to_string(child) +
        ", even_if_gone: true}\n");
  EXPECT_EQ((*(*driver)->read("sim1"))[0].processes->size(), 1U);
}

TEST(DeviceFileText, JsonIsFineToo) {
  const auto nodes = parse_device_file(
      R"({"nodes": [{"name": "a", "count": 1}, {"name": "b", "count": 2, "model": "t4"}]})", "x");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].spec.devices[1].memory, gibibytes(16));
}

TEST(DeviceFileText, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(error_of("count: 2\nactivty: 5%\n"),
            "gpus.yaml:2:1: unknown key 'activty'; did you mean activity?");
  EXPECT_EQ(error_of("model: h100\n").substr(0, 14), "gpus.yaml:1:1:");
  EXPECT_EQ(error_of("count: 100\n"), "gpus.yaml:1:8: expected 0 to 64, got 100");
  EXPECT_NE(error_of("count: 2\nactivity: [1%]\n").find("one per device"), std::string::npos);
  EXPECT_NE(error_of("count: 2\nactivity: 101%\n").find("0% to 100%"), std::string::npos);
  EXPECT_NE(error_of("count: [\n").find("gpus.yaml:2:1"), std::string::npos);
  EXPECT_NE(error_of("count: 1\nmodel: h101\n").find("did you mean h100?"), std::string::npos);
  EXPECT_NE(error_of("nodes: [{name: a, count: 1}, {name: a, count: 1}]").find("two nodes"),
            std::string::npos);
  EXPECT_NE(error_of("").find("expected a map"), std::string::npos);
  EXPECT_NE(error_of("count: 1\nprocesses: [{gpu: 0}]\n").find("needs gpu and pid"),
            std::string::npos);
  EXPECT_NE(error_of("count: 2\nislands: [[0, 0]]\n").find("in two groups"), std::string::npos);
}

TEST(DeviceFileText, EndlessAndUnreadableFilesAreRefused) {
  EXPECT_NE(error_of("nodes: &n\n  - {count: 1, islands: *n}\n").find("part of"),
            std::string::npos);
  EXPECT_EQ(error_of("\xff\xfe"), "gpus.yaml:1:1: the file is not UTF-8 text");
  const auto folder = open_driver({.simulate = "@/tmp"});
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("folder"), std::string::npos);
}

TEST(OpenDriver, ChoosesByTheText) {
  const auto shape = open_driver({.simulate = "4xa100"});
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ((*shape)->describe(), "simulated 4xa100");
  EXPECT_TRUE((*shape)->simulated());
  const auto missing = open_driver({.simulate = "/nonexistent/gpus.yaml"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const auto none = open_driver({.nvml_library = "/nonexistent/libnvidia-ml.so.1"});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("rota serve --simulate 8xh100"), std::string::npos);
}

}  // namespace
}  // namespace rota::telemetry
