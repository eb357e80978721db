// Counting what is short: first in sum, then within a model, a required domain, a node, a device.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/text.h"
#include "engine/explain.h"
#include "engine/mig.h"

namespace rota::engine {

namespace {

constexpr std::size_t kKinds = 5;  // ReasonResource in order
using Amounts = std::array<std::int64_t, kKinds>;
constexpr std::array<ReasonResource, kKinds> kInOrder{
    ReasonResource::kGpu, ReasonResource::kSlices, ReasonResource::kGpuMemory,
    ReasonResource::kCpu, ReasonResource::kMemory};

std::int64_t& of(Amounts& amounts, ReasonResource r) {
  return amounts[static_cast<std::size_t>(r)];
}
std::int64_t of(const Amounts& amounts, ReasonResource r) {
  return amounts[static_cast<std::size_t>(r)];
}

struct Shortage {
  ReasonResource resource = ReasonResource::kGpu;
  ReasonScope within = ReasonScope::kNone;
  std::int64_t need = 0;
  std::int64_t free = 0;   // in sum
  std::optional<std::int64_t> best;  // in one place; absent: short in sum
};

class Counter {
 public:
  /// Counts on the nodes where the job is allowed that are open on the ledger `open`.
  Counter(Core& core, Ledger& ledger, const JobRec& job, const Ledger& open)
      : core_(core), ledger_(ledger), job_(job), wish_(core.request(job)),
        any_device_(wish_.models == std::vector<std::int32_t>{kNone} &&
                    !wish_.shape.task.gpu_memory),
        tasks_(job.tasks_min()) {
    need_ = needs();
    // CPUs and memory beside no device that could serve are no help to a job that needs one.
    const bool any = wish_.kind == NeedKind::kNoDevice;
    for (NodeIndex n = wish_.hosts.next(0); n != NodeSet::kEnd; n = wish_.hosts.next(n + 1)) {
      if (!open.node(n).open || (!any && !has_device_for(n))) continue;
      nodes_.push_back(n);
      node_set_.insert(n);
    }
  }

  std::vector<Shortage> count();
  /// A single task must fit into one place, however much there is in all.
  std::optional<Shortage> count_in_one_place() {
    auto found = within_nodes();
    return found ? found : within_devices();
  }

 private:
  [[nodiscard]] Amounts needs() const;
  [[nodiscard]] bool has_device_for(NodeIndex n) const {
    const auto& devices = ledger_.node(n).devices;
    return std::any_of(devices.begin(), devices.end(), [this](const DeviceCap& d) {
      return model_matches(d, kNone) && d.mig == (wish_.kind == NeedKind::kMig);
    });
  }
  void add_device(Amounts& sum, NodeIndex n, std::int32_t d, std::int32_t model) const;
  [[nodiscard]] Amounts on_node(NodeIndex n, std::int32_t model) const;
  [[nodiscard]] Amounts in_domain(const Domain& domain) const;
  [[nodiscard]] bool model_matches(const DeviceCap& device, std::int32_t model) const;
  std::optional<Shortage> within_models();
  std::optional<Shortage> within_places(ReasonScope scope, const std::vector<Amounts>& places);
  std::optional<Shortage> within_same();
  std::optional<Shortage> within_nodes();
  std::optional<Shortage> within_devices();
  [[nodiscard]] ReasonResource main_resource() const;
  Shortage placeable(ReasonScope scope);

