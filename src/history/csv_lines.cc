#include "history/csv_lines.h"

#include <algorithm>
#include <utility>

namespace rota::history {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

CsvLines::CsvLines(std::istream& input, std::string file)
    : input_(input), file_(std::move(file)) {}

Error CsvLines::error_at(int column, std::string message) const {
  return {ErrorCode::kInvalidArgument, std::move(message),
          file_ + ":" + std::to_string(line_) + ":" + std::to_string(column)};
}

bool CsvLines::read_line(std::string& line) {
  while (std::getline(input_, line)) {
    ++line_;
    bytes_read_ += static_cast<std::int64_t>(line.size()) + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (!trimmed(line).empty() && line.front() != '#') return true;
  }
  return false;
}

Result<std::vector<CsvField>> CsvLines::split_line(std::string_view line) const {
  std::vector<CsvField> fields;
  std::size_t at = 0;
  while (true) {
    CsvField field;
    field.column = static_cast<int>(at) + 1;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) return error_at(field.column, "the double quote is never closed");
        if (line[at] != '"') {
          field.text += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field.text += line[at++];
        } else {
          break;
        }
      }
      ++at;
      if (at < line.size() && line[at] != ',') {
        return error_at(static_cast<int>(at) + 1, "expected a comma after the closing quote");
      }
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.text = trimmed(line.substr(at, end - at));
      at = end;
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return fields;
    ++at;
  }
}

/// A column that is there twice leaves open which one counts.
Status CsvLines::check_names(const std::vector<CsvField>& header) const {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string& name = header[i].text;
    const auto same = [&name](const CsvField& field) { return field.text == name; };
    const auto end = header.begin() + static_cast<std::ptrdiff_t>(i);
    if (name.empty() || std::none_of(header.begin(), end, same)) continue;
    return error_at(header[i].column, "the column '" + name + "' is there twice");
  }
  return {};
}

Result<std::vector<CsvField>> CsvLines::next() {
  std::string line;
  const bool first = columns_ == 0;
  if (!read_line(line)) {
    if (first) return error_at(1, "the file is empty; its first line names the columns");
    return std::vector<CsvField>();
  }
  auto fields = split_line(line);
  if (!fields) return fields;
  if (first) {
    columns_ = fields->size();
    if (auto status = check_names(*fields); !status) return status.error();
  }
  if (fields->size() != columns_) {
    return error_at(1, "the line has " + std::to_string(fields->size()) + " fields; the first" +
                           " line names " + std::to_string(columns_));
  }
  return fields;
}

int column_of(const std::vector<CsvField>& header, const std::vector<std::string_view>& names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string& text = header[i].text;
    if (!text.empty() && std::find(names.begin(), names.end(), text) != names.end()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace rota::history
