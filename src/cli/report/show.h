// What all reports print around their lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "cli/context.h"
#include "cli/report/input.h"
#include "report/html.h"
#include "report/table.h"

namespace rota::cli::reports {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// A report as it is printed: facts and table for people, one object for programs.
struct Page {
  std::string title;                   // of HTML
  Facts facts;                         // above the table
  std::vector<report::HtmlPart> parts;  // where the whole went, for a bar; may be empty
  report::Table table;
  std::string foot;                    // lines below it
  api::Json json;                      // all of it
  std::string csv;                     // header and rows
  std::vector<std::string> notes;      // sentences without a stop
};

/// Prints it in that form; notes stand below a table, in the object, and beside CSV on `err`.
int print_page(Context& context, const OutputOptions& output, Page page);

/// Period and capacity.
[[nodiscard]] Facts facts_of(const ReportInput& input);
/// `report`, `begin`, `end`, `gpus`.
[[nodiscard]] api::Json head_json(std::string_view report, const ReportInput& input);

/// Places of GPU-hours: for people and for programs.
constexpr int kHourPlacesShown = 3;
constexpr int kHourPlacesExact = 6;
[[nodiscard]] inline int hour_places(Format format) {
  return format == Format::kTable || format == Format::kHtml ? kHourPlacesShown : kHourPlacesExact;
}

/// `12.3 %` of a whole; a dash when the whole is zero.
[[nodiscard]] std::string percent_text(Int128 part, Int128 whole);

}  // namespace rota::cli::reports
