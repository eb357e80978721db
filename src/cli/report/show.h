// What all reports print around their lines.
#pragma once

#include <string>
#include <vector>

#include "api/json.h"
#include "cli/context.h"
#include "cli/report/input.h"
#include "report/table.h"

namespace rota::cli::reports {

/// A report as it is printed: head and table for people, one object for programs.
struct Page {
  std::string head;                    // lines above the table
  report::Table table;
  std::string foot;                    // lines below it
  api::Json json;                      // all of it
  std::string csv;                     // header and rows
  std::vector<std::string> notes;      // sentences without a stop
};

/// Prints it in that form; notes stand below a table, in the object, and beside CSV on `err`.
int print_page(Context& context, const OutputOptions& output, Page page);

/// `Period:` and `Capacity:` lines.
[[nodiscard]] std::string head_text(const ReportInput& input);
/// `report`, `begin`, `end`, `gpus`.
[[nodiscard]] api::Json head_json(std::string_view report, const ReportInput& input);

/// Places of GPU-hours: for people and for programs.
constexpr int kHourPlacesShown = 3;
constexpr int kHourPlacesExact = 6;
[[nodiscard]] inline int hour_places(Format format) {
  return format == Format::kTable ? kHourPlacesShown : kHourPlacesExact;
}

/// `12.3 %` of a whole; a dash when the whole is zero.
[[nodiscard]] std::string percent_text(Int128 part, Int128 whole);

}  // namespace rota::cli::reports
