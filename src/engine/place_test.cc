// The placement room against one that looks at every node, on random clusters.
#include "engine/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/random.h"

namespace rota::engine {
namespace {

/// Fragmentation gradient descent by its definition, with the mix counted anew at each question.
class SlowGradient {
 public:
  SlowGradient(const State& state, const Topology& topology, const Ledger& ledger)
      : topology_(topology) {
    std::map<TaskKind, std::int64_t> merged;  // memory makes no type
    for (const auto& [kind, n] : state.mix.used) {
      merged[{kind.milli, kind.cpus, 0, kind.models}] += n;
    }
    types_.assign(merged.begin(), merged.end());
    weigh_models(ledger);
    std::stable_sort(types_.begin(), types_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::int64_t total = 0;
    for (const auto& [type, n] : types_) total += n;
    std::size_t kept = 0;
    while (weight_ * 100 < total * 95) weight_ += types_[kept++].second;
    types_.resize(kept);
  }

  /// In thousandths of a point, of taking the task on its node.
  [[nodiscard]] std::int64_t score(Ledger ledger, const TaskAlloc& task,
                                   const std::vector<std::string>& models) const {
    const NodeCap& node = ledger.node(task.node);
    const std::int64_t before = fragment(node);
    ledger.take(task);
    const auto fall = std::floor(static_cast<double>(before - fragment(node)) /
                                     static_cast<double>(std::max<std::int64_t>(weight_, 1)) +
                                 1e-9);
    const double points = std::floor(100 / (1 + std::exp(-fall / 1000)) + 1e-9);
    auto score = static_cast<std::int64_t>(points) * 1000;
    if (task.devices.empty() || models.size() == 1) return score;
    const auto first = static_cast<std::size_t>(task.devices.front().device);
    return score - (models.empty() ? 10 : 5) * pressure_.at(node.devices[first].model);
  }

 private:
  void weigh_models(const Ledger& ledger) {
    std::map<std::int32_t, std::int64_t> capacity;
    std::int64_t all = 0;
    for (const NodeCap& node : ledger.nodes()) {
      for (const DeviceCap& device : node.devices) capacity[device.model] += 1000;
      all += std::ssize(node.devices) * 1000;
    }
    std::int64_t demand = 0;
    std::map<std::int32_t, std::int64_t> pinned;
    for (const auto& [type, n] : types_) {
      demand += type.milli * n;
      std::int64_t named = 0;
      for (const auto& model : type.models) named += capacity_of(capacity, model);
      for (const auto& model : type.models) {
        if (capacity_of(capacity, model) == 0) continue;
        pinned[topology_.model_index(model)] +=
            type.milli * n * capacity_of(capacity, model) / named;
      }
    }
    for (const auto& [model, milli] : capacity) {
      const std::int64_t pressure = demand == 0 ? 0 : pinned[model] * all * 1000 / demand / milli;
      pressure_[model] = std::min<std::int64_t>(pressure, 1500);
    }
  }
  std::int64_t capacity_of(const std::map<std::int32_t, std::int64_t>& capacity,
                           const std::string& model) const {
    const auto found = capacity.find(topology_.model_index(model));
    return found == capacity.end() ? 0 : found->second;
  }
  /// Times the weight of all types.
  [[nodiscard]] std::int64_t fragment(const NodeCap& node) const {
    std::int64_t sum = 0;
    for (const auto& [type, n] : types_) sum += n * fragment_for(node, type);
    return sum;
  }
  [[nodiscard]] std::int64_t fragment_for(const NodeCap& node, const TaskKind& type) const {
    std::int64_t fitting = 0;
    std::int64_t idle = 0;
    std::int64_t useful = 0;
    for (const DeviceCap& device : node.devices) {
      const std::string& model = topology_.models()[static_cast<std::size_t>(device.model)];
      const bool named = type.models.empty() || std::find(type.models.begin(), type.models.end(),
                                                          model) != type.models.end();
      const bool fits = type.milli >= 1000 ? device.whole_free() : device.part_free() >= type.milli;
      idle += device.part_free();
      fitting += named && fits ? 1 : 0;
      useful += named && fits ? device.part_free() : 0;
    }
    const bool runs = type.milli > 0 && type.cpus <= node.free.cpus &&
                      fitting >= std::max<std::int64_t>(1, type.milli / 1000);
    return runs ? idle - useful : idle;
  }

  const Topology& topology_;
  std::vector<std::pair<TaskKind, std::int64_t>> types_;
  std::int64_t weight_ = 0;
  std::map<std::int32_t, std::int64_t> pressure_;
};

/// What the rule book says, node by node, without an index.
class SlowPlacer {
 public:
  SlowPlacer(const State& state, const Topology& topology, const Placer& placer)
      : state_(state), topology_(topology), placer_(placer) {}

