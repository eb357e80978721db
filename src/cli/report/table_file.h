// A small table that a report is given beside a history: holdings, prices, budgets, outages.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rota::cli::reports {

/// A text file with a header, fields between commas, semicolons, tabs or bars, double quotes as
/// needed; empty lines and lines that begin with # are passed over. Kept whole.
class TableFile {
 public:
  struct Row {
    int line = 0;  // from 1
    std::vector<std::string> fields;  // as many as the header has
  };

  /// Errors: kInvalidArgument: cannot be read, no header, a row of another width (file:line).
  [[nodiscard]] static Result<TableFile> read(const std::string& file);

  /// The place of the first of these names in the header, in letters of any size.
  [[nodiscard]] std::optional<std::size_t> column(
      std::initializer_list<std::string_view> names) const;
  /// The same. Error: names the file, the first name and the columns that are there.
  [[nodiscard]] Result<std::size_t> needed(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] Error error_at(const Row& row, std::string message) const;

 private:
  std::string file_;
  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

/// The names in the first line of a regular file; none when it cannot be read as such. Reads at
/// most 4 KiB. Never an error: whoever reads the whole file says what is wrong.
[[nodiscard]] std::vector<std::string> header_names(const std::string& file);

}  // namespace rota::cli::reports
