// HISTORY..., --format and --map: what every command over past jobs has in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/context.h"
#include "history/history.h"
#include "history/words.h"

namespace rota::cli {

/// What --format takes, in help; completion offers the names of all formats for it.
constexpr std::string_view kHistoryFormatType = "FORMAT";

struct HistoryOptions {
  std::vector<std::string> files;
  std::string format;  // empty: each file's own
  std::string map;
  std::optional<history::TimeUnit> time_unit = {};  // of plain numbers, where the map does not say
};

/// Declares them on `app`; `options` must live as long as the runner. Returns HISTORY itself.
CLI::Option* add_history_options(CLI::App& app, HistoryOptions& options);

/// Reads the files with a progress bar on a terminal. Whatever keeps a file from being read is
/// kInvalidArgument (exit code 2).
[[nodiscard]] Result<history::JobHistory> read_history(Context& context,
                                                       const HistoryOptions& options);

/// Error: `path`, which is to be written for `option`, is one of the files that are read.
[[nodiscard]] Status check_is_no_input(const std::string& option, const std::string& path,
                                       const HistoryOptions& options);

/// Files and their formats, in short.
[[nodiscard]] std::string source_words(const history::ImportNotes& notes);

/// What the reader of a table should know of rows that were not plain: one line a kind with its
/// first places, then remarks. Empty when all rows were plain.
[[nodiscard]] std::string import_notes_text(const history::ImportNotes& notes);

}  // namespace rota::cli