  std::optional<Tasks> place_most(const Ledger& ledger, const Request& request,
                                  std::int64_t least, std::int64_t most) {
    for (const std::int32_t site : request.sites) {
      for (const std::int32_t model : request.models) {
        const Wish wish{request, least, most, site, model};
        auto tasks = in_levels(ledger, wish);
        if (tasks) return tasks;
      }
    }
    return std::nullopt;
  }

 private:
  struct Wish {
    const Request& request;
    std::int64_t least;
    std::int64_t most;
    std::int32_t site;
    std::int32_t model;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  [[nodiscard]] bool spread() const { return state_.policy.placement == Placement::kSpread; }
  static int width(TopologyLevel level) {
    constexpr std::array kOrder{TopologyLevel::kIsland, TopologyLevel::kSocket,
                                TopologyLevel::kNode, TopologyLevel::kRack,
                                TopologyLevel::kBlock, TopologyLevel::kNone};
    return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), level) - kOrder.begin());
  }
  std::optional<Tasks> in_levels(const Ledger& ledger, const Wish& wish) {
    const JobShape& shape = wish.request.shape;
    if (shape.prefer != TopologyLevel::kNone && width(shape.prefer) <= width(shape.same)) {
      if (auto tasks = in_best_domain(ledger, wish, shape.prefer)) return tasks;
    }
    if (shape.same != TopologyLevel::kNone) return in_best_domain(ledger, wish, shape.same);
    return all_or_none(ledger, wish, nullptr);
  }
  std::optional<Tasks> all_or_none(Ledger ledger, const Wish& wish, const Domain* domain) {
    Tasks tasks;
    while (std::ssize(tasks) < wish.most) {
      auto task = one(ledger, wish, domain);
      if (!task) break;
      task->rank = static_cast<std::int32_t>(tasks.size());
      ledger.take(*task);
      tasks.push_back(std::move(*task));
    }
    if (std::ssize(tasks) < wish.least) return std::nullopt;
    return tasks;
  }
  std::optional<Tasks> in_best_domain(const Ledger& ledger, const Wish& wish,
                                      TopologyLevel level) {
    std::optional<Tasks> best;
    std::int64_t best_free = 0;
    for (const Domain& domain : topology_.domains(level)) {
      std::int64_t free = 0;
      for (const NodeIndex n : domain.nodes) {
        const NodeCap& node = ledger.node(n);
        for (std::int32_t d = 0; node.open && d < std::ssize(node.devices); ++d) {
          const auto& some = domain.devices;
          const bool in = some.empty() || std::find(some.begin(), some.end(), d) != some.end();
          free += in ? node.devices[static_cast<std::size_t>(d)].part_free() : 0;
        }
      }
      if (free < wish.request.milli * wish.least) continue;
      if (best && (spread() ? free <= best_free : free >= best_free)) continue;
      if (auto tasks = all_or_none(ledger, wish, &domain)) {
        best = std::move(tasks);
        best_free = free;
      }
    }
    return best;
  }
  /// Every device of every node; the least key wins, the first among equals.
  std::optional<TaskAlloc> one(const Ledger& ledger, const Wish& wish, const Domain* domain) {
    std::optional<TaskAlloc> best;
    Key best_key;
    const Request& request = wish.request;
    const bool by_mix = state_.policy.placement == Placement::kLeastFragmentation;
    const SlowGradient gradient(state_, topology_, ledger);
    const auto offer = [&](Key key, TaskAlloc task) {
      // The score comes before all but the rule for tasks without GPUs.
      if (by_mix) std::get<1>(key) = -gradient.score(ledger, task, request.shape.models);
      if (best && key >= best_key) return;
      best_key = key;
      best = std::move(task);
    };
    for (NodeIndex n = 0; n < std::ssize(state_.nodes); ++n) {
      const NodeCap& node = ledger.node(n);
      const bool in = domain == nullptr || std::find(domain->nodes.begin(), domain->nodes.end(),
                                                     n) != domain->nodes.end();
      const bool may = std::find(request.nodes.begin(), request.nodes.end(), n) !=
                       request.nodes.end();
      if (!in || !may || !node.open || topology_.site_of(n) != wish.site) continue;
      auto task = placer_.fit_on_node(ledger, request, n, wish.model, domain);
      if (!task) continue;
      if (request.kind != NeedKind::kFraction && request.kind != NeedKind::kMig) {
        const bool beside = request.kind == NeedKind::kNoDevice && !node.devices.empty();
        offer({beside, 0, spread() ? -node.free.milli : node.free.milli, 0}, std::move(*task));
        continue;
      }
      for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
        Domain only{{n}, {d}};
        const bool allowed = domain == nullptr || domain->devices.empty() ||
                             std::binary_search(domain->devices.begin(), domain->devices.end(), d);
        auto part = placer_.fit_on_node(ledger, request, n, wish.model, &only);
        if (!allowed || !part) continue;
        const DeviceCap& device = node.devices[static_cast<std::size_t>(d)];
        const std::int64_t full =
            device.mig ? std::popcount(device.mig_used) : 1000 - device.milli_free;
        const std::int64_t free = node.free.milli;
        offer(spread() ? Key{0, 0, full, -free} : Key{0, 0, -full, free}, std::move(*part));
      }
    }
    return best;
  }

