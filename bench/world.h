// Clusters for the benchmarks: the engine's placement rooms without an engine around them, and
// whole engines full of running and waiting jobs. Same seed, same cluster.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "engine/place.h"

namespace rota::bench {

inline NodeSpec make_node(std::int64_t index, std::int64_t gpus) {
  NodeSpec node;
  node.name = "n" + std::to_string(index);
  node.devices.resize(static_cast<std::size_t>(gpus));
  node.rack = "r" + std::to_string(index / 32);
  return node;
}

inline JobShape whole_gpu_shape(std::int64_t gpus, std::int64_t tasks = 1) {
  JobShape shape;
  shape.task.gpus = whole_gpus(gpus);
  shape.tasks = tasks;
  return shape;
}

/// Sizes as teams ask for them: 55 % one GPU, 15 % two, 15 % four, 15 % eight.
inline std::int64_t job_gpus(Random& random) {
  const std::uint64_t roll = random.below(100);
  if (roll < 55) return 1;
  if (roll < 70) return 2;
  return roll < 85 ? 4 : 8;
}

/// State, topology, requests and ledger of `nodes` machines of eight GPUs, nothing else.
class PlacementWorld {
 public:
  explicit PlacementWorld(std::int64_t nodes) {
    for (std::int64_t i = 0; i < nodes; ++i) {
      engine::NodeRec rec;
      rec.spec = make_node(i, kGpus);
      rec.devices.resize(kGpus);
      engine::NodeCap cap = topology_.add(rec.spec);
      ledger_.add_node(std::move(cap));
      state_.nodes.push_back(std::move(rec));
    }
    for (std::int64_t gpus = 1; gpus <= kGpus; ++gpus) add_shape(whole_gpu_shape(gpus));
    gangs_ = add_shape(whole_gpu_shape(kGpus, 2));
  }

  /// Jobs of the usual sizes on every node, so that about `percent` of the GPUs are held and holes
  /// of all sizes lie between them.
  void fill(std::uint32_t percent, Random& random) {
    for (engine::NodeIndex node = 0; node < std::ssize(state_.nodes); ++node) {
      for (std::int64_t device = 0; device < kGpus;) {
        const std::int64_t gpus = std::min(job_gpus(random), kGpus - device);
        if (random.chance(percent, 100)) hold(node, device, gpus);
        device += gpus;
      }
    }
  }

  /// Places one job of so many GPUs on one node and takes it. False: nowhere.
  bool start(std::int64_t gpus) {
    auto tasks = placer_.place(ledger_, requests_.at(static_cast<engine::ShapeIndex>(gpus - 1)), 1);
    if (!tasks) return false;
    ledger_.take(*tasks);
    running_[static_cast<std::size_t>(gpus)].push_back(std::move(*tasks));
    return true;
  }

  /// Ends some job of so many GPUs, so that the cluster stays as full as it was.
  void end_one(std::int64_t gpus, Random& random) {
    auto& running = running_[static_cast<std::size_t>(gpus)];
    const std::size_t i = random.below(running.size());
    ledger_.give(running[i]);
    running[i] = std::move(running.back());
    running.pop_back();
  }

  /// Empties the first `count` nodes.
  void empty_nodes(std::int64_t count) {
    for (auto& running : running_) {
      std::erase_if(running, [&](const engine::Tasks& tasks) {
        if (tasks.front().node >= count) return false;
        ledger_.give(tasks);
        return true;
      });
    }
  }

  /// A place for `tasks` tasks of eight GPUs.
  [[nodiscard]] std::optional<engine::Tasks> place_gang(std::int64_t tasks) {
    return placer_.place(ledger_, requests_.at(gangs_), tasks);
  }

  [[nodiscard]] engine::Ledger& ledger() { return ledger_; }
  [[nodiscard]] double held_ratio() const {
    const auto total = static_cast<double>(state_.nodes.size()) * kGpus * 1000;
    return 1.0 - static_cast<double>(ledger_.milli_free_open()) / total;
  }

 private:
  static constexpr std::int64_t kGpus = 8;

  void hold(engine::NodeIndex node, std::int64_t first, std::int64_t gpus) {
    engine::TaskAlloc task;
    task.node = node;
    for (std::int64_t i = 0; i < gpus; ++i) {
      DeviceShare share;
      share.device = static_cast<std::int32_t>(first + i);
      share.gpus = kWholeGpu;
      share.memory = gibibytes(80);
      task.devices.push_back(share);
    }
    ledger_.take(task);
    running_[static_cast<std::size_t>(gpus)].push_back({std::move(task)});
  }

