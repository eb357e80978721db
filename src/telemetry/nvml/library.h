// The library, opened at run time. Every function may be missing; what depends on it is then "not
// supported", never a crash.
#pragma once

#include <string>

#include "base/result.h"
#include "telemetry/nvml/abi.h"

namespace rota::telemetry::nvml {

/// Function pointers of one opened library; null: this version has no such function.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, std::uint32_t) = nullptr;
  Return (*count)(std::uint32_t*) = nullptr;
  Return (*handle)(std::uint32_t, Device*) = nullptr;
  Return (*uuid)(Device, char*, std::uint32_t) = nullptr;
  Return (*name)(Device, char*, std::uint32_t) = nullptr;
  Return (*pci)(Device, PciInfo*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;
  Return (*memory_v1)(Device, MemoryV1*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*power)(Device, std::uint32_t*) = nullptr;
  Return (*temperature)(Device, int, std::uint32_t*) = nullptr;
  Return (*processes)(Device, std::uint32_t*, void*) = nullptr;
  std::size_t process_stride = 0;  // of the variant that was found
  Return (*mps_processes)(Device, std::uint32_t*, void*) = nullptr;
  std::size_t mps_process_stride = 0;
  Return (*fields)(Device, int, FieldValue*) = nullptr;
  Return (*common_ancestor)(Device, Device, std::uint32_t*) = nullptr;
  Return (*nvlink_state)(Device, std::uint32_t, std::uint32_t*) = nullptr;
  Return (*nvlink_remote)(Device, std::uint32_t, PciInfo*) = nullptr;
  Return (*mig_mode)(Device, std::uint32_t*, std::uint32_t*) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*event_set_wait)(EventSet, EventData*, std::uint32_t) = nullptr;
  Return (*register_events)(Device, std::uint64_t, EventSet) = nullptr;
  Return (*supported_events)(Device, std::uint64_t*) = nullptr;
};

/// An opened library; stays open until the program ends, since a thread may hang inside it.
class Library {
 public:
  /// Errors: kNotFound (no such library), kUnavailable (it lacks what nothing works without).
  static Result<Library> open(const std::string& path);
  [[nodiscard]] const Functions& call() const { return functions_; }
  /// The library's own words for a code.
  [[nodiscard]] std::string words(Return code) const;

 private:
  Functions functions_;
};

}  // namespace rota::telemetry::nvml
