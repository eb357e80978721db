// No event, however absurd, stops the engine, breaks an invariant or (refused) changes the state.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <limits>

#include "base/random.h"
#include "engine/engine.h"
#include "tests/property/check_property.h"
#include "tests/tally.h"

namespace rota::property {
namespace {

class Garbage {
 public:
  explicit Garbage(std::uint64_t seed) : random_(seed) {}

  Event event() {
    switch (random_.below(16)) {
      case 0: return policy();
      case 1: return queue();
      case 2: return UserSet{{word("u"), maybe([&] { return MilliGpu(number()); })}};
      case 3: return GroupSubmitted{group(), number(), maybe([&] { return number(); })};
      case 4:
      case 5:
      case 6: return JobSubmitted{job(true), spec()};
      case 7: return JobAdopted{job(true), spec(), allocation(), Instant(number())};
      case 8: return JobCommanded{job(false), static_cast<JobVerb>(random_.below(4)), "who"};
      case 9: return JobUpdated{job(false), spec()};
      case 10: return NodeCommanded{word("n"), static_cast<NodeVerb>(random_.below(6)), "why"};
      case 11: return UsageRecorded{word("q"), number(), Instant(number()), Instant(number())};
      case 12: return node();
      case 13:
        return DeviceReported{word("n"), small(), static_cast<DeviceCondition>(random_.below(6)),
                              number(), Bytes(number()), number(), word("u")};
      case 14: return ActivityMeasured{job(false), maybe([&] { return number(); })};
      default: return fact();
    }
  }

