// MIG geometry: which instances fit where on one device.
//
// Positions are memory-slice indices. Geometry A (A100, H100, H200, B200 class): seven compute and
// eight memory slices; geometry B (A30): four of each. Tables from NVIDIA's MIG user guide,
// "Supported MIG profiles" (placements as `nvidia-smi mig -lgipp` prints them).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rota::engine {

struct MigProfile {
  std::int32_t compute = 0;       // compute slices
  std::int32_t size = 0;          // memory slices taken
  std::vector<std::int32_t> starts;
  std::int32_t compute_total = 7;  // of the device
};

/// The profile `name` ("1g.10gb", "3g.40gb", "1g.10gb+me") on a device of this model and memory;
/// none when such a device has no such profile.
std::optional<MigProfile> mig_profile(std::string_view name, std::string_view model,
                                      std::int64_t memory_bytes);
/// Memory slices of a device of this model.
std::int32_t mig_slices(std::string_view model);
/// Compute slices of a profile by its name, which takes as many memory slices at least; 0: no name.
std::int32_t mig_compute_slices(std::string_view name);
/// True when `name` has the form of a profile.
bool is_mig_name(std::string_view name);

/// The legal start that leaves most starts of the largest profile, then of the next smaller one,
/// and so on; ties: the lowest. None when no legal start is free. `used` has a bit per slice.
std::optional<std::int32_t> best_mig_start(const MigProfile& profile, std::uint8_t used);

}  // namespace rota::engine
