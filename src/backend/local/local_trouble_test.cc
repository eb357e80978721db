// What goes wrong around a running job: lost files, a daemon that is away, shims that hang.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "backend/local/local_fixture.h"
#include "backend/local/script_folders.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Trouble : public LocalFixture {
 protected:
  fs::path attempt_dir(const std::string& key) { return root_ / "state" / "attempts" / key; }
  static std::int64_t now_ns() { return shim::clock_ns(CLOCK_REALTIME); }
  LocalTask task(std::uint64_t job) { return backend_->tasks(JobId(job), 1).at(0); }
  bool wait_gone(std::int64_t pid) {
    return wait([&] { return !exists(pid); });
  }
  /// A task and a process of it that has left its session, both there now.
  void start_with_escapee(std::uint64_t job) {
    start(order(job, "echo $$ > main; setsid bash -c 'echo $$ > escapee; exec sleep 300' & wait"));
    ASSERT_TRUE(wait_started(job));
    main_ = number_in("main");
    escapee_ = number_in("escapee");
  }

  std::int64_t main_ = 0;
  std::int64_t escapee_ = 0;
};

// ---- files that are gone ----

class LostFiles : public Trouble, public ::testing::WithParamInterface<std::string> {};

TEST_P(LostFiles, WhatStillRunsIsKilledBeforeItsEndIsTold) {
  open();
  start_with_escapee(1);
  backend_.reset();
  facts_.clear();
  if (GetParam() == "folder") fs::remove_all(attempt_dir("1.1"));
  if (GetParam() == "order") fs::remove(attempt_dir("1.1") / "order.json");
  if (GetParam() == "damaged") std::ofstream(attempt_dir("1.1") / "order.json") << "garbage";
  open();
  const AttemptEnded end = wait_ended(1);
  EXPECT_FALSE(exists(main_));
  EXPECT_FALSE(exists(escapee_));
  EXPECT_EQ(end.kind, EndKind::kLost);
  EXPECT_NE(end.detail.find("killed"), std::string::npos) << end.detail;
  ASSERT_EQ(backend_->list()->size(), 1U);
  EXPECT_EQ(backend_->highest_job(), 1U);
  backend_->forget(JobId(1), 1);
  EXPECT_TRUE(backend_->list()->empty());
  EXPECT_TRUE(wait([&] { return fs::is_empty(root_ / "state" / "attempts"); }));
  EXPECT_TRUE(fs::is_empty(root_ / "state" / "checkpoints"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, LostFiles, ::testing::Values("folder", "order", "damaged"),
                         [](const auto& info) { return info.param; });

TEST_F(Trouble, AnotherDaemonsJobsAreLeftAlone) {
  open();
  start_with_escapee(1);
  LocalOptions other = options_;
  other.state_dir = root_ / "other";
  auto driver = telemetry::open_driver({.simulate = "1xh100"});
  auto opened = LocalBackend::open(other, *std::move(driver));
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE((*opened)->list()->empty());
  EXPECT_TRUE(exists(main_));
}

TEST_F(Trouble, NumbersSeenInCheckpointsAreKnown) {
  fs::create_directories(root_ / "state" / "checkpoints" / "41");
  std::ofstream(root_ / "state" / "checkpoints" / "41" / "model") << "x";
  fs::create_directories(root_ / "state" / "checkpoints" / "40");
  open();
  EXPECT_EQ(backend_->highest_job(), 41U);
  EXPECT_TRUE(fs::exists(root_ / "state" / "checkpoints" / "41"));
  EXPECT_FALSE(fs::exists(root_ / "state" / "checkpoints" / "40")) << "an empty one is swept";
}

TEST_F(Trouble, AFolderInThePlaceOfTheEndIsMovedAside) {
  open();
  start(order(1, "while [ ! -e go ]; do sleep 0.01; done; exit 3"));
  ASSERT_TRUE(wait_started(1));
  fs::create_directories(attempt_dir("1.1") / "task0.ended.json" / "x");
  std::ofstream(root_ / "out" / "go") << "";
  EXPECT_EQ(wait_ended(1).exit_code, 3);
}

TEST_F(Trouble, AShimWithoutItsFolderEnds) {
  open();
  start(order(1, "while [ ! -e go ]; do sleep 0.01; done"));
  ASSERT_TRUE(wait_started(1));
  const std::int64_t shim = task(1).shim_pid;
  backend_.reset();
  fs::remove_all(root_ / "state" / "attempts");
  std::ofstream(root_ / "state" / "attempts") << "no folder";
  std::ofstream(root_ / "out" / "go") << "";
  EXPECT_TRUE(wait_gone(shim)) << "it tries for ever";
  fs::remove(root_ / "state" / "attempts");
}

TEST_F(Trouble, ScriptsOfOtherAccountsDoNotStay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  open();
  StartOrder job = order(1, "");
  job.launch.argv.clear();
  job.launch.script = "#!/bin/sh\nexit 0\n";
  job.launch.user = "nobody";
  job.launch.uid = job.launch.gid = 65534;
  start(job);
  wait_ended(1);
  ASSERT_FALSE(fs::is_empty(options_.script_dir));
  const fs::path folder = fs::directory_iterator(options_.script_dir)->path();
  EXPECT_FALSE(fs::is_empty(folder));
  backend_.reset();
  // Its attempt is gone without the daemon.
  fs::remove_all(attempt_dir("1.1"));
  std::ofstream(folder / "1.1.4711") << "half written";
  open();
  EXPECT_TRUE(fs::is_empty(folder));
  backend_.reset();
  EXPECT_TRUE(fs::is_empty(options_.script_dir));
}

// ---- a daemon that is away ----

TEST_F(Trouble, AnEndIsTimedByWhenItHappened) {
  open();
  const std::int64_t before = now_ns();
  start(order(1, "sleep 0.1"));
  ASSERT_TRUE(wait_started(1));
  ASSERT_TRUE(facts_of<AttemptStarted>().at(0).at.has_value());
  backend_.reset();
  ASSERT_TRUE(wait([&] { return fs::exists(attempt_dir("1.1") / "task0.ended.json"); }));
  const std::int64_t after = now_ns();
  wait([] { return false; }, milliseconds(600));
  facts_.clear();
  open();
  const AttemptEnded end = wait_ended(1);
  ASSERT_TRUE(end.at.has_value());
  EXPECT_GT(end.at->ns(), before);
  EXPECT_LT(end.at->ns(), after + 100'000'000);
  ASSERT_EQ(facts_of<AttemptStarted>().size(), 1U);
  EXPECT_LE(*facts_of<AttemptStarted>()[0].at, *end.at);
}

TEST_F(Trouble, WithoutADaemonATaskEndsAfterItsLimit) {
  open();
  StartOrder job = order(1, "trap 'echo saved > saved; exit 0' TERM; while :; do sleep 0.05; done");
  job.time_limit = Duration::milliseconds(300);
  job.launch.grace = Duration::milliseconds(200);
  const std::int64_t begun = now_ns();
  start(job);
  ASSERT_TRUE(wait_started(1));
  backend_.reset();
  ASSERT_TRUE(wait([&] { return fs::exists(attempt_dir("1.1") / "task0.ended.json"); }));
  EXPECT_GT(now_ns() - begun, 5'400'000'000) << "a daemon that lives gets time to end it";
  facts_.clear();
  open();
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kStopped);
  EXPECT_EQ(end.detail, "over its time limit while no daemon ran");
  EXPECT_EQ(output("saved"), "saved\n");
}

TEST_F(Trouble, TheLimitThatCountsIsTheLatest) {
  open();
  StartOrder longer = order(1, "sleep 300", {{0}});
  longer.time_limit = Duration::milliseconds(100);
  longer.launch.grace = Duration();
  StartOrder shorter = order(2, "sleep 300", {{1}});
  shorter.launch.grace = Duration();
  start(longer);
  start(shorter);
  ASSERT_TRUE(wait_started(1));
  ASSERT_TRUE(wait_started(2));
  ASSERT_TRUE(backend_->set_time_limit(JobId(1), 1, Duration::seconds(60)).ok());
  ASSERT_TRUE(backend_->set_time_limit(JobId(2), 1, Duration::milliseconds(100)).ok());
  ASSERT_TRUE(backend_->set_time_limit(JobId(9), 1, Duration::seconds(1)).ok()) << "unknown";
  EXPECT_EQ(wait_ended(2).kind, EndKind::kStopped);
  wait([] { return false; }, milliseconds(500));
  EXPECT_TRUE(backend_->list()->at(0).alive) << "its limit was extended";
}

// ---- shims that do not answer ----

TEST_F(Trouble, AStoppedShimIsContinuedByAStop) {
  open();
  start(order(1, "trap 'exit 7' TERM; while :; do sleep 0.01; done"));
  ASSERT_TRUE(wait_started(1));
  wait([] { return false; }, milliseconds(100));
  ::kill(static_cast<pid_t>(task(1).shim_pid), SIGSTOP);
  stop(1, Duration::seconds(20));
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kStopped);
  EXPECT_EQ(end.exit_code, 7);
}

TEST_F(Trouble, AShimThatIsStoppedAgainAndAgainIsKilledWithItsTree) {
  open();
  start_with_escapee(1);
  const auto shim = static_cast<pid_t>(task(1).shim_pid);
  ::kill(shim, SIGSTOP);
  stop(1, Duration::milliseconds(100));
  const bool ended = wait([&] {
    ::kill(shim, SIGSTOP);
    return !facts_of<AttemptEnded>().empty();
  });
  ASSERT_TRUE(ended) << "it can be ended by nobody";
  EXPECT_EQ(facts_of<AttemptEnded>()[0].kind, EndKind::kStopped);
  EXPECT_FALSE(exists(main_));
  EXPECT_FALSE(exists(escapee_));
}

// ---- outputs that are no files ----

class OddOutput : public Trouble, public ::testing::WithParamInterface<std::string> {};

TEST_P(OddOutput, FailsTheJobAtOnce) {
  open();
  const fs::path path = root_ / "out" / "odd";
  if (GetParam() == "a folder") {
    fs::create_directory(path);
  } else {
    const mode_t kind = GetParam() == "a FIFO" ? S_IFIFO : S_IFSOCK;
    ASSERT_EQ(::mknod(path.c_str(), kind | 0666, 0), 0);
  }
  StartOrder job = order(1, "true");
  job.launch.stdout_path = "odd";
  start(job);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 126);
  EXPECT_EQ(end.detail, "cannot write the output file " + path.string() + ": it is " + GetParam() +
                            "; name a regular file, or /dev/null");
  EXPECT_TRUE(facts_of<AttemptStarted>().empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, OddOutput, ::testing::Values("a FIFO", "a folder", "a socket"),
                         [](const auto& info) { return info.param.substr(2); });

TEST_F(Trouble, OutputToADeviceGoesOn) {
  open();
  StartOrder job = order(1, "echo x; exit 4");
  job.launch.stdout_path = "/dev/null";
  start(job);
  EXPECT_EQ(wait_ended(1).exit_code, 4);
}

// Who opens a file under a lease waits until its holder gives it up, as on a file system that does
// not answer.
TEST_F(Trouble, AStopEndsALaunchThatHangs) {
  const fs::path program = root_ / "out" / "program";
  std::ofstream(program) << "#!/bin/sh\n";
  fs::permissions(program, fs::perms::owner_all);
  ::signal(SIGIO, SIG_IGN);
  const int lease = ::open(program.c_str(), O_RDONLY | O_CLOEXEC);
  if (::fcntl(lease, F_SETLEASE, F_WRLCK) != 0) {
    ::close(lease);
    GTEST_SKIP() << "no leases on this file system";
  }
  open();
  StartOrder job = order(1, "");
  job.launch.argv = {program.string()};
  start(job);
  wait([] { return false; }, milliseconds(500));
  EXPECT_TRUE(facts_.empty());
  const std::int64_t before = now_ns();
  stop(1, Duration::seconds(20));
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  EXPECT_LT(now_ns() - before, 5'000'000'000);
  EXPECT_TRUE(facts_of<AttemptStarted>().empty());
  ::close(lease);
}

// ---- a copy in the place of the state folder ----

TEST_F(Trouble, ATaskIsKeptThoughItsFilesAreACopy) {
  open();
  start(order(1, "while [ ! -e go ]; do sleep 0.01; done; exit 3"));
  ASSERT_TRUE(wait_started(1));
  const LocalTask before = task(1);
  backend_.reset();
  facts_.clear();
  ASSERT_EQ(std::system(("cp -a " + (root_ / "state").string() + " " + (root_ / "copy").string() +
                         " && rm -rf " + (root_ / "state").string() + " && cp -a " +
                         (root_ / "copy").string() + " " + (root_ / "state").string())
                            .c_str()),
            0);
  open();
  ASSERT_TRUE(wait_started(1));
  EXPECT_EQ(task(1).shim_pid, before.shim_pid);
  std::ofstream(root_ / "out" / "go") << "";
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited) << end.detail;
  EXPECT_EQ(end.exit_code, 3);
}

TEST_F(Trouble, ATaskThatNobodyCanFollowIsEndedWithItsGrace) {
  open();
  StartOrder job = order(1, "trap 'echo saved > saved; exit 0' TERM; "
                            "echo $$ > main; while :; do sleep 0.05; done");
  job.launch.grace = Duration::seconds(5);
  start(job);
  ASSERT_TRUE(wait_started(1));
  const std::int64_t main = number_in("main");
  backend_.reset();
  facts_.clear();
  fs::rename(root_ / "state", root_ / "moved");
  options_.state_dir = root_ / "moved";
  open();
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kLost);
  EXPECT_EQ(end.detail, "its files were moved or replaced while it ran, so it was ended");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(output("saved"), "saved\n");
  EXPECT_FALSE(exists(main));
}

TEST_F(Trouble, AKilledParentLeavesNoExitCode) {
  open();
  start(order(1, "sleep 300"));
  ASSERT_TRUE(wait_started(1));
  ::kill(static_cast<pid_t>(task(1).shim_pid), SIGKILL);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kLost);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.detail, "its parent process rota-shim was killed");
}

// ---- folders of scripts ----

TEST_F(Trouble, FoldersOfDaemonsThatWereKilledAreSwept) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directories(options_.script_dir / "0123abcd");
  std::ofstream(options_.script_dir / "0123abcd" / "7.1") << "x";
  fs::create_directories(options_.script_dir / "89abcdef");
  fs::create_directories(options_.script_dir / "mine");
  const int used = lock_folder((options_.script_dir / "89abcdef").string());
  ASSERT_GE(used, 0);
  open();
  EXPECT_FALSE(fs::exists(options_.script_dir / "0123abcd"));
  EXPECT_TRUE(fs::exists(options_.script_dir / "89abcdef")) << "its daemon lives";
  EXPECT_TRUE(fs::exists(options_.script_dir / "mine")) << "nothing of ours";
  ::close(used);
}

}  // namespace
}  // namespace rota::backend
