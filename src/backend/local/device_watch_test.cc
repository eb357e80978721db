// Devices from a file that changes, as the daemon sees them.
#include "backend/local/device_watch.h"

#include <sys/wait.h>

#include <csignal>

#include "backend/local/local_fixture.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Watch : public LocalFixture {
 protected:
  void devices(const std::string& text) {
    fs::create_directories(root_);
    std::ofstream(root_ / "gpus.new") << text;
    fs::rename(root_ / "gpus.new", root_ / "gpus.yaml");
  }
  void open_file(const std::string& text) {
    devices(text);
    open((root_ / "gpus.yaml").string());
  }
  std::vector<DeviceReported> reported(DeviceCondition condition) {
    std::vector<DeviceReported> found;
    for (const DeviceReported& fact : facts_of<DeviceReported>()) {
      if (fact.condition == condition) found.push_back(fact);
    }
    return found;
  }
  bool wait_reported(DeviceCondition condition, std::size_t count = 1) {
    return wait([&] { return reported(condition).size() >= count; }, milliseconds(5000));
  }
};

TEST_F(Watch, AProcessFromOutsideComesAndGoes) {
  const pid_t outsider = ::fork();
  if (outsider == 0) {
    for (;;) ::pause();
  }
  const std::string text = "count: 4\nprocesses:\n  - {gpu: 2, pid: " +
                           std::to_string(outsider) + ", user: eve, memory: 12GiB}\n";
  open_file(text);
  ASSERT_TRUE(wait_reported(DeviceCondition::kForeign));
  const DeviceReported fact = reported(DeviceCondition::kForeign)[0];
  EXPECT_EQ(fact.node, "sim1");
  EXPECT_EQ(fact.device, 2);
  EXPECT_EQ(fact.pid, outsider);
  EXPECT_EQ(fact.user, "eve");
  EXPECT_EQ(fact.memory, gibibytes(12));
  ::kill(outsider, SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_TRUE(wait_reported(DeviceCondition::kForeignGone));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, milliseconds(1000));
  EXPECT_EQ(reported(DeviceCondition::kForeign).size(), 1U);
  ::waitpid(outsider, nullptr, 0);
}

TEST_F(Watch, OurOwnProcessesAreNotForeign) {
  open_file("count: 2\n");
  start(order(1, "bash -c 'echo $$ > child; exec sleep 30' & wait"));
  const std::int64_t child = number_in("child");
  devices("count: 2\nprocesses:\n  - {gpu: 0, pid: " + std::to_string(child) +
          ", memory: 1GiB}\n");
  wait([] { return false; }, milliseconds(300));
  EXPECT_TRUE(reported(DeviceCondition::kForeign).empty());
  const auto readings = backend_->readings();
  ASSERT_TRUE(readings.contains("sim1"));
  EXPECT_EQ(readings.at("sim1")[0].processes->size(), 1U);
}

TEST_F(Watch, ADeviceThatIsNotGivenBackIsHeld) {
  open_file("count: 2\n");
  start(order(1, "echo $$ > main; exec sleep 30"));
  const std::int64_t pid = number_in("main");
  const std::string stuck = "count: 2\nprocesses:\n  - {gpu: 0, pid: " + std::to_string(pid) +
                            ", even_if_gone: true}\n";
  devices(stuck);
  wait([] { return false; }, milliseconds(200));
  stop(1, Duration::milliseconds(100));
  wait_ended(1);
  ASSERT_TRUE(wait_reported(DeviceCondition::kHeld));
  EXPECT_EQ(reported(DeviceCondition::kHeld)[0].pid, pid);
  std::size_t held_at = 0;
  std::size_t ended_at = 0;
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (std::holds_alternative<DeviceReported>(facts_[i])) held_at = i;
    if (std::holds_alternative<AttemptEnded>(facts_[i])) ended_at = i;
  }
  EXPECT_LT(held_at, ended_at) << "nobody may be given the device in between";
  wait([] { return false; }, milliseconds(400));
  EXPECT_TRUE(reported(DeviceCondition::kHeldGone).empty());
  EXPECT_TRUE(reported(DeviceCondition::kForeign).empty()) << "it is ours, and on its way out";
  devices("count: 2\n");
  EXPECT_TRUE(wait_reported(DeviceCondition::kHeldGone));
}

TEST_F(Watch, FaultsAreTold) {
  open_file("count: 2\n");
  devices("count: 2\nerrors: [{gpu: 1, xid: 79}]\n");
  ASSERT_TRUE(wait_reported(DeviceCondition::kError));
  EXPECT_EQ(reported(DeviceCondition::kError)[0].xid, 79);
  EXPECT_EQ(reported(DeviceCondition::kError)[0].device, 1);
  devices("count: 2\n");
  EXPECT_TRUE(wait_reported(DeviceCondition::kHealthy));
  EXPECT_EQ(reported(DeviceCondition::kError).size(), 1U);
}

