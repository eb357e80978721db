#include "engine/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/random.h"
#include "model/policy.h"

namespace rota::engine {
namespace {

/// A node of eight devices of one or two models, partly used; the mix that looks at it.
class RandomNode {
 public:
  explicit RandomNode(std::uint64_t seed) : random_(seed) {
    NodeSpec spec;
    spec.name = "n1";
    spec.cpus = 64;
    spec.memory = gibibytes(64);
    spec.devices.resize(8);
    const bool two_models = random_.chance(1, 3);
    for (std::size_t d = 0; d < spec.devices.size(); ++d) {
      spec.devices[d].model = two_models && d >= 4 ? "b" : "a";
      spec.devices[d].memory = gibibytes(80);
    }
    ledger_.add_node(topology_.add(spec));
    for (std::int32_t d = 0; d < 8; ++d) use(d);
    for (int i = 0; i < 12; ++i) {
      TaskKind kind;
      const bool whole = random_.chance(1, 2);
      kind.milli = whole ? random_.between(0, 8) * 1000 : random_.between(1, 9) * 100;
      kind.cpus = random_.between(0, 32);
      kind.memory = gibibytes(random_.between(0, 32)).value();
      if (random_.chance(1, 3)) kind.models.push_back(random_.chance(1, 2) ? "a" : "b");
      mix_[kind] += random_.between(1, 5);
    }
    fragmentation_.update(mix_, seed, topology_, ledger_);
  }

