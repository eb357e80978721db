// Times, amounts and lengths as job histories write them. Pure; no allocation but results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/units.h"

namespace rota::history {

/// What a plain number of time counts.
enum class TimeUnit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds, kMinutes, kHours };

/// `2017-10-09 07:01:55`, `2017-10-09T07:01:55Z` in seconds since the Unix epoch; absent when it is
/// no such time.
[[nodiscard]] std::optional<std::int64_t> parse_civil_seconds(std::string_view text);

/// A date with a time, `2026-03-02T10:00:00`, with a blank for the T, a fraction of up to nine
/// digits, and `Z` or an offset like `+08:00`; without one it counts as UTC. Or a number in `unit`
/// since the origin, with a fraction. Years 1900 to 2200. Absent when it is neither.
[[nodiscard]] std::optional<Instant> parse_instant(std::string_view text, TimeUnit unit);

/// `2026-03-02T10:00:00Z`, with as many digits of a fraction as it needs.
[[nodiscard]] std::string instant_text(Instant at);

/// A number in `unit` with a fraction, or `[D-]HH:MM:SS[.fff]` or `MM:SS[.fff]`. Not negative, up
/// to 36,500 days.
[[nodiscard]] std::optional<Duration> parse_length(std::string_view text, TimeUnit unit);

/// `100M`, `1.5G`, `1234`: binary units of K, M, G, T, P with or without `i` and `B`; a plain
/// number counts `plain_unit` bytes.
[[nodiscard]] std::optional<Bytes> parse_amount_bytes(std::string_view text,
                                                      std::int64_t plain_unit);

/// A whole number, also written with a fraction of zeros (`8.0`); absent otherwise.
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text);

/// 1,000 of what the text counts, rounded down: `0.5` -> 500, `8` -> 8000. Not negative.
[[nodiscard]] std::optional<std::int64_t> parse_milli(std::string_view text);

/// Nodes in a host list like `a1`, `a[1-3,7],b2`; 0 for an empty text.
[[nodiscard]] std::int64_t count_hosts(std::string_view text);

/// Without blanks on both sides.
[[nodiscard]] std::string_view stripped(std::string_view text);
/// Equal but for the size of letters.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

}  // namespace rota::history
