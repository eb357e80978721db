#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/engine.h"

namespace rota::engine {
namespace {

Instant at(std::int64_t minutes) { return Instant() + Duration::minutes(minutes); }

void must(Engine& engine, Instant now, const Event& event) {
  const Status status = engine.apply(now, event);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

JobSpec job_of(std::string queue, std::int64_t gpus, std::int64_t limit_minutes) {
  JobSpec spec;
  spec.queue = std::move(queue);
  spec.user = "someone";
  spec.shape.task.gpus = whole_gpus(gpus);
  spec.time_limit = Duration::minutes(limit_minutes);
  return spec;
}

void set_stage(Engine& engine) {
  Policy policy;
  policy.grace = Duration::seconds(30);
  must(engine, at(0), PolicySet{policy});
  must(engine, at(0), QueueSet{QueueSpec{.name = "a"}});
  must(engine, at(0), QueueSet{QueueSpec{.name = "b", .quota = whole_gpus(2)}});
  for (const char* name : {"n1", "n2"}) {
    NodeSpec node;
    node.name = name;
    node.devices.resize(4);
    must(engine, at(0), NodeReported{node});
  }
}

/// Something of everything: running, claiming, stopping, elastic, gated and finished jobs.
Engine busy_engine() {
  Engine engine;
  set_stage(engine);
  std::uint64_t id = 0;
  for (int i = 0; i < 2; ++i) {
    JobSpec victim = job_of("a", 3, 120);
    victim.min_runtime = Duration();
    must(engine, at(0), JobSubmitted{JobId(++id), victim});
  }
  JobSpec elastic = job_of("a", 1, 200);
  elastic.shape.tasks = 3;
  elastic.shape.min_tasks = 1;
  must(engine, at(0), JobSubmitted{JobId(++id), elastic});
  must(engine, at(0), GroupSubmitted{GroupId(900), 3, 1});
  for (std::int64_t member = 1; member <= 3; ++member) {
    JobSpec spec = job_of("b", 1, 10);
    spec.group = GroupId(900);
    spec.group_index = member;
    must(engine, at(1), JobSubmitted{JobId(++id), spec});
  }
  for (int i = 0; i < 3; ++i) (void)engine.run_cycle(at(1));
  for (std::uint64_t started = 1; started <= 3; ++started) {
    must(engine, at(1), AttemptStarted{JobId(started), 1});
  }
  JobSpec later = job_of("a", 1, 30);
  later.begin = at(90);
  must(engine, at(2), JobSubmitted{JobId(++id), later});
  JobSpec after = job_of("a", 1, 30);
  after.dependencies.push_back({DependencyKind::kAfterOk, JobId(1), {}});
  must(engine, at(2), JobSubmitted{JobId(++id), after});
  must(engine, at(2), JobSubmitted{JobId(++id), job_of("b", 4, 30)});
  (void)engine.run_cycle(at(2));
  must(engine, at(3), UsageRecorded{"a", 1000, at(-60), at(-10)});
  return engine;
}

std::string shown(const std::vector<Decision>& decisions) {
  std::string out;
  for (const Decision& decision : decisions) {
    out += std::string(kDecisionNames[decision.index()]) + " ";
    std::visit(
        [&out](const auto& d) {
          if constexpr (requires { d.job; }) out += std::to_string(d.job.value());
          if constexpr (requires { d.allocation; }) {
            for (const TaskPlace& place : d.allocation.tasks) out += " " + place.node;
          }
        },
        decision);
    out += "\n";
  }
  return out;
}

TEST(Snapshot, OfABusyEngineLoadsToTheSameDigest) {
  const Engine engine = busy_engine();
  const std::string saved = engine.save();
  const auto loaded = Engine::load(saved);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->digest(), engine.digest());
  EXPECT_EQ(loaded->save(), saved);
  EXPECT_TRUE(loaded->check_invariants().empty());
  EXPECT_EQ(loaded->next_wakeup(), engine.next_wakeup());
}

TEST(Snapshot, HasTheSameFuture) {
  Engine engine = busy_engine();
  auto loaded = Engine::load(engine.save());
  ASSERT_TRUE(loaded.ok());
  for (std::int64_t minute = 4; minute < 260; minute += 4) {
    for (const JobId id : engine.live_jobs()) {
      const auto status = engine.job(id);
      AttemptEnded fact;
      fact.job = id;
      fact.attempt = status->attempts;
      fact.kind = EndKind::kStopped;
      if (status->state == JobState::kStopping) {
        must(engine, at(minute), fact);
        must(*loaded, at(minute), fact);
      } else if (status->state == JobState::kStarting) {
        must(engine, at(minute), AttemptStarted{id, status->attempts});
        must(*loaded, at(minute), AttemptStarted{id, status->attempts});
      }
    }
    ASSERT_EQ(shown(engine.run_cycle(at(minute)).decisions),
              shown(loaded->run_cycle(at(minute)).decisions))
        << minute;
    ASSERT_EQ(engine.digest(), loaded->digest()) << minute;
  }
}

// A decision that an event made is handed out by the next advance(), also when the engine was saved
// in between.
TEST(Snapshot, KeepsDecisionsThatNobodyTookYet) {
  Engine engine = busy_engine();
  must(engine, at(4), JobCommanded{JobId(2), JobVerb::kCancel, "someone"});
  auto loaded = Engine::load(engine.save());
  ASSERT_TRUE(loaded.ok());
  std::vector<Decision> here;
  std::vector<Decision> there;
  engine.advance(at(4), here);
  loaded->advance(at(4), there);
  EXPECT_FALSE(here.empty());
  EXPECT_EQ(shown(here), shown(there));
}

TEST(Snapshot, EveryShorterOneIsRefused) {
  const std::string saved = busy_engine().save();
  for (std::size_t length = 0; length < saved.size(); length += 13) {
    const auto loaded = Engine::load(std::string_view(saved).substr(0, length));
    ASSERT_FALSE(loaded.ok()) << length;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorruption);
  }
  EXPECT_FALSE(Engine::load(saved + "x").ok());
}

/// Uses everything an engine offers.
void exercise(Engine& engine) {
  (void)engine.check_invariants();
  std::vector<Decision> out;
  for (std::int64_t minute = 5; minute < 60; minute += 20) {
    engine.advance(at(minute), out);
    (void)engine.run_cycle(at(minute));
  }
  for (const JobId id : engine.jobs()) (void)engine.explain(id);
  for (const std::string& name : engine.node_names()) (void)engine.node(name);
  for (const std::string& name : engine.queue_names()) (void)engine.queue(name);
  (void)engine.cluster();
  (void)engine.next_wakeup();
  (void)engine.save();
}

TEST(Snapshot, DamageIsAnErrorOrHarmlessAndNeverACrash) {
  const std::string saved = busy_engine().save();
  Random random(17);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = saved;
    const std::int64_t hits = random.between(1, 4);
    for (std::int64_t i = 0; i < hits; ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    auto loaded = Engine::load(damaged);
    if (loaded) {
      ++accepted;
      exercise(*loaded);
    } else {
      ASSERT_EQ(loaded.error().code, ErrorCode::kCorruption);
    }
  }
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace rota::engine
