#include "http/query.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace rota::http {
namespace {

Error bad(std::string_view name, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::string(name)};
}

Error unknown(const std::string& name, std::span<const Parameter> known) {
  std::vector<std::string> names;
  for (const Parameter& parameter : known) names.emplace_back(parameter.name);
  std::string message = fmt::format("there is no query parameter '{}'", name);
  if (names.empty()) return bad(name, message + "; this call takes none");
  const std::string_view nearest = nearest_word(name, names);
  if (!nearest.empty()) return bad(name, message + fmt::format("; did you mean '{}'?", nearest));
  return bad(name, message + "; known: " + join(names, ", "));
}

}  // namespace

Result<Query> Query::read(std::vector<std::pair<std::string, std::string>> pairs,
                          std::span<const Parameter> known) {
  Query out;
  for (auto& pair : pairs) {
    std::string& name = pair.first;
    const auto match = std::find_if(known.begin(), known.end(),
                                    [&name](const Parameter& p) { return p.name == name; });
    if (match == known.end()) return unknown(name, known);
    if (match->type != ParameterType::kTextList && out.has(name)) {
      return bad(name, fmt::format("query parameter '{}' is given twice", name));
    }
    out.pairs_.emplace_back(std::move(name), std::move(pair.second));
  }
  return out;
}

bool Query::has(std::string_view name) const {
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& p) { return p.first == name; });
}

std::string Query::text(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::string> Query::list(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : pairs_) {
    if (key != name) continue;
    for (const std::string_view part : split(value, ',')) {
      if (!part.empty()) out.emplace_back(part);
    }
  }
  return out;
}

Result<std::int64_t> Query::integer(std::string_view name, std::int64_t absent,
                                    Range range) const {
  if (!has(name)) return absent;
  const std::string given = text(name);
  const Result<std::int64_t> value = parse_int(given);
  if (!value || *value < range.low || *value > range.high) {
    return bad(name, fmt::format("query parameter {}='{}' must be a whole number from {} to {}",
                                 name, given, range.low, range.high));
  }
  return *value;
}

Result<bool> Query::flag(std::string_view name) const {
  if (!has(name)) return false;
  const std::string given = text(name);
  if (given.empty() || given == "true" || given == "1") return true;
  if (given == "false" || given == "0") return false;
  return bad(name, fmt::format("query parameter {}='{}' must be true or false", name, given));
}

}  // namespace rota::http
