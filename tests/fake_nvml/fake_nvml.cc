// A stand-in for libnvidia-ml.so.1. It knows nothing of Rota's declarations: structures are written
// byte by byte at the published offsets, so a mistake in either side shows.
//
// The file named by ROTA_FAKE_NVML describes the machine and is read again at every call. A line
// is a word and its values:
//   init CODE                 nvmlInit gives CODE
//   device NAME...            one more device
//   lost I | reset I          calls for device I give 15 | 16
//   used I BYTES | busy I PERCENT | power I MILLIWATTS
//   process I PID BYTES | mps I PID BYTES
//   recovery I ACTION         field 230; without the line: not supported
//   xid I NUMBER              one fault event; each line is delivered once
//   ancestor I K LEVEL        default 50
//   link I K | switch I       one NVLink to device K | to a switch
//   mig I
//   hang WORD                 calls of that group do not return while the line stands
//
// Variants, by definition: FAKE_OLD (a driver of 2019: no versioned calls, no events, no fields)
// and FAKE_MINIMAL (only what nothing works without).
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalid = 2;
constexpr int kNotSupported = 3;
constexpr int kTooSmall = 7;
constexpr int kTimeout = 10;
constexpr int kLost = 15;
constexpr int kReset = 16;
constexpr int kWrongVersion = 25;
constexpr std::uint64_t kTotal = 85520809984ULL;

using Line = std::vector<std::string>;

std::size_t delivered = 0;  // of the fault events, since the last init

std::vector<Line> lines() {
  const char* path = std::getenv("ROTA_FAKE_NVML");
  std::vector<Line> result;
  std::ifstream in(path == nullptr ? "/nonexistent" : path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    Line line;
    for (std::string word; words >> word;) line.push_back(word);
    if (!line.empty()) result.push_back(line);
  }
  return result;
}

std::vector<Line> lines_of(const std::string& word) {
  std::vector<Line> result;
  for (const Line& line : lines()) {
    if (line[0] == word) result.push_back(line);
  }
  return result;
}

std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }

/// The value of the line `word index VALUE`.
bool value_of(const std::string& word, std::uint64_t index, std::uint64_t& value) {
  for (const Line& line : lines_of(word)) {
    if (line.size() > 2 && number(line[1]) == index) {
      value = number(line[2]);
      return true;
    }
  }
  return false;
}

bool has(const std::string& word, std::uint64_t index) {
  for (const Line& line : lines_of(word)) {
    if (line.size() > 1 && number(line[1]) == index) return true;
  }
  return false;
}

void hang_if_told(const std::string& group) {
  for (;;) {
    bool told = false;
    for (const Line& line : lines_of("hang")) told = told || (line.size() > 1 && line[1] == group);
    if (!told) return;
    ::usleep(2000);
  }
}

std::uint64_t index_of(void* device) { return reinterpret_cast<std::uintptr_t>(device) - 1; }

int state_of(void* device) {
  if (device == nullptr) return kInvalid;
  if (has("lost", index_of(device))) return kLost;
  if (has("reset", index_of(device))) return kReset;
  return kSuccess;
}

template <class T>
void put(void* at, std::size_t offset, T value) {
  std::memcpy(static_cast<char*>(at) + offset, &value, sizeof value);
}

int copy_text(const std::string& text, char* out, unsigned size) {
  if (text.size() + 1 > size) return kTooSmall;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

std::uint64_t used_of(void* device) {
  std::uint64_t used = 0;
  value_of("used", index_of(device), used);
  return used;
}

[[maybe_unused]] int list_processes(void* device, const char* word, unsigned* count, void* out,
                                    std::size_t stride) {
  if (const int state = state_of(device)) return state;
  std::vector<Line> found;
  for (const Line& line : lines_of(word)) {
    if (line.size() > 3 && number(line[1]) == index_of(device)) found.push_back(line);
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (found.size() > room) return kTooSmall;
  for (std::size_t i = 0; i < found.size(); ++i) {
    put(out, i * stride, static_cast<std::uint32_t>(number(found[i][2])));
    put(out, i * stride + 8, number(found[i][3]));
    if (stride == 24) {
      put(out, i * stride + 16, ~0U);
      put(out, i * stride + 20, ~0U);
    }
  }
  return kSuccess;
}

[[maybe_unused]] void put_bus(void* pci, std::uint64_t index) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned>(0xE0 + index));
  std::memset(pci, 0, 68);
  std::memcpy(pci, text, 13);
  put(pci, 16, 0U);
  put(pci, 20, static_cast<std::uint32_t>(0xE0 + index));
  put(pci, 24, 0U);
  put(pci, 28, 0x233010DEU);
  std::memcpy(static_cast<char*>(pci) + 36, "0000", 4);
  std::memcpy(static_cast<char*>(pci) + 40, text, 13);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  delivered = 0;
  hang_if_told("init");
  const auto codes = lines_of("init");
  return codes.empty() ? kSuccess : static_cast<int>(number(codes[0][1]));
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(lines_of("device").size());
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= lines_of("device").size()) return kInvalid;
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
  return kSuccess;
}

#ifndef FAKE_MINIMAL

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int code) {
  return code == kLost ? "GPU is lost" : code == kReset ? "GPU requires reset" : "Some Error";
}

int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return copy_text("535.104.05", out, size);
}

