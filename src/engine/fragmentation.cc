#include "engine/fragmentation.h"

#include <algorithm>
#include <array>

namespace rota::engine {

namespace {

/// kFallOf[k-1]: the least fall of the fragment, in milli-GPU, whose score is k; that is
/// 1000 ln(k / (100 - k)), rounded up.
constexpr std::array<std::int64_t, 99> kFallOf{
    -4595, -3891, -3476, -3178, -2944, -2751, -2586, -2442, -2313,
    -2197, -2090, -1992, -1900, -1815, -1734, -1658, -1585, -1516,
    -1450, -1386, -1324, -1265, -1208, -1152, -1098, -1045, -994,
    -944, -895, -847, -800, -753, -708, -663, -619, -575,
    -532, -489, -447, -405, -363, -322, -281, -241, -200,
    -160, -120, -80, -40, 0, 41, 81, 121, 161,
    201, 242, 282, 323, 364, 406, 448, 490, 533,
    576, 620, 664, 709, 754, 801, 848, 896, 945,
    995, 1046, 1099, 1153, 1209, 1266, 1325, 1387, 1451,
    1517, 1586, 1659, 1735, 1816, 1901, 1993, 2091, 2198,
    2314, 2443, 2587, 2752, 2945, 3179, 3477, 3892, 4596,
};

std::int64_t points(std::int64_t fall) {
  return std::upper_bound(kFallOf.begin(), kFallOf.end(), fall) - kFallOf.begin();
}

bool names(const std::vector<std::int32_t>& models, std::int32_t model) {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

}  // namespace

void Fragmentation::update(const std::map<TaskKind, std::int64_t>& mix, std::uint64_t version,
                           const Topology& topology, const Ledger& ledger) {
  if (ready_ && version == version_) return;
  ready_ = true;
  version_ = version;
  types_.clear();
  weight_sum_ = 0;
  std::vector<std::int64_t> capacity(topology.models().size(), 0);
  std::int64_t capacity_sum = 0;
  for (const NodeCap& node : ledger.nodes()) {
    for (const DeviceCap& device : node.devices) {
      capacity[device.model] += 1000;
      capacity_sum += 1000;
    }
  }
  std::vector<Int128> pinned(capacity.size(), 0);
  Int128 demand = 0;
  std::int64_t total = 0;
  for (const auto& [kind, count] : mix) {
    Type type{kind.milli, kind.cpus, kind.memory, {}, count};
    std::int64_t named = 0;
    for (const std::string& model : kind.models) {
      const std::int32_t index = topology.model_index(model);
      type.models.push_back(index);  // kNone: no device is of this model
      if (index != kNone) named += capacity[index];
    }
    demand += static_cast<Int128>(kind.milli) * count;
    for (const std::int32_t m : type.models) {
      if (named == 0 || m == kNone) continue;
      pinned[m] += static_cast<Int128>(kind.milli) * count * capacity[m] / named;
    }
    total += count;
    types_.push_back(std::move(type));
  }
  pressure_.assign(capacity.size(), 0);
  for (std::size_t m = 0; m < capacity.size(); ++m) {
    if (demand == 0 || capacity[m] == 0) continue;
    const Int128 pressure = pinned[m] * capacity_sum * 1000 / demand / capacity[m];
    pressure_[m] = static_cast<std::int64_t>(std::min<Int128>(pressure, 1500));
  }
  std::stable_sort(types_.begin(), types_.end(),
                   [](const Type& a, const Type& b) { return a.weight > b.weight; });
  std::size_t kept = 0;
  while (kept < types_.size() && weight_sum_ * 100 < total * 95) {
    weight_sum_ += types_[kept++].weight;
  }
  types_.resize(kept);
}

/// As the node is, or as it would be with the task taken.
void Fragmentation::Idle::count(const NodeCap& node, const TaskAlloc* taken) {
  devices.clear();
  milli = whole = 0;
  cpus = node.free.cpus - (taken != nullptr ? taken->cpus : 0);
  memory = node.free.memory - (taken != nullptr ? taken->memory : 0);
  one_model = true;
  const auto add = [this](const DeviceCap& device) {
    if (!device.usable()) return;
    devices.push_back({device.part_free(), device.model, device.whole_free()});
    milli += devices.back().milli;
    whole += devices.back().whole ? 1 : 0;
    one_model = one_model && device.model == devices.front().model;
  };
  std::size_t next = 0;  // of the task's shares, which are in the order of the devices
  for (std::size_t d = 0; d < node.devices.size(); ++d) {
    const bool touched = taken != nullptr && next < taken->devices.size() &&
                         static_cast<std::size_t>(taken->devices[next].device) == d;
    if (!touched) {
      add(node.devices[d]);
      continue;
    }
    DeviceCap device = node.devices[d];
    for (; next < taken->devices.size() &&
           static_cast<std::size_t>(taken->devices[next].device) == d;
         ++next) {
      take_share(device, taken->devices[next]);
    }
    add(device);
  }
}

std::int64_t Fragmentation::fragment_for(const Idle& idle, const Type& type) {
  if (type.milli == 0 || type.cpus > idle.cpus || type.memory > idle.memory) return idle.milli;
  if (idle.devices.empty()) return 0;
  const bool whole = type.milli >= 1000;
  if (idle.one_model) {
    if (!names(type.models, idle.devices.front().model)) return idle.milli;
    if (whole) {
      return idle.whole < type.milli / 1000 ? idle.milli : idle.milli - 1000 * idle.whole;
    }
  }
  std::int64_t fitting = 0;  // devices that could serve
  std::int64_t useful = 0;   // idle parts on them
  for (const Idle::Device& device : idle.devices) {
    const bool fits = whole ? device.whole : device.milli >= type.milli;
    if (!fits || (!idle.one_model && !names(type.models, device.model))) continue;
    ++fitting;
    useful += device.milli;
  }
  const std::int64_t need = whole ? type.milli / 1000 : 1;
  return fitting < need ? idle.milli : idle.milli - useful;
}

std::int64_t Fragmentation::fragment(const Idle& idle) const {
  if (weight_sum_ == 0) return 0;
  Int128 sum = 0;
  for (const Type& type : types_) {
    sum += static_cast<Int128>(fragment_for(idle, type)) * type.weight;
  }
  return static_cast<std::int64_t>(sum / weight_sum_);
}

std::int64_t Fragmentation::fragment(const NodeCap& node) const {
  before_.count(node, nullptr);
  return fragment(before_);
}

std::int64_t Fragmentation::score(const NodeCap& node, const TaskAlloc& task,
                                  std::size_t models_named) const {
  before_.count(node, nullptr);
  after_.count(node, &task);
  const std::int64_t gained = points(fragment(before_) - fragment(after_)) * 1000;
  if (task.devices.empty() || models_named == 1) return gained;
  const std::int32_t model = node.devices[task.devices.front().device].model;
  return gained - (models_named == 0 ? 10 : 5) * pressure_[model];
}

}  // namespace rota::engine