  engine::ShapeIndex add_shape(const JobShape& shape) {
    const engine::ShapeIndex index = requests_.intern(shape);
    requests_.compile(index, state_, topology_, ledger_);
    return index;
  }

  engine::State state_;
  engine::Topology topology_;
  engine::RequestTable requests_;
  engine::Ledger ledger_;
  engine::Placer placer_{state_, topology_};
  engine::ShapeIndex gangs_ = 0;
  std::array<std::vector<engine::Tasks>, kGpus + 1> running_;  // by GPUs
};

/// Nodes of eight GPUs of three models with 96 CPUs, and tasks of 20 kinds: parts, whole GPUs, some
/// that name a model, with more or fewer CPUs. Placed by the mix they have in common.
class MixedWorld {
 public:
  explicit MixedWorld(std::int64_t nodes) {
    state_.policy.placement = Placement::kLeastFragmentation;
    for (std::int64_t i = 0; i < nodes; ++i) {
      engine::NodeRec rec;
      rec.spec = make_node(i, 8);
      rec.spec.cpus = 96;
      const auto model = static_cast<std::size_t>(i) % kModels.size();
      for (DeviceSpec& device : rec.spec.devices) device.model = kModels[model];
      rec.devices.resize(8);
      ledger_.add_node(topology_.add(rec.spec));
      state_.nodes.push_back(std::move(rec));
    }
    for (std::int64_t i = 0; i < kKinds; ++i) add_kind(i);
    for (std::int64_t i = 0; i < 10'000; ++i) count(i % kKinds);
  }

  void fill(std::int64_t percent, Random& random) {
    const auto all = static_cast<std::int64_t>(state_.nodes.size()) * 8000;
    for (int refused = 0; refused < 1'000;) {
      if (ledger_.milli_free_open() * 100 <= all * (100 - percent)) return;
      if (!start(random, false)) ++refused;
    }
  }
  /// Places one task of some kind. False: nowhere.
  bool start(Random& random, bool counts) {
    const auto kind = static_cast<std::int64_t>(random.below(kKinds));
    if (counts) count(kind);
    auto tasks = placer_.place(ledger_, requests_.at(static_cast<engine::ShapeIndex>(kind)), 1);
    if (!tasks) return false;
    ledger_.take(*tasks);
    running_.push_back(std::move(*tasks));
    return true;
  }
  void end_one(Random& random) {
    const std::size_t i = random.below(running_.size());
    ledger_.give(running_[i]);
    running_[i] = std::move(running_.back());
    running_.pop_back();
  }
  [[nodiscard]] double held_ratio() const {
    const auto total = static_cast<double>(state_.nodes.size()) * 8000;
    return 1.0 - static_cast<double>(ledger_.milli_free_open()) / total;
  }

 private:
  static constexpr std::int64_t kKinds = 20;
  static constexpr std::array kModels{"a100", "h100", "t4"};

  void add_kind(std::int64_t i) {
    constexpr std::array<std::int64_t, 10> kMilli{100, 200, 250, 500, 700,
                                                  1000, 2000, 3000, 4000, 8000};
    JobShape shape;
    shape.task.gpus = MilliGpu(kMilli[static_cast<std::size_t>(i) % kMilli.size()]);
    shape.task.cpus = 1 + i / 4 + shape.task.gpus.value() * 4 / 1000;
    if (i >= 15) shape.models = {kModels[static_cast<std::size_t>(i) % kModels.size()]};
    requests_.compile(requests_.intern(shape), state_, topology_, ledger_);
  }
  void count(std::int64_t kind) {
    const JobShape& shape = requests_.at(static_cast<engine::ShapeIndex>(kind)).shape;
    state_.mix.add({shape.task.gpus.value(), shape.task.cpus, 0, shape.models}, 1);
  }

  engine::State state_;
  engine::Topology topology_;
  engine::RequestTable requests_;
  engine::Ledger ledger_;
  engine::Placer placer_{state_, topology_};
  std::vector<engine::Tasks> running_;
};

/// The bar for PlacementWorld: one byte a node, the fullest node that fits found by looking at all.
class LinearWorld {
 public:
  explicit LinearWorld(std::int64_t nodes) : free_(static_cast<std::size_t>(nodes), 8) {}

