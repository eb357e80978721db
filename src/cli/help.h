// Help texts, made from the commands and their options.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rota::cli {

/// `rota --help`: commands in groups, examples, where things are.
[[nodiscard]] std::string general_help(const CLI::App& root);
/// "rota queue set".
[[nodiscard]] std::string command_path(const CLI::App& app);
/// Help of one command or of a command's own commands (`rota queue set`).
[[nodiscard]] std::string command_help(const CLI::App& app);

}  // namespace rota::cli
