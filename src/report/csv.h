// Comma-separated values as in RFC 4180, with "\n" line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rota::report {

/// Quoted only where needed (comma, quote, line break, leading or trailing space).
std::string csv_field(std::string_view text);

/// A name in a report that people open in a spreadsheet: with ' in front where that would take it
/// for a formula (= + - @), as the name of a stranger's job must not be computed.
std::string csv_name(std::string_view name);

/// One line with its line end.
std::string csv_row(const std::vector<std::string>& fields);

}  // namespace rota::report
