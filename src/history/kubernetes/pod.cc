#include "history/kubernetes/pod.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/units.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;

/// The first of these labels or annotations that is there.
template <std::size_t N>
std::string_view told_by(const Json& object, const std::array<const char*, N>& keys) {
  for (const char* key : keys) {
    for (const char* where : {"labels", "annotations"}) {
      const std::string_view text = json_text(object, {"metadata", where, key});
      if (!text.empty()) return text;
    }
  }
  return {};
}

constexpr std::array<const char*, 6> kQueueKeys{
    "kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue",
    "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", "queue"};
constexpr std::array<const char*, 3> kUserKeys{"user", "owner", "created-by"};
constexpr std::array<const char*, 2> kPoolKeys{"kai.scheduler/node-pool", "runai/node-pool"};
/// Whose name stands for all pods that start together.
constexpr std::array<const char*, 10> kGroupKeys{
    "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
    "kueue.x-k8s.io/pod-group-name", "scheduling.volcano.sh/group-name",
    "scheduling.k8s.io/group-name", "pod-group-name", "volcano.sh/job-name", "ray.io/cluster",
    "batch.kubernetes.io/job-name", "job-name"};

struct OwnerKind {
  std::string_view kind;
  bool of_daemon;
  bool served;
};
constexpr std::array<OwnerKind, 5> kOwnerKinds{{{"DaemonSet", true, false},
                                                {"Node", true, false},
                                                {"ReplicaSet", false, true},
                                                {"StatefulSet", false, true},
                                                {"LeaderWorkerSet", false, true}}};

void take_owner(const Json& pod, const std::string& space, PodFacts& facts, NameTable& names) {
  facts.group = facts.name;
  const std::string_view group = told_by(pod, kGroupKeys);
  const Json* owners = json_at(pod, {"metadata", "ownerReferences"});
  std::string_view kind, owner;
  if (owners != nullptr && owners->is_array() && !owners->empty()) {
    kind = json_text(owners->front(), {"kind"});
    owner = json_text(owners->front(), {"name"});
  }
  for (const OwnerKind& known : kOwnerKinds) {
    if (known.kind != kind) continue;
    facts.of_daemon = known.of_daemon;
    facts.served = known.served;
  }
  if (!group.empty()) facts.group = names.intern(space + "/" + std::string(group));
  else if (!owner.empty() && !facts.served && !facts.of_daemon) {
    facts.group = names.intern(space + "/" + std::string(owner));
  }
}

const Json* condition(const Json& pod, std::string_view type) {
  const Json* list = json_at(pod, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& entry : *list) {
    if (json_text(entry, {"type"}) == type) return &entry;
  }
  return nullptr;
}

/// Why a failed pod failed, from the words of the API.
Outcome outcome_of_failure(const Json& pod, std::string_view container_reason) {
  if (const Json* target = condition(pod, "DisruptionTarget")) {
    const std::string_view reason = json_text(*target, {"reason"});
    if (reason.starts_with("Preempt")) return Outcome::kPreempted;
    if (reason == "DeletionByTaintManager" || reason == "DeletionByPodGC") {
      return Outcome::kNodeFailed;
    }
    return Outcome::kRequeued;
  }
  const std::string_view reason = json_text(pod, {"status", "reason"});
  if (reason.starts_with("Preempt")) return Outcome::kPreempted;
  if (reason == "DeadlineExceeded") return Outcome::kTimeLimit;
  if (reason == "NodeLost" || reason == "NodeShutdown" || reason == "Terminated" ||
      reason == "UnexpectedAdmissionError" || reason == "NodeAffinity") {
    return Outcome::kNodeFailed;
  }
  if (reason == "Evicted") return Outcome::kRequeued;
  if (container_reason == "OOMKilled") return Outcome::kOutOfMemory;
  return Outcome::kFailed;
}

