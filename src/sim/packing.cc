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
      rec.devices.resize(spec.devices.size());
      ledger_.add_node(topology_.add(spec));
      state_.nodes.push_back(std::move(rec));
      capacity_ += std::ssize(spec.devices) * 1000;
      for (const DeviceSpec& device : spec.devices) capacity_of_[device.model] += 1000;
    }
    for (const JobShape& task : tasks) {
      state_.mix[{task.task.gpus.value(), task.task.cpus, task.task.memory.value(),
                  task.models}] += 1;
    }
    state_.mix_version = 1;
    for (const JobShape& task : tasks) add_kind(least_contested_first(task, tasks));
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
    fragmentation_.update(state_.mix, state_.mix_version, topology_, ledger_);
    std::int64_t sum = 0;
    for (const engine::NodeCap& node : ledger_.nodes()) sum += fragmentation_.fragment(node);
    return sum;
  }

 private:
  /// A list of models is a set here, while a job's list is an order: the model with the least
  /// pinned demand for its capacity comes first.
  JobShape least_contested_first(JobShape task, const std::vector<JobShape>& tasks) {
    if (task.models.size() < 2) return task;
    if (pressure_.empty()) {
      for (const JobShape& other : tasks) {
        double capacity = 0;
        for (const std::string& model : other.models) capacity += capacity_in(model);
        for (const std::string& model : other.models) {
          if (capacity > 0) {
            pressure_[model] += static_cast<double>(other.task.gpus.value()) / capacity;
          }
        }
      }
    }
    std::stable_sort(task.models.begin(), task.models.end(),
                     [this](const std::string& a, const std::string& b) {
                       return pressure_[a] < pressure_[b];
                     });
    return task;
  }

  [[nodiscard]] double capacity_in(const std::string& model) const {
    const auto found = capacity_of_.find(model);
    return found == capacity_of_.end() ? 0 : static_cast<double>(found->second);
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
  std::map<std::string, std::int64_t> capacity_of_;
  std::map<std::string, double> pressure_;
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

/// Means over time of what is held and of what is in fragments.
struct TimeMeans {
  double held = 0;
  double fragment = 0;
  double time = 0;
  void add(double span, double held_now, double fragment_now) {
    held += span * held_now;
    fragment += span * fragment_now;
    time += span;
  }
};

PackingResult turn_over(Floor& floor, const PackingRun& run, const PackingProgress& progress) {
  constexpr std::int64_t kFragmentEvery = 256;  // arrivals between two looks
  const Random root(run.seed);
  Random draws = root.child("tasks");
  Random gaps = root.child("arrivals");
  Random lives = root.child("lifetimes");
  const std::vector<std::size_t> rows = feasible_rows(floor);
  double mean_milli = 0;
  for (const std::size_t row : rows) {
    mean_milli += static_cast<double>(floor.kinds()[row].milli) / static_cast<double>(rows.size());
  }
  const auto capacity = static_cast<double>(floor.capacity());
  const double rate = run.loads.front() * capacity / mean_milli;  // arrivals in a mean lifetime
  const std::int64_t warm = run.arrivals / 5;
  using End = std::pair<double, std::int64_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Tenants tenants(floor, run.moves_max);
  Tally tally;
  TimeMeans means;
  double now = 0;
  double fragment = 0;
  const auto pass_until = [&](double until, bool counted) {
    while (true) {
      const double next = ends.empty() ? until : std::min(until, ends.top().first);
      if (counted) means.add(next - now, held_percent(floor), fragment);
      now = next;
      if (ends.empty() || ends.top().first > until) return;
      tenants.leave(ends.top().second);
      ends.pop();
    }
  };
  for (std::int64_t id = 0; id < run.arrivals; ++id) {
    pass_until(now - std::log(uniform(gaps)) / rate, id > warm);
    if (id == warm) tally = Tally();
    const Kind& kind = floor.kinds()[rows[draws.below(rows.size())]];
    const bool placed = tenants.admit(id, kind, tally.moves);
    tally.note(kind, placed);
    if (placed) ends.emplace(now - std::log(uniform(lives)), id);
    if (id % kFragmentEvery != 0) continue;
    fragment = percent(static_cast<double>(floor.fragment()), capacity);
    progress(static_cast<double>(id) / static_cast<double>(run.arrivals));
  }
  PackingResult result =
      result_of(tally, run.loads.front(), std::ssize(floor.kinds()) - std::ssize(rows));
  if (means.time > 0) {
    result.allocated_percent = means.held / means.time;
    result.fragment_percent = means.fragment / means.time;
  }
  return result;
}

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
  if (run.arrivals > 0) return std::vector{turn_over(floor, run, progress)};
  return fill(floor, run, progress);
}

}  // namespace rota::sim
