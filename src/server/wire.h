// How times, amounts and job numbers look on the wire (api/v1.h), and back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace rota::server {

/// UTC with milliseconds: "2026-03-01T08:15:00.250Z".
[[nodiscard]] std::string iso_time(Instant time);
[[nodiscard]] std::string iso_time(const std::optional<Instant>& time);  // absent: empty
/// ISO-8601 date or date and time, with optional fraction and `Z` or `+hh:mm` (none: UTC).
[[nodiscard]] Result<Instant> parse_iso_time(std::string_view text);

[[nodiscard]] double seconds_of(Duration duration);
/// Rounds to nanoseconds. Error: negative, not finite, or more than 100 years.
[[nodiscard]] Result<Duration> duration_of(double seconds, const std::string& field);
[[nodiscard]] double gpus_of(MilliGpu gpus);
/// Error: negative, more than three decimals, or more than 1,000,000.
[[nodiscard]] Result<MilliGpu> milli_gpus_of(double gpus, const std::string& field);
[[nodiscard]] double gpu_hours_of(Int128 milli_gpu_nanoseconds);

/// What a text like "7", "12.3", "@" or "@~2" refers to.
struct JobRef {
  std::uint64_t number = 0;            // a job or an array; 0: one of the caller's latest
  std::optional<std::int64_t> index;   // a member of the array
  std::int64_t back = 0;               // how many submissions before the latest
};
[[nodiscard]] Result<JobRef> parse_job_ref(std::string_view text);

/// "7", or "12.3" for a member.
[[nodiscard]] std::string job_text(JobId job, GroupId group, std::int64_t group_index);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace rota::server
