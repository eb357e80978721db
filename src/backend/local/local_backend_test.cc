#include "backend/local/local_backend.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <set>

#include "backend/local/local_fixture.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Local : public LocalFixture {};

// ---- the whole tree goes ----

/// A process that leaves its session twice, ignores SIGTERM and writes its pid.
constexpr const char* kEscapee =
    "setsid setsid bash -c 'trap \"\" TERM; echo $$ > escapee; exec sleep 300' "
    "</dev/null >/dev/null 2>&1 & ";

class Tree : public Local, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Local::SetUp();
    options_.use_cgroups = GetParam();
    open();
  }
};

TEST_P(Tree, AnEscapeeDiesWithAStop) {
  start(order(1, std::string(kEscapee) + "while :; do sleep 1; done"));
  const std::int64_t escapee = number_in("escapee");
  ASSERT_TRUE(exists(escapee));
  stop(1, Duration::milliseconds(100));
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  EXPECT_FALSE(exists(escapee));
}

TEST_P(Tree, AnEscapeeDiesWithTheMainProcess) {
  start(order(1, std::string(kEscapee) + "while [ ! -s escapee ]; do sleep 0.01; done; exit 3"));
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 3) << "the end of the main process is the end of the job";
  EXPECT_FALSE(exists(number_in("escapee")));
}

TEST_P(Tree, AForkingTreeDies) {
  start(order(1, "f() { trap '' TERM; while :; do (sleep 60 &) ; sleep 0.005; done; }; f & f & f"));
  ASSERT_TRUE(wait_started(1));
  wait([] { return false; }, milliseconds(200));
  const std::int64_t shim = backend_->tasks(JobId(1), 1)[0].shim_pid;
  EXPECT_GT(shim::descendants_of(shim).size(), 3U);
  stop(1, Duration::milliseconds(50));
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  for (const std::int64_t pid : shim::descendants_of(shim)) {
    // A leak checker that runs at the shim's end is of the shim, not of the job.
    std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    comm >> name;
    EXPECT_TRUE(name.empty() || name == "rota-shim") << name;
  }
}

TEST_P(Tree, AStoppedProcessIsStillStopped) {
  start(order(1, "trap 'exit 7' TERM; kill -STOP $$; while :; do sleep 0.01; done"));
  ASSERT_TRUE(wait_started(1));
  const std::int64_t pid = backend_->tasks(JobId(1), 1)[0].pid;
  ASSERT_TRUE(wait([&] { return shim::process_facts(pid).state == 'T'; }));
  stop(1, Duration::seconds(20));
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.exit_code, 7) << "it was continued and could end well";
}

TEST_P(Tree, AVanishedShimTakesItsTaskWithIt) {
  start(order(1, std::string(kEscapee) + "while :; do sleep 1; done"));
  const std::int64_t escapee = number_in("escapee");
  const LocalTask task = backend_->tasks(JobId(1), 1)[0];
  ::kill(static_cast<pid_t>(task.shim_pid), SIGKILL);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kLost);
  EXPECT_EQ(end.detail, "its parent process rota-shim was killed");
  EXPECT_FALSE(exists(task.pid));
  EXPECT_FALSE(exists(escapee));
}

TEST_P(Tree, ATerminatedShimStopsItsTaskInOrder) {
  start(order(1, "trap 'echo saved > saved; exit 0' TERM; while :; do sleep 0.01; done"));
  ASSERT_TRUE(wait_started(1));
  wait([] { return false; }, milliseconds(100));
  ::kill(static_cast<pid_t>(backend_->tasks(JobId(1), 1)[0].shim_pid), SIGTERM);
  EXPECT_EQ(wait_ended(1).kind, EndKind::kStopped);
  EXPECT_EQ(output("saved"), "saved\n");
}

INSTANTIATE_TEST_SUITE_P(Groups, Tree, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "cgroup" : "process_tree"; });

// ---- commands that cannot run ----

TEST_F(Local, AMissingCommandIsTheJobsFault) {
  open();
  StartOrder missing = order(1, "");
  missing.launch.argv = {"no-such-command-anywhere", "x"};
  start(missing);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited);
  EXPECT_EQ(end.exit_code, 127);
  EXPECT_EQ(end.detail, "cannot run 'no-such-command-anywhere': No such file or directory");
  EXPECT_TRUE(facts_of<AttemptStarted>().empty());
}

