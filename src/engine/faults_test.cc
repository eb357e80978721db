// Faults that were found once, each with the shortest story that shows it.
#include <gtest/gtest.h>

#include "engine/engine.h"

namespace rota::engine {
namespace {

Instant at(std::int64_t seconds) { return Instant() + Duration::seconds(seconds); }

class Faults : public testing::Test {
 protected:
  void set_stage(std::size_t gpus, Duration grace = Duration()) {
    Policy policy;
    policy.grace = grace;
    tell(0, PolicySet{policy});
    tell(0, QueueSet{QueueSpec{.name = "default"}});
    add_node("n1", gpus);
  }
  void add_node(const std::string& name, std::size_t gpus, const std::string& model = "") {
    NodeSpec node;
    node.name = name;
    node.devices.resize(gpus, DeviceSpec{.model = model});
    tell(0, NodeReported{node});
  }
  void tell(std::int64_t second, const Event& event) {
    const Status status = engine_.apply(at(second), event);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  bool refused(std::int64_t second, const Event& event) {
    const std::uint64_t before = engine_.digest();
    const bool ok = engine_.apply(at(second), event).ok();
    EXPECT_TRUE(ok || engine_.digest() == before) << "a refused event changed the state";
    return !ok;
  }
  JobId submit(std::int64_t second, JobSpec spec) {
    const JobId id(++last_id_);
    tell(second, JobSubmitted{id, std::move(spec)});
    return id;
  }
  static JobSpec job(std::int64_t gpus, std::int64_t priority = 0) {
    JobSpec spec;
    spec.shape.task.gpus = whole_gpus(gpus);
    spec.priority = priority;
    return spec;
  }
  static JobSpec free_to_take(std::int64_t gpus) {
    JobSpec spec = job(gpus);
    spec.min_runtime = Duration();
    return spec;
  }
  /// Cycles until nothing changes; what starts is running at once.
  void cycle(std::int64_t second) {
    for (int round = 0; round < 20; ++round) {
      const CycleResult result = engine_.run_cycle(at(second));
      for (const Decision& decision : result.decisions) {
        if (const auto* start = std::get_if<StartAttempt>(&decision)) {
          tell(second, AttemptStarted{start->job, start->attempt});
        }
      }
      if (!result.changed) break;
    }
    const auto broken = engine_.check_invariants();
    EXPECT_TRUE(broken.empty()) << broken.front();
  }
  void end(std::int64_t second, JobId id, EndKind kind) {
    AttemptEnded fact;
    fact.job = id;
    fact.attempt = engine_.job(id)->attempts;
    fact.kind = kind;
    tell(second, fact);
  }
  JobState state(JobId id) { return engine_.job(id)->state; }

  Engine engine_;
  std::uint64_t last_id_ = 0;
};

TEST_F(Faults, AVictimThatIsCancelledWhileItLeavesIsCountedOnce) {
  set_stage(1, Duration::seconds(60));
  const JobId victim = submit(0, free_to_take(1));
  cycle(0);
  const JobId claimant = submit(10, job(1, 5));
  cycle(10);
  tell(20, JobCommanded{victim, JobVerb::kCancel, "someone"});
  cycle(20);
  end(20, victim, EndKind::kStopped);
  cycle(20);
  EXPECT_EQ(state(claimant), JobState::kRunning);
  EXPECT_EQ(engine_.queue("default")->gpus_used, whole_gpus(1));
}

TEST_F(Faults, TheGpuOfALeavingVictimIsGivenToNobodyWhenItsClaimantGivesUp) {
  set_stage(1, Duration::seconds(60));
  const JobId victim = submit(0, free_to_take(1));
  cycle(0);
  const JobId claimant = submit(10, job(1, 5));
  cycle(10);
  tell(20, JobCommanded{claimant, JobVerb::kCancel, "someone"});
  const JobId other = submit(20, job(1));
  cycle(20);
  EXPECT_EQ(state(other), JobState::kPending);
  end(70, victim, EndKind::kStopped);
  cycle(70);
  EXPECT_EQ(state(victim), JobState::kRunning);  // it was submitted first
}

TEST_F(Faults, TheRestOfAClaimedDeviceIsGivenToNobodyWhileTheVictimLeaves) {
  set_stage(1, Duration::seconds(60));
  submit(0, free_to_take(1));
  cycle(0);
  JobSpec half = job(1, 5);
  half.shape.task.gpus = MilliGpu(500);
  submit(10, half);
  cycle(10);
  half.priority = 0;
  const JobId other = submit(20, half);
  cycle(20);
  EXPECT_EQ(state(other), JobState::kPending);
}

TEST_F(Faults, TasksThatLeaveForTwoClaimsMayEndOneByOne) {
  set_stage(3, Duration::seconds(30));
  JobSpec elastic = job(1);
  elastic.shape.tasks = 3;
  elastic.shape.min_tasks = 1;
  const JobId shrinking = submit(0, elastic);
  cycle(0);
  const JobId first = submit(10, job(1, 5));
  cycle(10);
  const JobId second = submit(20, job(1, 5));
  cycle(20);
  tell(40, TasksEnded{shrinking, 1, {2}});
  cycle(40);
  EXPECT_EQ(state(first), JobState::kRunning);
  EXPECT_EQ(state(second), JobState::kPending);
  tell(50, TasksEnded{shrinking, 1, {1}});
  cycle(50);
  EXPECT_EQ(state(second), JobState::kRunning);
  EXPECT_EQ(engine_.job(shrinking)->tasks_running, 1);
}

TEST_F(Faults, AThrottleThatComesLaterKeepsDemandRight) {
  set_stage(4);
  tell(0, GroupSubmitted{GroupId(900), 3, std::nullopt});
  tell(0, NodeCommanded{"n1", NodeVerb::kDrain, ""});
  for (std::int64_t member = 1; member <= 3; ++member) {
    JobSpec spec = job(1);
    spec.group = GroupId(900);
    spec.group_index = member;
    submit(0, spec);
  }
  cycle(0);
  EXPECT_EQ(engine_.queue("default")->demand, whole_gpus(3));
  tell(1, GroupSubmitted{GroupId(900), 3, 2});
  cycle(1);
  EXPECT_EQ(engine_.queue("default")->demand, whole_gpus(2));
  tell(2, JobCommanded{JobId(1), JobVerb::kCancel, ""});
  tell(2, JobCommanded{JobId(2), JobVerb::kCancel, ""});
  tell(2, JobCommanded{JobId(3), JobVerb::kCancel, ""});
  cycle(2);
  EXPECT_EQ(engine_.queue("default")->demand, whole_gpus(0));
}

TEST_F(Faults, AQueueWithARunningJobThatHoldsNoGpuGetsNoChildren) {
  set_stage(1);
  JobSpec cpus = job(0);
  cpus.shape.task.cpus = 4;
  const JobId running = submit(0, cpus);
  cycle(0);
  ASSERT_EQ(state(running), JobState::kRunning);
  EXPECT_TRUE(refused(1, QueueSet{QueueSpec{.name = "child", .parent = "default"}}));
}

TEST_F(Faults, AFinishedJobOfAQueueThatHasChildrenByNowIsNotStartedOver) {
  set_stage(1);
  const JobId old = submit(0, job(1));
  cycle(0);
  end(5, old, EndKind::kExited);
  tell(6, QueueSet{QueueSpec{.name = "child", .parent = "default"}});
  EXPECT_TRUE(refused(7, JobCommanded{old, JobVerb::kRequeue, "someone"}));
  cycle(7);
}

TEST_F(Faults, AJobBecomesFeasibleWhenANodeComesBackLarger) {
  set_stage(2);
  const JobId large = submit(0, job(4));
  cycle(0);
  EXPECT_EQ(engine_.explain(large)->reasons.front().code, ReasonCode::kInfeasible);
  add_node("n1", 4);
  cycle(1);
  EXPECT_EQ(state(large), JobState::kRunning);
}

TEST_F(Faults, ARemovedNodeThatReportsAgainIsUsedAgain) {
  set_stage(2);
  tell(0, NodeCommanded{"n1", NodeVerb::kRemove, ""});
  const JobId waits = submit(0, job(1));
  cycle(0);
  ASSERT_EQ(state(waits), JobState::kPending);
  add_node("n1", 2);
  cycle(1);
  EXPECT_EQ(state(waits), JobState::kRunning);
}

TEST_F(Faults, ANodeThatChangesUnderAClaimDropsIt) {
  set_stage(1, Duration::seconds(60));
  add_node("n2", 1);
  JobSpec pinned = free_to_take(1);
  pinned.shape.on = {"n1"};
  const JobId victim = submit(0, pinned);
  cycle(0);
  JobSpec gang = job(1, 5);
  gang.shape.tasks = 2;
  const JobId claimant = submit(10, gang);
  cycle(10);
  NodeSpec smaller;
  smaller.name = "n2";
  tell(20, NodeReported{smaller});
  cycle(20);
  EXPECT_EQ(state(claimant), JobState::kPending);
  end(70, victim, EndKind::kStopped);
  cycle(70);
  EXPECT_EQ(state(victim), JobState::kRunning);
}

TEST_F(Faults, AdoptedPlacesThatCannotBeAreRefused) {
  set_stage(2);
  const auto adopt = [this](DeviceShare share, std::int64_t cpus = 0) {
    Allocation allocation;
    allocation.tasks.push_back({0, "n1", {share}, cpus, {}});
    return refused(1, JobAdopted{JobId(77), job(1), allocation, at(0)});
  };
  DeviceShare whole;
  whole.gpus = kWholeGpu;
  DeviceShare share = whole;
  share.slots = -3;
  EXPECT_TRUE(adopt(share));
  share = whole;
  share.mig_start = 2'147'483'647;
  share.mig_size = 1;
  EXPECT_TRUE(adopt(share));
  share = whole;
  share.slots = 1;
  EXPECT_TRUE(adopt(share));
  EXPECT_TRUE(adopt(whole, -1));
  EXPECT_TRUE(adopt(whole, 1000));
  JobSpec gang = job(1);
  gang.shape.tasks = 2;
  Allocation one;
  one.tasks.push_back({0, "n1", {whole}, 0, {}});
  EXPECT_TRUE(refused(1, JobAdopted{JobId(77), gang, one, at(0)}));
  EXPECT_FALSE(adopt(whole, 4));
  cycle(2);
}

TEST_F(Faults, AWaitingJobThatChangesItsUserIsCountedForTheNewOne) {
  set_stage(1);
  JobSpec spec = job(1);
  spec.user = "old";
  spec.held = true;
  const JobId id = submit(0, spec);
  spec.user = "new";
  tell(1, JobUpdated{id, spec});
  cycle(1);
  EXPECT_EQ(engine_.user("old")->pending, 0);
  EXPECT_EQ(engine_.user("new")->pending, 1);
}

TEST_F(Faults, AClaimKeepsALimitThatIsLoweredWhileItsVictimLeaves) {
  set_stage(2, Duration::seconds(60));
  const JobId victim = submit(0, free_to_take(2));
  cycle(0);
  const JobId claimant = submit(100, job(2, 5));
  cycle(100);
  tell(110, QueueSet{QueueSpec{.name = "default", .limit = whole_gpus(1)}});
  cycle(110);
  end(160, victim, EndKind::kStopped);
  cycle(160);
  EXPECT_EQ(state(claimant), JobState::kPending);
  tell(200, QueueSet{QueueSpec{.name = "default"}});
  cycle(200);
  EXPECT_EQ(state(claimant), JobState::kRunning);
}

TEST_F(Faults, TheUserOfARunningJobDoesNotChange) {
  set_stage(1);
  JobSpec spec = job(1);
  spec.user = "ann";
  const JobId id = submit(0, spec);
  cycle(0);
  spec.user = "bob";
  EXPECT_TRUE(refused(10, JobUpdated{id, spec}));
  EXPECT_EQ(engine_.job(id)->spec->user, "ann");
}

TEST_F(Faults, LookingAtAQueueChangesNothing) {
  set_stage(2);
  cycle(0);
  submit(5, job(1));
  const std::uint64_t before = engine_.digest();
  (void)engine_.queue("default");
  (void)engine_.explain(JobId(1));
  EXPECT_EQ(engine_.digest(), before);
}

TEST_F(Faults, SlicesOfASmallerGeometryAreCountedAsSuch) {
  set_stage(1);
  NodeSpec node;
  node.name = "m1";
  node.mig = true;
  node.devices.resize(1, DeviceSpec{.model = "a30", .memory = gibibytes(24)});
  tell(0, NodeReported{node});
  JobSpec spec = job(0);
  spec.shape.task.mig = "2g.12gb";
  for (int i = 0; i < 2; ++i) submit(0, spec);
  spec.shape.task.mig = "1g.6gb";
  const JobId waits = submit(0, spec);
  cycle(0);
  const auto verdict = engine_.explain(waits);
  ASSERT_EQ(verdict->reasons.front().code, ReasonCode::kInsufficientFree);
  EXPECT_EQ(verdict->reasons.front().free, 0);
  EXPECT_EQ(verdict->reasons.front().need, 1);
}

TEST_F(Faults, HugeAmountsAreRefused) {
  set_stage(1);
  JobSpec spec = job(1);
  spec.shape.task.cpus = INT64_MAX;
  EXPECT_TRUE(refused(0, JobSubmitted{JobId(5), spec}));
  spec = job(1);
  spec.shape.task.memory = Bytes(INT64_MAX);
  EXPECT_TRUE(refused(0, JobSubmitted{JobId(5), spec}));
  spec = job(1, INT64_MIN);
  EXPECT_TRUE(refused(0, JobSubmitted{JobId(5), spec}));
  spec = job(1);
  spec.time_limit = Duration(INT64_MAX);
  EXPECT_TRUE(refused(0, JobSubmitted{JobId(5), spec}));
  EXPECT_TRUE(refused(0, UsageRecorded{"default", INT64_MAX, Instant(INT64_MIN), at(0)}));
}

TEST_F(Faults, AnElasticJobDoesNotGrowPastAJobBehindALimitedOne) {
  set_stage(4);
  tell(0, UserSet{UserSpec{"limited", MilliGpu(0)}});
  const JobId holder = submit(0, job(3));
  JobSpec elastic = job(1);
  elastic.shape.tasks = 4;
  elastic.shape.min_tasks = 1;
  const JobId grows = submit(0, elastic);
  cycle(0);
  JobSpec large = job(4);
  large.user = "limited";
  submit(1, large);
  large.user = "other";
  submit(1, large);
  cycle(1);
  end(2, holder, EndKind::kExited);
  cycle(2);
  EXPECT_EQ(engine_.job(grows)->tasks_running, 1);
}

TEST_F(Faults, AGroupWithMembersToComeIsNotForgotten) {
  set_stage(1);
  tell(0, GroupSubmitted{GroupId(900), 2, std::nullopt});
  JobSpec member = job(1);
  member.group = GroupId(900);
  member.group_index = 1;
  const JobId first = submit(0, member);
  cycle(0);
  end(5, first, EndKind::kExited);
  cycle(5);
  engine_.forget_finished(at(100));
  member.group_index = 2;
  submit(101, member);
}

TEST_F(Faults, AReservationWaitsForAJobThatStartedLate) {
  set_stage(2);
  JobSpec limited = job(1);
  limited.time_limit = Duration::seconds(100);
  submit(0, limited);
  (void)engine_.run_cycle(at(0));   // ordered at 0
  const JobId gang = submit(0, job(2));
  (void)engine_.run_cycle(at(0));
  EXPECT_EQ(engine_.estimate(gang), at(100));
  tell(40, AttemptStarted{JobId(1), 1});
  cycle(40);
  EXPECT_EQ(engine_.estimate(gang), at(140));
}

TEST_F(Faults, WhoseLimitIsUpBeforeAnyCycleIsNoVictim) {
  set_stage(2);
  submit(0, free_to_take(1));
  JobSpec limited = free_to_take(1);
  limited.time_limit = Duration::seconds(100);
  submit(0, limited);
  cycle(0);
  const JobId large = submit(100, job(2, 1));
  // The limited one counts as gone already; it was taken a second time.
  EXPECT_EQ(engine_.estimate(large), at(100));
}

TEST_F(Faults, AClaimForCpusSaysWhatItWaitsFor) {
  set_stage(1, Duration::seconds(60));
  JobSpec cpus = job(0);
  cpus.shape.task.cpus = 60;
  cpus.min_runtime = Duration();
  submit(0, cpus);
  cycle(0);
  cpus.priority = 5;
  const JobId claimant = submit(10, cpus);
  cycle(10);
  const auto verdict = engine_.explain(claimant);
  ASSERT_EQ(verdict->reasons.size(), 1u);
  EXPECT_EQ(verdict->reasons.front().resource, ReasonResource::kCpu);
  EXPECT_EQ(verdict->reasons.front().need, 60);
}

TEST_F(Faults, ALimitThatIsExceededKeepsNoJobWithoutGpus) {
  set_stage(4);
  QueueSpec queue{.name = "default"};
  tell(0, UserSet{{"ana", whole_gpus(4)}});
  JobSpec four = job(4);
  four.user = "ana";
  submit(0, four);
  cycle(0);
  queue.limit = whole_gpus(2);
  tell(10, QueueSet{queue});
  tell(10, UserSet{{"ana", whole_gpus(2)}});
  JobSpec cpus = job(0);
  cpus.user = "ana";
  cpus.shape.task.cpus = 60;
  const JobId first = submit(10, cpus);
  const JobId second = submit(10, cpus);
  const JobId whole = submit(10, four);
  cycle(10);
  EXPECT_EQ(state(first), JobState::kRunning);
  const auto verdict = engine_.explain(second);
  ASSERT_EQ(verdict->reasons.size(), 1u);
  EXPECT_EQ(verdict->reasons.front().code, ReasonCode::kInsufficientFree);
  EXPECT_EQ(verdict->reasons.front().resource, ReasonResource::kCpu);
  const auto held_back = engine_.explain(whole);
  ASSERT_EQ(held_back->reasons.size(), 3u);
  EXPECT_EQ(held_back->reasons[0].code, ReasonCode::kQueueLimit);
  EXPECT_EQ(held_back->reasons[1].code, ReasonCode::kUserLimit);
  EXPECT_EQ(held_back->reasons[2].code, ReasonCode::kInsufficientFree);
}

TEST_F(Faults, ALimitThatIsExceededDelaysNoArrayWithoutGpus) {
  set_stage(4);
  submit(0, job(4));
  cycle(0);
  QueueSpec queue{.name = "default"};
  queue.limit = whole_gpus(2);
  tell(10, QueueSet{queue});
  JobSpec member = job(0);
  member.time_limit = Duration::seconds(100);
  member.group = GroupId(7);
  tell(10, GroupSubmitted{.group = member.group, .size = 2, .throttle = 1});
  std::vector<JobId> members;
  for (std::int64_t i = 1; i <= 2; ++i) {
    member.group_index = i;
    members.push_back(submit(10, member));
  }
  cycle(10);
  EXPECT_EQ(state(members[0]), JobState::kRunning);
  const auto verdict = engine_.explain(members[1]);
  ASSERT_EQ(verdict->reasons.size(), 1u);
  EXPECT_EQ(verdict->reasons.front().code, ReasonCode::kArrayLimit);
  EXPECT_EQ(verdict->estimate, at(110)) << "when the first is over";
}

TEST_F(Faults, AJobThatVanishesAgainAndAgainWaitsLongerAndFails) {
  set_stage(1);
  const JobId id = submit(0, job(1));
  std::int64_t now = 0;
  for (const std::int64_t wait : {1, 5, 30, 300}) {
    cycle(now);
    ASSERT_EQ(state(id), JobState::kRunning);
    end(now, id, EndKind::kLost);
    cycle(now);
    ASSERT_EQ(state(id), JobState::kPending) << "hot restart";
    const Verdict why = *engine_.explain(id);
    ASSERT_EQ(why.reasons.size(), 1U);
    EXPECT_EQ(why.reasons[0].code, ReasonCode::kBeginTime);
    EXPECT_EQ(why.reasons[0].until, at(now + wait));
    EXPECT_EQ(engine_.next_wakeup(), at(now + wait));
    const Result<Engine> copy = Engine::load(engine_.save());
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ(copy->digest(), engine_.digest());
    EXPECT_EQ(copy->next_wakeup(), engine_.next_wakeup());
    now += wait;
  }
  cycle(now);
  end(now, id, EndKind::kLost);
  cycle(now);
  EXPECT_EQ(state(id), JobState::kFailed);
  EXPECT_EQ(engine_.job(id)->end_cause, "lost");
  EXPECT_EQ(engine_.job(id)->attempts, 5);
  // Whoever knows what it was may start it over, with all tries.
  tell(now, JobCommanded{id, JobVerb::kRequeue, "ana"});
  cycle(now);
  EXPECT_EQ(state(id), JobState::kRunning);
  end(now, id, EndKind::kLost);
  cycle(now + 1);
  EXPECT_EQ(state(id), JobState::kRunning);
}

TEST_F(Faults, TenGoodMinutesBeginTheCountOfLossesAnew) {
  set_stage(1);
  const JobId id = submit(0, job(1));
  std::int64_t now = 0;
  for (int loss = 0; loss < 12; ++loss) {
    cycle(now);
    ASSERT_EQ(state(id), JobState::kRunning) << loss;
    now += 600;
    end(now, id, EndKind::kLost);
    now += 1;
  }
}

TEST_F(Faults, ALossWithItsNodeIsNotTheJobs) {
  set_stage(1);
  const JobId id = submit(0, job(1));
  for (int loss = 0; loss < 12; ++loss) {
    cycle(loss);
    ASSERT_EQ(state(id), JobState::kRunning) << loss;
    tell(loss, NodeCommanded{"n1", NodeVerb::kFail, "gone"});
    end(loss, id, EndKind::kLost);
    tell(loss, NodeCommanded{"n1", NodeVerb::kRecover, ""});
  }
}

TEST_F(Faults, ACancelledJobThatVanishesIsNotBegunAgain) {
  set_stage(1);
  const JobId id = submit(0, job(1));
  cycle(0);
  tell(1, JobCommanded{id, JobVerb::kCancel, "ana"});
  end(1, id, EndKind::kLost);
  cycle(1);
  EXPECT_EQ(state(id), JobState::kCancelled);
}

TEST_F(Faults, WhatEndsByItsLimitWithoutAnOrderIsATimeout) {
  set_stage(1);
  JobSpec limited = job(1);
  limited.time_limit = Duration::seconds(60);
  const JobId late = submit(0, limited);
  cycle(0);
  end(65, late, EndKind::kStopped);
  cycle(65);
  EXPECT_EQ(state(late), JobState::kTimeout);
  EXPECT_EQ(engine_.job(late, Engine::Detail::kHistory)->history.back().cause, "time_limit");
  const JobId early = submit(100, limited);
  cycle(100);
  end(110, early, EndKind::kStopped);
  cycle(111);
  EXPECT_EQ(state(early), JobState::kRunning) << "stopped by somebody else: begun again";
}

}  // namespace
}  // namespace rota::engine
