// Strings of the system (paths, environments) in JSON. They may hold any bytes; what is not UTF-8
// is written as {"hex": "ff00"}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace rota::backend::shim {

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
