// Seeded random numbers (xoshiro256**, Blackman and Vigna 2018; seeded by splitmix64). The same
// seed gives the same stream on every machine. child() opens an independent stream by name, so
// that one new draw does not shift the others.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rota {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  [[nodiscard]] Random child(std::string_view name) const;
  std::uint64_t next();
  /// Uniform in [0, bound); bound > 0. No modulo bias.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// True with probability numerator/denominator.
  bool chance(std::uint32_t numerator, std::uint32_t denominator);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace rota
