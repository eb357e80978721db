// What one scrape of device metrics tells of devices, their instances and the jobs on them.
//
// The series are those of DCGM's exporter, under their old and new names. A device appears once for
// each job that shares it and once for each of its MIG instances: it is counted once. What cannot
// be known is absent, never zero:
//   - of jobs that share a device or an instance in time: what each of them used;
//   - of a MIG device: utilization in the device's own field, which is not filled then. Its
//     instances have the profiling field;
//   - of a job on a part of a device: its power;
//   - values that the exporter prints for "blank" (2^47 or more, or not finite).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/metric_text.h"

namespace rota::audit {

/// A MIG instance of a device.
struct InstanceUse {
  std::string id;       // GPU_I_ID
  std::string profile;  // `3g.40gb`
  std::optional<double> utilization;  // percent of its own engines
  std::vector<std::string> jobs;      // on it, by name
};

struct DeviceUse {
  std::string node;
  std::string index;  // as the driver counts
  std::string uuid;   // may be empty
  std::string model;
  std::optional<double> power_watts;
  std::optional<double> utilization;  // percent
  std::vector<std::string> jobs;      // on it or its instances, by name
  std::vector<InstanceUse> instances;  // by id; empty: not cut, as far as the scrape tells
};

/// `namespace/pod`, a pod alone, or the id of a batch job.
struct JobUse {
  std::string name;
  std::int64_t devices = 0;    // whole, alone or shared
  std::int64_t instances = 0;
  std::optional<double> utilization;  // mean over its devices and instances, of all of them
  std::optional<double> power_watts;  // sum over devices that it has alone
};

struct ClusterUse {
  std::vector<DeviceUse> devices;  // by node and index
  std::vector<JobUse> jobs;        // by name
  std::int64_t instances = 0;
  std::optional<double> power_watts;  // of the devices that tell it
  std::int64_t devices_without_power = 0;
};

/// Series of other things, and series without a device, are passed over. O(n log n).
[[nodiscard]] ClusterUse device_use_of(std::span<const MetricLine> lines);

}  // namespace rota::audit