void take_status(const Json& pod, PodFacts& facts, NameTable& names) {
  const Json* scheduled = condition(pod, "PodScheduled");
  if (scheduled != nullptr && json_text(*scheduled, {"status"}) == "True") {
    facts.bound = api_time(*scheduled, {"lastTransitionTime"});
  }
  if (!facts.bound) facts.bound = api_time(pod, {"status", "startTime"});
  std::string_view reason;
  const Json* containers = json_at(pod, {"status", "containerStatuses"});
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : *containers) {
      facts.restarted |= json_whole(container, {"restartCount"}).value_or(0) > 0;
      const Json* over = json_at(container, {"state", "terminated"});
      if (over == nullptr) continue;
      facts.ended = std::max(facts.ended, api_time(*over, {"finishedAt"}));
      const std::int64_t code = json_whole(*over, {"exitCode"}).value_or(-1);
      if (code >= 0 && code <= 255 && code >= facts.exit_code) {
        facts.exit_code = static_cast<std::int32_t>(code);
        reason = json_text(*over, {"reason"});
      }
    }
  }
  const bool by_signal = facts.exit_code > 128 && facts.exit_code <= 192;
  if (by_signal) facts.signal = static_cast<std::int16_t>(facts.exit_code - 128);
  const std::string_view phase = json_text(pod, {"status", "phase"});
  facts.outcome = phase == "Failed" ? outcome_of_failure(pod, reason)
                                    : outcome_from(phase).value_or(Outcome::kUnknown);
  std::string_view why = json_text(pod, {"status", "message"});
  if (why.empty()) why = json_text(pod, {"status", "reason"});
  if (why.empty()) why = reason == "Completed" || reason == "Error" ? std::string_view() : reason;
  if (scheduled != nullptr && facts.outcome == Outcome::kPending) {
    why = json_text(*scheduled, {"message"});
  }
  facts.reason = names.intern(why.substr(0, 300));
  if (!has_ended(facts.outcome)) facts.ended = {};
  else if (!facts.ended) facts.ended = api_time(pod, {"metadata", "deletionTimestamp"});
}

/// `nvidia.com/gpu` and its kin; the partition that a resource's name tells.
struct DeviceName {
  bool is_device = false;
  std::string_view partition = {};
};
DeviceName device_name(std::string_view resource) {
  constexpr std::array<std::string_view, 5> kWhole{"nvidia.com/gpu", "amd.com/gpu",
                                                   "gpu.intel.com/i915", "habana.ai/gaudi",
                                                   "volcano.sh/gpu-number"};
  if (std::find(kWhole.begin(), kWhole.end(), resource) != kWhole.end()) {
    return {.is_device = true};
  }
  constexpr std::string_view kMig = "nvidia.com/mig-";
  if (resource.starts_with(kMig)) {
    return {.is_device = true, .partition = resource.substr(kMig.size())};
  }
  if (resource == "nvidia.com/gpu.shared") return {.is_device = true, .partition = "shared"};
  if (resource == "volcano.sh/vgpu-number") return {.is_device = true, .partition = "vgpu"};
  return {};
}

void add_container(const Json& container, std::vector<GpuItem>& items, NameTable& names) {
  const Json* limits = json_at(container, {"resources", "limits"});
  if (limits == nullptr) limits = json_at(container, {"resources", "requests"});
  if (limits == nullptr || !limits->is_object()) return;
  // HAMi: percent of the compute of each device.
  const auto cores = limits->find("nvidia.com/gpucores");
  const auto percent = cores == limits->end() ? std::nullopt : quantity_milli(*cores);
  for (const auto& [resource, value] : limits->items()) {
    const DeviceName device = device_name(resource);
    const auto count = quantity_milli(value);
    if (!device.is_device || !count || *count <= 0 || *count > kCountMax * 1000) continue;
    std::int64_t milli = *count;
    if (device.partition.empty() && percent && *percent > 0 && *percent < 100'000) {
      milli = milli * *percent / 100'000;
    }
    items.push_back({.model = {}, .partition = names.intern(device.partition), .milli = milli});
  }
}

