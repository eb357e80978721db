// A random run as data: numbers that the generator (stage.h, happenings.h) reads as a cluster, a
// policy and a sequence of happenings. Each number has a meaning in every place, so a script can be
// shortened and its numbers lowered freely: what is left is a script again.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <vector>

namespace rota::property {

struct Step {
  std::uint32_t kind = 0;
  std::array<std::uint32_t, 6> n{};
};

struct Script {
  std::array<std::uint32_t, 24> stage{};
  std::vector<Step> steps;
};

std::ostream& operator<<(std::ostream& out, const Step& step);
std::ostream& operator<<(std::ostream& out, const Script& script);

/// Reads numbers of a script one after the other; 0 when none is left.
class Numbers {
 public:
  Numbers(const std::uint32_t* first, std::size_t count) : next_(first), left_(count) {}
  std::uint32_t take() {
    if (left_ == 0) return 0;
    --left_;
    return *next_++;
  }
  /// In [0, bound).
  std::uint32_t below(std::uint32_t bound) { return take() % bound; }

 private:
  const std::uint32_t* next_;
  std::size_t left_;
};

/// One number as several independent small ones: each call takes the next digit.
class Digits {
 public:
  explicit Digits(std::uint32_t number) : left_(number) {}
  std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t digit = left_ % bound;
    left_ /= bound;
    return digit;
  }
  /// True one time in `times`; false for a number of 0.
  bool rarely(std::uint32_t times) { return below(times) == times - 1; }

 private:
  std::uint32_t left_;
};

}  // namespace rota::property
