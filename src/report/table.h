// Text tables for terminals and files. Pure: the width and whether to colour are passed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::report {

enum class Align { kLeft, kRight };
enum class Tone { kPlain, kDim, kGood, kWarning, kBad, kAccent };
enum class Colour { kOff, kOn };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool may_shrink = false;       // gives up width first, down to 8, when the table is too wide;
                                 // other columns on the left only beyond 60
};

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

struct TableStyle {
  std::size_t width_max = 0;     // columns of the terminal; 0: no limit
  Colour colour = Colour::kOff;
  bool header = true;
};

/// Rows of cells under columns. A row with fewer cells is filled up with empty ones, with more it
/// is cut. Widths count UTF-8 characters, not bytes. Control characters in a cell are shown as
/// spaces.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add_row(std::vector<Cell> cells);
  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const { return rows_; }
  /// Lines without trailing spaces, each ended by a newline. Columns stand two spaces apart.
  [[nodiscard]] std::string text(const TableStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// `text` in the colour of `tone` (ANSI), or as it is.
std::string painted(std::string_view text, Tone tone, Colour colour);

/// Characters of UTF-8 text; bytes that are no UTF-8 count as one each.
std::size_t text_width(std::string_view text);

/// `text` cut to `width` characters, the last one "…" when something was cut.
std::string shortened(std::string_view text, std::size_t width);

/// A bar of `width` characters, the first `part` of `whole` full: "####....".
std::string bar(std::int64_t part, std::int64_t whole, std::size_t width);

}  // namespace rota::report
