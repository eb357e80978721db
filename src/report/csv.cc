#include "report/csv.h"

namespace rota::report {

std::string csv_field(std::string_view text) {
  const bool edge_space = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!edge_space && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_name(std::string_view name) {
  const bool is_formula =
      !name.empty() && std::string_view("=+-@").find(name.front()) != std::string_view::npos;
  return (is_formula ? "'" : "") + std::string(name);
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    row += csv_field(fields[i]);
  }
  return row + "\n";
}

}  // namespace rota::report