  /// By the definition: all idle GPU if the type cannot run, else what is too small for it. The sum
  /// over the types that count, times weight, and the sum of their weights.
  struct Sum {
    std::int64_t milli = 0;
    std::int64_t weight = 0;
  };
  [[nodiscard]] Sum sum_by_definition() const {
    std::map<TaskKind, std::int64_t> merged;  // memory makes no type
    for (const auto& [kind, count] : mix_) merged[{kind.milli, kind.cpus, 0, kind.models}] += count;
    std::vector<std::pair<TaskKind, std::int64_t>> kinds(merged.begin(), merged.end());
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::int64_t total = 0;
    for (const auto& [kind, count] : kinds) total += count;
    Sum sum;
    for (const auto& [kind, count] : kinds) {
      if (sum.weight * 100 >= total * 95) break;
      sum.weight += count;
      sum.milli += count * fragment_of(ledger_.node(0), kind);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t by_definition() const {
    const Sum sum = sum_by_definition();
    return sum.weight == 0 ? 0 : sum.milli / sum.weight;
  }
  [[nodiscard]] std::int64_t by_code() const { return fragmentation_.fragment(ledger_.node(0)); }

  /// Takes a task where it fits; none when it fits nowhere.
  std::optional<TaskAlloc> some_task() {
    const NodeCap& node = ledger_.node(0);
    TaskAlloc task;
    task.cpus = random_.between(0, 8);
    const std::int64_t part = random_.chance(1, 2) ? random_.between(1, 9) * 100 : 1000;
    const std::int64_t most = part < 1000 ? 1 : random_.between(1, 4);
    for (std::int32_t d = 0; d < 8 && std::ssize(task.devices) < most; ++d) {
      const DeviceCap& device = node.devices[static_cast<std::size_t>(d)];
      const bool fits = part == 1000 ? device.whole_free()
                                     : device.mode != DeviceMode::kWhole &&
                                           device.milli_free >= part;
      if (!fits) continue;
      DeviceShare share;
      share.device = d;
      share.gpus = MilliGpu(part);
      task.devices.push_back(share);
    }
    if (std::ssize(task.devices) < most || task.cpus > node.free.cpus) return std::nullopt;
    return task;
  }
  [[nodiscard]] std::int64_t score(const TaskAlloc& task, std::size_t models_named = 1) const {
    return fragmentation_.score(ledger_.node(0), task, models_named);
  }
  /// The same by what is kept for nodes of one model; none: the node has two.
  [[nodiscard]] std::optional<std::int64_t> score_at_once(const TaskAlloc& task,
                                                          std::size_t models_named) const {
    const NodeCap& node = ledger_.node(0);
    const auto prospect = fragmentation_.prospect(node, {task.cpus, models_named});
    if (!prospect) return std::nullopt;
    if (task.devices.empty()) return prospect->no_device();
    const DeviceShare& share = task.devices.front();
    if (share.gpus == kWholeGpu) {
      return prospect->whole(static_cast<std::int32_t>(task.devices.size()));
    }
    return prospect->part(node.devices[static_cast<std::size_t>(share.device)],
                          static_cast<std::int32_t>(share.gpus.value()));
  }
  void take(const TaskAlloc& task) { ledger_.take(task); }

 private:
  void use(std::int32_t device) {
    const std::uint64_t roll = random_.below(4);
    if (roll == 0) return;
    TaskAlloc task;
    task.cpus = random_.between(0, 4);
    task.memory = gibibytes(random_.between(0, 4)).value();
    DeviceShare share;
    share.device = device;
    share.gpus = roll == 1 ? kWholeGpu : MilliGpu(random_.between(1, 9) * 100);
    task.devices.push_back(share);
    ledger_.take(task);
  }

  [[nodiscard]] std::int64_t fragment_of(const NodeCap& node, const TaskKind& kind) const {
    if (kind.milli == 0 || kind.cpus > node.free.cpus) return node.free.milli;
    std::int64_t fitting = 0;
    std::int64_t too_small = 0;
    for (const DeviceCap& device : node.devices) {
      const std::string& model = topology_.models()[static_cast<std::size_t>(device.model)];
      const bool named = kind.models.empty() || kind.models.front() == model;
      const bool fits = named && (kind.milli >= 1000 ? device.whole_free()
                                                     : device.part_free() >= kind.milli);
      fitting += fits ? 1 : 0;
      too_small += fits ? 0 : device.part_free();
    }
    const std::int64_t need = kind.milli >= 1000 ? kind.milli / 1000 : 1;
    return fitting < need ? node.free.milli : too_small;
  }

  Random random_;
  Topology topology_;
  Ledger ledger_;
  std::map<TaskKind, std::int64_t> mix_;
  Fragmentation fragmentation_;
};

TEST(Fragmentation, IsWhatTheDefinitionSays) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const RandomNode node(seed);
    ASSERT_EQ(node.by_code(), node.by_definition()) << seed;
  }
}

// 100 / (1 + e^-x) of the fall in GPUs, which counts in whole milli-GPU, rounded down.
TEST(Fragmentation, AScoreIsTheFallOfTheFragmentWhenTheTaskIsThere) {
  int scored = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    RandomNode node(seed);
    const auto task = node.some_task();
    if (!task) continue;
    const RandomNode::Sum before = node.sum_by_definition();
    const std::int64_t score = node.score(*task);
    node.take(*task);
    const auto fall = static_cast<double>(before.milli - node.sum_by_definition().milli) /
                      static_cast<double>(before.weight);
    const double points = 100 / (1 + std::exp(-std::floor(fall + 1e-9) / 1000));
    ASSERT_NEAR(static_cast<double>(score) / 1000, std::floor(points + 1e-9), 1e-6) << seed;
    ++scored;
  }
  EXPECT_GT(scored, 200);
}

TEST(Fragmentation, ScoresOfANodeOfOneModelAreTheSameAtOnce) {
  int scored = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomNode node(seed);
    const auto task = node.some_task();
    if (!task) continue;
    const auto named = static_cast<std::size_t>(seed % 3);
    const auto at_once = node.score_at_once(*task, named);
    if (!at_once) continue;
    ASSERT_EQ(*at_once, node.score(*task, named)) << seed;
    TaskAlloc host;
    host.cpus = task->cpus;
    ASSERT_EQ(node.score_at_once(host, named), node.score(host, named)) << seed;
    ++scored;
  }
  EXPECT_GT(scored, 200);
}

}  // namespace
}  // namespace rota::engine
