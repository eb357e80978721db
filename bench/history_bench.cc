// Reading past jobs: rows a second of the forms that come large, and bytes a job.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "history/csv/rota_csv.h"
#include "history/read.h"
#include "history/words.h"

namespace {

using namespace rota;
using namespace rota::history;

constexpr int kJobs = 50'000;

/// An export of sacct with one step for every other job.
std::string sacct_text() {
  std::string text =
      "JobID|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Elapsed|Timelimit|"
      "AllocTRES|ReqTRES|NodeList|ExitCode|Reason|Priority\n";
  for (int i = 1; i <= kJobs; ++i) {
    const auto at = [&](int seconds) {
      std::string word = instant_text(Instant(Duration::seconds(1'767'225'600 + seconds).ns()));
      word.pop_back();  // sacct writes no zone
      return word;
    };
    const std::string gpus = std::to_string(1 << (i % 4));
    std::string tres = "billing=8,cpu=8,gres/gpu:h100=";
    tres.append(gpus).append(",gres/gpu=").append(gpus).append(",mem=64G,node=1");
    const std::string id = std::to_string(i);
    const std::string times = at(i) + "|" + at(i) + "|" + at(i + 60) + "|" + at(i + 3660) +
                              "|01:00:00|1-00:00:00|";
    text.append(id).append("|job").append(std::to_string(i % 500));
    text.append("|u").append(std::to_string(i % 97)).append("|ml|gpu|normal|COMPLETED|");
    text.append(times).append(tres).append("|").append(tres);
    text.append("|n").append(std::to_string(i % 400)).append("|0:0|None|100\n");
    if (i % 2 != 0) continue;
    text.append(id).append(".batch|batch|||||COMPLETED|").append(times);
    text.append("||n1|0:0||\n");
  }
  return text;
}

void read_all(benchmark::State& state, const std::string& text) {
  double bytes = 0;
  for (auto _ : state) {
    const auto history = read_history_text(text, "bench", {});
    if (!history || history->jobs().size() != kJobs) return state.SkipWithError("not all read");
    bytes = static_cast<double>(history->record_bytes()) / kJobs;
  }
  state.counters["jobs_per_second"] =
      benchmark::Counter(kJobs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_job"] = bytes;
}

void BM_ReadSacct(benchmark::State& state) { read_all(state, sacct_text()); }
BENCHMARK(BM_ReadSacct)->Unit(benchmark::kMillisecond);

void BM_ReadOwnForm(benchmark::State& state) {
  const auto history = read_history_text(sacct_text(), "bench", {});
  if (!history) return state.SkipWithError("not read");
  std::ostringstream out;
  write_history_csv(*history, out);
  read_all(state, out.str());
}
BENCHMARK(BM_ReadOwnForm)->Unit(benchmark::kMillisecond);

}  // namespace
