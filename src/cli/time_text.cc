#include "cli/time_text.h"

#include <array>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/usage.h"
#include "report/words.h"

namespace rota::cli {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kSpanMax = 36'500 * kDay;      // what a daemon takes
constexpr std::int64_t kLatest = 9'223'372'036;       // 2262-04-11: instants are nanoseconds

struct Civil {
  std::int64_t year = 1970;
  std::int64_t month = 1;
  std::int64_t day = 1;
};

// Both directions follow Howard Hinnant's civil calendar algorithms.
std::int64_t days_of(Civil date) {
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year =
      (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

Civil civil_of(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * shifted + 2) / 5 + 1};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

std::string two(std::int64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

/// Takes `count` digits at the front of `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  std::int64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// `HH:MM[:SS]` at the front of `text`, in seconds of the day.
std::optional<std::int64_t> take_clock(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::int64_t seconds = *hour * 3600 + *minute * 60;
  if (take(text, ":")) {
    const auto second = take_digits(text, 2);
    if (!second || *second > 60) return std::nullopt;
    seconds += *second;
  }
  return seconds;
}

std::optional<std::int64_t> take_date(std::string_view& text) {
  constexpr std::array<std::int64_t, 12> kLengths{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *day < 1 || *day > kLengths[static_cast<std::size_t>(*month - 1)]) {
    return std::nullopt;
  }
  return days_of({*year, *month, *day}) * kDay;
}

/// `Z` or `+02:00`: seconds to subtract.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  if (take(text, "Z")) return 0;
  const bool west = take(text, "-");
  if (!west && !take(text, "+")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  take(text, ":");
  const auto minute = take_digits(text, 2);
  if (!hour || !minute || *hour > 14 || *minute > 59) return std::nullopt;
  return (*hour * 3600 + *minute * 60) * (west ? -1 : 1);
}

/// A date and time as written; seconds count from 1970-01-01T00:00 on the same clock.
struct Stamp {
  std::int64_t seconds = 0;
  std::optional<std::int64_t> zone;
};

std::optional<Stamp> stamp_of(std::string_view text) {
  const auto date = take_date(text);
  if (!date) return std::nullopt;
  if (text.empty()) return Stamp{*date, {}};
  if (!take(text, "T") && !take(text, " ")) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  if (take(text, ".")) {
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  }
  if (text.empty()) return Stamp{*date + *clock, {}};
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  return Stamp{*date + *clock, zone};
}

/// The instant at which clocks of the local zone show these seconds.
std::int64_t local_instant(std::int64_t seconds) {
  const std::int64_t days = floor_div(seconds, kDay);
  const Civil date = civil_of(days);
  std::tm clock{};
  clock.tm_year = static_cast<int>(date.year - 1900);
  clock.tm_mon = static_cast<int>(date.month - 1);
  clock.tm_mday = static_cast<int>(date.day);
  clock.tm_sec = static_cast<int>(seconds - days * kDay);
  clock.tm_hour = clock.tm_sec / 3600;
  clock.tm_min = clock.tm_sec / 60 % 60;
  clock.tm_sec %= 60;
  clock.tm_isdst = -1;  // the library knows when summer time is
  return static_cast<std::int64_t>(std::mktime(&clock));
}

/// The beginning of the local day of `now`, on the local clock.
std::int64_t local_day(std::int64_t now) {
  ::tzset();
  const auto at = static_cast<std::time_t>(now);
  std::tm clock{};
  ::localtime_r(&at, &clock);
  return days_of({clock.tm_year + 1900, clock.tm_mon + 1, clock.tm_mday}) * kDay;
}

/// What a person writes: without a zone it is the local clock's.
std::optional<std::int64_t> written_instant(std::string_view text) {
  const auto stamp = stamp_of(text);
  if (!stamp) return std::nullopt;
  return stamp->zone ? stamp->seconds - *stamp->zone : local_instant(stamp->seconds);
}

/// Slurm's forms; absent when `text` has none of them.
std::optional<std::int64_t> slurm_seconds(std::string_view text, std::int64_t bare_unit) {
  std::int64_t days = 0;
  bool with_days = false;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto parsed = parse_int(text.substr(0, dash));
    if (!parsed || *parsed < 0 || *parsed > 100'000) return std::nullopt;
    days = *parsed;
    with_days = true;
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3 || (with_days && parts.empty())) return std::nullopt;
  std::array<std::int64_t, 3> number{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i][0] < '0' || parts[i][0] > '9') return std::nullopt;
    const auto parsed = parse_int(parts[i]);
    if (!parsed || *parsed < 0 || *parsed > 100'000'000) return std::nullopt;
    number[i] = *parsed;
  }
  if (with_days) return days * kDay + number[0] * 3600 + number[1] * 60 + number[2];
  if (parts.size() == 3) return number[0] * 3600 + number[1] * 60 + number[2];
  if (parts.size() == 2) return number[0] * 60 + number[1];
  return number[0] * bare_unit;
}

Result<Duration> span_of(std::string_view text, std::int64_t seconds) {
  if (seconds <= kSpanMax) return Duration::seconds(seconds);
  return usage_error("'" + std::string(text) + "' is too long; the longest time is 36500d");
}

Result<Duration> any_span(std::string_view text, std::int64_t bare_unit) {
  if (const auto seconds = slurm_seconds(text, bare_unit)) return span_of(text, *seconds);
  const auto parsed = parse_duration(text);
  if (parsed && parsed->whole_seconds() > kSpanMax) return span_of(text, parsed->whole_seconds());
  if (parsed && *parsed >= Duration()) return *parsed;
  return usage_error("'" + std::string(text) +
             "' is no duration; write 90s, 20m, 4h, 1h30m, 2d, or HH:MM:SS, D-HH:MM:SS");
}

/// `now+2h`, `now+30minutes`, `now+90`: what stands after the plus.
Result<Duration> slurm_offset(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 12> kUnits{
      {{"seconds", 1}, {"second", 1}, {"minutes", 60}, {"minute", 60}, {"hours", 3600},
       {"hour", 3600}, {"days", kDay}, {"day", kDay}, {"weeks", 7 * kDay}, {"week", 7 * kDay},
       {"min", 60}, {"sec", 1}}};
  for (const auto& [word, seconds] : kUnits) {
    if (!text.ends_with(word)) continue;
    const auto count = parse_int(text.substr(0, text.size() - word.size()));
    if (count && *count >= 0 && *count < 100'000'000) return span_of(text, *count * seconds);
  }
  return any_span(text, 1);
}

}  // namespace

