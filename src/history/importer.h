// What an importer of one format is, and the list of all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "history/builder.h"
#include "history/csv/column_map.h"
#include "history/input_text.h"

namespace rota::history {

/// One input on its way into the builder.
struct ImportRun {
  InputText& text;
  HistoryBuilder& builder;
  const ColumnMap& map;  // of the caller; empty unless given

  [[nodiscard]] RowPlace here(std::int64_t column = 0) const {
    return {.file = text.name(), .line = text.line(), .column = column};
  }
};

struct HistoryFormat {
  std::string_view name;         // of --format
  std::string_view description;  // one line
  /// Whether the first bytes of an input look like this format and no other.
  bool (*matches)(std::string_view sample);
  /// Reads it to its end. Error: it cannot be this format, or cannot be read; a bad row is no
  /// error but counted.
  Status (*import)(ImportRun& run);
};

/// All formats, in the order of help.
[[nodiscard]] std::span<const HistoryFormat> history_formats();
/// Null when there is none of that name.
[[nodiscard]] const HistoryFormat* find_history_format(std::string_view name);
/// Error: unknown, with the nearest name and all names.
[[nodiscard]] Result<const HistoryFormat*> history_format_named(const std::string& name);

/// The format of which `sample` is the beginning. Error: none or several; lists what is known.
[[nodiscard]] Result<const HistoryFormat*> detect_history_format(std::string_view sample,
                                                                 const std::string& file,
                                                                 const ColumnMap& map);

/// The first line of `sample` that is neither empty nor a comment (`#`), without its end.
[[nodiscard]] std::string_view first_line(std::string_view sample);

// The importers; each stands in a file of its own.
[[nodiscard]] bool is_sacct_text(std::string_view sample);
[[nodiscard]] Status import_sacct_text(ImportRun& run);
[[nodiscard]] bool is_rota_csv(std::string_view sample);
[[nodiscard]] Status import_rota_csv(ImportRun& run);
[[nodiscard]] Status import_csv(ImportRun& run);
[[nodiscard]] bool is_csv(std::string_view sample);

}  // namespace rota::history
