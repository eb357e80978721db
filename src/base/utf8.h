// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Header only, for
// programs that link no library of ours.
#pragma once

#include <cstddef>
#include <string_view>

namespace rota {

/// Bytes of the longest valid beginning; text.size() when all of it is valid.
inline std::size_t utf8_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xC2 ? 9 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2
                             : lead < 0xF5 ? 3 : 9;
    if (more == 9 || i + more >= text.size()) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80U) return i;
    }
    if (more >= 2) {
      const unsigned char second = byte(i + 1);
      if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
          (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
        return i;
      }
    }
    i += more + 1;
  }
  return i;
}

inline bool is_utf8(std::string_view text) { return utf8_prefix(text) == text.size(); }

}  // namespace rota
