#include "audit/device_use.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace rota::audit {
namespace {

enum class Field { kPower, kUtilization, kEngineActive, kOther };

struct FieldName {
  std::string_view name;
  Field field;
};

/// Old and new names of the fields.
constexpr auto kFieldNames = std::to_array<FieldName>({
    {"DCGM_FI_DEV_POWER_USAGE", Field::kPower},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", Field::kPower},
    {"DCGM_FI_DEV_GPU_UTIL", Field::kUtilization},
    {"DCGM_FI_DEV_GPU_UTIL_RATIO", Field::kUtilization},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Field::kEngineActive},
    {"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", Field::kEngineActive},
});

Field field_of(std::string_view name) {
  const auto found = std::find_if(kFieldNames.begin(), kFieldNames.end(),
                                  [&](const FieldName& known) { return known.name == name; });
  return found == kFieldNames.end() ? Field::kOther : found->field;
}

/// The exporter's blanks are 2^47 for decimals and near 2^63 and 2^31 for whole numbers; the last
/// is above any power or utilization as well.
std::optional<double> sound(double value) {
  constexpr double kBlank = 2147483632.0;
  if (!std::isfinite(value) || value < 0 || value >= kBlank) return std::nullopt;
  return value;
}

/// What the series of one device or instance say, each field at most once.
struct Reading {
  std::optional<double> power;
  std::optional<double> utilization;    // percent
  std::optional<double> engine_active;  // percent
  std::set<std::string> jobs;

  void take(Field field, double raw) {
    const std::optional<double> value = sound(raw);
    if (!value) return;
    if (field == Field::kPower) keep_larger(power, *value);
    if (field == Field::kUtilization && *value <= 100) keep_larger(utilization, *value);
    if (field == Field::kEngineActive && *value <= 1) keep_larger(engine_active, *value * 100);
  }

 private:
  static void keep_larger(std::optional<double>& kept, double value) {
    kept = kept ? std::max(*kept, value) : value;
  }
};

struct InstanceReading {
  std::string profile;
  Reading reading;
};

struct DeviceReading {
  DeviceUse names;
  Reading reading;
  std::map<std::string, InstanceReading> instances;
};

std::string job_of(const MetricLine& line) {
  const std::string_view pod = line.label({"pod", "exported_pod"});
  if (pod.empty()) return without_control(line.label({"hpc_job"}));
  const std::string_view space = line.label({"namespace", "exported_namespace"});
  const std::string name(pod);
  return without_control(space.empty() ? name : std::string(space) + "/" + name);
}

std::vector<std::string> list_of(const std::set<std::string>& jobs) {
  return {jobs.begin(), jobs.end()};
}

/// Numbers by their value, others behind them.
std::tuple<std::int64_t, std::string_view> order_of(std::string_view id) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  const bool is_number = error == std::errc() && stop == id.data() + id.size();
  return {is_number ? number : INT64_MAX, id};
}

DeviceUse device_from(DeviceReading& found) {
  DeviceUse device = std::move(found.names);
  device.power_watts = found.reading.power;
  device.jobs = list_of(found.reading.jobs);
  for (auto& [id, instance] : found.instances) {
    device.instances.push_back({.id = id,
                                .profile = instance.profile,
                                .utilization = instance.reading.engine_active,
                                .jobs = list_of(instance.reading.jobs)});
  }
  std::sort(device.instances.begin(), device.instances.end(),
            [](const InstanceUse& a, const InstanceUse& b) {
              return order_of(a.id) < order_of(b.id);
            });
  if (device.instances.empty()) {
    device.utilization =
        found.reading.utilization ? found.reading.utilization : found.reading.engine_active;
  }
  return device;
}

/// Sums of one job; a value that one of its places lacks makes the whole unknown.
struct JobSum {
  std::int64_t devices = 0;
  std::int64_t instances = 0;
  std::optional<double> utilization = 0;
  std::optional<double> power = 0;
};

void add_to(std::optional<double>& sum, std::optional<double> value) {
  sum = sum && value ? std::optional<double>(*sum + *value) : std::nullopt;
}

std::vector<JobUse> jobs_on(const std::vector<DeviceUse>& devices) {
  std::map<std::string, JobSum> sums;
  for (const DeviceUse& device : devices) {
    std::set<std::string> on_instances;
    for (const InstanceUse& instance : device.instances) {
      for (const std::string& job : instance.jobs) {
        JobSum& sum = sums[job];
        ++sum.instances;
        const bool is_alone = instance.jobs.size() == 1;
        add_to(sum.utilization, is_alone ? instance.utilization : std::nullopt);
        sum.power.reset();
        on_instances.insert(job);
      }
    }
    for (const std::string& job : device.jobs) {
      if (on_instances.contains(job)) continue;
      JobSum& sum = sums[job];
      ++sum.devices;
      const bool is_alone = device.jobs.size() == 1 && device.instances.empty();
      add_to(sum.utilization, is_alone ? device.utilization : std::nullopt);
      add_to(sum.power, is_alone ? device.power_watts : std::nullopt);
    }
  }
  std::vector<JobUse> jobs;
  for (const auto& [name, sum] : sums) {
    JobUse job{.name = name, .devices = sum.devices, .instances = sum.instances,
               .power_watts = sum.power};
    if (sum.utilization) {
      job.utilization = *sum.utilization / static_cast<double>(sum.devices + sum.instances);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

ClusterUse device_use_of(std::span<const MetricLine> lines) {
  std::map<std::string, DeviceReading> found;
  for (const MetricLine& line : lines) {
    const std::string node =
        without_control(line.label({"Hostname", "hostname", "node", "instance"}));
    const std::string index = without_control(line.label({"gpu"}));
    const std::string uuid = without_control(line.label({"UUID", "uuid"}));
    if (index.empty() && uuid.empty()) continue;
    if (!line.name.starts_with("DCGM_")) continue;
    std::string key = uuid;
    if (key.empty()) key.append(node).append("\n").append(index);
    DeviceReading& device = found[key];
    device.names.node = node;
    device.names.index = index;
    device.names.uuid = uuid;
    device.names.model = without_control(line.label({"modelName", "model_name"}));
    const Field field = field_of(line.name);
    device.reading.take(field, line.value);
    const std::string job = job_of(line);
    if (!job.empty()) device.reading.jobs.insert(job);
    const std::string id = without_control(line.label({"GPU_I_ID"}));
    if (id.empty()) continue;
    InstanceReading& instance = device.instances[id];
    instance.profile = without_control(line.label({"GPU_I_PROFILE"}));
    instance.reading.take(field, line.value);
    if (!job.empty()) instance.reading.jobs.insert(job);
  }
  ClusterUse use;
  for (auto& [key, device] : found) use.devices.push_back(device_from(device));
  std::sort(use.devices.begin(), use.devices.end(), [](const DeviceUse& a, const DeviceUse& b) {
    return std::tuple(std::string_view(a.node), order_of(a.index), std::string_view(a.uuid)) <
           std::tuple(std::string_view(b.node), order_of(b.index), std::string_view(b.uuid));
  });
  for (const DeviceUse& device : use.devices) {
    use.instances += std::ssize(device.instances);
    if (!device.power_watts) ++use.devices_without_power;
    else use.power_watts = use.power_watts.value_or(0) + *device.power_watts;
  }
  use.jobs = jobs_on(use.devices);
  return use;
}

}  // namespace rota::audit
