// Names of the library in Rota's form. Pure.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/nvml/abi.h"

namespace rota::telemetry::nvml {

/// "NVIDIA H100 80GB HBM3" -> "h100"; "NVIDIA GeForce RTX 4090" -> "rtx4090"; an unknown product
/// gives its words in lower case with dashes.
std::string model_of_name(std::string_view name);
/// "0000:3b:00.0", as folders below /sys/bus/pci/devices are called.
std::string bus_of(const PciInfo& pci);

}  // namespace rota::telemetry::nvml
