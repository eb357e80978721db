#include "telemetry/fake/models.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace rota::telemetry {
namespace {

struct Model {
  std::string_view name;
  std::int64_t gib;
};

// Sorted by name.
constexpr std::array kModels = {
    Model{"a10", 24},      Model{"a100", 80},     Model{"a100-40", 40},    Model{"a30", 24},
    Model{"a40", 48},      Model{"a6000", 48},    Model{"b200", 180},      Model{"b300", 270},
    Model{"gb200", 186},   Model{"gh200", 96},    Model{"h100", 80},       Model{"h200", 141},
    Model{"l4", 24},       Model{"l40", 48},      Model{"l40s", 48},       Model{"mi250", 128},
    Model{"mi300x", 192},  Model{"p100", 16},     Model{"rtx2080ti", 11},  Model{"rtx3090", 24},
    Model{"rtx4090", 24},  Model{"rtx5090", 32},  Model{"rtxpro6000", 96}, Model{"t4", 16},
    Model{"v100", 32},     Model{"v100-16", 16},
};

}  // namespace

std::optional<Bytes> model_memory(std::string_view model) {
  for (const Model& known : kModels) {
    if (known.name == model) return gibibytes(known.gib);
  }
  return std::nullopt;
}

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> result;
    for (const Model& known : kModels) result.emplace_back(known.name);
    return result;
  }();
  return kNames;
}

Error unknown_model(std::string_view model, std::string where) {
  Error error;
  error.where = std::move(where);
  error.message = "unknown GPU model '" + std::string(model) + "'";
  const std::string_view nearest = nearest_word(model, model_names());
  if (!nearest.empty()) {
    error.message += "; did you mean " + std::string(nearest) + "?";
  } else {
    error.message += "; known models: " + join(model_names(), ", ");
  }
  return error;
}

}  // namespace rota::telemetry
