#include "http/base64.h"

#include <cstdint>

namespace rota::http {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

Error not_base64() {
  return {.code = ErrorCode::kInvalidArgument, .message = "the text is not base64"};
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = (bits << 8U) | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out.push_back(j <= count ? kDigits[(bits >> (18U - 6U * j)) & 63U] : '=');
    }
  }
  return out;
}

Result<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return not_base64();
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    std::size_t count = 4;
    while (count > 2 && i + 4 == text.size() && text[i + count - 1] == '=') --count;
    for (std::size_t j = 0; j < 4; ++j) {
      const int value = j < count ? value_of(text[i + j]) : 0;
      if (value < 0) return not_base64();
      bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    }
    if ((count == 3 && (bits & 0xffU) != 0) || (count == 2 && (bits & 0xffffU) != 0)) {
      return not_base64();
    }
    for (std::size_t j = 0; j + 1 < count; ++j) {
      out.push_back(static_cast<char>((bits >> (16U - 8U * j)) & 0xffU));
    }
  }
  return out;
}

}  // namespace rota::http
