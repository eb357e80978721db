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

constexpr std::int64_t kFallMax = 4596;

/// The score of every fall from -kFallMax to kFallMax, in points.
constexpr auto kPoints = [] {
  std::array<std::uint8_t, 2 * kFallMax + 1> points{};
  std::size_t score = 0;
  for (std::int64_t fall = -kFallMax; fall <= kFallMax; ++fall) {
    while (score < kFallOf.size() && kFallOf[score] <= fall) ++score;
    points[static_cast<std::size_t>(fall + kFallMax)] = static_cast<std::uint8_t>(score);
  }
  return points;
}();

std::int64_t points(std::int64_t fall) {
  return kPoints[static_cast<std::size_t>(std::clamp(fall, -kFallMax, kFallMax) + kFallMax)];
}

/// Rounded down, also below zero.
std::int64_t floor_of(std::int64_t amount, std::int64_t by) {
  return amount / by - (amount % by < 0 ? 1 : 0);
}

std::int64_t devices_of_largest(const Ledger& ledger) {
  std::int64_t most = 0;
  for (const NodeCap& node : ledger.nodes()) {
    most = std::max<std::int64_t>(most, std::ssize(node.devices));
  }
  return most;
}

}  // namespace

void Fragmentation::update(const std::map<TaskKind, std::int64_t>& mix, std::uint64_t version,
                           const Topology& topology, const Ledger& ledger) {
  if (ready_ && version == version_) return;
  ready_ = true;
  version_ = version;
  types_.clear();
  add_types(mix, topology);
  weigh_models(topology, ledger);
  keep_popular();
  table_.build(types_, topology.models().size(), devices_of_largest(ledger));
}

void Fragmentation::add_types(const std::map<TaskKind, std::int64_t>& mix,
                              const Topology& topology) {
  std::map<TaskKind, std::int64_t> without_memory;
  for (const auto& [kind, count] : mix) {
    without_memory[{kind.milli, kind.cpus, 0, kind.models}] += count;
  }
  for (const auto& [kind, count] : without_memory) {
    MixKind type{kind.milli, kind.cpus, {}, count};
    // kNone where no device is of the model.
    for (const std::string& model : kind.models) type.models.push_back(topology.model_index(model));
    types_.push_back(std::move(type));
  }
}

/// The pressure on every model.
void Fragmentation::weigh_models(const Topology& topology, const Ledger& ledger) {
  std::vector<std::int64_t> capacity(topology.models().size(), 0);
  std::int64_t capacity_sum = 0;
  for (const NodeCap& node : ledger.nodes()) {
    for (const DeviceCap& device : node.devices) capacity[device.model] += 1000;
    capacity_sum += std::ssize(node.devices) * 1000;
  }
  std::vector<Int128> pinned(capacity.size(), 0);
  Int128 demand = 0;
  for (const MixKind& type : types_) {
    std::int64_t named = 0;
    for (const std::int32_t m : type.models) named += m == kNone ? 0 : capacity[m];
    demand += static_cast<Int128>(type.milli) * type.weight;
    for (const std::int32_t m : type.models) {
      if (named == 0 || m == kNone) continue;
      pinned[m] += static_cast<Int128>(type.milli) * type.weight * capacity[m] / named;
    }
  }
  pressure_.assign(capacity.size(), 0);
  for (std::size_t m = 0; m < capacity.size(); ++m) {
    if (demand == 0 || capacity[m] == 0) continue;
    const Int128 pressure = pinned[m] * capacity_sum * 1000 / demand / capacity[m];
    pressure_[m] = static_cast<std::int64_t>(std::min<Int128>(pressure, 1500));
  }
}

void Fragmentation::keep_popular() {
  constexpr std::int64_t kWeightMax = std::int64_t{1} << 34;  // times a node's milli: 64 bits hold
  std::stable_sort(types_.begin(), types_.end(),
                   [](const MixKind& a, const MixKind& b) { return a.weight > b.weight; });
  std::int64_t total = 0;
  for (const MixKind& type : types_) total += type.weight;
  std::size_t kept = 0;
  weight_sum_ = 0;
  while (kept < std::min(types_.size(), kTypesMax) && weight_sum_ * 100 < total * 95) {
    weight_sum_ += types_[kept++].weight;
  }
  types_.resize(kept);
  while (weight_sum_ > kWeightMax) {
    weight_sum_ = 0;
    for (MixKind& type : types_) weight_sum_ += type.weight /= 2;
  }
}

