#include "base/random.h"

#include "base/check.h"
#include "base/digest.h"

namespace rota {

namespace {

std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_{} {
  for (auto& word : state_) word = splitmix64(seed);
}

Random Random::child(std::string_view name) const {
  Digest digest;
  for (const auto word : state_) digest.add(word);
  digest.add(name);
  return Random(digest.value());
}

std::uint64_t Random::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  ROTA_CHECK(bound > 0);
  // Values below `2^64 mod bound` would make the low remainders more likely: draw again.
  const std::uint64_t reject_below = (0 - bound) % bound;
  std::uint64_t draw = next();
  while (draw < reject_below) draw = next();
  return draw % bound;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  ROTA_CHECK(low <= high);
  const std::uint64_t span =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? next() : below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

bool Random::chance(std::uint32_t numerator, std::uint32_t denominator) {
  return below(denominator) < numerator;
}

}  // namespace rota
