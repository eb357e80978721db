// Nodes on which runs fail far more often than on the others.
//
// A run on several nodes counts for each of them, since the source does not say which was to blame.
// The chance that a node without fault shows so many failures is the upper tail of a binomial
// distribution with the failure rate of all other nodes; it is multiplied by the number of nodes
// looked at (Bonferroni), so that a thousand healthy nodes do not make one lemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

struct Lemon {
  std::string node;
  std::int64_t runs = 0;
  std::int64_t failed = 0;      // failed by themselves or lost with the node
  std::int64_t node_lost = 0;   // of them lost with the node
  std::int64_t users = 0;       // different people among the failed ones; 0: not told
  double others_rate = 0;       // failures a run on all other nodes
  double chance = 0;            // corrected for the number of nodes; at most kChanceMax
  GpuTime excess = 0;           // GPU time of its failed runs beyond the others' rate
};

struct Lemons {
  static constexpr double kChanceMax = 0.01;
  static constexpr std::int64_t kRunsMin = 5;
  std::int64_t nodes = 0;       // seen; 0: the source names none
  std::int64_t runs = 0;        // of which nodes and end are told
  std::vector<Lemon> found;     // least chance first, ties by name
};

/// P(X >= k) of n trials with probability p each. O(n - k) at most, in double precision.
[[nodiscard]] double binomial_tail(std::int64_t n, std::int64_t k, double p);

/// O(n) plus the nodes of each run.
[[nodiscard]] Lemons find_lemons(const Work& work, const Window& window);

}  // namespace rota::audit
