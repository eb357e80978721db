// The program: words in, exit code out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/context.h"

namespace rota::cli {

constexpr std::string_view kVersion = "0.1.0";

/// The parser with every command declared, and what each one does.
struct Program {
  std::unique_ptr<CLI::App> root;
  std::vector<std::pair<const CLI::App*, Runner>> runners;  // by top-level command
};

[[nodiscard]] Program make_program(Context& context);

/// Runs one command line (without the program's name). Never throws.
[[nodiscard]] int run_program(const std::vector<std::string>& args, Context& context);

}  // namespace rota::cli
