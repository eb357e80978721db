#include "report/table.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace rota::report {

namespace {

constexpr std::size_t kShrunkWidth = 8;
constexpr std::size_t kLongWidth = 60;
constexpr std::string_view kGap = "  ";

/// Length in bytes of the UTF-8 character at `at`; 1 for a byte that starts none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  std::size_t length = 1;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (at + length > text.size()) return 1;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 1;
  }
  return length;
}

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kDim: return "\x1b[2m";
    case Tone::kGood: return "\x1b[32m";
    case Tone::kWarning: return "\x1b[33m";
    case Tone::kBad: return "\x1b[31m";
    case Tone::kAccent: return "\x1b[1m";
  }
  return "";
}

/// Nothing in a cell may move the cursor or change the terminal.
std::string printable(std::string_view text) {
  std::string clean = without_control(text);
  while (clean.ends_with(' ')) clean.pop_back();
  return clean;
}

/// What the column may be cut down to.
std::size_t least_width(const Column& column) {
  if (column.may_shrink) return kShrunkWidth;
  return column.align == Align::kLeft ? kLongWidth : std::numeric_limits<std::size_t>::max();
}

/// Takes width away from shrinkable columns, then from others of long texts, always from the
/// widest, until the sum fits.
void shrink(std::vector<std::size_t>& widths, const std::vector<Column>& columns,
            std::size_t width_max) {
  std::size_t sum = kGap.size() * (widths.empty() ? 0 : widths.size() - 1);
  for (const auto width : widths) sum += width;
  bool marked_only = true;
  while (sum > width_max) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns[i].may_shrink != marked_only || widths[i] <= least_width(columns[i])) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) {
      if (!marked_only) return;
      marked_only = false;
      continue;
    }
    --widths[widest];
    --sum;
  }
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  for (Cell& cell : cells) cell.text = printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::string Table::text(const TableStyle& style) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = style.header ? text_width(columns_[i].title) : 0;
    for (const auto& row : rows_) width = std::max(width, text_width(row[i].text));
    widths.push_back(width);
  }
  if (style.width_max > 0) shrink(widths, columns_, style.width_max);

  std::string out;
  const auto add_line = [&](const std::vector<Cell>& cells) {
    std::string line;
    std::size_t pending = 0;  // spaces not written yet, so that no line ends with them
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) pending += kGap.size();
      const std::string text = shortened(cells[i].text, widths[i]);
      const std::size_t space = widths[i] - text_width(text);
      if (columns_[i].align == Align::kRight) pending += space;
      if (!text.empty()) {
        line.append(pending, ' ');
        line += painted(text, cells[i].tone, style.colour);
        pending = 0;
      }
      if (columns_[i].align == Align::kLeft) pending += space;
    }
    out += line + "\n";
  };
  if (style.header) {
    std::vector<Cell> titles;
    for (const auto& column : columns_) titles.push_back({column.title, Tone::kDim});
    add_line(titles);
  }
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string painted(std::string_view text, Tone tone, Colour colour) {
  if (colour == Colour::kOff || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(code_of(tone)) + std::string(text) + "\x1b[0m";
}

std::size_t text_width(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += character_length(text, i)) ++count;
  return count;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t bytes = 0;
  for (std::size_t i = 0; i + 1 < width; ++i) bytes += character_length(text, bytes);
  return std::string(text.substr(0, bytes)) + "…";
}

std::string bar(std::int64_t part, std::int64_t whole, std::size_t width) {
  std::size_t full = 0;
  if (whole > 0 && part > 0) {
    const auto scaled = static_cast<Int128>(std::min(part, whole)) *
                        static_cast<std::int64_t>(width) / whole;
    full = static_cast<std::size_t>(scaled);
  }
  return std::string(full, '#') + std::string(width - full, '.');
}

}  // namespace rota::report
