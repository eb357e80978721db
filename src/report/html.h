// Pages of HTML that need nothing beside themselves: no script, no font, no address. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/table.h"

namespace rota::report {

/// For text and attributes: & < > " ' as entities, control characters as blanks.
[[nodiscard]] std::string html_escaped_text(std::string_view text);

/// The table with its headings. A cell that is a percentage, like `12.3 %`, has a bar behind it; a
/// row that begins with `(all)` is set apart as a sum.
[[nodiscard]] std::string html_table(const Table& table);

/// One part of a whole.
struct HtmlPart {
  std::string name;
  std::string text;   // its amount in words
  Int128 amount = 0;  // parts of 0 and less are left out
};
/// One bar of all parts side by side, with a key that says in words what it shows. Parts are told
/// apart in grey, too; beyond eight, colours come again. Empty when all parts are.
[[nodiscard]] std::string html_bar(const std::vector<HtmlPart>& parts);

/// A whole page: title, facts, body (HTML), remarks (lines of text). Prints on paper.
struct HtmlPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::string body;
  std::vector<std::string> remarks;
};
[[nodiscard]] std::string html_page(const HtmlPage& page);

}  // namespace rota::report
