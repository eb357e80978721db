// Comma-separated values as in RFC 4180, with "\n" line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rota::report {

/// Quoted only where needed (comma, quote, line break, leading or trailing space).
std::string csv_field(std::string_view text);

/// One line with its line end.
std::string csv_row(const std::vector<std::string>& fields);

}  // namespace rota::report
