// Micro-benchmarks of the engine: what one decision costs, and how it grows with the cluster.
// Every case states its work in its name; "naive" rows are the bar that runs beside ours.
#include <benchmark/benchmark.h>

#include <memory>

#include "bench/world.h"
#include "engine/core.h"
#include "engine/owners.h"

namespace rota::bench {
namespace {

constexpr std::uint64_t kSeed = 20'261'130;

// Place a job of 1 to 8 GPUs on one node and end another one, on a cluster that is 88 to 90 % full.
void BM_PlaceAndRelease(benchmark::State& state) {
  Random random(kSeed);
  PlacementWorld world(state.range(0));
  world.fill(89, random);
  for (auto _ : state) {
    const std::int64_t gpus = job_gpus(random);
    bool placed = world.start(gpus);
    benchmark::DoNotOptimize(placed);
    if (placed) world.end_one(gpus, random);
  }
  state.counters["held_ratio"] = world.held_ratio();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PlaceAndRelease)->Arg(1'000)->Arg(12'500)->Arg(100'000);

void BM_PlaceAndReleaseNaiveScan(benchmark::State& state) {
  Random random(kSeed);
  LinearWorld world(state.range(0));
  world.fill(89, random);
  for (auto _ : state) {
    const std::int64_t gpus = job_gpus(random);
    bool placed = world.start(gpus);
    benchmark::DoNotOptimize(placed);
    if (placed) world.end_one(gpus, random);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PlaceAndReleaseNaiveScan)->Arg(1'000)->Arg(12'500)->Arg(100'000);

// least_fragmentation: place a task of one of 20 kinds and end another one, on a cluster that is
// full to 90 %; the mix stays as it is, or every task placed counts in it.
void place_by_mix(benchmark::State& state, bool mix_grows) {
  Random random(kSeed);
  MixedWorld world(state.range(0));
  world.fill(90, random);
  for (auto _ : state) {
    const bool placed = world.start(random, mix_grows);
    benchmark::DoNotOptimize(placed);
    if (placed) world.end_one(random);
  }
  state.counters["held_ratio"] = world.held_ratio();
  state.SetItemsProcessed(state.iterations());
}
void BM_PlaceLeastFragmentation(benchmark::State& state) { place_by_mix(state, false); }
void BM_PlaceLeastFragmentationMixGrows(benchmark::State& state) { place_by_mix(state, true); }
BENCHMARK(BM_PlaceLeastFragmentation)->Arg(1'213)->Arg(12'500);
BENCHMARK(BM_PlaceLeastFragmentationMixGrows)->Arg(1'213)->Arg(12'500);

// A gang of tasks of 8 GPUs, all or none, on a cluster with twice as many empty nodes among busy
// ones: found, taken and given back.
void place_gang(benchmark::State& state, std::int64_t tasks) {
  Random random(kSeed);
  PlacementWorld world(state.range(0));
  world.fill(89, random);
  world.empty_nodes(2 * tasks);
  for (auto _ : state) {
    auto place = world.place_gang(tasks);
    ROTA_CHECK(place.has_value());
    world.ledger().take(*place);
    world.ledger().give(*place);
  }
  state.SetItemsProcessed(state.iterations());
}
void BM_PlaceGang512(benchmark::State& state) { place_gang(state, 64); }
void BM_PlaceGang4096(benchmark::State& state) { place_gang(state, 512); }
BENCHMARK(BM_PlaceGang512)->Arg(1'000)->Arg(12'500)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceGang4096)->Arg(12'500)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// Undoing: a transaction of eight takes, rolled back.
void BM_LedgerRollback(benchmark::State& state) {
  Random random(kSeed);
  PlacementWorld world(1'000);
  world.empty_nodes(100);
  auto tasks = world.place_gang(8);
  ROTA_CHECK(tasks.has_value());
  for (auto _ : state) {
    const engine::Ledger::Mark mark = world.ledger().checkpoint();
    world.ledger().take(*tasks);
    world.ledger().rollback(mark);
  }
}
BENCHMARK(BM_LedgerRollback);

/// A tree of `leaves` queues below parents of a hundred each, with holdings and history.
engine::State owner_state(std::int64_t leaves, FairnessKind fairness) {
  Random random(kSeed);
  engine::State state;
  state.policy.fairness = fairness;
  state.policy.fairness_span = Duration::days(7);
  state.queues.emplace_back();  // the root
  const std::int64_t parents = (leaves + 99) / 100;
  const auto add = [&](engine::QueueIndex parent) {
    engine::QueueRec rec;
    rec.spec.weight = random.between(1, 8);
    rec.parent = parent;
    const auto index = static_cast<engine::QueueIndex>(state.queues.size());
    state.queues[parent].children.push_back(index);
    state.queues.push_back(std::move(rec));
    return index;
  };
  for (std::int64_t p = 0; p < parents; ++p) add(0);
  for (std::int64_t l = 0; l < leaves; ++l) {
    add(static_cast<engine::QueueIndex>(1 + l % parents));
  }
  engine::Owners owners(state);
  for (std::int64_t l = 0; l < leaves; ++l) {
    const auto leaf = static_cast<engine::QueueIndex>(1 + parents + l);
    const std::int64_t milli = random.between(0, 16) * 1000;
    owners.hold(leaf, milli, true);
    owners.use(leaf, Instant(0), milli, true);
  }
  return state;
}

engine::Demand some_demand(const engine::State& state) {
  Random random(kSeed + 1);
  engine::Demand demand(state.queues.size(), 0);
  for (std::size_t q = 1; q < demand.size(); ++q) {
    if (state.queues[q].children.empty()) demand[q] = random.between(0, 32) * 1000;
  }
  return demand;
}

// All fair shares of a tree anew.
void divide_all(benchmark::State& state, FairnessKind fairness) {
  engine::State records = owner_state(state.range(0), fairness);
  engine::Owners owners(records);
  const engine::Demand demand = some_demand(records);
  std::int64_t second = 1;
  for (auto _ : state) {
    owners.divide(Instant(0) + Duration::seconds(second++), demand, state.range(0) * 10);
    benchmark::DoNotOptimize(owners.fair_share(1));
  }
}
void BM_FairShareInstant(benchmark::State& state) { divide_all(state, FairnessKind::kInstant); }
void BM_FairShareHalfLife(benchmark::State& state) { divide_all(state, FairnessKind::kHalfLife); }
BENCHMARK(BM_FairShareInstant)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_FairShareHalfLife)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

// One job starts and ends: charged along the path to the root, exactly, at its instant.
void BM_ChargeOneJob(benchmark::State& state) {
  engine::State records = owner_state(10'000, FairnessKind::kHalfLife);
  engine::Owners owners(records);
  const auto leaf = static_cast<engine::QueueIndex>(records.queues.size() - 1);
  std::int64_t second = 1;
  for (auto _ : state) {
    owners.use(leaf, Instant(0) + Duration::seconds(second++), 8000, true);
    owners.use(leaf, Instant(0) + Duration::seconds(second++), -8000, true);
  }
}
BENCHMARK(BM_ChargeOneJob)->Iterations(100'000);

/// A full cluster of `nodes` x 8 with `pending` jobs behind it.
engine::Engine full_engine(std::int64_t pending, std::int64_t nodes = 1'000) {
  Random random(kSeed);
  engine::Engine engine = make_engine(nodes);
  std::uint64_t last = 0;
  while (engine.cluster().pending < pending) {
    submit_jobs(engine, Instant(0), last + 1, last + static_cast<std::uint64_t>(nodes), random);
    last += static_cast<std::uint64_t>(nodes);
    settle(engine, Instant(0));
  }
  return engine;
}

void BM_ExplainOneJob(benchmark::State& state) {
  const engine::Engine engine = full_engine(state.range(0));
  std::vector<JobId> pending;
  for (const JobId id : engine.live_jobs()) {
    if (engine.job(id)->state == JobState::kPending) pending.push_back(id);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    auto verdict = engine.explain(pending[next++ % pending.size()]);
    ROTA_CHECK(verdict.ok() && !verdict->reasons.empty());
    benchmark::DoNotOptimize(verdict);
  }
}
BENCHMARK(BM_ExplainOneJob)->Arg(10'000)->Unit(benchmark::kMicrosecond)->Iterations(200);

/// A cluster of `nodes` full of small jobs of one team whose contracts are over; another team owns
/// `quota_gpus` of it and has one gang of 512 GPUs waiting, the last job submitted.
struct ReclaimWorld {
  std::unique_ptr<engine::Core> core = std::make_unique<engine::Core>();
  JobId gang;
};

ReclaimWorld reclaim_world(std::int64_t nodes, std::int64_t quota_gpus) {
  Random random(kSeed);
  ReclaimWorld world;
  engine::Core* core = world.core.get();
  core->state.queues.emplace_back();  // the root
  const auto must = [&](Instant at, const Event& event) {
    const Status ok = core->apply(at, event);
    ROTA_CHECK(ok.ok());
  };
  Policy policy;
  policy.backfill = Backfill::kGreedy;
  must(Instant(0), PolicySet{policy});
  for (const char* name : {"owner", "borrower"}) {
    QueueSpec queue;
    queue.name = name;
    const bool owner = queue.name == "owner";
    if (owner) queue.quota = whole_gpus(quota_gpus);
    queue.weight = owner ? 0 : 1;
    must(Instant(0), QueueSet{queue});
  }
  for (std::int64_t i = 0; i < nodes; ++i) must(Instant(0), NodeReported{make_node(i, 8)});
  std::uint64_t id = 0;
  for (std::int64_t held = 0; held < nodes * 8;) {
    const std::int64_t gpus = std::min(job_gpus(random), nodes * 8 - held);
    JobSubmitted job = make_job(++id, gpus, random);
    job.spec.queue = "borrower";
    job.spec.priority = 0;
    job.spec.min_runtime = Duration::minutes(random.between(1, 60));
    job.spec.time_limit = Duration::hours(100);
    must(Instant(0), job);
    held += gpus;
  }
  engine::CycleResult cycle = core->run_cycle(Instant(0));
  for (std::int64_t second = 1; cycle.changed; ++second) {
    const Instant now = Instant(0) + Duration::seconds(second);
    for (const Decision& decision : cycle.decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start != nullptr) must(now, AttemptStarted{start->job, start->attempt});
    }
    cycle = core->run_cycle(now);
  }
  const Instant later = Instant(0) + Duration::hours(2);
  core->move_to(later);
  JobSubmitted gang = make_job(++id, 8, random);
  gang.spec.queue = "owner";
  gang.spec.shape.tasks = 64;
  must(later, gang);
  world.gang = JobId(id);
  // Its owner wants all of its quota.
  gang.job = JobId(id + 1);
  gang.spec.shape.tasks = nodes;
  must(later, gang);
  core->divide_shares();
  return world;
}

// Who has to leave for a gang of 512 GPUs where only small jobs run: the whole search, undone.
void BM_VictimsForGang512(benchmark::State& state) {
  const ReclaimWorld world = reclaim_world(state.range(0), state.range(0) * 8);
  engine::Core* core = world.core.get();
  const engine::JobRec& gang = core->job(world.gang);
  std::size_t victims = 0;
  Rounds rounds;
  for (auto _ : state) {
    rounds.begin();
    auto claim = core->find_claim(gang, core->ledger, core->state.now);
    rounds.end();
    ROTA_CHECK(claim.has_value());
    victims = claim->victims.size();
  }
  state.counters["p99_us"] = rounds.within(99);
  state.counters["victims"] = static_cast<double>(victims);
}
BENCHMARK(BM_VictimsForGang512)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMicrosecond);

// The same gang where its queue owns less than it asks for: nobody may be taken.
void BM_ImpossibleReclaim(benchmark::State& state) {
  const ReclaimWorld world = reclaim_world(state.range(0), 256);
  engine::Core* core = world.core.get();
  const engine::JobRec& gang = core->job(world.gang);
  for (auto _ : state) {
    auto claim = core->find_claim(gang, core->ledger, core->state.now);
    ROTA_CHECK(!claim.has_value());
  }
}
BENCHMARK(BM_ImpossibleReclaim)->Arg(12'500)->Unit(benchmark::kMicrosecond);

// A job is submitted to a full cluster of 1,000 x 8 where others wait already; one cycle decides.
void BM_SubmitAndCycle(benchmark::State& state) {
  Random random(kSeed + 2);
  engine::Engine engine = full_engine(state.range(0));
  std::uint64_t id = engine.jobs().back().value();
  Instant now = engine.now();
  for (auto _ : state) {
    now = now + Duration::milliseconds(1);
    ROTA_CHECK(engine.apply(now, make_job(++id, job_gpus(random), random)).ok());
    auto cycle = engine.run_cycle(now);
    benchmark::DoNotOptimize(cycle);
  }
}
BENCHMARK(BM_SubmitAndCycle)->Arg(10'000)->Unit(benchmark::kMicrosecond)->Iterations(500);

// One cycle after 100 events, a job ending or one being submitted, on a full cluster of 12,500 x 8
// with 10,000 jobs waiting.
void BM_CycleAfter100Events(benchmark::State& state) {
  Random random(kSeed + 3);
  engine::Engine engine = full_engine(10'000, state.range(0));
  std::uint64_t id = engine.jobs().back().value();
  std::vector<JobId> running;
  for (const JobId job : engine.live_jobs()) {
    if (engine.job(job)->state == JobState::kRunning) running.push_back(job);
  }
  Instant now = engine.now();
  Rounds rounds;
  for (auto _ : state) {
    state.PauseTiming();
    now = now + Duration::seconds(1);
    for (int i = 0; i < 50; ++i) {
      const std::size_t at = random.below(running.size());
      AttemptEnded end;
      end.job = running[at];
      end.attempt = 1;
      ROTA_CHECK(engine.apply(now, end).ok());
      running[at] = running.back();
      running.pop_back();
      ROTA_CHECK(engine.apply(now, make_job(++id, job_gpus(random), random)).ok());
    }
    state.ResumeTiming();
    rounds.begin();
    const engine::CycleResult cycle = engine.run_cycle(now);
    rounds.end();
    state.PauseTiming();
    for (const Decision& decision : cycle.decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start == nullptr) continue;
      ROTA_CHECK(engine.apply(now, AttemptStarted{start->job, start->attempt}).ok());
      running.push_back(start->job);
    }
    state.ResumeTiming();
  }
  state.counters["p99_us"] = rounds.within(99);
}
BENCHMARK(BM_CycleAfter100Events)->Arg(12'500)->Unit(benchmark::kMillisecond)->Iterations(300);

// The first cycle on an empty cluster of 1,000 x 8 with 10,000 jobs waiting: starts what fits.
void BM_ColdCycle(benchmark::State& state) {
  std::int64_t started = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Random random(kSeed);
    engine::Engine engine = make_engine(1'000);
    submit_jobs(engine, Instant(0), 1, static_cast<std::uint64_t>(state.range(0)), random);
    state.ResumeTiming();
    const engine::CycleResult cycle = engine.run_cycle(Instant(0));
    started = std::ssize(cycle.decisions);
  }
  state.counters["started"] = static_cast<double>(started);
}
BENCHMARK(BM_ColdCycle)->Arg(10'000)->Unit(benchmark::kMillisecond)->Iterations(5);

// A restart: the state of a full cluster with 10,000 waiting jobs, read from a snapshot.
void BM_LoadSnapshot(benchmark::State& state) {
  const std::string snapshot = full_engine(10'000).save();
  for (auto _ : state) {
    auto engine = engine::Engine::load(snapshot);
    ROTA_CHECK(engine.ok());
    benchmark::DoNotOptimize(engine);
  }
  state.counters["bytes"] = static_cast<double>(snapshot.size());
}
BENCHMARK(BM_LoadSnapshot)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rota::bench
