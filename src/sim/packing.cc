#include "sim/packing.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "engine/fragmentation.h"
#include "sim/drain_one.h"

namespace rota::sim {
namespace {

using engine::NodeIndex;
using engine::TaskAlloc;

/// One row of the task list, ready to be placed.
struct Kind {
  engine::ShapeIndex shape = 0;
  std::int64_t milli = 0;
  std::string size;  // "cpu", "part", or the number of GPUs
  bool feasible = false;
};

std::string size_of(const engine::Request& request) {
  if (request.kind == engine::NeedKind::kNoDevice) return "cpu";
  if (request.kind == engine::NeedKind::kWhole) return std::to_string(request.whole);
  return "part";
}

/// The cluster and the task list, with nobody on it.
class Floor {
 public:
  Floor(const std::vector<NodeSpec>& nodes, const std::vector<JobShape>& tasks,
        Placement placement) {
    state_.policy.placement = placement;
    for (const NodeSpec& spec : nodes) {
      engine::NodeRec rec;
      rec.spec = spec;
      if (!spec.devices.empty()) rec.spec.pool = spec.devices.front().model;
      rec.devices.resize(spec.devices.size());
      ledger_.add_node(topology_.add(spec));
      state_.nodes.push_back(std::move(rec));
      capacity_ += std::ssize(spec.devices) * 1000;
    }
    for (const JobShape& task : tasks) {
      state_.mix.add({task.task.gpus.value(), task.task.cpus, task.task.memory.value(),
                      task.models},
                     1);
    }
    state_.mix.look();
    for (const JobShape& task : tasks) add_kind(of_any_model(task));
  }

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] const std::vector<Kind>& kinds() const { return kinds_; }
  [[nodiscard]] const engine::Request& request(const Kind& kind) const {
    return requests_.at(kind.shape);
  }
  [[nodiscard]] const engine::Placer& placer() const { return placer_; }
  [[nodiscard]] engine::Ledger& ledger() { return ledger_; }
  [[nodiscard]] std::size_t node_count() const { return state_.nodes.size(); }

  /// Milli-GPU of the whole cluster that the mix cannot use.
  [[nodiscard]] std::int64_t fragment() {
    fragmentation_.update(state_.mix.used, state_.mix.version, topology_, ledger_);
    std::int64_t sum = 0;
    for (const engine::NodeCap& node : ledger_.nodes()) sum += fragmentation_.fragment(node);
    return sum;
  }

 private:
  /// A list of models is a set here, while a job's list is an order. A node of the list has one
  /// model, so the task may go to any node of those models.
  static JobShape of_any_model(JobShape task) {
    if (task.models.size() < 2) return task;
    task.any_model = true;
    task.on = task.models;
    return task;
  }

  void add_kind(const JobShape& shape) {
    Kind kind;
    kind.shape = requests_.intern(shape);
    requests_.compile(kind.shape, state_, topology_, ledger_);
    const engine::Request& request = requests_.at(kind.shape);
    kind.milli = request.milli;
    kind.size = size_of(request);
    kind.feasible = placer_.place(ledger_, request, 1).has_value();
    kinds_.push_back(std::move(kind));
  }

  engine::State state_;
  engine::Topology topology_;
  engine::RequestTable requests_;
  engine::Ledger ledger_;
  engine::Placer placer_{state_, topology_};
  engine::Fragmentation fragmentation_;
  std::vector<Kind> kinds_;
  std::int64_t capacity_ = 0;
};

/// What has happened to arrivals so far.
struct Tally {
  std::int64_t arrived = 0;
  std::int64_t arrived_milli = 0;
  std::int64_t lost_milli = 0;
  std::int64_t moves = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_size;  // arrived, refused

  void note(const Kind& kind, bool placed) {
    ++arrived;
    arrived_milli += kind.milli;
    auto& [all, refused] = by_size[kind.size];
    ++all;
    if (placed) return;
    ++refused;
    lost_milli += kind.milli;
  }
};

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

PackingResult result_of(const Tally& tally, double load, std::int64_t infeasible) {
  PackingResult result;
  result.load = load;
  result.arrived = tally.arrived;
  result.infeasible = infeasible;
  result.lost_demand_percent = percent(static_cast<double>(tally.lost_milli),
                                       static_cast<double>(tally.arrived_milli));
  for (const auto& [size, counts] : tally.by_size) {
    result.refused_percent[size] =
        percent(static_cast<double>(counts.second), static_cast<double>(counts.first));
  }
  if (tally.arrived > 0) {
    result.moves_per_1000 =
        1000.0 * static_cast<double>(tally.moves) / static_cast<double>(tally.arrived);
  }
  return result;
}

/// Tasks on the cluster, and the moves that make room.
class Tenants {
 public:
  Tenants(Floor& floor, std::int64_t moves_max)
      : floor_(floor), moves_max_(moves_max), residents_(floor.node_count()) {}