std::string iso_time(std::int64_t seconds) {
  const std::int64_t days = floor_div(seconds, kDay);
  const std::int64_t rest = seconds - days * kDay;
  const Civil date = civil_of(days);
  return std::to_string(date.year) + "-" + two(date.month) + "-" + two(date.day) + "T" +
         two(rest / 3600) + ":" + two(rest / 60 % 60) + ":" + two(rest % 60) + "Z";
}

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  const auto stamp = stamp_of(text);
  if (!stamp) return std::nullopt;
  return stamp->seconds - stamp->zone.value_or(0);
}

std::string relative_time(std::int64_t seconds, std::int64_t now) {
  if (seconds == now) return "now";
  if (seconds < now) return report::short_duration(static_cast<double>(now - seconds)) + " ago";
  return "in " + report::short_duration(static_cast<double>(seconds - now));
}

std::string iso_and_relative(std::string_view iso, std::int64_t now) {
  const auto seconds = parse_iso_time(iso);
  if (!seconds) return std::string(iso);
  return std::string(iso) + " (" + relative_time(*seconds, now) + ")";
}

Result<std::optional<Duration>> parse_time_limit(std::string_view text) {
  if (text == "unlimited" || text == "UNLIMITED" || text == "infinite" || text == "INFINITE") {
    return std::optional<Duration>();
  }
  const auto span = any_span(text, 60);
  if (!span) return span.error();
  if (*span == Duration()) return std::optional<Duration>();
  return std::optional<Duration>(*span);
}

Result<Duration> parse_span(std::string_view text) { return any_span(text, 1); }

Result<std::int64_t> parse_point(std::string_view text, std::int64_t now) {
  if (const auto written = written_instant(text)) {
    if (*written <= kLatest) return *written;
    return usage_error("'" + std::string(text) + "' is too far off; the latest time is 2262-04-11");
  }
  if (text == "now") return now;
  const std::int64_t today = local_day(now);
  const auto next = [&](std::int64_t clock) {
    const std::int64_t at = local_instant(today + clock);
    return at > now ? at : local_instant(today + kDay + clock);
  };
  if (text == "today") return now;
  if (text == "tomorrow") return now + kDay;
  if (text == "midnight") return next(0);
  if (text == "noon") return next(kDay / 2);
  std::string_view rest = text;
  if (const auto clock = take_clock(rest); clock && rest.empty()) return next(*clock);
  rest = text;
  const bool offset = take(rest, "now+") || take(rest, "+");
  const auto plain = parse_duration(rest);
  if (offset || (plain && *plain >= Duration())) {
    const auto span = offset ? slurm_offset(rest) : any_span(rest, 1);
    if (!span) return span.error();
    return now + span->whole_seconds();
  }
  return usage_error("'" + std::string(text) +
                     "' is no time; write 2026-01-31T16:00, 16:00, now+2h, " +
                     "tomorrow or a duration from now like 30m");
}

Result<std::int64_t> parse_past(std::string_view text, std::int64_t now) {
  if (const auto written = written_instant(text)) return *written;
  const std::int64_t today = local_day(now);
  if (text == "now") return now;
  if (text == "today" || text == "midnight") return local_instant(today);
  if (text == "yesterday") return local_instant(today - kDay);
  std::string_view rest = text;
  if (const auto clock = take_clock(rest); clock && rest.empty()) {
    const std::int64_t at = local_instant(today + *clock);
    return at <= now ? at : local_instant(today - kDay + *clock);
  }
  rest = text;
  (void)take(rest, "now");
  (void)take(rest, "-");
  if (rest.ends_with(" ago")) rest.remove_suffix(4);
  const auto span = rest.empty() ? Result<Duration>(usage_error("")) : slurm_offset(rest);
  if (span && *span >= Duration()) return now - span->whole_seconds();
  return usage_error("'" + std::string(text) +
                     "' is no time in the past; write 2d, 90m, yesterday, today, 09:00, " +
                     "2026-01-31 or 2026-01-31T16:00");
}

}  // namespace rota::cli