  const State& state_;
  const Topology& topology_;
  const Placer& placer_;
};

/// A cluster of a few dozen nodes of all kinds, with work on it.
class World {
 public:
  World(std::uint64_t seed, Placement placement) : random_(seed) {
    state_.policy.placement = placement;
    const std::int64_t nodes = random_.between(1, 30);
    for (std::int64_t i = 0; i < nodes; ++i) add_node(i);
  }
  void step() {
    const auto what = random_.below(20);
    if (what < 12) place();
    if (what >= 12 && what < 17 && !running_.empty()) end();
    const auto node = static_cast<NodeIndex>(random_.below(state_.nodes.size()));
    if (what == 17) ledger_.set_open(node, random_.chance(3, 4));
    if (what == 18 && !state_.nodes[node].devices.empty()) {
      const auto device = random_.below(state_.nodes[node].devices.size());
      ledger_.set_out(node, static_cast<std::int32_t>(device), random_.chance(1, 3) ? 1 : 0);
    }
    if (what == 19) try_out();
    Ledger fresh;
    for (const NodeCap& cap : ledger_.nodes()) fresh.adopt(cap);
    ASSERT_EQ(fresh.index(), ledger_.index());
  }

 private:
  void add_node(std::int64_t index) {
    NodeSpec spec;
    spec.name = "n" + std::to_string(index);
    spec.devices.resize(std::array{0U, 1U, 2U, 4U, 8U}[random_.below(5)]);
    for (DeviceSpec& device : spec.devices) device.model = "a";
    if (random_.chance(1, 4)) {
      for (DeviceSpec& device : spec.devices) device.model = "b";
    }
    if (random_.chance(1, 8) && !spec.devices.empty()) spec.devices.back().model = "c";
    spec.cpus = random_.between(2, 64);
    spec.mig = random_.chance(1, 5);
    spec.slots = random_.chance(1, 4) ? 4 : 0;
    if (random_.chance(1, 4)) spec.pool = "p";
    if (random_.chance(1, 4)) spec.labels["disk"] = "fast";
    if (random_.chance(1, 5)) spec.site = "far";
    if (random_.chance(3, 4)) spec.rack = "r" + std::to_string(index / 4);
    if (random_.chance(3, 4)) spec.block = "b" + std::to_string(index / 10);
    if (spec.devices.size() == 8 && random_.chance(1, 2)) {
      spec.islands = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    }
    if (spec.devices.size() == 8 && random_.chance(1, 2)) {
      spec.sockets = {{0, 2, 4, 6}, {1, 3, 5, 7}};
    }
    NodeRec rec;
    rec.spec = spec;
    rec.devices.resize(spec.devices.size());
    ledger_.add_node(topology_.add(spec));
    state_.nodes.push_back(std::move(rec));
  }
  TopologyLevel any_level() {
    if (random_.chance(2, 3)) return TopologyLevel::kNone;
    return std::array{TopologyLevel::kIsland, TopologyLevel::kSocket, TopologyLevel::kNode,
                      TopologyLevel::kRack, TopologyLevel::kBlock}[random_.below(5)];
  }
  JobShape any_shape() {
    JobShape shape;
    switch (random_.below(8)) {
      case 0: shape.task.gpus = MilliGpu(); break;
      case 1:
      case 2: shape.task.gpus = MilliGpu(std::array{100, 250, 300, 500, 700}[random_.below(5)]);
        break;
      case 3:
        shape.task.mig =
            std::array{"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"}[random_.below(4)];
        break;
      case 4:
        shape.task.slots = random_.between(1, 6);
        shape.task.distinct_devices = random_.between(0, 2);
        break;
      default: shape.task.gpus = whole_gpus(std::array{1, 1, 2, 4, 8}[random_.below(5)]);
    }
    shape.task.cpus = random_.chance(1, 2) ? random_.between(0, 16) : 0;
    if (shape.task.gpus.value() == 0 && shape.task.cpus == 0) shape.task.cpus = 1;
    if (random_.chance(1, 3)) shape.tasks = random_.between(2, 12);
    shape.same = any_level();
    shape.prefer = any_level();
    if (random_.chance(1, 6)) shape.models = {"b", "a"};
    if (random_.chance(1, 8)) shape.any_model = true;
    if (random_.chance(1, 8)) shape.on = {"p"};
    if (random_.chance(1, 8)) shape.exclude = {"n0", "n3"};
    if (random_.chance(1, 8)) shape.labels["disk"] = "fast";
    if (random_.chance(1, 8)) shape.site = "far";
    return shape;
  }
  /// Shapes come again, and the mix changes now and then.
  JobShape next_shape() {
    if (shapes_.empty() || random_.chance(1, 3)) shapes_.push_back(any_shape());
    JobShape shape = shapes_[random_.below(shapes_.size())];
    if (shapes_.size() < 4 || random_.chance(1, 4)) {
      const TaskShape& task = shape.task;
      state_.mix.add({task.gpus.value(), task.cpus, task.memory.value(), shape.models},
                     shape.tasks);
      state_.mix.look_if_grown();
    }
    return shape;
  }
  void place() {
    const ShapeIndex index = requests_.intern(next_shape());
    requests_.compile(index, state_, topology_, ledger_);
    const Request& request = requests_.at(index);
    const std::int64_t most = request.shape.tasks;
    const std::int64_t least = random_.between(1, most);
    const Ledger before = ledger_;
    const auto tasks = placer_.place_most(ledger_, request, least, most);
    ASSERT_EQ(ledger_, before);
    ASSERT_EQ(ledger_.index(), before.index());
    SlowPlacer slow(state_, topology_, placer_);
    ASSERT_EQ(tasks, slow.place_most(ledger_, request, least, most));
    if (!tasks || random_.chance(1, 5)) return;
    ledger_.take(*tasks);
    running_.push_back(*tasks);
  }
  void end() {
    const auto i = random_.below(running_.size());
    ledger_.give(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void try_out() {
    const Ledger before = ledger_;
    const Ledger::Mark mark = ledger_.checkpoint();
    const auto gone = running_.begin() + static_cast<std::ptrdiff_t>(
                                             random_.below(running_.size() + 1));
    for (auto tasks = running_.begin(); tasks != gone; ++tasks) ledger_.give(*tasks);
    for (auto tasks = running_.begin(); tasks != gone; ++tasks) {
      for (const TaskAlloc& task : *tasks) ledger_.take_rest(task);
    }
    ledger_.rollback(mark);
    ASSERT_EQ(ledger_, before);
  }

  Random random_;
  State state_;
  Topology topology_;
  Ledger ledger_;
  RequestTable requests_;
  Placer placer_{state_, topology_};
  std::vector<Tasks> running_;
  std::vector<JobShape> shapes_;
};

class Placing : public testing::TestWithParam<Placement> {};

TEST_P(Placing, ChoosesAsOneThatLooksAtEveryNode) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, GetParam());
    for (int i = 0; i < 120 && !HasFatalFailure(); ++i) world.step();
  }
}

std::string name_of_case(const testing::TestParamInfo<Placement>& info) {
  if (info.param == Placement::kPack) return "Pack";
  return info.param == Placement::kSpread ? "Spread" : "LeastFragmentation";
}

INSTANTIATE_TEST_SUITE_P(Policies, Placing,
                         testing::Values(Placement::kPack, Placement::kSpread,
                                         Placement::kLeastFragmentation),
                         name_of_case);

}  // namespace
}  // namespace rota::engine
