// Whole replays: past jobs through the engine under a virtual clock.
//
//   replay_bench [--jobs=1000000] [--philly=philly.csv] [Google Benchmark options]
//
// The made-up trace is the same for the same seed: Poisson arrivals at a load of 0.9 on 500 nodes
// of eight GPUs, log-normal run times from ten seconds to seven days, 55 % one-GPU jobs, up to 512
// GPUs. With --philly the jobs of that CSV file run on one pool of 512 GPUs under each rule.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "bench/trace.h"
#include "history/read.h"
#include "history/whole_jobs.h"
#include "sim/replay.h"

namespace rota::bench {
namespace {

std::vector<sim::ReplayJob> read_jobs(const std::string& file) {
  const auto read = history::read_history({file}, {});
  if (!read.ok()) {
    std::fprintf(stderr, "replay_bench: %s: %s\n", read.error().where.c_str(),
                 read.error().message.c_str());
    std::exit(2);
  }
  std::vector<sim::ReplayJob> jobs;
  for (const history::WholeJob& job : history::whole_jobs(*read).jobs) {
    jobs.push_back({job.submitted, job.runtime, job.gpus});
  }
  return jobs;
}

struct Case {
  std::string name;
  std::vector<NodeSpec> nodes;
  const std::vector<sim::ReplayJob>* jobs = nullptr;
  sim::ReplayPolicy policy;
};

void run_case(benchmark::State& state, const Case& what) {
  reset_peak_memory();
  const double before = peak_memory_bytes();
  sim::ReplayResult result;
  for (auto _ : state) {
    auto run = sim::replay(what.nodes, *what.jobs, what.policy, {});
    if (!run.ok()) {
      state.SkipWithError(run.error().message.c_str());
      return;
    }
    result = *run;
  }
  const auto jobs = static_cast<double>(result.jobs);
  state.counters["jobs"] = jobs;
  state.counters["jobs_per_second"] =
      benchmark::Counter(jobs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["wait_seconds_mean"] = static_cast<double>(result.wait.mean.ns()) / 1e9;
  state.counters["occupancy"] = static_cast<double>(result.gpu_time_held) /
                                static_cast<double>(result.gpu_time_capacity);
  state.counters["cycles"] = static_cast<double>(result.cycles);
  state.counters["peak_rss_bytes"] = peak_memory_bytes();
  state.counters["peak_rss_growth_bytes_per_job"] = (peak_memory_bytes() - before) / jobs;
}

void add(Case what) {
  const std::string name = what.name;
  benchmark::RegisterBenchmark(name.c_str(),
                               [what = std::move(what)](benchmark::State& state) {
                                 run_case(state, what);
                               })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

void add_cases(const std::vector<sim::ReplayJob>& made_up,
               const std::vector<sim::ReplayJob>& philly) {
  const auto nodes = sim::uniform_nodes(kTraceNodes, 8);
  add({"made_up/500x8/fifo/easy", nodes, &made_up, {Order::kFifo, Backfill::kEasy}});
  if (philly.empty()) return;
  const auto pool = sim::uniform_nodes(1, 512);
  add({"philly/512/fifo/off", pool, &philly, {Order::kFifo, Backfill::kOff}});
  add({"philly/512/fifo/easy", pool, &philly, {Order::kFifo, Backfill::kEasy}});
  add({"philly/512/fifo/conservative", pool, &philly, {Order::kFifo, Backfill::kConservative}});
  add({"philly/512/shortest/off", pool, &philly, {Order::kShortest, Backfill::kOff}});
  add({"philly/512/shortest/easy", pool, &philly, {Order::kShortest, Backfill::kEasy}});
  add({"philly/512/shortest/conservative", pool, &philly,
       {Order::kShortest, Backfill::kConservative}});
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options away
  std::int64_t count = 1'000'000;
  std::string philly_file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--jobs=")) {
      count = std::strtoll(argv[i] + 7, nullptr, 10);
    } else if (word.starts_with("--philly=")) {
      philly_file = word.substr(9);
    }
  }
  if (count < 1) {
    std::fprintf(stderr, "replay_bench: --jobs=N needs a number above 0\n");
    return 2;
  }
  const auto made_up = rota::bench::made_up_trace(count);
  std::vector<rota::sim::ReplayJob> philly;
  if (!philly_file.empty()) philly = rota::bench::read_jobs(philly_file);
  rota::bench::add_cases(made_up, philly);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