void take_amounts(const Json& pod, PodFacts& facts) {
  const Json* containers = json_at(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return;
  std::int64_t cpus = 0, memory = 0;
  for (const Json& container : *containers) {
    const Json* asked = json_at(container, {"resources", "requests"});
    if (asked == nullptr || !asked->is_object()) continue;
    const auto amount = [&](const char* name) {
      const auto found = asked->find(name);
      return found == asked->end() ? std::int64_t{0} : quantity_milli(*found).value_or(0);
    };
    cpus = std::min<std::int64_t>(cpus + amount("cpu"), 2'000'000'000);
    memory = std::min<std::int64_t>(memory + amount("memory") / 1000, std::int64_t{1} << 60);
  }
  if (cpus > 0) facts.cpus_milli = static_cast<std::int32_t>(cpus);
  if (memory > 0) facts.memory = Bytes(memory);
}

}  // namespace

std::optional<std::int64_t> quantity_milli(const Json& value) {
  std::string text;
  if (value.is_number_integer()) text = std::to_string(value.get<std::int64_t>());
  else if (value.is_string()) text = value.get<std::string>();
  const std::size_t at = text.find_first_not_of("0123456789.");
  const auto milli = parse_milli(text.substr(0, at));
  if (!milli) return std::nullopt;
  const std::string_view unit = at == std::string::npos ? std::string_view() :
                                                          std::string_view(text).substr(at);
  if (unit.empty()) return milli;
  if (unit == "m") return *milli / 1000;
  constexpr std::string_view kUnits = "kMGTPE";
  const char first = unit[0] == 'K' ? 'k' : unit[0];
  const std::size_t power = kUnits.find(first);
  const bool binary = unit.size() == 2 && unit[1] == 'i';
  if (power == std::string_view::npos || (unit.size() > 1 && !binary)) return std::nullopt;
  Int128 amount = *milli;
  for (std::size_t i = 0; i <= power; ++i) amount *= binary ? 1024 : 1000;
  if (amount > (Int128{1} << 62)) return std::nullopt;
  return static_cast<std::int64_t>(amount);
}

std::string object_name(const Json& object) {
  const std::string_view space = json_text(object, {"metadata", "namespace"});
  return (space.empty() ? "default" : std::string(space)) + "/" +
         std::string(json_text(object, {"metadata", "name"}));
}

Maybe<Instant> api_time(const Json& json, std::initializer_list<const char*> path) {
  return parse_instant(json_text(json, path), TimeUnit::kSeconds);
}

std::string_view queue_of(const Json& object) {
  const std::string_view queue = told_by(object, kQueueKeys);
  return queue.empty() ? json_text(object, {"metadata", "namespace"}) : queue;
}

std::vector<GpuItem> devices_of(const Json& spec, const Json* annotations, NameTable& names) {
  std::vector<GpuItem> items;
  const Json* containers = json_at(spec, {"containers"});
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : *containers) add_container(container, items, names);
  }
  if (annotations == nullptr || !items.empty()) return items;
  // KAI: a part of a device, or of several.
  const auto fraction = parse_milli(json_text(*annotations, {"gpu-fraction"}));
  if (fraction && *fraction > 0 && *fraction <= 1000) {
    const auto count = parse_whole(json_text(*annotations, {"gpu-fraction-num-devices"}));
    const std::int64_t devices = std::clamp<std::int64_t>(count.value_or(1), 1, kCountMax);
    items.push_back({.model = {}, .partition = {}, .milli = *fraction * devices});
  } else if (!json_text(*annotations, {"gpu-memory"}).empty()) {
    items.push_back({.model = {}, .partition = names.intern("shared"), .milli = 1000});
  }
  return items;
}

PodFacts pod_facts(const Json& pod, NameTable& names, GpuSets& gpus) {
  PodFacts facts;
  facts.name = names.intern(object_name(pod));
  const std::string_view space = json_text(pod, {"metadata", "namespace"});
  take_owner(pod, space.empty() ? "default" : std::string(space), facts, names);
  facts.for_others = json_text(pod, {"metadata", "name"}).starts_with("gpu-reservation-") &&
                     json_at(pod, {"metadata", "labels", "runai-gpu-group"}) != nullptr;
  facts.created = api_time(pod, {"metadata", "creationTimestamp"});
  facts.queue = names.intern(queue_of(pod));
  facts.user = names.intern(told_by(pod, kUserKeys));
  facts.pool = names.intern(told_by(pod, kPoolKeys));
  facts.job_class = names.intern(json_text(pod, {"spec", "priorityClassName"}));
  facts.priority = json_whole(pod, {"spec", "priority"});
  facts.node = names.intern(json_text(pod, {"spec", "nodeName"}));
  facts.model = names.intern(json_text(pod, {"spec", "nodeSelector", "nvidia.com/gpu.product"}));
  const auto limit = json_whole(pod, {"spec", "activeDeadlineSeconds"});
  if (limit && *limit > 0 && *limit < 3'000'000'000) facts.time_limit = Duration::seconds(*limit);
  const Json* spec = json_at(pod, {"spec"});
  if (spec != nullptr) {
    facts.gpus = gpus.intern(devices_of(*spec, json_at(pod, {"metadata", "annotations"}), names),
                             names);
  }
  take_amounts(pod, facts);
  take_status(pod, facts, names);
  return facts;
}

}  // namespace rota::history
