// Moves of small jobs on random clusters: what must hold of every move, whoever moves.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "engine/engine.h"

namespace rota::engine {
namespace {

/// Nodes of four GPUs full of small jobs that come and go, and larger ones that wait for room.
class Town {
 public:
  Town(std::uint64_t seed, Duration grace) : random_(seed) {
    Policy policy;
    policy.consolidation = Consolidation::kDrainOne;
    policy.grace = grace;
    policy.order = random_.chance(1, 2) ? Order::kFair : Order::kFifo;
    policy.backfill = static_cast<Backfill>(random_.below(4));
    tell(PolicySet{policy});
    tell(QueueSet{QueueSpec{.name = "default"}});
    const std::int64_t nodes = random_.between(3, 6);
    for (std::int64_t i = 0; i < nodes; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.devices.resize(4);
      tell(NodeReported{node});
    }
  }

  void live(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ = now_ + Duration::seconds(random_.between(1, 60));
      let_go();
      happen();
      settle();
    }
  }
  [[nodiscard]] std::int64_t moves() const { return moves_; }

 private:
  void tell(const Event& event) { ASSERT_TRUE(engine_.apply(now_, event).ok()); }

  void happen() {
    const std::uint64_t roll = random_.below(10);
    if (roll < 6) {
      submit(roll < 4 ? 1 : random_.between(2, 4));
    } else if (roll < 9) {
      end_one();
    } else {
      const std::string node = "n" + std::to_string(random_.below(3));
      const auto status = engine_.node(node);
      NodeCommanded command;
      command.node = node;
      const bool up = status->state == NodeState::kUp;
      command.verb = up ? NodeVerb::kDrain : NodeVerb::kUndrain;
      tell(command);
      news_ = true;
    }
  }
  void submit(std::int64_t gpus) {
    JobSpec spec;
    spec.shape.task.gpus = whole_gpus(gpus);
    spec.min_runtime = Duration::minutes(random_.between(0, 3));
    spec.checkpoint = Duration::minutes(1);
    if (random_.chance(1, 2)) spec.time_limit = Duration::minutes(random_.between(5, 60));
    tell(JobSubmitted{JobId(++last_), spec});
  }
  void end_one() {
    std::vector<JobId> running;
    for (const JobId id : engine_.live_jobs()) {
      if (engine_.job(id)->state == JobState::kRunning && !leaving_.contains(id)) {
        running.push_back(id);
      }
    }
    if (running.empty()) return;
    finish(running[random_.below(running.size())], EndKind::kExited);
  }
  void finish(JobId id, EndKind kind) {
    AttemptEnded end;
    end.job = id;
    end.attempt = engine_.job(id)->attempts;
    end.kind = kind;
    tell(end);
  }
  /// Those who were told to stop have gone.
  void let_go() {
    for (const JobId id : std::set<JobId>(leaving_)) {
      leaving_.erase(id);
      if (engine_.job(id)->state == JobState::kRunning) finish(id, EndKind::kStopped);
      gone_.insert(id);
    }
  }
  void settle() {
    for (int round = 0; round < 30; ++round) {
      const CycleResult cycle = engine_.run_cycle(now_);
      for (const Decision& decision : cycle.decisions) carry_out(decision);
      const auto broken = engine_.check_invariants();
      ASSERT_TRUE(broken.empty()) << broken.front();
      if (!cycle.changed) break;
    }
    // Whoever moved has a place of its own, unless a node was closed meanwhile.
    for (const JobId id : gone_) {
      const bool runs = engine_.job(id)->state != JobState::kPending;
      EXPECT_TRUE(runs || news_) << "job " << id.value() << " moved nowhere";
    }
    gone_.clear();
    if (leaving_.empty()) news_ = false;
    if (random_.chance(7, 8)) return;
    // What is restored from a snapshot is the same.
    const auto copy = Engine::load(engine_.save());
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ(copy->digest(), engine_.digest());
    EXPECT_TRUE(copy->check_invariants().empty());
  }
  void carry_out(const Decision& decision) {
    if (const auto* start = std::get_if<StartAttempt>(&decision)) {
      tell(AttemptStarted{start->job, start->attempt});
    }
    const auto* stop = std::get_if<StopAttempt>(&decision);
    if (stop == nullptr) return;
    if (stop->cause == StopCause::kPreempted) {
      // Nobody has priority here and all jobs are charged: it can only be a move.
      const auto victim = engine_.job(stop->job);
      EXPECT_EQ(victim->spec->shape.task.gpus, kWholeGpu);
      const auto claimant = engine_.job(stop->by);
      EXPECT_GE(claimant->spec->shape.task.gpus, whole_gpus(2));
      ++moves_;
      leaving_.insert(stop->job);
    } else {
      finish(stop->job, EndKind::kStopped);
    }
  }

  Random random_;
  Engine engine_;
  Instant now_;
  std::uint64_t last_ = 0;
  std::set<JobId> leaving_;
  std::set<JobId> gone_;
  bool news_ = false;  // a node was opened or closed while somebody moved
  std::int64_t moves_ = 0;
};

TEST(Consolidation, EveryoneWhoMovesHasAPlace) {
  std::int64_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Town town(seed, Duration::seconds(90));
    town.live(120);
    moves += town.moves();
  }
  EXPECT_GT(moves, 30);
}

TEST(Consolidation, WithoutGraceAsWell) {
  std::int64_t moves = 0;
  for (std::uint64_t seed = 101; seed <= 140 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Town town(seed, Duration());
    town.live(120);
    moves += town.moves();
  }
  EXPECT_GT(moves, 20);
}

}  // namespace
}  // namespace rota::engine
