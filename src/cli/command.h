// What one command of `rota` is: its words in help, its options, and what it does.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/context.h"

namespace rota::cli {

/// One option as typed, in the order typed.
struct Spelled {
  const CLI::Option* option = nullptr;
  std::string value;
};

/// What stands behind a command's own options.
enum class TailKind { kNone, kFile, kCommand };  // FILE [ARG...], or -- COMMAND [ARG...]

struct Parsed {
  std::vector<Spelled> options;
  std::vector<std::string> tail;
  TailKind tail_kind = TailKind::kNone;
};

/// Does the command's work and returns its exit code. Called once, after parsing.
using Runner = std::function<int(const Parsed&)>;

struct Command {
  std::string_view name;
  std::string_view group;     // heading in `rota --help`
  std::string_view summary;   // one line
  std::string_view synopsis;  // lines after "rota NAME"
  std::string_view details;   // paragraphs below the summary; may be empty
  std::string_view examples;  // one a line
  bool takes_tail = false;    // ends with FILE or -- COMMAND: options stand before it
  Runner (*declare)(CLI::App& app, Context& context) = nullptr;
};

/// All commands, in the order of help.
[[nodiscard]] std::span<const Command> commands();
/// Null when there is none of that name.
[[nodiscard]] const Command* find_command(std::string_view name);

/// The group of commands that need no daemon. Their options take no empty value: it is a shell
/// variable that was not set, and the answer without that option would be another one.
constexpr std::string_view kOfflineGroup = "Try things out, without a daemon";

/// Options whose group is this are known to the parser but shown nowhere.
constexpr const char* kHiddenGroup = "";

}  // namespace rota::cli