TEST_F(Watch, AFaultThatWentWhileTheDaemonWasDownIsToldToo) {
  open_file("count: 2\nerrors: [{gpu: 1, health: lost}]\n");
  ASSERT_TRUE(wait_reported(DeviceCondition::kError));
  backend_.reset();
  facts_.clear();
  open_file("count: 2\n");
  EXPECT_TRUE(wait_reported(DeviceCondition::kHealthy));
}

TEST_F(Watch, ActivityIsToldPerJob) {
  open_file("count: 2\nactivity: [0%, 60%]\n");
  start(order(1, "sleep 30", {{0}}));
  start(order(2, "sleep 30", {{1}}));
  start(order(3, "sleep 30", {{0, 1}}));
  const auto busy = [&](std::uint64_t job) {
    std::optional<std::optional<std::int64_t>> last;
    for (const ActivityMeasured& fact : facts_of<ActivityMeasured>()) {
      if (fact.job == JobId(job)) last = fact.busy_per_mille;
    }
    return last;
  };
  ASSERT_TRUE(wait([&] { return busy(1) && busy(2) && busy(3); }));
  EXPECT_EQ(busy(1), std::optional<std::int64_t>(0));
  EXPECT_EQ(busy(2), std::optional<std::int64_t>(600));
  EXPECT_EQ(busy(3), std::optional<std::int64_t>(300));
  devices("count: 2\nactivity: [1%, 60%]\n");
  EXPECT_TRUE(wait([&] { return busy(1) == std::optional<std::int64_t>(10); }));
  devices("count: 2\nactivity: [unknown, 60%]\n");
  EXPECT_TRUE(wait([&] { return busy(1) && !*busy(1); })) << "no sample is no idleness";
  const std::size_t before = facts_of<ActivityMeasured>().size();
  wait([] { return false; }, milliseconds(300));
  EXPECT_EQ(facts_of<ActivityMeasured>().size(), before) << "nothing changed";
}

TEST_F(Watch, ABrokenFileIsNoSample) {
  open_file("count: 1\nactivity: 0%\n");
  start(order(1, "sleep 30", {{0}}));
  ASSERT_TRUE(wait([&] { return facts_of<ActivityMeasured>().size() == 1; }));
  devices("count: [\n");
  ASSERT_TRUE(wait([&] { return facts_of<ActivityMeasured>().size() == 2; }));
  EXPECT_EQ(facts_of<ActivityMeasured>()[1].busy_per_mille, std::nullopt);
  EXPECT_TRUE(facts_of<NodeCommanded>().empty()) << "the node is not lost for that";
}

TEST_F(Watch, ANodeThatIsGoneAndBackIsTold) {
  open_file("nodes: [{name: a, count: 1}, {name: b, count: 1}]\n");
  wait([] { return false; }, milliseconds(200));
  EXPECT_TRUE(facts_.empty());
  devices("nodes: [{name: a, count: 1}]\n");
  ASSERT_TRUE(wait([&] { return facts_of<NodeCommanded>().size() == 1; }));
  EXPECT_EQ(facts_of<NodeCommanded>()[0].node, "b");
  EXPECT_EQ(facts_of<NodeCommanded>()[0].verb, NodeVerb::kFail);
  devices("nodes: [{name: a, count: 2}, {name: b, count: 1}]\n");
  ASSERT_TRUE(wait([&] { return facts_of<NodeCommanded>().size() == 2; }));
  EXPECT_EQ(facts_of<NodeCommanded>()[1].verb, NodeVerb::kRecover);
  ASSERT_EQ(facts_of<NodeReported>().size(), 1U);
  EXPECT_EQ(facts_of<NodeReported>()[0].node.devices.size(), 2U);
}

TEST_F(Watch, ParentShellAndChildSeeTheSameDevices) {
  open_file("count: 4\n");
  const std::string print = "echo $CUDA_VISIBLE_DEVICES";
  start(order(1, print + "; bash -c '" + print + "; bash -c \"" + "echo \\$CUDA_VISIBLE_DEVICES" +
                     "\"'",
              {{2, 3}}));
  wait_ended(1);
  EXPECT_EQ(output("1.0.out"), "2,3\n2,3\n2,3\n");
}

TEST_F(Watch, TwoGangsAtTheSameMomentMeetAtDifferentPorts) {
  open_file("count: 4\n");
  const std::string script =
      "echo $MASTER_ADDR $MASTER_PORT; [ $ROTA_NODE_RANK = 0 ] || exit 0; "
      "exec python3 -c 'import os,socket,time; s=socket.socket(); "
      "s.bind((os.environ[\"MASTER_ADDR\"], int(os.environ[\"MASTER_PORT\"]))); s.listen(); "
      "time.sleep(0.2)'";
  start(order(1, script, {{0}, {1}}));
  start(order(2, script, {{2}, {3}}));
  EXPECT_EQ(wait_ended(1).exit_code, 0);
  EXPECT_EQ(wait_ended(2).exit_code, 0);
  EXPECT_EQ(output("1.0.out"), output("1.1.out"));
  EXPECT_EQ(output("2.0.out"), output("2.1.out"));
  EXPECT_NE(output("1.0.out"), output("2.0.out"));
}

}  // namespace
}  // namespace rota::backend