/// As the node is, or as it would be with the task taken.
void Fragmentation::Idle::count(const NodeCap& node, const TaskAlloc* taken) {
  devices.clear();
  milli = 0;
  cpus = node.free.cpus - (taken != nullptr ? taken->cpus : 0);
  const auto add = [this](const DeviceCap& device) {
    if (!device.usable()) return;
    devices.push_back({device.part_free(), device.model, device.whole_free()});
    milli += devices.back().milli;
  };
  std::size_t next = 0;  // of the task's shares, which are in the order of the devices
  for (std::size_t d = 0; d < node.devices.size(); ++d) {
    const auto touched = [&] {
      return taken != nullptr && next < taken->devices.size() &&
             static_cast<std::size_t>(taken->devices[next].device) == d;
    };
    if (!touched()) {
      add(node.devices[d]);
      continue;
    }
    DeviceCap device = node.devices[d];
    for (; touched(); ++next) take_share(device, taken->devices[next]);
    add(device);
  }
}

std::int64_t Fragmentation::useful_for(const Idle& idle, const MixKind& type) {
  if (type.milli == 0 || type.cpus > idle.cpus) return 0;
  const bool whole = type.milli >= 1000;
  std::int64_t fitting = 0;  // devices that could serve
  std::int64_t useful = 0;   // idle parts on them
  for (const Idle::Device& device : idle.devices) {
    const bool fits = whole ? device.whole : device.milli >= type.milli;
    if (!fits || !type.takes(device.model)) continue;
    ++fitting;
    useful += device.milli;
  }
  return fitting < (whole ? type.milli / 1000 : 1) ? 0 : useful;
}

std::int64_t Fragmentation::useful(const Idle& idle) const {
  std::int64_t sum = 0;
  for (const MixKind& type : types_) sum += useful_for(idle, type) * type.weight;
  return sum;
}

std::int64_t Fragmentation::fragment(const NodeCap& node) const {
  if (weight_sum_ == 0) return 0;
  before_.count(node, nullptr);
  return (before_.milli * weight_sum_ - useful(before_)) / weight_sum_;
}

std::int64_t Fragmentation::penalty(std::size_t models_named, std::int32_t model) const {
  if (models_named == 1) return 0;
  return (models_named == 0 ? 10 : 5) * pressure_[static_cast<std::size_t>(model)];
}

std::int64_t Fragmentation::score(const NodeCap& node, const TaskAlloc& task,
                                  std::size_t models_named) const {
  std::int64_t fall = 0;
  if (weight_sum_ > 0) {
    before_.count(node, nullptr);
    after_.count(node, &task);
    const std::int64_t taken = before_.milli - after_.milli;
    fall = taken + floor_of(useful(after_) - useful(before_), weight_sum_);
  }
  const std::int64_t gained = points(fall) * 1000;
  if (task.devices.empty()) return gained;
  return gained - penalty(models_named, node.devices[task.devices.front().device].model);
}

std::optional<Fragmentation::Prospect> Fragmentation::prospect(const NodeCap& node,
                                                               const Host& host) const {
  Prospect out;
  out.all_ = this;
  if (node.devices.empty()) return out;
  const std::int32_t model = node.devices.front().model;
  out.penalty_ = penalty(host.models_named, model);
  if (weight_sum_ == 0) return out;
  const MixTable::Row now = table_.row(model, node.free.cpus);
  out.row_ = table_.row(model, node.free.cpus - host.cpus);
  out.whole_ = node.free.whole;
  out.useful_ = table_.whole(now, out.whole_);
  for (const DeviceCap& device : node.devices) {
    if (device.model != model) return std::nullopt;
    const std::int32_t free = device.part_free();
    out.useful_ += table_.part(now, free);
    out.useful_parts_ += table_.part(out.row_, free);
  }
  return out;
}

/// `useful_then`: of the free parts when `taken` milli-GPU are gone, times weight.
std::int64_t Fragmentation::Prospect::score(std::int64_t useful_then, std::int64_t taken) const {
  const std::int64_t weight = all_->weight_sum_;
  return points(weight == 0 ? 0 : taken + floor_of(useful_then - useful_, weight)) * 1000;
}

std::int64_t Fragmentation::Prospect::no_device() const {
  if (useful_ == 0) return score(0, 0);
  return score(useful_parts_ + all_->table_.whole(row_, whole_), 0);
}

std::int64_t Fragmentation::Prospect::whole(std::int32_t devices) const {
  if (all_->weight_sum_ == 0) return score(0, 0) - penalty_;
  const MixTable& table = all_->table_;
  const std::int64_t then = useful_parts_ - devices * table.part(row_, 1000) +
                            table.whole(row_, whole_ - devices);
  return score(then, std::int64_t{1000} * devices) - penalty_;
}

std::int64_t Fragmentation::Prospect::part(const DeviceCap& device, std::int32_t milli) const {
  if (all_->weight_sum_ == 0) return score(0, 0) - penalty_;
  const MixTable& table = all_->table_;
  const std::int32_t free = device.part_free();
  const std::int64_t then = useful_parts_ - table.part(row_, free) +
                            table.part(row_, free - milli) +
                            table.whole(row_, whole_ - (device.whole_free() ? 1 : 0));
  return score(then, milli) - penalty_;
}

}  // namespace rota::engine
