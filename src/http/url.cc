#include "http/url.h"

#include <fmt/format.h>

#include "base/text.h"

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

/// Length of the sequence that `lead` opens, with the smallest code point it may hold; 0: none.
struct Sequence {
  std::size_t length;
  std::uint32_t low;
  std::uint32_t bits;
};

Sequence sequence_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0, lead};
  if (lead >= 0xc2 && lead <= 0xdf) return {2, 0x80, lead & 0x1fU};
  if (lead >= 0xe0 && lead <= 0xef) return {3, 0x800, lead & 0x0fU};
  if (lead >= 0xf0 && lead <= 0xf4) return {4, 0x10000, lead & 0x07U};
  return {0, 0, 0};
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

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(text[at]));
    if (sequence.length == 0 || text.size() - at < sequence.length) return false;
    std::uint32_t point = sequence.bits;
    for (std::size_t i = 1; i < sequence.length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0U) != 0x80U) return false;
      point = (point << 6U) | (next & 0x3fU);
    }
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < sequence.low || point > 0x10ffff || surrogate) return false;
    at += sequence.length;
  }
  return true;
}

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