  /// Places a task, moving others if that is allowed; false: refused. `moves` grows.
  bool admit(std::int64_t id, const Kind& kind, std::int64_t& moves) {
    const engine::Request& wish = floor_.request(kind);
    auto place = floor_.placer().place(floor_.ledger(), wish, 1);
    if (place) {
      settle(id, std::move(place->front()), wish);
      return true;
    }
    if (wish.whole < 2) return false;
    auto plan = drain_one(floor_.placer(), floor_.ledger(), wish, residents_, moves_max_);
    if (!plan) return false;
    moves += std::ssize(plan->moves);
    std::vector<const engine::Request*> wishes;
    for (const auto& [mover, there] : plan->moves) wishes.push_back(leave(mover).wish);
    settle(id, std::move(plan->place), wish);
    for (std::size_t i = 0; i < plan->moves.size(); ++i) {
      settle(plan->moves[i].first, std::move(plan->moves[i].second), *wishes[i]);
    }
    return true;
  }

  Resident leave(std::int64_t id) {
    const auto at = node_of_.find(id);
    auto& here = residents_[static_cast<std::size_t>(at->second)];
    const auto found = std::find_if(here.begin(), here.end(),
                                    [&](const Resident& r) { return r.id == id; });
    Resident resident = std::move(*found);
    here.erase(found);
    node_of_.erase(at);
    floor_.ledger().give(resident.held);
    return resident;
  }

 private:
  void settle(std::int64_t id, TaskAlloc task, const engine::Request& wish) {
    floor_.ledger().take(task);
    const NodeIndex node = task.node;
    node_of_[id] = node;
    residents_[static_cast<std::size_t>(node)].push_back({id, std::move(task), &wish});
  }

  Floor& floor_;
  std::int64_t moves_max_;
  std::vector<std::vector<Resident>> residents_;
  std::unordered_map<std::int64_t, NodeIndex> node_of_;  // lookup only
};

/// Rows of the list that can arrive.
std::vector<std::size_t> feasible_rows(const Floor& floor) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < floor.kinds().size(); ++i) {
    if (floor.kinds()[i].feasible) rows.push_back(i);
  }
  return rows;
}

double held_percent(Floor& floor) {
  const auto capacity = static_cast<double>(floor.capacity());
  return 100 - percent(static_cast<double>(floor.ledger().milli_free_open()), capacity);
}

std::vector<PackingResult> fill(Floor& floor, const PackingRun& run,
                                const PackingProgress& progress) {
  Random random(run.seed);
  std::vector<std::size_t> order = feasible_rows(floor);
  const std::vector<std::size_t> rows = order;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  const auto infeasible = std::ssize(floor.kinds()) - std::ssize(rows);
  const auto capacity = static_cast<double>(floor.capacity());
  Tenants tenants(floor, run.moves_max);
  Tally tally;
  std::vector<PackingResult> results;
  for (const double load : run.loads) {
    while (static_cast<double>(tally.arrived_milli) < load * capacity) {
      const auto next = static_cast<std::size_t>(tally.arrived);
      const std::size_t row = next < order.size() ? order[next] : rows[random.below(rows.size())];
      const Kind& kind = floor.kinds()[row];
      tally.note(kind, tenants.admit(tally.arrived, kind, tally.moves));
      if (tally.arrived % 256 == 0) {
        progress(static_cast<double>(tally.arrived_milli) / (run.loads.back() * capacity));
      }
    }
    PackingResult result = result_of(tally, load, infeasible);
    result.demand_percent = percent(static_cast<double>(tally.arrived_milli), capacity);
    result.allocated_percent = held_percent(floor);
    result.fragment_percent = percent(static_cast<double>(floor.fragment()), capacity);
    results.push_back(std::move(result));
  }
  return results;
}

/// Uniform in (0, 1).
double uniform(Random& random) {
  return (static_cast<double>(random.below(1ULL << 53)) + 0.5) / static_cast<double>(1ULL << 53);
}

/// Means over time of what is asked for, of what is held and of what is in fragments.
struct TimeMeans {
  double demand = 0;
  double held = 0;
  double fragment = 0;
  double time = 0;
  void add(double span, double demand_now, double held_now, double fragment_now) {
    demand += span * demand_now;
    held += span * held_now;
    fragment += span * fragment_now;
    time += span;
  }
};

