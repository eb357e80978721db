// Integer amounts: devices in milli-GPU, memory in bytes, money in micro-units, use in
// milli-GPU-nanoseconds. No floating point: comparisons of shares cross-multiply in 128 bits.
#pragma once

#include <compare>
#include <cstdint>

namespace rota {

/// A quantity with one unit. Adds and subtracts only with its own kind.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t value) : value_(value) {}
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) {
    return Quantity(a.value_ * n);
  }
  constexpr Quantity& operator+=(Quantity b) { value_ += b.value_; return *this; }
  constexpr Quantity& operator-=(Quantity b) { value_ -= b.value_; return *this; }

 private:
  std::int64_t value_ = 0;
};

using MilliGpu = Quantity<struct MilliGpuTag>;  // 1,000 is one whole device
using Bytes = Quantity<struct BytesTag>;
using MicroMoney = Quantity<struct MicroMoneyTag>;  // millionths of the currency, per GPU-hour

constexpr MilliGpu kWholeGpu{1000};
constexpr MilliGpu whole_gpus(std::int64_t n) { return MilliGpu(n * 1000); }
constexpr Bytes mebibytes(std::int64_t n) { return Bytes(n * 1024 * 1024); }
constexpr Bytes gibibytes(std::int64_t n) { return mebibytes(n * 1024); }

// Milli-GPU x nanoseconds: 100,000 GPUs over 100 years fit.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

}  // namespace rota