TEST_F(Local, AFileThatIsNoProgramIsTheJobsFault) {
  open();
  StartOrder plain = order(1, "");
  std::ofstream(root_ / "out" / "plain") << "text";
  plain.launch.argv = {"./plain"};
  start(plain);
  EXPECT_EQ(wait_ended(1).exit_code, 126);
}

TEST_F(Local, AMissingFolderIsTheJobsFault) {
  open();
  StartOrder lost = order(1, "true");
  lost.launch.workdir = "/no/such/folder";
  lost.launch.stdout_path = "/dev/null";
  start(lost);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.exit_code, 126);
  EXPECT_EQ(end.detail, "cannot enter the folder /no/such/folder: No such file or directory");
}

TEST_F(Local, AnOutputThatCannotBeWrittenIsTheJobsFault) {
  open();
  StartOrder bad = order(1, "true");
  bad.launch.stdout_path = "/proc/nothing/%j.out";
  start(bad);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.exit_code, 126);
  EXPECT_NE(end.detail.find("/proc/nothing/1.out"), std::string::npos);
}

TEST_F(Local, AnOrderWithoutCommandIsRefused) {
  open();
  StartOrder empty = order(1, "");
  empty.launch.argv.clear();
  const Status status = backend_->start(empty);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
}

// ---- output ----

TEST_F(Local, OutputGoesWhereThePatternSays) {
  open();
  StartOrder job = order(12, "echo out; echo err >&2");
  job.launch.stdout_path = "logs/%x-%j.%N.out";
  job.launch.stderr_path = "logs/deep/er/%j.err";
  start(job);
  wait_ended(12);
  EXPECT_EQ(output("logs/test-12.sim1.out"), "out\n");
  EXPECT_EQ(output("logs/deep/er/12.err"), "err\n");
}

TEST_F(Local, OneFileTakesBothStreamsInOrder) {
  open();
  start(order(1, "echo a; echo b >&2; echo c"));
  wait_ended(1);
  EXPECT_EQ(output("1.0.out"), "a\nb\nc\n");
}

TEST_F(Local, AFirstAttemptTruncatesAndLaterOnesAppend) {
  open();
  std::ofstream(root_ / "out" / "1.0.out") << "old\n";
  StartOrder job = order(1, "echo attempt $ROTA_ATTEMPT: $ROTA_RESTART_REASON");
  start(job);
  wait_ended(1);
  job.attempt = 2;
  job.restart_reason = "preempted";
  start(job);
  wait_ended(1, 2);
  EXPECT_EQ(output("1.0.out"), "attempt 1:\nattempt 2: preempted\n");
}

TEST_F(Local, RanksOfAGangNeverShareAFile) {
  open();
  StartOrder job = order(1, "echo rank $ROTA_NODE_RANK", {{0}, {1}, {2}});
  job.launch.stdout_path = "all.out";
  start(job);
  wait_ended(1);
  EXPECT_EQ(output("all.out"), "rank 0\n");
  EXPECT_EQ(output("all.out.1"), "rank 1\n");
  EXPECT_EQ(output("all.out.2"), "rank 2\n");
}

// ---- scripts ----

TEST_F(Local, AScriptRunsWithItsInterpreterAndArguments) {
  open();
  StartOrder job = order(1, "");
  job.launch.argv.clear();
  job.launch.script = "#!/bin/bash -e\necho \"$1 and $2\"\nfalse\necho not reached\n";
  job.launch.script_args = {"one", "two words"};
  start(job);
  EXPECT_EQ(wait_ended(1).exit_code, 1);
  EXPECT_EQ(output("1.0.out"), "one and two words\n");
}

TEST_F(Local, AScriptWithoutFirstLineRunsInTheShell) {
  open();
  StartOrder job = order(1, "");
  job.launch.argv.clear();
  job.launch.script = "echo plain\n";
  start(job);
  wait_ended(1);
  EXPECT_EQ(output("1.0.out"), "plain\n");
}

// ---- accounts ----

