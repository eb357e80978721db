#include "server/wire.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace rota::server {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr double kSecondsMax = 100.0 * 366 * 86'400;

Error invalid_text(std::string message, std::string field = {}) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

/// Takes exactly `digits` digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::int64_t take_fraction(std::string_view& text) {
  std::int64_t ns = 0;
  std::int64_t unit = kNsPerSecond / 10;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ns += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return ns;
}

/// Seconds east of UTC; nothing when the text is no offset.
std::optional<std::int64_t> take_offset(std::string_view& text) {
  if (text.empty() || take(text, "Zz")) return 0;
  const bool west = text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const std::optional<int> hours = take_number(text, 2);
  (void)take(text, ":");
  const std::optional<int> minutes = take_number(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = *hours * 3600 + *minutes * 60;
  return west ? -seconds : seconds;
}

std::optional<std::int64_t> take_date(std::string_view& text) {
  const std::optional<int> year = take_number(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const std::optional<int> month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const std::optional<int> day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86'400};
}

/// Nanoseconds since midnight.
std::optional<std::int64_t> take_clock(std::string_view& text) {
  const std::optional<int> hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const std::optional<int> minute = take_number(text, 2);
  if (!minute) return std::nullopt;
  std::optional<int> second = 0;
  std::int64_t fraction = 0;
  if (take(text, ":")) {
    second = take_number(text, 2);
    if (take(text, ".,")) fraction = take_fraction(text);
  }
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return (*hour * 3600 + *minute * 60 + *second) * kNsPerSecond + fraction;
}

std::optional<Instant> try_parse(std::string_view text) {
  const std::optional<std::int64_t> date = take_date(text);
  if (!date) return std::nullopt;
  if (text.empty()) return Instant(*date * kNsPerSecond);
  if (!take(text, "Tt ")) return std::nullopt;
  const std::optional<std::int64_t> clock = take_clock(text);
  if (!clock) return std::nullopt;
  const std::optional<std::int64_t> offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return Instant((*date - *offset) * kNsPerSecond + *clock);
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::string iso_time(Instant time) {
  using std::chrono::sys_days;
  const std::chrono::sys_time<std::chrono::nanoseconds> at(std::chrono::nanoseconds(time.ns()));
  const auto days = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(days);
  const std::int64_t ms = std::chrono::floor<std::chrono::milliseconds>(at - days).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

std::string iso_time(const std::optional<Instant>& time) {
  return time ? iso_time(*time) : std::string();
}

Result<Instant> parse_iso_time(std::string_view text) {
  if (const std::optional<Instant> time = try_parse(text)) return *time;
  return invalid_text("'" + std::string(text) +
                 "' is no time; write 2026-03-01T08:15:00Z or 2026-03-01T08:15:00+01:00");
}

double seconds_of(Duration duration) { return static_cast<double>(duration.ns()) / 1e9; }

Result<Duration> duration_of(double seconds, const std::string& field) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kSecondsMax) {
    return invalid_text(field + " must be between 0 and 100 years, in seconds", field);
  }
  return Duration(std::llround(seconds * 1e9));
}

double gpus_of(MilliGpu gpus) { return static_cast<double>(gpus.value()) / 1000.0; }

Result<MilliGpu> milli_gpus_of(double gpus, const std::string& field) {
  const double milli = gpus * 1000.0;
  if (!std::isfinite(gpus) || gpus < 0 || gpus > 1e6 ||
      std::abs(milli - std::round(milli)) > 1e-6) {
    return invalid_text(field + " must be between 0 and 1000000, with at most three decimals",
                        field);
  }
  return MilliGpu(std::llround(milli));
}

double gpu_hours_of(Int128 milli_gpu_nanoseconds) {
  return static_cast<double>(milli_gpu_nanoseconds) / (1000.0 * 3600.0 * 1e9);
}

Result<JobRef> parse_job_ref(std::string_view text) {
  const Error bad = invalid_text("'" + std::string(text.substr(0, 64)) +
                            "' is no job: write a number (7), a member of an array (12.3), "
                            "or @ for your latest; see: rota ls --me");
  JobRef ref;
  if (text.starts_with('@')) {
    text.remove_prefix(1);
    if (text.empty()) return ref;
    const std::optional<std::uint64_t> back =
        text.starts_with('~') ? whole(text.substr(1)) : std::nullopt;
    if (!back || *back > 1'000'000) return bad;
    ref.back = static_cast<std::int64_t>(*back);
    return ref;
  }
  const std::size_t dot = text.find('.');
  const std::optional<std::uint64_t> number = whole(text.substr(0, dot));
  if (!number || *number == 0 || *number > (std::uint64_t{1} << 53U)) return bad;
  ref.number = *number;
  if (dot == std::string_view::npos) return ref;
  const std::optional<std::uint64_t> index = whole(text.substr(dot + 1));
  if (!index || *index > (std::uint64_t{1} << 53U)) return bad;
  ref.index = static_cast<std::int64_t>(*index);
  return ref;
}

std::string job_text(JobId job, GroupId group, std::int64_t group_index) {
  if (!group.valid()) return std::to_string(job.value());
  return std::to_string(group.value()) + "." + std::to_string(group_index);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned word = byte(0) << 16U | byte(1) << 8U | byte(2);
    out += kDigits[word >> 18U & 63U];
    out += kDigits[word >> 12U & 63U];
    out += i + 1 < bytes.size() ? kDigits[word >> 6U & 63U] : '=';
    out += i + 2 < bytes.size() ? kDigits[word & 63U] : '=';
  }
  return out;
}

}  // namespace rota::server