/// Tasks that come and go, so that those that ask for GPUs ask for the load on average.
class Turnover {
 public:
  Turnover(Floor& floor, const PackingRun& run)
      : floor_(floor), run_(run), rows_(feasible_rows(floor)), tenants_(floor, run.moves_max) {
    double mean_milli = 0;
    for (const std::size_t row : rows_) {
      mean_milli += static_cast<double>(floor.kinds()[row].milli) /
                    static_cast<double>(rows_.size());
    }
    rate_ = run.loads.front() * static_cast<double>(floor.capacity()) / mean_milli;
  }

  PackingResult run(const PackingProgress& progress) {
    // So much of the first tasks' load is still missing after so many mean lifetimes: 0.7 %.
    constexpr double kLifetimesToFill = 5;
    const auto uncounted = static_cast<std::int64_t>(std::ceil(kLifetimesToFill * rate_));
    const std::int64_t all = uncounted + run_.arrivals;
    for (std::int64_t id = 0; id < all; ++id) {
      pass_until(now_ - std::log(uniform(gaps_)) / rate_, id > uncounted);
      if (id == uncounted) tally_ = Tally();
      arrive(id);
      if (id % kLookEvery != 0) continue;
      fragment_ = percent(static_cast<double>(floor_.fragment()), capacity());
      progress(static_cast<double>(id) / static_cast<double>(all));
    }
    PackingResult result = result_of(tally_, run_.loads.front(),
                                     std::ssize(floor_.kinds()) - std::ssize(rows_));
    if (means_.time > 0) {
      result.demand_percent = means_.demand / means_.time;
      result.allocated_percent = means_.held / means_.time;
      result.fragment_percent = means_.fragment / means_.time;
    }
    return result;
  }

 private:
  static constexpr std::int64_t kLookEvery = 256;  // arrivals between two looks at fragments
  /// The end of a task, were it placed or not.
  struct End {
    double at = 0;
    std::int64_t id = 0;
    std::int64_t milli = 0;
    bool placed = false;
    friend bool operator>(const End& a, const End& b) {
      return std::pair(a.at, a.id) > std::pair(b.at, b.id);
    }
  };

  void arrive(std::int64_t id) {
    const Kind& kind = floor_.kinds()[rows_[draws_.below(rows_.size())]];
    const bool placed = tenants_.admit(id, kind, tally_.moves);
    tally_.note(kind, placed);
    demand_ += kind.milli;
    ends_.push({now_ - std::log(uniform(lives_)), id, kind.milli, placed});
  }

  void pass_until(double until, bool counted) {
    while (true) {
      const double next = ends_.empty() ? until : std::min(until, ends_.top().at);
      if (counted) {
        const double wanted = percent(static_cast<double>(demand_), capacity());
        means_.add(next - now_, wanted, held_percent(floor_), fragment_);
      }
      now_ = next;
      if (ends_.empty() || ends_.top().at > until) return;
      demand_ -= ends_.top().milli;
      if (ends_.top().placed) tenants_.leave(ends_.top().id);
      ends_.pop();
    }
  }

  [[nodiscard]] double capacity() const { return static_cast<double>(floor_.capacity()); }

  Floor& floor_;
  const PackingRun& run_;
  std::vector<std::size_t> rows_;
  Tenants tenants_;
  double rate_ = 0;  // arrivals in a mean lifetime
  Random draws_ = Random(run_.seed).child("tasks");
  Random gaps_ = Random(run_.seed).child("arrivals");
  Random lives_ = Random(run_.seed).child("lifetimes");
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Tally tally_;
  TimeMeans means_;
  double now_ = 0;
  double fragment_ = 0;
  std::int64_t demand_ = 0;  // milli-GPU of all tasks that would be there, refused ones too
};

Error wrong(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

}  // namespace

Result<std::vector<PackingResult>> run_packing(const std::vector<NodeSpec>& nodes,
                                               const std::vector<JobShape>& tasks,
                                               const PackingRun& run,
                                               const PackingProgress& progress) {
  if (run.loads.empty()) return wrong("no load is given");
  for (std::size_t i = 0; i < run.loads.size(); ++i) {
    const bool ascends = i == 0 || run.loads[i] > run.loads[i - 1];
    if (!(run.loads[i] > 0) || !(run.loads[i] <= 100) || !ascends) {
      return wrong("loads must ascend and lie between 0 and 100");
    }
  }
  if (run.arrivals > 0 && run.loads.size() != 1) {
    return wrong("with departures there is one load");
  }
  Floor floor(nodes, tasks, run.placement);
  if (floor.capacity() == 0) return wrong("the cluster has no GPU");
  bool demand = false;
  for (const Kind& kind : floor.kinds()) demand = demand || (kind.feasible && kind.milli > 0);
  if (!demand) return wrong("no task of the list asks for a GPU and fits a node");
  if (run.arrivals > 0) return std::vector{Turnover(floor, run).run(progress)};
  return fill(floor, run, progress);
}

}  // namespace rota::sim
