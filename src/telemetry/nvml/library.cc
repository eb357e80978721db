#include "telemetry/nvml/library.h"

#include <dlfcn.h>

#include <initializer_list>

namespace rota::telemetry::nvml {
namespace {

struct Variant {
  const char* symbol;
  std::size_t stride;
};

/// The first of `symbols` that the library has.
template <class Function>
void resolve(void* library, Function& function, std::initializer_list<const char*> symbols) {
  for (const char* symbol : symbols) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
    if (function != nullptr) return;
  }
}

template <class Function>
std::size_t resolve_list(void* library, Function& function,
                         std::initializer_list<Variant> variants) {
  for (const Variant& variant : variants) {
    function = reinterpret_cast<Function>(::dlsym(library, variant.symbol));
    if (function != nullptr) return variant.stride;
  }
  return 0;
}

Functions resolve_all(void* lib) {
  Functions f;
  resolve(lib, f.init, {"nvmlInit_v2", "nvmlInit"});
  resolve(lib, f.shutdown, {"nvmlShutdown"});
  resolve(lib, f.error_string, {"nvmlErrorString"});
  resolve(lib, f.driver_version, {"nvmlSystemGetDriverVersion"});
  resolve(lib, f.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  resolve(lib, f.handle, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  resolve(lib, f.uuid, {"nvmlDeviceGetUUID"});
  resolve(lib, f.name, {"nvmlDeviceGetName"});
  resolve(lib, f.pci, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
  resolve(lib, f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  resolve(lib, f.memory_v1, {"nvmlDeviceGetMemoryInfo"});
  resolve(lib, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  resolve(lib, f.power, {"nvmlDeviceGetPowerUsage"});
  resolve(lib, f.temperature, {"nvmlDeviceGetTemperature"});
  f.process_stride = resolve_list(
      lib, f.processes,
      {{"nvmlDeviceGetComputeRunningProcesses_v3", sizeof(ProcessV2)},
       {"nvmlDeviceGetComputeRunningProcesses_v2", sizeof(ProcessV2)},
       {"nvmlDeviceGetComputeRunningProcesses", sizeof(ProcessV1)}});
  f.mps_process_stride = resolve_list(
      lib, f.mps_processes,
      {{"nvmlDeviceGetMPSComputeRunningProcesses_v3", sizeof(ProcessV2)},
       {"nvmlDeviceGetMPSComputeRunningProcesses_v2", sizeof(ProcessV2)},
       {"nvmlDeviceGetMPSComputeRunningProcesses", sizeof(ProcessV1)}});
  resolve(lib, f.fields, {"nvmlDeviceGetFieldValues"});
  resolve(lib, f.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  resolve(lib, f.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  resolve(lib, f.nvlink_remote, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  resolve(lib, f.mig_mode, {"nvmlDeviceGetMigMode"});
  resolve(lib, f.event_set_create, {"nvmlEventSetCreate"});
  resolve(lib, f.event_set_free, {"nvmlEventSetFree"});
  resolve(lib, f.event_set_wait, {"nvmlEventSetWait_v2", "nvmlEventSetWait"});
  resolve(lib, f.register_events, {"nvmlDeviceRegisterEvents"});
  resolve(lib, f.supported_events, {"nvmlDeviceGetSupportedEventTypes"});
  return f;
}

}  // namespace

Result<Library> Library::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{ErrorCode::kNotFound, reason == nullptr ? path + " cannot be opened" : reason};
  }
  Library library;
  library.functions_ = resolve_all(handle);
  const Functions& f = library.functions_;
  if (f.init == nullptr || f.count == nullptr || f.handle == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 path + " is not NVIDIA's management library: it has no nvmlInit, "
                        "nvmlDeviceGetCount or nvmlDeviceGetHandleByIndex"};
  }
  return library;
}

std::string Library::words(Return code) const {
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(code);
  return (text == nullptr ? std::string("error") : std::string(text)) + " (" +
         std::to_string(code) + ")";
}

}  // namespace rota::telemetry::nvml
