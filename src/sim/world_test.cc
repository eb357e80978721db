#include "sim/world.h"

#include <gtest/gtest.h>

namespace rota::sim {
namespace {

constexpr JobId kJob{1};

Instant minute(std::int64_t n) { return Instant(Duration::minutes(n).ns()); }

std::vector<TaskPlace> on(const std::vector<std::string>& nodes) {
  std::vector<TaskPlace> places;
  for (const auto& node : nodes) {
    TaskPlace place;
    place.task = std::ssize(places);
    place.node = node;
    place.devices.push_back(DeviceShare{});
    places.push_back(std::move(place));
  }
  return places;
}

World world_with(std::int64_t tasks, std::optional<Duration> runs,
                 std::optional<Duration> checkpoint = std::nullopt) {
  World world;
  world.add_job(kJob, {tasks, runs, checkpoint});
  return world;
}

StopAttempt stop_of(std::int64_t attempt, Duration grace) {
  StopAttempt stop;
  stop.job = kJob;
  stop.attempt = attempt;
  stop.grace = grace;
  return stop;
}

const AttemptEnded& ended(const std::vector<Event>& events) {
  EXPECT_EQ(events.size(), 1U);
  return std::get<AttemptEnded>(events.at(0));
}

TEST(World, EndsAJobWhenItsWorkIsDone) {
  auto world = world_with(1, Duration::minutes(20));
  world.start(minute(5), kJob, 1, on({"n1"}));
  EXPECT_EQ(world.next_due(), minute(25));
  EXPECT_TRUE(world.take_due(minute(24)).empty());
  const auto events = world.take_due(minute(25));
  EXPECT_EQ(ended(events).kind, EndKind::kExited);
  EXPECT_EQ(ended(events).exit_code, 0);
  EXPECT_FALSE(world.runs(kJob));
}

TEST(World, WithoutRunsAJobWorksUntilItIsFinished) {
  auto world = world_with(1, std::nullopt);
  world.start(minute(0), kJob, 1, on({"n1"}));
  EXPECT_EQ(world.next_due(), std::nullopt);
  const auto event = world.finish(minute(3), kJob, 7);
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<AttemptEnded>(*event).exit_code, 7);
  EXPECT_FALSE(world.finish(minute(4), kJob, 0));
}

TEST(World, KeepsWorkUpToTheLastCheckpoint) {
  auto world = world_with(1, Duration::minutes(60), Duration::minutes(10));
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.stop(minute(35), stop_of(1, Duration{}));
  EXPECT_EQ(ended(world.take_due(minute(35))).kind, EndKind::kStopped);
  world.start(minute(40), kJob, 2, on({"n1"}));
  EXPECT_EQ(world.next_due(), minute(70)) << "thirty of sixty minutes were saved";
  world.stop(minute(45), stop_of(2, Duration{}));
  (void)world.take_due(minute(45));
  world.start(minute(50), kJob, 3, on({"n1"}));
  EXPECT_EQ(world.next_due(), minute(80)) << "an attempt without a checkpoint saves nothing more";
}

TEST(World, WithoutCheckpointsAJobStartsOver) {
  auto world = world_with(1, Duration::minutes(60));
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.stop(minute(59), stop_of(1, Duration{}));
  (void)world.take_due(minute(59));
  world.start(minute(59), kJob, 2, on({"n1"}));
  EXPECT_EQ(world.next_due(), minute(119));
}

TEST(World, ACheckpointAtTheVeryInstantCounts) {
  auto world = world_with(1, Duration::minutes(60), Duration::minutes(10));
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.stop(minute(10), stop_of(1, Duration{}));
  (void)world.take_due(minute(10));
  world.start(minute(10), kJob, 2, on({"n1"}));
  EXPECT_EQ(world.next_due(), minute(60));
}

TEST(World, WorksOnDuringTheGrace) {
  auto world = world_with(1, Duration::minutes(20));
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.stop(minute(15), stop_of(1, Duration::minutes(10)));
  EXPECT_EQ(world.next_due(), minute(20));
  EXPECT_EQ(ended(world.take_due(minute(30))).kind, EndKind::kExited) << "its own end came first";
}

TEST(World, AnOwnEndAtTheInstantOfTheKillIsAnOwnEnd) {
  auto world = world_with(1, Duration::minutes(20));
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.stop(minute(15), stop_of(1, Duration::minutes(5)));
  EXPECT_EQ(ended(world.take_due(minute(20))).kind, EndKind::kExited);
}

TEST(World, IgnoresAStopOfAnotherAttempt) {
  auto world = world_with(1, Duration::minutes(20));
  world.start(minute(0), kJob, 2, on({"n1"}));
  world.stop(minute(1), stop_of(1, Duration{}));
  EXPECT_TRUE(world.take_due(minute(1)).empty());
}

TEST(World, ElasticJobsWorkWithTheTasksTheyHave) {
  auto world = world_with(4, Duration::minutes(10));
  world.start(minute(0), kJob, 1, on({"n1", "n1"}));
  EXPECT_EQ(world.next_due(), minute(20)) << "half the tasks, half the speed";
  GrowTasks grow;
  grow.job = kJob;
  grow.attempt = 1;
  grow.added.tasks = on({"n2", "n2"});
  grow.added.tasks[0].task = 2;
  grow.added.tasks[1].task = 3;
  world.grow(minute(10), grow);
  EXPECT_EQ(world.next_due(), minute(15)) << "the other half at full speed";
  StopTasks stop;
  stop.job = kJob;
  stop.attempt = 1;
  stop.tasks = {1, 2, 3};
  world.stop_tasks(minute(10), stop);
  const auto events = world.take_due(minute(10));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<TasksEnded>(events[0]).tasks, stop.tasks);
  EXPECT_EQ(world.next_due(), minute(30));
  EXPECT_EQ(world.places(kJob).size(), 1U);
}

