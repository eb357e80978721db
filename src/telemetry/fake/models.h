// Device models and their memory, for devices that are made up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace rota::telemetry {

/// Memory of a model as sold; absent: unknown model. Names are lower case: "h100", "rtx4090".
std::optional<Bytes> model_memory(std::string_view model);
/// All known names, sorted.
const std::vector<std::string>& model_names();
/// "unknown GPU model 'h10'; did you mean h100?", else with the list of known models.
Error unknown_model(std::string_view model, std::string where);

}  // namespace rota::telemetry
