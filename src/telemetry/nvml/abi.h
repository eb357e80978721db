// The part of NVIDIA's management library that Rota calls: own declarations of its binary
// interface. Sizes and offsets are those of the published interface on x86-64 and are checked
// here; they are the same since drivers of the 450 series. No header of the vendor is needed to
// build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota::telemetry::nvml {

using Return = int;
using Device = void*;
using EventSet = void*;

constexpr Return kSuccess = 0;
constexpr Return kUninitialized = 1;
constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kNotFound = 6;
constexpr Return kInsufficientSize = 7;
constexpr Return kDriverNotLoaded = 9;
constexpr Return kTimeout = 10;
constexpr Return kGpuIsLost = 15;
constexpr Return kResetRequired = 16;
constexpr Return kOperatingSystem = 17;  // blocked by the system or a cgroup
constexpr Return kVersionMismatch = 18;  // library and kernel driver, after an upgrade
constexpr Return kInUse = 19;
constexpr Return kUnknownError = 999;

constexpr std::uint32_t kFieldRecoveryAction = 230;
constexpr std::uint64_t kEventDoubleBitEcc = 0x2;
constexpr std::uint64_t kEventXid = 0x8;

/// Common ancestors of two devices: the smaller the closer.
constexpr std::uint32_t kSeveralSwitches = 20;  // PCIe switches only, no host bridge between
constexpr std::uint32_t kSameNumaNode = 40;
constexpr std::uint32_t kNvLinksMax = 18;
constexpr int kTemperatureOfGpu = 0;

constexpr std::uint32_t version_word(std::size_t size, std::uint32_t version) {
  return static_cast<std::uint32_t>(size) | version << 24U;
}

struct MemoryV1 {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV1) == 24);

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40);
static_assert(offsetof(MemoryV2, total) == 8 && offsetof(MemoryV2, reserved) == 16);
static_assert(offsetof(MemoryV2, free) == 24 && offsetof(MemoryV2, used) == 32);
static_assert(version_word(sizeof(MemoryV2), 2) == 0x02000028);

/// Of nvmlDeviceGetComputeRunningProcesses without suffix.
struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t memory;
};
static_assert(sizeof(ProcessV1) == 16 && offsetof(ProcessV1, memory) == 8);

/// Of the variants _v2 and _v3.
struct ProcessV2 {
  std::uint32_t pid;
  std::uint64_t memory;  // kNoMemoryValue: not available
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessV2) == 24 && offsetof(ProcessV2, memory) == 8);
static_assert(offsetof(ProcessV2, gpu_instance) == 16);
static_assert(offsetof(ProcessV2, compute_instance) == 20);
constexpr std::uint64_t kNoMemoryValue = ~0ULL;

struct Utilization {
  std::uint32_t gpu;  // per cent
  std::uint32_t memory;
};
static_assert(sizeof(Utilization) == 8);

struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16);
static_assert(offsetof(PciInfo, pci_device_id) == 28 && offsetof(PciInfo, bus_id) == 36);

struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data;  // the XID of kEventXid
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, type) == 8);
static_assert(offsetof(EventData, data) == 16 && offsetof(EventData, gpu_instance) == 24);
static_assert(offsetof(EventData, compute_instance) == 28);

union Value {
  double real;
  std::uint32_t u32;
  std::uint64_t u64;
};

struct FieldValue {
  std::uint32_t id;
  std::uint32_t scope;
  std::int64_t timestamp;
  std::int64_t latency;
  std::uint32_t value_type;
  Return status;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, scope) == 4);
static_assert(offsetof(FieldValue, timestamp) == 8 && offsetof(FieldValue, value_type) == 24);
static_assert(offsetof(FieldValue, status) == 28 && offsetof(FieldValue, value) == 32);

}  // namespace rota::telemetry::nvml
