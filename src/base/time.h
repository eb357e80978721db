// Instants and durations on the engine's own line, in whole nanoseconds.
//
// An Instant is nanoseconds since an origin the caller chooses: the Unix epoch in the server, the
// start of the scenario in a simulation (history before it is negative). Range +-292 years.
// "No limit" is std::optional<Duration>, never a magic maximum.
#pragma once

#include <compare>
#include <cstdint>

namespace rota {

class Duration {
 public:
  constexpr Duration() = default;
  constexpr explicit Duration(std::int64_t ns) : ns_(ns) {}
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
  static constexpr Duration hours(std::int64_t n) { return seconds(n * 3600); }
  static constexpr Duration days(std::int64_t n) { return hours(n * 24); }

  [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
  [[nodiscard]] constexpr std::int64_t whole_seconds() const { return ns_ / 1'000'000'000; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ns_ * n); }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return Duration(a.ns_ / n); }
  constexpr Duration& operator+=(Duration d) { ns_ += d.ns_; return *this; }

 private:
  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  constexpr explicit Instant(std::int64_t ns) : ns_(ns) {}
  [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant(t.ns_ + d.ns()); }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant(t.ns_ - d.ns()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration(a.ns_ - b.ns_); }

 private:
  std::int64_t ns_ = 0;
};

}  // namespace rota