  Core& core_;
  Ledger& ledger_;
  const JobRec& job_;
  const Request& wish_;
  bool any_device_;                // of whole ones, any serves
  std::vector<NodeIndex> nodes_;
  NodeSet node_set_;               // the same
  std::int64_t tasks_;
  Amounts need_{};
  Amounts sum_{};
};

ReasonResource Counter::main_resource() const {
  switch (wish_.kind) {
    case NeedKind::kNoDevice:
      return wish_.shape.task.cpus > 0 ? ReasonResource::kCpu : ReasonResource::kMemory;
    case NeedKind::kSlots:
    case NeedKind::kMig: return ReasonResource::kSlices;
    default: return ReasonResource::kGpu;
  }
}

Amounts Counter::needs() const {
  const TaskShape& task = wish_.shape.task;
  Amounts need{};
  switch (wish_.kind) {
    case NeedKind::kWhole: of(need, ReasonResource::kGpu) = task.gpus.value(); break;
    case NeedKind::kFraction:
      of(need, ReasonResource::kGpu) = task.gpus.value();
      if (task.gpu_memory) of(need, ReasonResource::kGpuMemory) = task.gpu_memory->value();
      break;
    case NeedKind::kSlots: of(need, ReasonResource::kSlices) = task.slots; break;
    case NeedKind::kMig:
      for (const NodeIndex n : wish_.nodes) {
        const DeviceSpec& device = core_.state.nodes[n].spec.devices.front();
        const auto profile = mig_profile(task.mig, device.model, device.memory.value());
        if (profile) of(need, ReasonResource::kSlices) = profile->size;
      }
      break;
    case NeedKind::kNoDevice: break;
  }
  of(need, ReasonResource::kCpu) = task.cpus;
  of(need, ReasonResource::kMemory) = task.memory.value();
  for (auto& amount : need) {
    if (__builtin_mul_overflow(amount, tasks_, &amount)) {
      amount = std::numeric_limits<std::int64_t>::max();
    }
  }
  return need;
}

bool Counter::model_matches(const DeviceCap& device, std::int32_t model) const {
  if (model != kNone) return device.model == model;
  return std::any_of(wish_.models.begin(), wish_.models.end(),
                     [&](std::int32_t m) { return m == kNone || m == device.model; });
}

void Counter::add_device(Amounts& sum, NodeIndex n, std::int32_t d, std::int32_t model) const {
  const DeviceCap& device = ledger_.node(n).devices[d];
  const TaskShape& task = wish_.shape.task;
  if (!device.usable() || !model_matches(device, model)) return;
  switch (wish_.kind) {
    case NeedKind::kWhole:
      if (device.whole_free() &&
          (!task.gpu_memory || device.memory_total >= task.gpu_memory->value())) {
        of(sum, ReasonResource::kGpu) += 1000;
      }
      return;
    case NeedKind::kFraction:
      if (device.mig ||
          (device.mode != DeviceMode::kUnused && device.mode != DeviceMode::kFraction)) {
        return;
      }
      of(sum, ReasonResource::kGpu) += device.milli_free;
      of(sum, ReasonResource::kGpuMemory) += device.memory_free;
      return;
    case NeedKind::kSlots:
      if (device.mode == DeviceMode::kUnused || device.mode == DeviceMode::kSlots) {
        of(sum, ReasonResource::kSlices) += device.slots_free;
      }
      return;
    case NeedKind::kMig:
      if (device.mig) {
        const auto& model_name = core_.state.nodes[n].spec.devices[d].model;
        of(sum, ReasonResource::kSlices) +=
            mig_slices(model_name) - std::popcount(device.mig_used);
      }
      return;
    case NeedKind::kNoDevice: return;
  }
}

Amounts Counter::on_node(NodeIndex n, std::int32_t model) const {
  Amounts sum{};
  const NodeCap& node = ledger_.node(n);
  if (wish_.kind == NeedKind::kWhole && model == kNone && any_device_) {
    of(sum, ReasonResource::kGpu) = std::int64_t{1000} * node.free.whole;
  } else {
    for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) add_device(sum, n, d, model);
  }
  of(sum, ReasonResource::kCpu) =
      wish_.kind == NeedKind::kNoDevice
          ? std::min(node.free.cpus, std::max<std::int64_t>(0, node.free.cpus_for_cpu_jobs))
          : node.free.cpus;
  of(sum, ReasonResource::kMemory) = node.free.memory;
  return sum;
}

Amounts Counter::in_domain(const Domain& domain) const {
  Amounts sum{};
  for (const NodeIndex n : domain.nodes) {
    if (!node_set_.contains(n)) continue;
    Amounts one = on_node(n, kNone);
    if (!domain.devices.empty()) {
      Amounts some{};
      for (const std::int32_t d : domain.devices) add_device(some, n, d, kNone);
      some[static_cast<std::size_t>(ReasonResource::kCpu)] = of(one, ReasonResource::kCpu);
      some[static_cast<std::size_t>(ReasonResource::kMemory)] = of(one, ReasonResource::kMemory);
      one = some;
    }
    for (std::size_t i = 0; i < kKinds; ++i) sum[i] += one[i];
  }
  return sum;
}

/// The first resource, in order, of which no place that had enough of those before has enough.
std::optional<Shortage> Counter::within_places(ReasonScope scope,
                                               const std::vector<Amounts>& places) {
  std::vector<Amounts> left = places;
  for (const ReasonResource r : kInOrder) {
    if (of(need_, r) == 0) continue;
    std::int64_t best = 0;
    for (const Amounts& place : left) best = std::max(best, of(place, r));
    if (best < of(need_, r)) return Shortage{r, scope, of(need_, r), of(sum_, r), best};
    std::erase_if(left, [&](const Amounts& place) { return of(place, r) < of(need_, r); });
  }
  return std::nullopt;
}

std::optional<Shortage> Counter::within_models() {
  if (wish_.models.size() < 2) return std::nullopt;
  std::vector<Amounts> places;
  for (const std::int32_t model : wish_.models) {
    Amounts sum{};
    for (const NodeIndex n : nodes_) {
      const Amounts one = on_node(n, model);
      for (std::size_t i = 0; i < kKinds; ++i) sum[i] += one[i];
    }
    places.push_back(sum);
  }
  return within_places(ReasonScope::kModel, places);
}

std::optional<Shortage> Counter::within_same() {
  ReasonScope scope = ReasonScope::kNone;
  switch (job_.shape.same) {
    case TopologyLevel::kNone: return std::nullopt;
    case TopologyLevel::kNode: scope = ReasonScope::kNode; break;
    case TopologyLevel::kIsland: scope = ReasonScope::kIsland; break;
    case TopologyLevel::kSocket: scope = ReasonScope::kSocket; break;
    case TopologyLevel::kRack: scope = ReasonScope::kRack; break;
    case TopologyLevel::kBlock: scope = ReasonScope::kBlock; break;
  }
  std::vector<Amounts> places;
  for (const Domain& domain : core_.topology.domains(job_.shape.same)) {
    places.push_back(in_domain(domain));
  }
  return within_places(scope, places);
}

std::optional<Shortage> Counter::within_nodes() {
  if (tasks_ != 1) return std::nullopt;
  std::vector<Amounts> places;
  for (const NodeIndex n : nodes_) places.push_back(on_node(n, kNone));
  return within_places(ReasonScope::kNode, places);
}

std::optional<Shortage> Counter::within_devices() {
  if (tasks_ != 1) return std::nullopt;
  if (wish_.kind == NeedKind::kSlots && wish_.shape.task.distinct_devices > 1) {
    std::int64_t best = 0;
    for (const NodeIndex n : nodes_) {
      std::int64_t devices = 0;
      for (std::int32_t d = 0; d < std::ssize(ledger_.node(n).devices); ++d) {
        Amounts one{};
        add_device(one, n, d, kNone);
        devices += of(one, ReasonResource::kSlices) > 0 ? 1 : 0;
      }
      best = std::max(best, devices);
    }
    return Shortage{ReasonResource::kSlices, ReasonScope::kDevice,
                    of(need_, ReasonResource::kSlices), of(sum_, ReasonResource::kSlices), best};
  }
  if (wish_.kind != NeedKind::kFraction && wish_.kind != NeedKind::kMig) return std::nullopt;
  std::vector<Amounts> places;
  for (const NodeIndex n : nodes_) {
    const Amounts node = on_node(n, kNone);
    for (std::int32_t d = 0; d < std::ssize(ledger_.node(n).devices); ++d) {
      Amounts one{};
      add_device(one, n, d, kNone);
      of(one, ReasonResource::kCpu) = of(node, ReasonResource::kCpu);
      of(one, ReasonResource::kMemory) = of(node, ReasonResource::kMemory);
      places.push_back(one);
    }
  }
  auto found = within_places(ReasonScope::kDevice, places);
  if (found || wish_.kind != NeedKind::kMig) return found;
  // Enough slices on one device, but no legal start position among them.
  return Shortage{ReasonResource::kSlices, ReasonScope::kDevice,
                  of(need_, ReasonResource::kSlices), of(sum_, ReasonResource::kSlices), 0};
}

/// The job's tasks that could be placed together, as an amount of its main resource.
Shortage Counter::placeable(ReasonScope scope) {
  const ReasonResource r = main_resource();
  std::int64_t best = 0;
  for (const std::int32_t model : wish_.models) {
    best = std::max(best, core_.placer.count_tasks(ledger_, wish_, tasks_, model, nullptr));
  }
  best = std::min(best, tasks_ - 1);
  return {r, scope, of(need_, r), of(sum_, r), of(need_, r) / tasks_ * best};
}

std::vector<Shortage> Counter::count() {
  for (const NodeIndex n : nodes_) {
    const Amounts one = on_node(n, kNone);
    for (std::size_t i = 0; i < kKinds; ++i) sum_[i] += one[i];
  }
  std::vector<Shortage> out;
  for (const ReasonResource r : kInOrder) {
    if (of(sum_, r) < of(need_, r)) {
      out.push_back({r, ReasonScope::kNone, of(need_, r), of(sum_, r), std::nullopt});
    }
  }
  if (!out.empty()) return out;
  auto level = within_models();
  if (!level) level = within_same();
  if (!level) level = within_nodes();
  if (!level) level = within_devices();
  out.push_back(level ? *level : placeable(ReasonScope::kNode));
  return out;
}

Reason reason_from(const Shortage& s, ReasonCode code, std::int64_t have) {
  Reason reason;
  reason.code = code;
  reason.resource = s.resource;
  reason.within = s.within;
  reason.need = s.need;
  reason.missing = std::max<std::int64_t>(0, s.need - have);
  return reason;
}

void explain_outages(Core& core, const JobRec& job, Verdict& verdict) {
  Reason drained;
  drained.code = ReasonCode::kDrained;
  Reason unhealthy;
  unhealthy.code = ReasonCode::kUnhealthy;
  Reason foreign;
  foreign.code = ReasonCode::kForeignUse;
  const auto name = [](std::string& detail, const std::string& what) {
    if (detail.size() < 200) detail += (detail.empty() ? "" : ", ") + what;
  };
  const Request& wish = core.request(job);
  const NodeSet& impaired = core.ledger.impaired();
  for (NodeIndex n = impaired.next_common(wish.hosts, 0); n != NodeSet::kEnd;
       n = impaired.next_common(wish.hosts, n + 1)) {
    if (!wish.node_set.contains(n)) continue;
    const NodeRec& node = core.state.nodes[n];
    if (!node.up()) {
      name(unhealthy.detail, "node " + node.spec.name + " is down");
      continue;
    }
    if (node.drain || node.quarantine) {
      name(drained.detail, "node " + node.spec.name + " is " + std::string(name_of(node.state())));
      continue;
    }
    for (std::size_t d = 0; d < node.devices.size(); ++d) {
      const DeviceRec& device = node.devices[d];
      const std::string where = node.spec.name + ":" + std::to_string(d);
      if ((device.out & kUnhealthy) != 0) {
        name(unhealthy.detail, where + " failed (XID " + std::to_string(device.xid) + ")");
      }
      if ((device.out & kForeign) != 0) {
        name(foreign.detail, "process " + std::to_string(device.foreign_pid) + " of " +
                                 device.foreign_user + " on " + where);
      }
      if ((device.out & kHeldByLeftovers) != 0) {
        name(foreign.detail, "leftover process " + std::to_string(device.held_pid) + " on " +
                                 where);
      }
    }
  }
  for (Reason* reason : {&drained, &unhealthy, &foreign}) {
    if (!reason->detail.empty()) verdict.reasons.push_back(std::move(*reason));
  }
}

}  // namespace

