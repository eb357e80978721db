// Times as people and scripts write them: ISO-8601, "3m ago", Slurm's D-HH:MM:SS, "now+2h".
// Seconds count from the Unix epoch, UTC. What a person writes without a zone is read on the local
// clock ($TZ, else the system's); what comes from a daemon always has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rota::cli {

/// `2026-01-31T09:05:00Z`.
[[nodiscard]] std::string iso_time(std::int64_t seconds);
/// Reads `2026-01-31T09:05:00Z`, fractions of a second and offsets (`+02:00`) included, without a
/// zone as UTC; absent when it is no such time. The same wherever it runs.
[[nodiscard]] std::optional<std::int64_t> parse_iso_time(std::string_view text);

/// `3m12s ago`, `in 2h`, `now`.
[[nodiscard]] std::string relative_time(std::int64_t seconds, std::int64_t now);
/// `2026-01-31T09:05:00Z (3m12s ago)`; what is no ISO time comes back unchanged.
[[nodiscard]] std::string iso_and_relative(std::string_view iso, std::int64_t now);

/// A time limit: `90s 20m 4h 2d 1h30m`, or as Slurm writes it: `30` (minutes), `MM:SS`, `HH:MM:SS`,
/// `D-HH`, `D-HH:MM`, `D-HH:MM:SS`. Absent value: `unlimited`, `infinite` or 0.
[[nodiscard]] Result<std::optional<Duration>> parse_time_limit(std::string_view text);
/// A span: as parse_time_limit, but `unlimited` is refused and a bare number counts seconds. At
/// most 36500 days.
[[nodiscard]] Result<Duration> parse_span(std::string_view text);

/// A point in time until 2262: ISO-8601 (without zone: local), `HH:MM[:SS]` (the next such local
/// time), `now`, `now+2h`, `now+30minutes`, `today`, `tomorrow`, `midnight`, `noon`, or a duration
/// from now.
[[nodiscard]] Result<std::int64_t> parse_point(std::string_view text, std::int64_t now);
/// A point in the past: ISO-8601 (without zone: local), `HH:MM[:SS]` (the latest such local time),
/// `today` and `yesterday` (their local beginning), or a span before now: `2d`, `90m`, `3days`.
[[nodiscard]] Result<std::int64_t> parse_past(std::string_view text, std::int64_t now);

}  // namespace rota::cli