int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  if (const int state = state_of(device)) return state;
  return copy_text("GPU-fake-" + std::to_string(index_of(device)), out, size);
}

int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  if (const int state = state_of(device)) return state;
  const Line line = lines_of("device")[index_of(device)];
  std::string name;
  for (std::size_t i = 1; i < line.size(); ++i) name += (i > 1 ? " " : "") + line[i];
  return copy_text(name, out, size);
}

int nvmlDeviceGetMemoryInfo(void* device, void* out) {
  hang_if_told("memory");
  if (const int state = state_of(device)) return state;
  put(out, 0, kTotal);
  put(out, 8, kTotal - used_of(device));
  put(out, 16, used_of(device));
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, void* out) {
  if (const int state = state_of(device)) return state;
  std::uint64_t busy = 0;
  if (!value_of("busy", index_of(device), busy)) return kNotSupported;
  put(out, 0, static_cast<std::uint32_t>(busy));
  put(out, 4, 0U);
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (const int state = state_of(device)) return state;
  std::uint64_t power = 0;
  if (!value_of("power", index_of(device), power)) return kNotSupported;
  *milliwatts = static_cast<unsigned>(power);
  return kSuccess;
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  if (const int state = state_of(device)) return state;
  if (sensor != 0) return kInvalid;
  *celsius = 45;
  return kSuccess;
}

int nvmlDeviceGetTopologyCommonAncestor(void* one, void* two, unsigned* level) {
  *level = 50;
  for (const Line& line : lines_of("ancestor")) {
    const bool same = number(line[1]) == index_of(one) && number(line[2]) == index_of(two);
    const bool swapped = number(line[2]) == index_of(one) && number(line[1]) == index_of(two);
    if (same || swapped) *level = static_cast<unsigned>(number(line[3]));
  }
  return kSuccess;
}

#ifdef FAKE_OLD

int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* out) {
  return list_processes(device, "process", count, out, 16);
}

#else

int nvmlDeviceGetMemoryInfo_v2(void* device, void* out) {
  hang_if_told("memory");
  if (const int state = state_of(device)) return state;
  std::uint32_t version = 0;
  std::memcpy(&version, out, sizeof version);
  if (version != 0x02000028U) return kWrongVersion;
  put(out, 8, kTotal);
  put(out, 16, std::uint64_t{1} << 20U);
  put(out, 24, kTotal - used_of(device));
  put(out, 32, used_of(device));
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* out) {
  return list_processes(device, "process", count, out, 24);
}

// A call with the wrong stride would show: this one exists too, with the older layout.
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* out) {
  return list_processes(device, "process", count, out, 16);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(void* device, unsigned* count, void* out) {
  return list_processes(device, "mps", count, out, 24);
}

int nvmlDeviceGetPciInfo_v3(void* device, void* out) {
  if (const int state = state_of(device)) return state;
  put_bus(out, index_of(device));
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (const int state = state_of(device)) return state;
  if (link > 1) return kInvalid;
  *active = 0;
  for (const Line& line : lines_of(link == 0 ? "link" : "switch")) {
    if (number(line[1]) == index_of(device)) *active = 1;
  }
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, void* out) {
  if (link == 1) {
    put_bus(out, 0x10);  // the switch
    return kSuccess;
  }
  for (const Line& line : lines_of("link")) {
    if (number(line[1]) == index_of(device)) {
      put_bus(out, number(line[2]));
      return kSuccess;
    }
  }
  return kNotSupported;
}

int nvmlDeviceGetFieldValues(void* device, int count, void* out) {
  if (const int state = state_of(device)) return state;
  for (int i = 0; i < count; ++i) {
    char* field = static_cast<char*>(out) + static_cast<std::ptrdiff_t>(i) * 40;
    std::uint32_t id = 0;
    std::memcpy(&id, field, sizeof id);
    std::uint64_t action = 0;
    const bool known = id == 230 && value_of("recovery", index_of(device), action);
    put(field, 24, 1U);
    put(field, 28, known ? kSuccess : kNotSupported);
    put(field, 32, static_cast<std::uint32_t>(action));
  }
  return kSuccess;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  if (const int state = state_of(device)) return state;
  *current = has("mig", index_of(device)) ? 1 : 0;
  *pending = *current;
  return kSuccess;
}

int nvmlEventSetCreate(void** set) {
  *set = reinterpret_cast<void*>(0x100);
  return kSuccess;
}

int nvmlEventSetFree(void*) { return kSuccess; }

int nvmlDeviceGetSupportedEventTypes(void*, std::uint64_t* types) {
  *types = 0x8 | 0x100;
  return kSuccess;
}

int nvmlDeviceRegisterEvents(void* device, std::uint64_t types, void*) {
  return (types & ~0x108ULL) != 0 ? kNotSupported : state_of(device);
}

int nvmlEventSetWait_v2(void*, void* out, unsigned) {
  const auto events = lines_of("xid");
  if (delivered >= events.size()) return kTimeout;
  const Line line = events[delivered++];
  put(out, 0, reinterpret_cast<void*>(number(line[1]) + 1));
  put(out, 8, std::uint64_t{0x8});
  put(out, 16, number(line[2]));
  put(out, 24, ~0U);
  put(out, 28, ~0U);
  return kSuccess;
}

#endif  // FAKE_OLD
#endif  // FAKE_MINIMAL

}  // extern "C"
