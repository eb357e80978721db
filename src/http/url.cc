#include "http/url.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"

namespace rota::http {
namespace {

Error bad_target(std::string message) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view pair) {
  const std::size_t equal = pair.find('=');
  Result<std::string> name = decode_percent(pair.substr(0, equal), Plus::kSpace);
  if (!name) return name.error();
  std::string_view rest;
  if (equal != std::string_view::npos) rest = pair.substr(equal + 1);
  Result<std::string> value = decode_percent(rest, Plus::kSpace);
  if (!value) return value.error();
  return std::pair(std::move(*name), std::move(*value));
}

}  // namespace

Result<std::string> decode_percent(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = text.size() - i > 2 ? hex_value(text[i + 1]) : -1;
      const int low = text.size() - i > 2 ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return bad_target("a '%' in the request target needs two hexadecimal digits after it");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kSpace) {
      c = ' ';
    }
    if (is_control(c)) return bad_target("the request target holds a control character");
    out.push_back(c);
  }
  if (!is_utf8(out)) return bad_target("the request target is not UTF-8");
  return out;
}

std::string encode_percent(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~@").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<Target> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') {
    return bad_target("the request target must be a path that starts with '/'");
  }
  if (target.find('#') != std::string_view::npos) {
    return bad_target("the request target holds a '#'");
  }
  Target out;
  const std::size_t question = target.find('?');
  const std::string_view path = target.substr(1, question == std::string_view::npos
                                                     ? std::string_view::npos
                                                     : question - 1);
  for (const std::string_view segment : split(path, '/')) {
    if (const auto decoded = decode_percent(segment); !decoded) return decoded.error();
    out.segments.emplace_back(segment);
  }
  if (question == std::string_view::npos) return out;
  for (const std::string_view pair : split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    auto parsed = parse_pair(pair);
    if (!parsed) return parsed.error();
    out.query.push_back(std::move(*parsed));
  }
  return out;
}

}  // namespace rota::http
