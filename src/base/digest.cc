#include "base/digest.h"

namespace rota {

namespace {
constexpr std::uint64_t kPrime = 0x100000001b3ULL;
}  // namespace

void Digest::add(std::uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    state_ = (state_ ^ (value & 0xff)) * kPrime;
    value >>= 8;
  }
}

void Digest::add(std::string_view text) {
  // The length goes first, so that ("ab", "c") and ("a", "bc") differ.
  add(static_cast<std::uint64_t>(text.size()));
  for (const char c : text) {
    state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
}

std::uint64_t Digest::value() const {
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace rota
