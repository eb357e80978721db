#include "telemetry/nvml/session.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "telemetry/fake/models.h"
#include "telemetry/nvml/health.h"
#include "telemetry/nvml/names.h"
#include "telemetry/nvml/topology.h"
#include "telemetry/xid.h"

namespace rota::telemetry::nvml {
namespace {

constexpr std::size_t kTextMax = 96;
constexpr int kEventsAtOnce = 100;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::int64_t cpu_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1);
}

Bytes host_memory() {
  return Bytes(static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE)));
}

Error init_error(const Library& library, Return code) {
  const std::string words = "NVIDIA's driver does not work: " + library.words(code);
  if (code == kDriverNotLoaded) {
    return {ErrorCode::kUnavailable, words + "; load it (modprobe nvidia), then run nvidia-smi"};
  }
  if (code == kVersionMismatch) {
    return {ErrorCode::kUnavailable,
            words + "; the driver was upgraded while loaded: reboot or reload it"};
  }
  return {ErrorCode::kUnavailable, words + "; see what nvidia-smi says"};
}

}  // namespace

Result<std::shared_ptr<Session>> Session::open(const std::string& path) {
  auto library = Library::open(path);
  if (!library.ok()) return library.error();
  std::shared_ptr<Session> session(new Session(*library));
  if (const Status status = session->begin(); !status.ok()) return status.error();
  return session;
}

Status Session::begin() {
  const Functions& call = library_.call();
  const Return code = call.init();
  if (code != kSuccess) return init_error(library_, code);
  std::array<char, kTextMax> version{};
  if (call.driver_version != nullptr &&
      call.driver_version(version.data(), version.size()) == kSuccess) {
    driver_version_ = version.data();
  }
  enumerate();
  if (devices_.empty()) {
    if (call.shutdown != nullptr) call.shutdown();
    return Error{ErrorCode::kNotFound, "NVIDIA's driver is loaded but reports no GPU"};
  }
  register_for_events();
  return {};
}

Session::~Session() {
  const Functions& call = library_.call();
  if (events_ != nullptr && call.event_set_free != nullptr) call.event_set_free(events_);
  if (call.shutdown != nullptr) call.shutdown();
}

void Session::enumerate() {
  const Functions& call = library_.call();
  std::uint32_t count = 0;
  if (call.count(&count) != kSuccess) return;  // keep what is known
  if (count > devices_.size()) devices_.resize(count);
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    Known& device = devices_[i];
    device.handle_status = i < count ? call.handle(i, &device.handle) : kGpuIsLost;
    if (device.handle_status == kSuccess) describe(device);
    if (device.spec.uuid.empty()) device.spec.uuid = "GPU-unknown-" + std::to_string(i);
  }
}

void Session::describe(Known& device) {
  const Functions& call = library_.call();
  std::array<char, kTextMax> text{};
  if (call.uuid != nullptr && call.uuid(device.handle, text.data(), text.size()) == kSuccess) {
    device.spec.uuid = text.data();
  }
  text = {};
  if (call.name != nullptr && call.name(device.handle, text.data(), text.size()) == kSuccess) {
    device.spec.model = model_of_name(text.data());
  }
  PciInfo pci{};
  if (call.pci != nullptr && call.pci(device.handle, &pci) == kSuccess) device.pci = bus_of(pci);
  DeviceReading reading;
  read_memory(device, reading);
  if (reading.memory_total) {
    device.spec.memory = *reading.memory_total;
  } else if (const auto known = model_memory(device.spec.model)) {
    device.spec.memory = *known;
  } else {
    device.spec.memory = host_memory();  // a device that shares the machine's memory
  }
}

NodeSpec Session::discover() {
  enumerate();
  NodeSpec node;
  node.name = host_name();
  node.cpus = cpu_count();
  node.memory = host_memory();
  std::vector<TopologyDevice> places;
  for (const Known& device : devices_) {
    node.devices.push_back(device.spec);
    places.push_back({device.handle_status == kSuccess ? device.handle : nullptr, device.pci});
  }
  node.islands = find_islands(library_.call(), places);
  node.sockets = find_sockets(library_.call(), places);
  return node;
}

// ---- readings ----

std::vector<DeviceReading> Session::read() {
  drain_events();
  std::vector<DeviceReading> readings;
  for (Known& device : devices_) readings.push_back(read_device(device));
  return readings;
}

void Session::note(DeviceReading& reading, Return code) const {
  const auto health = health_of_code(code);
  if (!health) return;
  if (worse(*health, reading.health) != reading.health || reading.detail.empty()) {
    reading.detail = library_.words(code);
  }
  reading.health = worse(reading.health, *health);
}

DeviceReading Session::read_device(Known& device) {
  const Functions& call = library_.call();
  DeviceReading reading;
  reading.uuid = device.spec.uuid;
  if (device.handle_status != kSuccess) {
    note(reading, device.handle_status);
    if (reading.health == DeviceHealth::kOk) {
      reading.health = DeviceHealth::kSuspect;
      reading.detail = library_.words(device.handle_status);
    }
    return reading;
  }
  read_memory(device, reading);
  Utilization use{};
  if (call.utilization != nullptr) {
    const Return code = call.utilization(device.handle, &use);
    if (code == kSuccess) reading.busy_per_mille = static_cast<std::int64_t>(use.gpu) * 10;
    note(reading, code);
  }
  std::uint32_t value = 0;
  if (call.power != nullptr && call.power(device.handle, &value) == kSuccess) {
    reading.power_milliwatts = value;
  }
  if (call.temperature != nullptr &&
      call.temperature(device.handle, kTemperatureOfGpu, &value) == kSuccess) {
    reading.temperature_celsius = value;
  }
  read_processes(device, reading);
  read_health(device, reading);
  return reading;
}

