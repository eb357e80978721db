// Walks over the typed words before anything runs: finds the command, checks every option against
// the table with "did you mean", and cuts off the job's own command line.
//
// Words after a command's FILE, or after `--`, belong to the job and are never looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/command.h"

namespace rota::cli {

struct Walk {
  const CLI::App* app = nullptr;       // the command meant; the root when none was typed
  bool help = false;                   // -h or --help was there: show help of `app`
  bool version = false;                // --version before any command
  Parsed parsed;
  std::vector<std::string> words;      // in a form that CLI11 reads without doubt
};

/// `args` are without the program's name. Error: kInvalidArgument.
[[nodiscard]] Result<Walk> walk_words(const std::vector<std::string>& args, const CLI::App& root);

/// What another tool's word is called here: "squeue" -> "rota ls"; empty when unknown.
[[nodiscard]] std::string_view foreign_command(std::string_view word);

}  // namespace rota::cli
