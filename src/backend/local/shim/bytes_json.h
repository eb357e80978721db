// Strings of the system (paths, environments) in JSON. They may hold any bytes; what is not UTF-8
// is written as {"hex": "ff00"}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rota::backend::shim {

/// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xC2 ? 9 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2
                             : lead < 0xF5 ? 3 : 9;
    if (more == 9 || i + more >= text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80U) return false;
    }
    if (more >= 2) {
      const unsigned char second = byte(i + 1);
      if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
          (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
        return false;
      }
    }
    i += more + 1;
  }
  return true;
}

inline nlohmann::json bytes_json(const std::string& text) {
  if (is_utf8(text)) return text;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return {{"hex", hex}};
}

inline nlohmann::json bytes_json(const std::vector<std::string>& list) {
  nlohmann::json j = nlohmann::json::array();
  for (const std::string& text : list) j.push_back(bytes_json(text));
  return j;
}

/// Throws nlohmann::json::exception.
inline std::string bytes_from(const nlohmann::json& j) {
  if (!j.is_object()) return j.get<std::string>();
  const std::string hex = j.at("hex").get<std::string>();
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    text += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return text;
}

inline std::vector<std::string> bytes_list_from(const nlohmann::json& j) {
  std::vector<std::string> list;
  for (const nlohmann::json& item : j) list.push_back(bytes_from(item));
  return list;
}

[[noreturn]] inline void throw_version() {
  throw nlohmann::json::other_error::create(500, "a file of another version",
                                            static_cast<nlohmann::json*>(nullptr));
}

}  // namespace rota::backend::shim
