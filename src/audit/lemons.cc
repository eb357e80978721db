#include "audit/lemons.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rota::audit {
namespace {

struct NodeCount {
  std::int64_t runs = 0;
  std::int64_t failed = 0;
  std::int64_t node_lost = 0;
  GpuTime failed_time = 0;
};

/// Whether the end says something on the node: neither a person's nor the scheduler's doing.
bool tells_of_node(End end) {
  return end == End::kCompleted || end == End::kFailed || end == End::kNodeFailed;
}

struct Counts {
  std::vector<NodeCount> nodes;
  NodeCount all;
  std::int64_t runs = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> failed_users;  // node, user
};

Counts count_all(const Work& work, const Window& window) {
  Counts counts;
  counts.nodes.resize(work.nodes.size());
  for (const WorkRun& run : work.runs) {
    if (run.nodes == 0 || run.run == kNotTold || !tells_of_node(run.end)) continue;
    if (run.is_placed() && inside(window, run.started, run.run) == 0) continue;
    ++counts.runs;
    const GpuTime held = gpu_time_inside(work, run, window);
    for (const std::uint32_t node : work.node_sets[run.nodes]) {
      for (NodeCount* count : {&counts.nodes[node], &counts.all}) {
        ++count->runs;
        if (run.end == End::kCompleted) continue;
        ++count->failed;
        if (run.end == End::kNodeFailed) ++count->node_lost;
        count->failed_time += held;
      }
      if (run.end == End::kCompleted) continue;
      const std::uint32_t user = work.job_of(run).user;
      if (user != kNoName) counts.failed_users.emplace_back(node, user);
    }
  }
  auto& pairs = counts.failed_users;
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return counts;
}

}  // namespace

double binomial_tail(std::int64_t n, std::int64_t k, double p) {
  if (k <= 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  double log_term = 0;  // log of C(n,k) p^k (1-p)^(n-k)
  for (std::int64_t i = 1; i <= k; ++i) {
    log_term += std::log(static_cast<double>(n - k + i)) - std::log(static_cast<double>(i));
  }
  log_term += static_cast<double>(k) * std::log(p) + static_cast<double>(n - k) * std::log1p(-p);
  double ratio = 1;  // of each term to the first
  double sum = 1;
  const double odds = p / (1 - p);
  for (std::int64_t i = k; i < n; ++i) {
    ratio *= odds * static_cast<double>(n - i) / static_cast<double>(i + 1);
    sum += ratio;
    if (ratio < sum * 1e-17 && static_cast<double>(i) > static_cast<double>(n) * p) break;
  }
  return std::min(1.0, std::exp(log_term) * sum);
}

Lemons find_lemons(const Work& work, const Window& window) {
  const Counts counts = count_all(work, window);
  Lemons out;
  out.runs = counts.runs;
  for (const NodeCount& node : counts.nodes) out.nodes += node.runs > 0 ? 1 : 0;
  for (std::uint32_t i = 1; i < counts.nodes.size(); ++i) {
    const NodeCount& node = counts.nodes[i];
    const std::int64_t others = counts.all.runs - node.runs;
    if (node.runs < Lemons::kRunsMin || node.failed < 2 || others < Lemons::kRunsMin) continue;
    // One failure more than seen: nobody knows that the rate of the others is zero.
    const double rate = static_cast<double>(counts.all.failed - node.failed + 1) /
                        static_cast<double>(others + 1);
    if (static_cast<double>(node.failed) <= rate * static_cast<double>(node.runs)) continue;
    const double chance = binomial_tail(node.runs, node.failed, rate) *
                          static_cast<double>(out.nodes);
    if (chance > Lemons::kChanceMax) continue;
    Lemon lemon{.node = work.nodes[i], .runs = node.runs, .failed = node.failed,
                .node_lost = node.node_lost, .others_rate = rate, .chance = chance};
    const auto& pairs = counts.failed_users;
    lemon.users = std::lower_bound(pairs.begin(), pairs.end(), std::pair{i + 1, 0U}) -
                  std::lower_bound(pairs.begin(), pairs.end(), std::pair{i, 0U});
    const double beyond = 1 - rate * static_cast<double>(node.runs) /
                                  static_cast<double>(node.failed);
    lemon.excess = static_cast<GpuTime>(static_cast<double>(node.failed_time) * beyond);
    out.found.push_back(std::move(lemon));
  }
  std::sort(out.found.begin(), out.found.end(), [](const Lemon& a, const Lemon& b) {
    return a.chance != b.chance ? a.chance < b.chance : a.node < b.node;
  });
  return out;
}

}  // namespace rota::audit