TEST(World, TasksThatGoAtOneInstantGoTogether) {
  auto world = world_with(3, std::nullopt);
  world.start(minute(0), kJob, 1, on({"n1", "n1", "n1"}));
  StopTasks stop;
  stop.job = kJob;
  stop.attempt = 1;
  stop.tasks = {2};
  world.stop_tasks(minute(1), stop);
  stop.tasks = {1};
  world.stop_tasks(minute(1), stop);
  const auto events = world.take_due(minute(1));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<TasksEnded>(events[0]).tasks, (std::vector<std::int64_t>{2, 1}));
}

TEST(World, AResizeKeepsThePartThatIsDone) {
  auto world = world_with(2, Duration::minutes(10));
  world.start(minute(0), kJob, 1, on({"n1", "n1"}));
  world.resize(minute(5), kJob, 4);
  EXPECT_EQ(world.next_due(), minute(15)) << "half is left, at half the speed";
}

TEST(World, LemonNodesFailTheirJobs) {
  auto world = world_with(2, Duration::minutes(10));
  world.set_fails_after("n2", Duration::minutes(1));
  world.start(minute(0), kJob, 1, on({"n1", "n2"}));
  const auto events = world.take_due(minute(1));
  EXPECT_EQ(ended(events).exit_code, 1);
  EXPECT_EQ(ended(events).node, "n2");
}

TEST(World, LosesWhatRunsOnAFailedNodeOrDevice) {
  auto world = world_with(1, Duration::minutes(10));
  world.add_job(JobId(2), {1, Duration::minutes(10), std::nullopt});
  world.start(minute(0), kJob, 1, on({"n1"}));
  world.start(minute(0), JobId(2), 1, on({"n2"}));
  EXPECT_TRUE(world.lose_device(minute(1), "n1", 3).empty()) << "nobody is on that device";
  EXPECT_EQ(ended(world.lose_device(minute(1), "n1", 0)).kind, EndKind::kLost);
  EXPECT_EQ(ended(world.lose_node(minute(2), "n2")).job, JobId(2));
  EXPECT_EQ(world.next_due(), std::nullopt);
}

TEST(World, OwnEndsComeInOrderOfJobs) {
  World world;
  for (const std::uint64_t id : {3, 1, 2}) {
    world.add_job(JobId(id), {1, Duration::minutes(1), std::nullopt});
    world.start(minute(0), JobId(id), 1, on({"n1"}));
  }
  const auto events = world.take_due(minute(1));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(std::get<AttemptEnded>(events[0]).job, JobId(1));
  EXPECT_EQ(std::get<AttemptEnded>(events[2]).job, JobId(3));
}

}  // namespace
}  // namespace rota::sim
