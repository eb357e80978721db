// Lines of a CSV file as fields with their columns. Fields may stand in double quotes; empty lines
// and lines that begin with # are passed over, as are a byte order mark and carriage returns.
// Memory: one line at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rota::history {

struct CsvField {
  std::string text;
  int column = 1;  // of its first character
};

class CsvLines {
 public:
  /// `input` must outlive the reader; `file` is for messages.
  CsvLines(std::istream& input, std::string file);

  /// The fields of the next line; none at the end of the file. After the first line, which names
  /// the columns, each once, every line must have as many fields as that.
  [[nodiscard]] Result<std::vector<CsvField>> next();
  /// An error at the line that was read last.
  [[nodiscard]] Error error_at(int column, std::string message) const;
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }

 private:
  [[nodiscard]] bool read_line(std::string& line);
  [[nodiscard]] Status check_names(const std::vector<CsvField>& header) const;
  [[nodiscard]] Result<std::vector<CsvField>> split_line(std::string_view line) const;

  std::istream& input_;
  std::string file_;
  std::int64_t line_ = 0;
  std::int64_t bytes_read_ = 0;
  std::size_t columns_ = 0;
};

/// The place of the first of `names` among the fields of a header; -1: none of them is there.
[[nodiscard]] int column_of(const std::vector<CsvField>& header,
                            const std::vector<std::string_view>& names);

}  // namespace rota::history
