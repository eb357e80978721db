// One seeded run of the whole server loop with faults, and what must be true of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rota::simulation {

struct Plan {
  std::uint64_t seed = 1;
  int people = 3;
  int submits = 40;
  int nodes = 2;
  int gpus = 4;
  // Chances in thousandths.
  int crash = 20;             // at each call of the server to the outside
  int commit_fails = 10;      // at each commit, for a while
  int reply_lost = 60;
  int fact_late = 100;
  int fact_duplicated = 100;
  int node_fails = 30;        // at each step of the workload
  bool clean = false;         // no faults at all
  bool check_snapshots = false;  // a snapshot taken at any commit must load to the same engine
  bool one_line = false;      // first in, first out, equal jobs: the order can be checked
};

struct Outcome {
  std::uint64_t digest = 0;   // of everything that happened
  std::vector<std::string> broken;  // what was not true, in words
  int crashes = 0;
  int jobs = 0;
  int done = 0;
  int failed_commits = 0;
};

[[nodiscard]] Outcome run(const Plan& plan);

}  // namespace rota::simulation
