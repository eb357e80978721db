// The query parameters of one call, checked against what its route declares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rota::http {

enum class ParameterType { kText, kTextList, kInteger, kFlag };

struct Parameter {
  std::string_view name;
  ParameterType type;
  std::string_view meaning;
};

struct Range {
  std::int64_t low;
  std::int64_t high;
};

class Query {
 public:
  Query() = default;
  /// Errors (kInvalidArgument, `where` the parameter): an unknown name, with the nearest known one;
  /// a name given twice that is no list.
  static Result<Query> read(std::vector<std::pair<std::string, std::string>> pairs,
                            std::span<const Parameter> known);

  [[nodiscard]] bool has(std::string_view name) const;
  /// Empty when absent.
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Repeated, or with commas.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name, std::int64_t absent,
                                             Range range) const;
  /// "true", "1" or nothing after the name; "false", "0".
  [[nodiscard]] Result<bool> flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace rota::http
