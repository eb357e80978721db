// Fields of one line between separators, and finding them by the names of a header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rota::history {

enum class Quoting {
  kNone,    // a separator always separates (sacct -P)
  kDouble,  // fields may stand in double quotes, doubled inside (RFC 4180)
};

/// Splits lines into fields; reuses its memory. Views are valid until the next split, and as long
/// as the line.
class FieldSplitter {
 public:
  FieldSplitter(char separator, Quoting quoting) : separator_(separator), quoting_(quoting) {}

  /// False: a double quote is never closed, or text follows a closing one; column() tells where.
  /// O(length).
  [[nodiscard]] bool split(std::string_view line);
  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::string_view field(std::size_t at) const { return fields_[at]; }
  /// Of the field's first character, or of the fault; from 1.
  [[nodiscard]] std::size_t column(std::size_t at) const;
  [[nodiscard]] std::size_t fault_column() const { return fault_; }

 private:
  [[nodiscard]] bool quoted(std::string_view line, std::size_t& at);

  char separator_;
  Quoting quoting_;
  std::vector<std::string_view> fields_;
  std::vector<std::size_t> begins_;
  std::string unquoted_;  // texts of fields with doubled quotes
  std::size_t fault_ = 1;
};

/// The separator of a header line: that of `, ; tab |` which stands in it most often; a comma when
/// none does.
[[nodiscard]] char separator_of(std::string_view header);

/// Place of the first field whose name is that word, in letters of any size; -1: none.
[[nodiscard]] int field_named(const std::vector<std::string>& header, std::string_view word);

}  // namespace rota::history
