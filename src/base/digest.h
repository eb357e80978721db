// A 64-bit digest of a sequence of values (FNV-1a over little-endian bytes, then mixed). For
// comparing states and runs; not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace rota {

class Digest {
 public:
  void add(std::uint64_t value);
  void add(std::string_view text);
  [[nodiscard]] std::uint64_t value() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace rota