void explain_shortage(Core& core, const JobRec& job, Verdict& verdict) {
  const auto [known, first] = core.shortages.try_emplace(job.shape_index);
  ShortagesFound& found = known->second;
  if (first) {
    for (const Shortage& s : Counter(core, core.ledger, job, core.ledger).count()) {
      Reason reason = s.best ? reason_from(s, ReasonCode::kFragmented, *s.best)
                             : reason_from(s, ReasonCode::kInsufficientFree, s.free);
      reason.free = s.free;
      reason.best = s.best;
      found.reasons.push_back(std::move(reason));
    }
  }
  const std::int64_t freeable = freeable_for(core, job);
  for (Reason reason : found.reasons) {
    if (reason.resource == ReasonResource::kGpu) reason.freeable = freeable;
    reason.preemption_helps = freeable > 0;
    verdict.reasons.push_back(std::move(reason));
  }
  const std::size_t outages = verdict.reasons.size();
  explain_outages(core, job, verdict);
  if (verdict.reasons.size() == outages) return;
  // What is out of use may be missed even when all others have left.
  if (!found.never_enough) {
    found.never_enough.emplace();
    for (const Shortage& s : Counter(core, core.empty, job, core.ledger).count()) {
      if (!s.best) found.never_enough->push_back(s.resource);
    }
  }
  for (std::size_t i = 0; i < outages; ++i) {
    Reason& reason = verdict.reasons[i];
    if (reason.code != ReasonCode::kInsufficientFree) continue;
    const auto& never = *found.never_enough;
    if (std::find(never.begin(), never.end(), reason.resource) != never.end()) {
      reason.waiting_helps = false;
    }
  }
}

