#include "cli/history_options.h"

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/usage.h"
#include "history/importer.h"
#include "history/read.h"

namespace rota::cli {

CLI::Option* add_history_options(CLI::App& app, HistoryOptions& options) {
  app.add_option("--format", options.format,
                 "sacct, kubernetes, csv, ...; else seen from the first lines")
      ->type_name(std::string(kHistoryFormatType))
      ->group("History");
  app.add_option("--map", options.map,
                 "which columns of a table are what: submit=created,gpus=ngpu,time_unit=ms")
      ->type_name("WHAT=COLUMN,..")
      ->group("History");
  return app.add_option("HISTORY", options.files, "files of past jobs; - is standard input")
      ->required()
      ->type_name("");
}

Result<history::JobHistory> read_history(Context& context, const HistoryOptions& options) {
  history::ReadOptions read;
  read.format = options.format;
  const auto map = history::parse_column_map(options.map);
  if (!map) return usage_error("--map: " + map.error().message);
  read.map = *map;
  if (options.time_unit && !read.map.time_unit) read.map.time_unit = options.time_unit;
  if (!options.format.empty()) {
    const auto format = history::history_format_named(options.format);
    if (!format) return usage_error("--format: " + format.error().message);
  }
  Progress progress(context, "reading");
  auto history = history::read_history(options.files, read,
                                       [&](std::int64_t done, std::int64_t whole) {
                                         if (whole > 0) progress.show(std::min(done, whole), whole);
                                       });
  if (!history) return usage_error(history.error().message, history.error().where);
  return history;
}

Status check_is_no_input(const std::string& option, const std::string& path,
                         const HistoryOptions& options) {
  const Error would_be_lost =
      usage_error(option + " '" + path + "' is the file that is read, which would be lost; "
                                         "name another one");
  for (const std::string& file : options.files) {
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(path, unknown);
    if (is_file && std::filesystem::equivalent(path, file, unknown)) return would_be_lost;
  }
  return {};
}

std::string source_words(const history::ImportNotes& notes) {
  std::string text;
  for (std::size_t i = 0; i < notes.files.size() && i < 3; ++i) {
    text += (i > 0 ? ", " : "") + notes.files[i] + " (" + notes.formats[i] + ")";
  }
  if (notes.files.size() > 3) text += " and " + std::to_string(notes.files.size() - 3) + " more";
  return text;
}

std::string import_notes_text(const history::ImportNotes& notes) {
  std::string text;
  for (const history::RowKind& kind : notes.kinds) {
    text += grouped(kind.count) + (kind.count == 1 ? " row " : " rows ") +
            std::string(history::fate_name(kind.fate)) + ": " + kind.kind + "\n";
    if (kind.fate == history::RowFate::kPassedOver) continue;
    for (const std::string& place : kind.places) text += "    " + place + "\n";
  }
  for (const std::string& remark : notes.remarks) text += "Note: " + remark + ".\n";
  return text;
}

}  // namespace rota::cli
