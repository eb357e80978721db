// Checks of option values that the parser makes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rota::cli {

/// Refuses an empty value: `--capacity "$GPUS"` of a script whose variable is not set would else
/// read as if the option had been left out.
[[nodiscard]] inline CLI::Validator some_text() {
  return CLI::Validator(
      [](std::string& value) { return value.empty() ? std::string("is empty") : std::string(); },
      "");
}

}  // namespace rota::cli