void Session::read_memory(Known& device, DeviceReading& reading) {
  const Functions& call = library_.call();
  const auto take = [&](std::uint64_t total, std::uint64_t used) {
    reading.memory_total = Bytes(static_cast<std::int64_t>(total));
    reading.memory_used = Bytes(static_cast<std::int64_t>(used));
  };
  if (call.memory_v2 != nullptr) {
    MemoryV2 memory{};
    memory.version = version_word(sizeof memory, 2);
    const Return code = call.memory_v2(device.handle, &memory);
    if (code == kSuccess) {
      take(memory.total, memory.used);
      return;
    }
    note(reading, code);
  }
  if (call.memory_v1 == nullptr) return;
  MemoryV1 memory{};
  const Return code = call.memory_v1(device.handle, &memory);
  if (code == kSuccess) take(memory.total, memory.used);
  note(reading, code);
}

void Session::read_processes(Known& device, DeviceReading& reading) {
  const Functions& call = library_.call();
  if (call.processes == nullptr) return;
  if (!add_processes(device, call.processes, call.process_stride, reading)) return;
  if (call.mps_processes != nullptr) {
    add_processes(device, call.mps_processes, call.mps_process_stride, reading);
  }
}

bool Session::add_processes(Known& device, Return (*list)(Device, std::uint32_t*, void*),
                            std::size_t stride, DeviceReading& reading) {
  // Processes may come between the question for their number and the list: ask with room to spare.
  std::uint32_t count = 64;
  std::vector<unsigned char> buffer;
  Return code = kInsufficientSize;
  for (int tries = 0; tries < 4 && code == kInsufficientSize; ++tries) {
    count = std::max<std::uint32_t>(count, 64) * 2;
    buffer.assign(count * stride, 0);
    code = list(device.handle, &count, buffer.data());
  }
  note(reading, code);
  if (code != kSuccess) return false;
  if (!reading.processes) reading.processes.emplace();
  for (std::uint32_t i = 0; i < count && (i + 1) * stride <= buffer.size(); ++i) {
    // Both layouts begin with pid and memory.
    ProcessV1 entry{};
    std::memcpy(&entry, buffer.data() + i * stride, sizeof entry);
    const bool known = std::any_of(reading.processes->begin(), reading.processes->end(),
                                   [&](const DeviceProcess& p) { return p.pid == entry.pid; });
    if (known) continue;
    DeviceProcess process;
    process.pid = entry.pid;
    if (entry.memory != kNoMemoryValue) {
      process.memory = Bytes(static_cast<std::int64_t>(entry.memory));
    }
    reading.processes->push_back(process);
  }
  return true;
}

void Session::read_health(Known& device, DeviceReading& reading) {
  const Functions& call = library_.call();
  reading.xid = std::exchange(device.xid, 0);
  if (reading.xid != 0) reading.detail = "XID " + std::to_string(reading.xid);
  FieldValue field{};
  field.id = kFieldRecoveryAction;
  const bool has_verdict = call.fields != nullptr &&
                           call.fields(device.handle, 1, &field) == kSuccess &&
                           field.status == kSuccess;
  if (has_verdict) {
    // The driver itself says what it takes; nobody's list of fault numbers knows better.
    device.after_xid = DeviceHealth::kOk;
    const DeviceHealth verdict = health_of_recovery_action(field.value.u32);
    if (verdict != DeviceHealth::kOk && reading.detail.empty()) {
      reading.detail = "recovery action " + std::to_string(field.value.u32);
    }
    reading.health = worse(reading.health, verdict);
  } else {
    reading.health = worse(reading.health, device.after_xid);
  }
  std::uint32_t mig = 0;
  std::uint32_t pending = 0;
  if (call.mig_mode != nullptr && call.mig_mode(device.handle, &mig, &pending) == kSuccess &&
      mig != 0 && reading.health == DeviceHealth::kOk) {
    reading.health = DeviceHealth::kSuspect;
    reading.detail = "MIG mode is on, so it cannot be given out as a whole";
  }
}

// ---- fault events ----

void Session::register_for_events() {
  const Functions& call = library_.call();
  if (call.event_set_create == nullptr || call.event_set_wait == nullptr ||
      call.register_events == nullptr) {
    return;
  }
  if (call.event_set_create(&events_) != kSuccess) {
    events_ = nullptr;
    return;
  }
  for (const Known& device : devices_) {
    if (device.handle_status != kSuccess) continue;
    std::uint64_t wanted = kEventXid | kEventDoubleBitEcc;
    std::uint64_t supported = 0;
    if (call.supported_events != nullptr &&
        call.supported_events(device.handle, &supported) == kSuccess) {
      wanted &= supported;
    }
    if (wanted != 0) call.register_events(device.handle, wanted, events_);
  }
}

void Session::drain_events() {
  if (events_ == nullptr) return;
  for (int i = 0; i < kEventsAtOnce; ++i) {
    EventData event{};
    if (library_.call().event_set_wait(events_, &event, 0) != kSuccess) return;
    for (Known& device : devices_) {
      if (device.handle != event.device || device.handle_status != kSuccess) continue;
      const auto xid = (event.type & kEventXid) != 0 ? static_cast<std::int64_t>(event.data) : 48;
      device.xid = xid;
      device.after_xid = worse(device.after_xid, health_after_xid(xid));
    }
  }
}

}  // namespace rota::telemetry::nvml