 private:
  std::int64_t number() {
    constexpr std::array<std::int64_t, 14> kOdd{
        0, 1, -1, 2, 3, 7, 1000, -1000, 1'000'000, 1LL << 40, -(1LL << 40),
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max() - 1};
    return random_.chance(1, 4) ? random_.between(-10, 100'000) : kOdd[random_.below(kOdd.size())];
  }
  std::int32_t small() {
    constexpr std::array<std::int32_t, 8> kOdd{
        0, 1, 2, -1, 7, 1000, std::numeric_limits<std::int32_t>::max(),
        std::numeric_limits<std::int32_t>::min()};
    return kOdd[random_.below(kOdd.size())];
  }
  /// Mostly what makes sense, so that deep code is reached; else anything.
  std::int64_t mostly(std::int64_t low, std::int64_t high) {
    return random_.chance(1, 12) ? number() : random_.between(low, high);
  }
  template <class Make>
  auto maybe(Make&& make) -> std::optional<decltype(make())> {
    if (random_.chance(1, 2)) return std::nullopt;
    return make();
  }
  std::string word(const std::string& kind) {
    if (random_.chance(1, 20)) return random_.chance(1, 2) ? "" : "nobody knows this";
    return kind + std::to_string(random_.below(4));
  }
  JobId job(bool fresh) {
    if (random_.chance(1, 30)) return JobId(static_cast<std::uint64_t>(number()));
    if (fresh) return JobId(++last_job_);
    return JobId(random_.below(last_job_ + 2));
  }
  GroupId group() {
    return random_.chance(1, 20) ? GroupId() : GroupId(500 + random_.below(3));
  }
  Duration duration() { return Duration(mostly(0, 3'600'000'000'000)); }

  Event policy() {
    Policy p;
    p.order = static_cast<Order>(random_.below(4));
    p.fairness = static_cast<FairnessKind>(random_.below(3));
    p.fairness_span = duration();
    p.backfill = static_cast<Backfill>(random_.below(4));
    p.placement = static_cast<Placement>(random_.below(3));
    p.reclaim = static_cast<Reclaim>(random_.below(3));
    p.consolidation = static_cast<Consolidation>(random_.below(2));
    if (random_.chance(1, 3)) p.min_runtime_max = duration();
    p.grace = duration();
    p.retries = mostly(0, 2);
    p.quarantine_after = maybe([&] { return mostly(1, 4); });
    p.cpus_reserved_per_gpu = mostly(0, 4);
    p.infeasible = static_cast<Infeasible>(random_.below(2));
    p.dependency_never = static_cast<DependencyNever>(random_.below(2));
    p.session_idle_warn = maybe([&] { return duration(); });
    p.session_idle_end = maybe([&] { return duration(); });
    p.spill = static_cast<Spill>(random_.below(2));
    return PolicySet{p};
  }
  Event queue() {
    QueueSpec spec;
    spec.name = word("q");
    if (random_.chance(1, 4)) spec.parent = word("q");
    spec.weight = mostly(0, 5);
    spec.quota = maybe([&] { return MilliGpu(mostly(0, 5000)); });
    spec.limit = maybe([&] { return MilliGpu(mostly(0, 9000)); });
    return QueueSet{spec};
  }
  TaskShape task() {
    TaskShape task;
    task.gpus = MilliGpu(random_.chance(1, 4) ? random_.between(0, 1000)
                                              : 1000 * mostly(0, 4));
    if (random_.chance(1, 6)) task.slots = mostly(1, 4);
    if (random_.chance(1, 6)) task.distinct_devices = mostly(1, 4);
    if (random_.chance(1, 6)) {
      constexpr std::array<const char*, 5> kNames{"1g.10gb", "3g.40gb", "1g.99999999999gb",
                                                  "x", "2g.20gb"};
      task.mig = kNames[random_.below(kNames.size())];
    }
    task.gpu_memory = maybe([&] { return Bytes(mostly(0, 1LL << 36)); });
    task.cpus = mostly(0, 8);
    task.memory = Bytes(mostly(0, 1LL << 38));
    return task;
  }
  JobSpec spec() {
    JobSpec spec;
    spec.shape.task = task();
    spec.shape.tasks = mostly(1, 4);
    if (spec.shape.tasks > 2000) spec.shape.tasks = number();
    spec.shape.min_tasks = mostly(0, 2);
    if (random_.chance(1, 6)) spec.shape.models = {"a100", "what"};
    spec.shape.any_model = random_.chance(1, 6);
    spec.shape.same = static_cast<TopologyLevel>(random_.below(6));
    spec.shape.prefer = static_cast<TopologyLevel>(random_.below(6));
    if (random_.chance(1, 8)) spec.shape.on = {word("n")};
    if (random_.chance(1, 8)) spec.shape.exclude = {word("n")};
    if (random_.chance(1, 10)) spec.shape.site = word("s");
    if (random_.chance(1, 10)) spec.shape.data = word("s");
    spec.queue = word("q");
    spec.user = word("u");
    spec.priority = mostly(-2, 2);
    spec.time_limit = maybe([&] { return duration(); });
    spec.min_runtime = maybe([&] { return duration(); });
    spec.charge = random_.chance(3, 4);
    spec.interactive = random_.chance(1, 6);
    spec.checkpoint = maybe([&] { return duration(); });
    if (random_.chance(1, 8)) spec.deadline = Instant(number());
    if (random_.chance(1, 8)) spec.begin = Instant(number());
    if (random_.chance(1, 6)) {
      spec.dependencies.push_back({static_cast<DependencyKind>(random_.below(3)), job(false),
                                   random_.chance(1, 3) ? group() : GroupId()});
    }
    spec.held = random_.chance(1, 10);
    spec.retries = maybe([&] { return number(); });
    spec.requeue = random_.chance(3, 4);
    if (random_.chance(1, 5)) spec.group = group();
    spec.group_index = number();
    if (random_.chance(1, 8)) spec.true_runtime = duration();
    return spec;
  }
  Allocation allocation() {
    Allocation out;
    const std::int64_t tasks = random_.between(0, 3);
    for (std::int64_t i = 0; i < tasks; ++i) {
      TaskPlace place;
      place.task = mostly(0, 2);
      place.node = word("n");
      const std::int64_t shares = random_.between(0, 2);
      for (std::int64_t s = 0; s < shares; ++s) place.devices.push_back(share());
      place.cpus = mostly(0, 4);
      place.memory = Bytes(mostly(0, 1LL << 36));
      out.tasks.push_back(std::move(place));
    }
    return out;
  }
  DeviceShare share() {
    DeviceShare share;
    share.device = small();
    if (random_.chance(1, 3)) share.slots = small();
    if (random_.chance(1, 3)) share.mig_start = small();
    if (random_.chance(1, 3)) share.mig_size = small();
    if (random_.chance(1, 3)) share.mig_compute = small();
    share.gpus = MilliGpu(mostly(0, 1000));
    share.memory = Bytes(mostly(0, 1LL << 36));
    return share;
  }
  Event node() {
    NodeSpec spec;
    spec.name = word("n");
    spec.devices.resize(random_.below(6));
    for (DeviceSpec& device : spec.devices) {
      constexpr std::array<const char*, 4> kModels{"", "a100", "a30", "h100"};
      device.model = kModels[random_.below(4)];
      if (random_.chance(1, 8)) device.memory = Bytes(number());
    }
    if (random_.chance(1, 6)) spec.cpus = number();
    if (random_.chance(1, 6)) spec.memory = Bytes(number());
    if (random_.chance(1, 5)) spec.islands = {{small(), 0}, {small()}, {}};
    if (random_.chance(1, 5)) spec.sockets = {{0, 1}, {2}};
    spec.mig = random_.chance(1, 4);
    spec.slots = random_.chance(1, 4) ? small() : 0;
    if (random_.chance(1, 4)) spec.site = word("s");
    if (random_.chance(1, 4)) spec.rack = word("r");
    spec.cost = MicroMoney(mostly(0, 5'000'000));
    spec.state = static_cast<NodeState>(random_.below(6));
    return NodeReported{spec};
  }
  Event fact() {
    const JobId id = job(false);
    const std::int64_t attempt = mostly(1, 2);
    switch (random_.below(3)) {
      case 0: return AttemptStarted{id, attempt};
      case 1: return TasksEnded{id, attempt, {number(), random_.between(0, 3)}};
      default:
        return AttemptEnded{id, attempt, static_cast<EndKind>(random_.below(4)),
                            mostly(0, 1), mostly(0, 1), word("n"), "detail"};
    }
  }

  Random random_;
  std::uint64_t last_job_ = 0;
};

using testing_tally::tally;

std::int64_t events_accepted = 0;
std::int64_t events_told = 0;

void play_garbage(std::uint64_t seed, int events) {
  Random random(seed);
  Garbage garbage(seed * 7919);
  engine::Engine engine;
  Instant now;
  ++tally.worlds;
  for (int i = 0; i < events; ++i) {
    const Event event = garbage.event();
    if (random.chance(1, 3)) now = now + Duration::seconds(random.between(0, 900));
    (void)engine.run_cycle(now);
    ++tally.cycles;
    const std::uint64_t before = engine.digest();
    const bool accepted = engine.apply(now, event).ok();
    ++events_told;
    ++tally.events;
    events_accepted += accepted ? 1 : 0;
    if (!accepted) {
      ASSERT_EQ(engine.digest(), before) << "seed " << seed << " event " << i;
    }
    const auto broken = engine.check_invariants();
    ASSERT_TRUE(broken.empty()) << "seed " << seed << " event " << i << ": " << broken.front();
    if (!random.chance(1, 8)) continue;
    for (const JobId id : engine.live_jobs()) (void)engine.explain(id);
    (void)engine.cluster();
    for (const std::string& name : engine.queue_names()) (void)engine.queue(name);
    for (const std::string& name : engine.node_names()) (void)engine.node(name);
    engine.forget_finished(now);
    const auto loaded = engine::Engine::load(engine.save());
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << " event " << i;
    ASSERT_EQ(loaded->digest(), engine.digest()) << "seed " << seed << " event " << i;
  }
}

TEST(Garbage, StopsNobodyAndBreaksNothing) {
  const std::uint64_t first = first_seed();
  const auto rounds = static_cast<std::uint64_t>(80 + soak_seconds() * 20);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    play_garbage(seed, 150);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::cout << events_told << " events, " << events_accepted << " accepted\n";
  EXPECT_GT(events_accepted, events_told / 10);
}

}  // namespace
}  // namespace rota::property
