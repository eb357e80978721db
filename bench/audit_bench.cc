// All measures and findings of an audit over a made-up history of 1,000,000 jobs.
#include <benchmark/benchmark.h>

#include <string>

#include "audit/audit.h"
#include "audit/findings.h"
#include "base/random.h"

namespace {

using namespace rota;
using namespace rota::audit;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kJobs = 1'000'000;

/// A year on some 400 nodes: run times over four powers of ten, sizes to 16 GPUs, 12 teams.
Work made_up() {
  Random random(7);
  Work work;
  for (int i = 0; i < 12; ++i) work.owners.push_back("team" + std::to_string(i));
  for (int i = 0; i < 97; ++i) work.users.push_back("user" + std::to_string(i));
  for (std::uint32_t i = 0; i < 400; ++i) {
    work.nodes.push_back("n" + std::to_string(i));
    work.node_sets.push_back({i + 1});
  }
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    const std::int64_t submit = std::int64_t{i} * 30 * kSecond;
    const std::int64_t wait = random.between(0, 3600) * kSecond;
    const std::int64_t run = random.between(1, 9) * (kSecond << random.between(3, 15));
    const auto milli = static_cast<std::int32_t>(1000 << random.between(0, 4));
    const End end = random.chance(1, 5) ? End::kFailed : End::kCompleted;
    work.jobs.push_back({.submitted = submit, .time_limit = 86'400 * kSecond,
                         .owner = static_cast<std::uint32_t>(random.between(1, 12)),
                         .user = static_cast<std::uint32_t>(random.between(1, 97)),
                         .first_run = i, .run_count = 1, .wanted_milli = milli, .end = end});
    work.runs.push_back({.waiting_since = submit, .started = submit + wait, .run = run, .job = i,
                         .held_milli = milli,
                         .nodes = static_cast<std::uint32_t>(random.between(1, 400)), .end = end});
  }
  return work;
}

void BM_AuditOfAMillionJobs(benchmark::State& state) {
  const Work work = made_up();
  const Window window = *window_of(work);
  for (auto _ : state) {
    const auto audit = audit_work(work, window, {.capacity = 6'400'000, .shares = {}});
    benchmark::DoNotOptimize(findings_of(*audit));
  }
  state.counters["jobs_per_second"] =
      benchmark::Counter(kJobs, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_AuditOfAMillionJobs)->Unit(benchmark::kMillisecond);

}  // namespace
