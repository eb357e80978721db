#include "telemetry/open_driver.h"

#include <utility>

#include "telemetry/fake/fake_driver.h"
#include "telemetry/fake/shape.h"

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
  return Error{ErrorCode::kNotFound,
               "no GPUs found: try rota serve --simulate 8xh100 for made-up ones"};
}

}  // namespace rota::telemetry
