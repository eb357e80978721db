// Reads a table with one job, or one attempt of a job, a row. The generic CSV importer and those of
// public traces differ in their rules alone.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "history/importer.h"

namespace rota::history {

/// Fields that say nothing.
enum class Nothing {
  kEmpty,
  kWords,  // also None, NULL, N/A, nan, Unknown and a dash
};

struct TableRules {
  std::span<const ColumnWord> words;  // which names are which columns
  TimeUnit time_unit = TimeUnit::kSeconds;
  Nothing nothing = Nothing::kWords;
  /// Looks at a row once more, before it is added; may be empty. `fields` are those of the row.
  std::function<void(const std::vector<std::string_view>& fields, JobRow& row, ImportRun& run)>
      finish = {};
  /// Gets the header's names before the first row; may be empty.
  std::function<void(const std::vector<std::string>& header)> begin = {};
};

/// Reads the header and all rows. Separators are commas, semicolons, tabs or bars, whichever the
/// header holds most of; lines that begin with # are comments. A value that cannot be read makes
/// its row skipped (times, GPUs) or leaves the value out (the rest); both are counted.
[[nodiscard]] Status import_table(ImportRun& run, const TableRules& rules);

/// The names of the first line of `sample`; empty when it cannot be a header.
[[nodiscard]] std::vector<std::string> header_of(std::string_view sample);
/// Whether the header of `sample` holds all of these names.
[[nodiscard]] bool header_has(std::string_view sample, std::span<const std::string_view> names);

}  // namespace rota::history