  void fill(std::uint32_t percent, Random& random) {
    for (std::size_t node = 0; node < free_.size(); ++node) {
      for (std::int64_t device = 0; device < 8;) {
        const std::int64_t gpus = std::min<std::int64_t>(job_gpus(random), 8 - device);
        device += gpus;
        if (!random.chance(percent, 100)) continue;
        free_[node] = static_cast<std::uint8_t>(free_[node] - gpus);
        running_[static_cast<std::size_t>(gpus)].push_back(node);
      }
    }
  }

  bool start(std::int64_t gpus) {
    std::size_t best = free_.size();
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i] < gpus) continue;
      if (best == free_.size() || free_[i] < free_[best]) best = i;
    }
    if (best == free_.size()) return false;
    free_[best] = static_cast<std::uint8_t>(free_[best] - gpus);
    running_[static_cast<std::size_t>(gpus)].push_back(best);
    return true;
  }

  void end_one(std::int64_t gpus, Random& random) {
    auto& running = running_[static_cast<std::size_t>(gpus)];
    const std::size_t i = random.below(running.size());
    free_[running[i]] = static_cast<std::uint8_t>(free_[running[i]] + gpus);
    running[i] = running.back();
    running.pop_back();
  }

 private:
  std::vector<std::uint8_t> free_;
  std::array<std::vector<std::size_t>, 9> running_;  // their nodes, by GPUs
};

/// An engine with `nodes` machines of eight GPUs and twenty queues of equal weight.
inline engine::Engine make_engine(std::int64_t nodes) {
  engine::Engine engine;
  const Instant start(0);
  Policy policy;
  policy.backfill = Backfill::kEasy;
  ROTA_CHECK(engine.apply(start, PolicySet{policy}).ok());
  for (int q = 0; q < 20; ++q) {
    QueueSpec queue;
    queue.name = "team-" + std::to_string(q);
    ROTA_CHECK(engine.apply(start, QueueSet{queue}).ok());
  }
  for (std::int64_t i = 0; i < nodes; ++i) {
    ROTA_CHECK(engine.apply(start, NodeReported{make_node(i, 8)}).ok());
  }
  return engine;
}

inline JobSubmitted make_job(std::uint64_t id, std::int64_t gpus, Random& random) {
  JobSubmitted event;
  event.job = JobId(id);
  event.spec.queue = "team-" + std::to_string(random.below(20));
  event.spec.user = "user-" + std::to_string(random.below(200));
  event.spec.priority = random.between(0, 2);
  event.spec.time_limit = Duration::minutes(random.between(10, 2880));
  event.spec.shape = whole_gpu_shape(gpus);
  return event;
}

/// Submits jobs `first` to `last` of the usual sizes.
inline void submit_jobs(engine::Engine& engine, Instant now, std::uint64_t first,
                        std::uint64_t last, Random& random) {
  for (std::uint64_t id = first; id <= last; ++id) {
    ROTA_CHECK(engine.apply(now, make_job(id, job_gpus(random), random)).ok());
  }
}

/// Runs cycles until nothing changes and reports every start as a fact. Value: jobs started.
inline std::int64_t settle(engine::Engine& engine, Instant now) {
  std::int64_t started = 0;
  bool changed = true;
  while (changed) {
    const engine::CycleResult cycle = engine.run_cycle(now);
    changed = cycle.changed;
    for (const Decision& decision : cycle.decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start == nullptr) continue;
      ROTA_CHECK(engine.apply(now, AttemptStarted{start->job, start->attempt}).ok());
      ++started;
    }
  }
  return started;
}

/// CPU times of single rounds, for what a mean hides.
class Rounds {
 public:
  void begin() { begun_ = cpu_nanoseconds(); }
  void end() { times_.push_back(cpu_nanoseconds() - begun_); }
  /// In microseconds, the time within which so many percent of the rounds were done.
  [[nodiscard]] double within(std::size_t percent) {
    std::sort(times_.begin(), times_.end());
    const std::size_t rank = (times_.size() * percent + 99) / 100;
    return static_cast<double>(times_[std::max<std::size_t>(rank, 1) - 1]) / 1e3;
  }

 private:
  static std::int64_t cpu_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  }
  std::int64_t begun_ = 0;
  std::vector<std::int64_t> times_;
};

}  // namespace rota::bench
