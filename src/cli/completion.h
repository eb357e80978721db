// Shell completion scripts, made from the option table.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rota::cli {

[[nodiscard]] std::string bash_completion(const CLI::App& root);
[[nodiscard]] std::string zsh_completion(const CLI::App& root);
[[nodiscard]] std::string fish_completion(const CLI::App& root);

}  // namespace rota::cli
