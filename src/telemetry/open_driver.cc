#include "telemetry/open_driver.h"

#include <utility>

#include "telemetry/fake/fake_driver.h"
#include "telemetry/fake/shape.h"
#include "telemetry/nvml/nvml_driver.h"

namespace rota::telemetry {
namespace {

Result<std::unique_ptr<DeviceDriver>> open_simulated(std::string_view text) {
  if (text.starts_with('@')) return FileDriver::open(std::string(text.substr(1)));
  for (const std::string_view end : {".yaml", ".yml", ".json"}) {
    if (text.ends_with(end)) return FileDriver::open(std::string(text));
  }
  auto nodes = parse_shape(text);
  if (!nodes.ok()) return nodes.error();
  return std::unique_ptr<DeviceDriver>(
      std::make_unique<ShapeDriver>(std::string(text), *std::move(nodes)));
}

}  // namespace

Result<std::unique_ptr<DeviceDriver>> open_driver(const DriverOptions& options) {
  if (!options.simulate.empty()) return open_simulated(options.simulate);
  auto real = NvmlDriver::open({.library = options.nvml_library, .deadline = options.deadline});
  if (real.ok()) return real;
  const std::string hint = "try rota serve --simulate 8xh100";
  if (real.error().code == ErrorCode::kNotFound) {
    // The dynamic loader's words say the same in a way that few people know.
    const bool missing = real.error().message.find("shared object") != std::string::npos;
    return Error{ErrorCode::kNotFound, "no GPUs found: " + hint,
                 missing ? "NVIDIA's driver is not installed here" : real.error().message};
  }
  return Error{real.error().code, real.error().message + "; without GPUs, " + hint,
               real.error().where};
}

}  // namespace rota::telemetry
