// What one node has and what of it is free, device by device.
#pragma once

#include <cstdint>
#include <vector>

namespace rota::engine {

enum class DeviceMode : std::uint8_t { kUnused, kWhole, kFraction, kSlots, kMig };

/// Why a device may not be given out, as bits.
enum DeviceOut : std::uint8_t { kUnhealthy = 1, kForeign = 2, kHeldByLeftovers = 4 };

struct DeviceCap {
  std::int64_t memory_free = 0;
  std::int64_t memory_total = 0;
  std::int16_t milli_free = 1000;
  std::int16_t holders = 0;
  std::int16_t slots_free = 0;
  std::int16_t slots_total = 0;
  std::int16_t model = 0;
  std::uint8_t mig_used = 0;  // bit i: memory slice i is taken
  std::uint8_t out = 0;       // DeviceOut bits
  DeviceMode mode = DeviceMode::kUnused;
  bool mig = false;

  [[nodiscard]] bool usable() const { return out == 0; }
  /// Can be given out as a whole GPU.
  [[nodiscard]] bool whole_free() const {
    return out == 0 && mode == DeviceMode::kUnused && !mig;
  }
  /// Free part in sums, in milli-GPU.
  [[nodiscard]] std::int32_t part_free() const {
    if (out != 0) return 0;
    if (mode != DeviceMode::kSlots) return milli_free;
    return static_cast<std::int32_t>(std::int64_t{1000} * slots_free / slots_total);
  }
  friend bool operator==(const DeviceCap&, const DeviceCap&) = default;
};

/// The counted part of a node; changes with every take and give.
struct NodeFree {
  std::int64_t milli = 0;       // parts of usable devices
  std::int64_t cpus = 0;
  std::int64_t cpus_for_cpu_jobs = 0;  // what jobs without GPUs may still use
  std::int64_t memory = 0;
  std::int32_t whole = 0;       // usable untouched devices
  std::int32_t tasks = 0;       // tasks on it
  friend bool operator==(const NodeFree&, const NodeFree&) = default;
};

struct NodeCap {
  std::vector<DeviceCap> devices;
  NodeFree free;
  std::int64_t cpus_total = 0;
  std::int64_t memory_total = 0;
  std::int64_t cpus_reserved = 0;  // kept from jobs without GPUs
  std::int32_t rack = -1;          // number of its rack among the topology's; -1: counted nowhere
  std::int32_t block = -1;
  bool open = true;                // takes new work
  friend bool operator==(const NodeCap&, const NodeCap&) = default;
};

}  // namespace rota::engine
