#include "cli/report/table_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/read_file.h"
#include "cli/usage.h"
#include "history/fields.h"
#include "history/words.h"

namespace rota::cli::reports {
namespace {

std::vector<std::string> stripped_fields(const history::FieldSplitter& splitter) {
  std::vector<std::string> fields;
  for (const std::string_view field : splitter.fields()) {
    fields.emplace_back(history::stripped(field));
  }
  return fields;
}

/// Without a carriage return; empty for what is passed over.
std::string_view content_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return history::stripped(line).empty() || line.front() == '#' ? std::string_view() : line;
}

std::optional<std::size_t> place_of(const std::vector<std::string>& header,
                                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const int at = history::field_named(header, name);
    if (at >= 0) return static_cast<std::size_t>(at);
  }
  return std::nullopt;
}

}  // namespace

Result<TableFile> TableFile::read(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return text.error();
  TableFile table;
  table.file_ = file;
  std::optional<history::FieldSplitter> splitter;
  int number = 0;
  for (const std::string_view whole : split(*text, '\n')) {
    Row row{.line = ++number, .fields = {}};
    const std::string_view line = content_of(whole);
    if (line.empty()) continue;
    if (!splitter) splitter.emplace(history::separator_of(line), history::Quoting::kDouble);
    if (!splitter->split(line)) return table.error_at(row, "a double quote is never closed");
    row.fields = stripped_fields(*splitter);
    if (table.header_.empty()) {
      table.header_ = std::move(row.fields);
    } else if (row.fields.size() != table.header_.size()) {
      return table.error_at(row, "expected " + std::to_string(table.header_.size()) +
                                     " fields as in the header, but there are " +
                                     std::to_string(row.fields.size()));
    } else {
      table.rows_.push_back(std::move(row));
    }
  }
  if (table.header_.empty()) return usage_error("the file is empty", file);
  return table;
}

std::optional<std::size_t> TableFile::column(
    std::initializer_list<std::string_view> names) const {
  return place_of(header_, names);
}

Result<std::size_t> TableFile::needed(std::initializer_list<std::string_view> names) const {
  const auto at = column(names);
  if (at) return *at;
  return usage_error("there is no column '" + std::string(*names.begin()) + "'; there are " +
                         join(header_, ", "),
                     file_ + ":1");
}

Error TableFile::error_at(const Row& row, std::string message) const {
  return usage_error(std::move(message), file_ + ":" + std::to_string(row.line));
}

std::vector<std::string> header_names(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::ifstream input(file, std::ios::binary);
  std::string text(4096, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  for (const std::string_view whole : split(text, '\n')) {
    const std::string_view line = content_of(whole);
    if (line.empty()) continue;
    history::FieldSplitter splitter(history::separator_of(line), history::Quoting::kDouble);
    if (!splitter.split(line)) return {};
    return stripped_fields(splitter);
  }
  return {};
}

}  // namespace rota::cli::reports