TEST_F(Local, AJobRunsAsItsUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  open();
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  StartOrder job = order(1, "");
  job.launch.argv.clear();
  job.launch.script = "#!/bin/sh\nid -u; id -g; id -G; echo $USER; umask\n";
  job.launch.user = "nobody";
  job.launch.uid = 65534;
  job.launch.gid = 65534;
  start(job);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.exit_code, 0) << end.detail;
  EXPECT_EQ(output("1.0.out"), "65534\n65534\n65534\nnobody\n0022\n");
  struct stat info {};
  ASSERT_EQ(::stat((root_ / "out" / "1.0.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
}

TEST_F(Local, AnotherUsersFilesStayClosed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  open();
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  std::ofstream(root_ / "out" / "1.0.out") << "root's own\n";
  ::chmod((root_ / "out" / "1.0.out").c_str(), 0600);
  StartOrder job = order(1, "echo overwritten");
  job.launch.user = "nobody";
  job.launch.uid = 65534;
  job.launch.gid = 65534;
  start(job);
  EXPECT_EQ(wait_ended(1).exit_code, 126);
  EXPECT_EQ(output("1.0.out"), "root's own\n");
}

TEST_F(Local, AnotherAccountReachesItsCheckpointsAndNothingElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  const mode_t before = ::umask(0077);
  open();
  ::umask(before);
  StartOrder job = order(1, "");
  job.launch.argv.clear();
  job.launch.script =
      "#!/bin/sh\ntouch $ROTA_CHECKPOINT_DIR/kept || exit 3\n"
      "cd $ROTA_CHECKPOINT_DIR/../.. || exit 4\n"
      "for it in . attempts attempts/1.1 checkpoints; do ls $it >/dev/null 2>&1 && echo $it; done\n"
      "cat attempts/1.1/order.json local.lock devices.told 2>/dev/null\nexit 0\n";
  job.launch.user = "nobody";
  job.launch.uid = 65534;
  job.launch.gid = 65534;
  start(job);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.exit_code, 0) << end.detail;
  EXPECT_EQ(output("1.0.out"), "") << "can be read by another account";
  struct stat info {};
  ASSERT_EQ(::stat((root_ / "state" / "checkpoints" / "1").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

// ---- time ----

TEST_F(Local, TheWarningComesExactlyBeforeTheEnd) {
  open();
  StartOrder job = order(1, "trap 'date +%s%N > warned; exit 0' USR1; date +%s%N > begun; "
                            "echo $ROTA_END_TIME > end; while :; do sleep 0.01; done");
  job.time_limit = Duration::seconds(30);
  job.launch.warn_signal = SIGUSR1;
  job.launch.warn_before = Duration::milliseconds(29'300);
  start(job);
  wait_ended(1);
  const std::int64_t waited = (number_in("warned") - number_in("begun")) / 1'000'000;
  EXPECT_GE(waited, 600);
  EXPECT_LE(waited, 1500);
  EXPECT_NEAR(static_cast<double>(number_in("end")),
              static_cast<double>(number_in("begun")) / 1e9 + 30, 2.0);
}

TEST_F(Local, AWarningLongerThanTheLimitComesAtOnce) {
  open();
  StartOrder job = order(1, "sleep 0.3; trap 'exit 5' USR1; while :; do sleep 0.01; done");
  job.time_limit = Duration::seconds(60);
  job.launch.warn_signal = SIGUSR1;
  job.launch.warn_before = Duration::seconds(60);
  start(job);
  EXPECT_EQ(wait_ended(1).exit_code, 5) << "it waits until the handler stands";
}

TEST_F(Local, AWarningDoesNotKillWhoIsNotListening) {
  open();
  StartOrder job = order(1, "sleep 0.5; exit 0");
  job.time_limit = Duration::seconds(60);
  job.launch.warn_signal = SIGUSR1;
  job.launch.warn_before = Duration::seconds(60);
  start(job);
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 0);
}

// A shell that starts programs blocks all signals for moments; it does not listen.
TEST_F(Local, AWarningDoesNotKillAShellThatStartsPrograms) {
  open();
  for (std::uint64_t id = 1; id <= 8; ++id) {
    StartOrder job = order(id, "");
    job.launch.argv = {"/bin/sh", "-c",
                       "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; exit 0"};
    job.time_limit = Duration::seconds(60);
    job.launch.warn_signal = SIGUSR1;
    job.launch.warn_before = Duration::seconds(60);
    start(job);
  }
  for (std::uint64_t id = 1; id <= 8; ++id) EXPECT_EQ(wait_ended(id).signal, 0) << id;
}

TEST_F(Local, AWarningReachesWhoBlocksTheSignalToWaitForIt) {
  open();
  StartOrder job = order(1, "");
  job.launch.argv = {"/usr/bin/env", "--block-signal=USR1", "/bin/bash", "-c",
                     "sleep 1.5; grep -q 'ShdPnd:.*2..$' /proc/$$/status"};
  job.time_limit = Duration::seconds(60);
  job.launch.warn_signal = SIGUSR1;
  job.launch.warn_before = Duration::seconds(60);
  start(job);
  EXPECT_EQ(wait_ended(1).exit_code, 0) << "the signal is not pending";
}

TEST_F(Local, TheEndIsToldAtOnce) {
  open();
  std::vector<std::int64_t> delays;
  for (std::uint64_t job = 1; job <= 5; ++job) {
    start(order(job, "exec date +%s%N"));
    wait_ended(job);
    const std::int64_t told = shim::clock_ns(CLOCK_REALTIME);
    delays.push_back((told - number_in(std::to_string(job) + ".0.out")) / 1'000'000);
  }
  std::sort(delays.begin(), delays.end());
  EXPECT_LT(delays[2], 100) << "milliseconds, median";
}

// ---- restart ----

TEST_F(Local, AnotherDaemonOfTheSameFolderIsRefused) {
  open();
  auto driver = telemetry::open_driver({.simulate = "1xh100"});
  const auto second = LocalBackend::open(options_, *std::move(driver));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST_F(Local, AMissingShimIsSaidAtOnce) {
  options_.shim = "/nonexistent/rota-shim";
  auto driver = telemetry::open_driver({.simulate = "1xh100"});
  const auto opened = LocalBackend::open(options_, *std::move(driver));
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("/nonexistent/rota-shim"), std::string::npos);
}

TEST_F(Local, AStopBeforeTheDaemonDiesIsCarriedOutInTime) {
  open();
  start(order(1, "trap '' TERM; date +%s%N > begun; while :; do sleep 0.05; done"));
  ASSERT_TRUE(wait_started(1));
  const std::int64_t pid = backend_->tasks(JobId(1), 1)[0].pid;
  number_in("begun");
  stop(1, Duration::milliseconds(500));
  backend_.reset();
  EXPECT_TRUE(exists(pid)) << "the grace is kept";
  ASSERT_TRUE(wait([&] { return !exists(pid); })) << "nobody kept the time";
  facts_.clear();
  open();
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kStopped);
  EXPECT_EQ(end.signal, 9);
}

TEST_F(Local, AnOrderWithoutShimIsBegunByTheNextDaemon) {
  open();
  start(order(1, "echo once >> runs; sleep 0.2"));
  ASSERT_TRUE(wait_started(1));
  const std::int64_t shim = backend_->tasks(JobId(1), 1)[0].shim_pid;
  wait_ended(1);
  ASSERT_TRUE(wait([&] { return !exists(shim); })) << "it lives on after its last word";
  // As if the daemon had died between the order and its shim.
  backend_.reset();
  for (const char* file : {"task0.claimed.json", "task0.running.json", "task0.ended.json"}) {
    EXPECT_TRUE(fs::remove(root_ / "state" / "attempts" / "1.1" / file)) << file;
  }
  fs::remove(root_ / "out" / "runs");
  facts_.clear();
  open();
  const AttemptEnded end = wait_ended(1);
  EXPECT_EQ(end.kind, EndKind::kExited) << end.detail;
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(output("runs"), "once\n");
}

TEST_F(Local, AFolderWithoutOrderWasNeverBegun) {
  fs::create_directories(root_ / "state" / "attempts" / "5.1");
  open();
  EXPECT_TRUE(backend_->list()->empty());
  EXPECT_FALSE(fs::exists(root_ / "state" / "attempts" / "5.1"));
}

TEST_F(Local, ABrokenOrderIsALostAttempt) {
  fs::create_directories(root_ / "state" / "attempts" / "5.2");
  std::ofstream(root_ / "state" / "attempts" / "5.2" / "order.json") << "{\"vers";
  open();
  const AttemptEnded end = wait_ended(5, 2);
  EXPECT_EQ(end.kind, EndKind::kLost);
  backend_->forget(JobId(5), 2);
  EXPECT_FALSE(fs::exists(root_ / "state" / "attempts" / "5.2"));
  EXPECT_TRUE(wait([&] { return fs::is_empty(root_ / "state" / "attempts"); }));
}

TEST_F(Local, ADaemonKilledAtAnyMomentLosesNothing) {
  // The child is the daemon: it starts jobs as fast as it can until it is killed.
  const fs::path log = root_ / "out" / "begun";
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    auto driver = telemetry::open_driver({.simulate = "4xh100"});
    auto opened = LocalBackend::open(options_, *std::move(driver));
    if (!opened.ok()) ::_exit(1);
    for (std::uint64_t job = 1;; ++job) {
      (void)(*opened)->start(order(job, "echo $ROTA_JOB_ID >> begun; sleep 0.2; exit 4", {{0}}));
    }
  }
  ASSERT_TRUE(wait([&] { return fs::exists(log) && fs::file_size(log) > 20; }));
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  open();
  const auto known = backend_->list();
  ASSERT_TRUE(known.ok());
  ASSERT_GT(known->size(), 5U);
  std::multiset<std::string> expected;
  for (const KnownAttempt& attempt : *known) {
    const AttemptEnded end = wait_ended(attempt.job.value());
    EXPECT_EQ(end.kind, EndKind::kExited) << end.detail;
    EXPECT_EQ(end.exit_code, 4) << end.detail;
    expected.insert(std::to_string(attempt.job.value()));
  }
  std::multiset<std::string> begun;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) begun.insert(line);
  EXPECT_EQ(begun, expected) << "each was begun, and begun once";
}

// ---- nothing piles up ----

TEST_F(Local, NoFilesDescriptorsOrZombiesPileUp) {
  open();
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  start(order(1, "true"));
  wait_ended(1);
  backend_->forget(JobId(1), 1);
  wait([] { return false; }, milliseconds(100));
  const auto before = descriptors();
  const std::size_t children = shim::children_of(::getpid()).size();  // of tests before this one
  for (std::uint64_t job = 2; job <= 60; ++job) start(order(job, "true", {{0}, {1}}));
  for (std::uint64_t job = 2; job <= 60; ++job) {
    wait_ended(job);
    backend_->forget(JobId(job), 1);
  }
  EXPECT_TRUE(wait([&] { return descriptors() <= before; }));
  EXPECT_TRUE(wait([&] { return shim::children_of(::getpid()).size() <= children; }));
  EXPECT_TRUE(wait([&] { return fs::is_empty(root_ / "state" / "attempts"); }));
  EXPECT_TRUE(wait([&] { return fs::is_empty(root_ / "state" / "checkpoints"); }));
}

TEST_F(Local, WhatWasForgottenJustBeforeACrashIsGone) {
  fs::create_directories(root_ / "state" / "attempts" / "gone-5.2");
  std::ofstream(root_ / "state" / "attempts" / "gone-5.2" / "order.json") << "{}";
  open();
  EXPECT_TRUE(backend_->list()->empty());
  EXPECT_TRUE(wait([&] { return fs::is_empty(root_ / "state" / "attempts"); }));
}

TEST_F(Local, ForgettingAnAttemptLeavesTheNextOneItsFolder) {
  open();
  StartOrder job = order(7, "true");
  start(job);
  wait_ended(7);
  job.attempt = 2;
  job.launch.argv = {"/bin/sh", "-c", "sleep 0.3; echo x > $ROTA_CHECKPOINT_DIR/model"};
  start(job);
  ASSERT_TRUE(wait([&] { return facts_of<AttemptStarted>().size() == 2; }));
  backend_->forget(JobId(7), 1);
  EXPECT_EQ(wait_ended(7, 2).exit_code, 0);
}

TEST_F(Local, CheckpointsStay) {
  open();
  start(order(7, "echo data > $ROTA_CHECKPOINT_DIR/model; pwd > where"));
  wait_ended(7);
  backend_->forget(JobId(7), 1);
  EXPECT_TRUE(fs::exists(root_ / "state" / "checkpoints" / "7" / "model"));
}

}  // namespace
}  // namespace rota::backend
