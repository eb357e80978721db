// A what-if over 1,000,000 past jobs: one replay under each named policy.
//
//   whatif_bench [--jobs=1000000] [--teams=20] [--load=0.9] [Google Benchmark options]
//
// The trace is that of replay_bench, with limits of twice the run time and observed waits of
// nothing. Memory is that of the whole process, past jobs included.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "sim/what_if.h"
#include "bench/trace.h"

namespace rota::bench {
namespace {

struct Options {
  std::int64_t jobs = 1'000'000;
  std::int64_t teams = 20;
  double load = kTraceLoad;
};

sim::PastJobs made_up_past(const Options& options) {
  sim::PastJobs past;
  for (std::int64_t i = 0; i < options.teams; ++i) past.teams.push_back("team" + std::to_string(i));
  Random teams = Random(kTraceSeed).child("teams");
  past.jobs.reserve(static_cast<std::size_t>(options.jobs));
  for (const sim::ReplayJob& job : made_up_trace(options.jobs, options.load)) {
    sim::PastJob out{.submitted = job.submitted.ns(), .runtime = job.runtime.ns()};
    out.started = out.submitted;
    out.ended = out.submitted + out.runtime;
    out.time_limit = 2 * out.runtime;
    out.milli = static_cast<std::int32_t>(job.gpus * 1000);
    out.tasks = static_cast<std::int32_t>(std::max<std::int64_t>(1, job.gpus / 8));
    out.team = static_cast<std::uint32_t>(teams.between(1, options.teams));
    past.jobs.push_back(out);
  }
  return past;
}

void run_policy(benchmark::State& state, const sim::PastJobs& past, sim::Rules rules) {
  sim::Setup setup;
  setup.nodes = sim::uniform_nodes(kTraceNodes, 8);
  sim::set_rules(setup, rules);
  // As `rota whatif` does for a long history: reservations for all who wait would take hours.
  if (setup.passes) setup.passes->in_long = Backfill::kEasy;
  reset_peak_memory();
  sim::Outcome outcome;
  for (auto _ : state) {
    auto run = sim::run_setup(past, setup, {}, {});
    if (!run) {
      state.SkipWithError(run.error().message.c_str());
      return;
    }
    outcome = std::move(*run);
  }
  const auto jobs = static_cast<double>(outcome.jobs);
  state.counters["jobs_per_second"] =
      benchmark::Counter(jobs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["wait_seconds_mean"] = static_cast<double>(outcome.wait.mean.ns()) / 1e9;
  state.counters["started"] = static_cast<double>(outcome.started);
  state.counters["preemptions"] = static_cast<double>(outcome.preemptions);
  state.counters["peak_rss_bytes"] = peak_memory_bytes();
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options away
  rota::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--jobs=")) options.jobs = std::strtoll(argv[i] + 7, nullptr, 10);
    if (word.starts_with("--teams=")) options.teams = std::strtoll(argv[i] + 8, nullptr, 10);
    if (word.starts_with("--load=")) options.load = std::strtod(argv[i] + 7, nullptr);
  }
  if (options.jobs < 1 || options.teams < 1 || !(options.load > 0)) {
    std::fprintf(stderr, "whatif_bench: --jobs, --teams and --load need numbers above 0\n");
    return 2;
  }
  const auto past = rota::bench::made_up_past(options);
  for (const std::string_view name : names_of(rota::sim::Rules{})) {
    const auto rules = *rota::enum_from<rota::sim::Rules>(name);
    const std::string full = "whatif/500x8/" + std::string(name);
    benchmark::RegisterBenchmark(full.c_str(),
                                 [&past, rules](benchmark::State& state) {
                                   rota::bench::run_policy(state, past, rules);
                                 })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
