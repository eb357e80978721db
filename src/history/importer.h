// What an importer of one format is, and the list of all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "history/builder.h"
#include "history/csv/column_map.h"
#include "history/input_text.h"

namespace rota::history {

/// What an importer can add only when it has seen all files of its format.
class LaterRows {
 public:
  LaterRows() = default;
  virtual ~LaterRows() = default;
  LaterRows(const LaterRows&) = delete;
  LaterRows& operator=(const LaterRows&) = delete;
  virtual void add_all() = 0;  // called once, behind the last file
};

/// One input on its way into the builder, which outlives it.
struct ImportRun {
  InputText& text;
  HistoryBuilder& builder;
  const ColumnMap& map;  // of the caller; empty unless given
  std::unique_ptr<LaterRows>& later;  // of this format; null until an importer sets it

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
[[nodiscard]] bool is_sacct_json(std::string_view sample);
[[nodiscard]] Status import_sacct_json(ImportRun& run);
[[nodiscard]] bool is_squeue_json(std::string_view sample);
[[nodiscard]] Status import_squeue_json(ImportRun& run);
[[nodiscard]] bool is_jobcomp(std::string_view sample);
[[nodiscard]] Status import_jobcomp(ImportRun& run);
[[nodiscard]] bool is_rota_csv(std::string_view sample);
[[nodiscard]] Status import_rota_csv(ImportRun& run);
[[nodiscard]] bool is_rota_jobs_csv(std::string_view sample);
[[nodiscard]] Status import_rota_jobs_csv(ImportRun& run);
[[nodiscard]] bool is_rota_jobs_json(std::string_view sample);
[[nodiscard]] Status import_rota_jobs_json(ImportRun& run);
[[nodiscard]] bool is_philly(std::string_view sample);
[[nodiscard]] Status import_philly(ImportRun& run);
[[nodiscard]] bool is_philly_json(std::string_view sample);
[[nodiscard]] Status import_philly_json(ImportRun& run);
[[nodiscard]] bool is_openb(std::string_view sample);
[[nodiscard]] Status import_openb(ImportRun& run);
[[nodiscard]] bool is_dlrm(std::string_view sample);
[[nodiscard]] Status import_dlrm(ImportRun& run);
[[nodiscard]] bool is_muri(std::string_view sample);
[[nodiscard]] Status import_muri(ImportRun& run);
[[nodiscard]] bool is_helios(std::string_view sample);
[[nodiscard]] Status import_helios(ImportRun& run);
[[nodiscard]] bool is_acme(std::string_view sample);
[[nodiscard]] Status import_acme(ImportRun& run);
[[nodiscard]] bool is_swf(std::string_view sample);
[[nodiscard]] Status import_swf(ImportRun& run);
[[nodiscard]] bool is_kubernetes(std::string_view sample);
[[nodiscard]] Status import_kubernetes(ImportRun& run);
[[nodiscard]] bool is_kai_snapshot(std::string_view sample);
[[nodiscard]] Status import_kai_snapshot(ImportRun& run);
[[nodiscard]] Status import_csv(ImportRun& run);
[[nodiscard]] bool is_csv(std::string_view sample);

}  // namespace rota::history