namespace {

/// A rule of the job that nothing here meets; empty: none.
std::string unmet_rule(const Core& core, const JobRec& job) {
  const auto& nodes = core.state.nodes;
  const auto any_node = [&](auto&& meets) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodeRec& n) { return meets(n.spec); });
  };
  for (const std::string& name : job.shape.on) {
    const bool known = any_node([&](const NodeSpec& spec) {
      return spec.name == name || spec.pool == name;
    });
    if (!known) return "no node or pool is called " + name;
  }
  for (const auto& wanted : job.shape.labels) {
    const bool known = any_node([&wanted](const NodeSpec& spec) {
      const auto label = spec.labels.find(wanted.first);
      return label != spec.labels.end() && label->second == wanted.second;
    });
    if (!known) return "no node has the label " + wanted.first + "=" + wanted.second;
  }
  const auto& models = core.topology.models();
  const auto known_model = [&](const std::string& model) {
    return std::find(models.begin(), models.end(), model) != models.end();
  };
  const auto& wanted = job.shape.models;
  if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), known_model)) {
    return "no GPU here is of model " + join(wanted, " or ") +
           (models.empty() ? "" : "; there is " + join(models, ", "));
  }
  const bool mig = !job.shape.task.mig.empty();
  if (mig && !any_node([](const NodeSpec& spec) { return spec.mig; })) {
    return "no GPU here is cut into MIG instances";
  }
  const bool slots = job.shape.task.slots > 0;
  if (slots && !any_node([](const NodeSpec& spec) { return spec.slots > 0; })) {
    return "no GPU here is shared by time slices";
  }
  return "";
}

}  // namespace

void explain_infeasible(Core& core, const JobRec& job, Verdict& verdict) {
  Counter counter(core, core.empty, job, core.empty);
  std::vector<Shortage> found = counter.count();
  if (found.front().within == ReasonScope::kNone) {
    const auto one = counter.count_in_one_place();
    if (one) found.front() = *one;
  }
  const Shortage& s = found.front();
  const std::int64_t most = s.best.value_or(s.free);
  Reason reason = reason_from(s, ReasonCode::kInfeasible, most);
  reason.free = most;
  reason.waiting_helps = false;
  reason.detail = unmet_rule(core, job);
  verdict.reasons.push_back(std::move(reason));
}

void explain_elsewhere(Core& core, const JobRec& job, Verdict& verdict) {
  const Request& wish = core.request(job);
  if (wish.elsewhere.empty()) return;
  Request there = wish;
  there.sites = wish.elsewhere;
  there.options.clear();
  if (!core.placer.place(core.ledger, there, job.tasks_min())) return;
  Reason reason;
  reason.code = ReasonCode::kDataLocality;
  verdict.reasons.push_back(std::move(reason));
}

}  // namespace rota::engine
