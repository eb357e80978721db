// Strict reading and writing of request targets: percent-encoding, path segments, query parameters.
//
// Pure. Decoded text is UTF-8 without control characters; anything else is refused, so no later
// layer meets a NUL, a line break or half a character in an id.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rota::http {

struct Target {
  std::vector<std::string> segments;  // of the path, between its '/'; still encoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in the order sent
};

/// A target in origin form ("/api/v1/jobs?all=true"). In the query '+' is a space. Error:
/// kInvalidArgument.
Result<Target> parse_target(std::string_view target);

enum class Plus { kLiteral, kSpace };
/// Error: kInvalidArgument for a '%' without two hexadecimal digits, bytes that are not UTF-8, and
/// control characters.
Result<std::string> decode_percent(std::string_view text, Plus plus = Plus::kLiteral);
/// Everything but letters, digits and "-._~@" becomes %XX.
std::string encode_percent(std::string_view text);

}  // namespace rota::http
