#include "history/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace rota::history {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
constexpr std::int64_t kFirstSecond = -2'208'988'800;  // the year 1900
constexpr std::int64_t kLastSecond = 7'258'118'400;    // the year 2200
constexpr std::int64_t kLengthMax = std::int64_t{36'500} * 86'400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Days from 1970-01-01 (Howard Hinnant's civil calendar algorithm).
std::int64_t days_from_civil(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

std::int64_t days_of_month(std::int64_t year, std::int64_t month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

std::optional<std::int64_t> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

/// Takes `.ddd` from the front: nanoseconds. Digits behind the ninth are dropped.
std::int64_t take_fraction(std::string_view& text) {
  if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) return 0;
  std::int64_t ns = 0, scale = kNsOfSecond / 10;
  std::size_t at = 1;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    ns += (text[at] - '0') * scale;
    scale /= 10;
  }
  text.remove_prefix(at);
  return ns;
}

/// `Z`, `+08:00`, `+0800`, `+08` in seconds; the whole text must be one.
std::optional<std::int64_t> zone_seconds(std::string_view text) {
  if (text.empty() || text == "Z" || text == " UTC") return 0;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  const auto hours = digits(text, 1, 2);
  std::optional<std::int64_t> minutes = 0;
  if (text.size() == 6 && text[3] == ':') minutes = digits(text, 4, 2);
  else if (text.size() == 5) minutes = digits(text, 3, 2);
  else if (text.size() != 3) return std::nullopt;
  if (!hours || !minutes || *hours > 18 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = *hours * 3600 + *minutes * 60;
  return text[0] == '-' ? -seconds : seconds;
}

/// The seconds of the first 19 characters.
std::optional<std::int64_t> civil_prefix(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      text[16] != ':' || (text[10] != ' ' && text[10] != 'T')) {
    return std::nullopt;
  }
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (*month < 1 || *month > 12 || *day < 1 || *day > days_of_month(*year, *month)) {
    return std::nullopt;
  }
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return days_from_civil(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second;
}

/// `per_second` of the unit make a second, or one makes `seconds`.
struct UnitScale {
  std::int64_t per_second = 1;
  std::int64_t seconds = 1;
};
UnitScale scale_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return {};
    case TimeUnit::kMilliseconds: return {.per_second = 1'000};
    case TimeUnit::kMicroseconds: return {.per_second = 1'000'000};
    case TimeUnit::kNanoseconds: return {.per_second = kNsOfSecond};
    case TimeUnit::kMinutes: return {.seconds = 60};
    case TimeUnit::kHours: return {.seconds = 3600};
  }
  return {};
}

/// A decimal number of `unit`, in nanoseconds.
std::optional<std::int64_t> number_ns(std::string_view text, TimeUnit unit) {
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  std::int64_t whole = 0;
  const char* const begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + text.size(), whole);
  if (error != std::errc{} || !is_digit(text[0])) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - begin));
  const auto [per_second, seconds] = scale_of(unit);
  const std::int64_t fraction = take_fraction(text) / per_second * seconds;
  if (!text.empty() && text != ".") return std::nullopt;
  if (whole / per_second > kLastSecond / seconds) return std::nullopt;
  const std::int64_t ns = whole / per_second * seconds * kNsOfSecond +
                          whole % per_second * (kNsOfSecond / per_second) + fraction;
  return negative ? -ns : ns;
}

}  // namespace

std::optional<std::int64_t> parse_civil_seconds(std::string_view text) {
  if (!text.empty() && text.back() == 'Z') text.remove_suffix(1);
  return text.size() == 19 ? civil_prefix(text) : std::nullopt;
}

std::optional<Instant> parse_instant(std::string_view text, TimeUnit unit) {
  if (const auto seconds = civil_prefix(text)) {
    text.remove_prefix(19);
    const std::int64_t fraction = take_fraction(text);
    const auto zone = zone_seconds(text);
    if (!zone || *seconds < kFirstSecond || *seconds > kLastSecond) return std::nullopt;
    return Instant((*seconds - *zone) * kNsOfSecond + fraction);
  }
  const auto ns = number_ns(text, unit);
  if (!ns || *ns / kNsOfSecond < kFirstSecond) return std::nullopt;
  return Instant(*ns);
}

std::string instant_text(Instant at) {
  std::int64_t seconds = at.ns() / kNsOfSecond;
  std::int64_t rest = at.ns() % kNsOfSecond;
  if (rest < 0) {
    rest += kNsOfSecond;
    --seconds;
  }
  std::int64_t days = seconds / 86'400, of_day = seconds % 86'400;
  if (of_day < 0) {
    of_day += 86'400;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  std::array<char, 40> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(of_day / 3600), static_cast<int>(of_day / 60 % 60),
      static_cast<int>(of_day % 60));
  std::string out(text.data(), static_cast<std::size_t>(length));
  if (rest != 0) {
    std::string digits = std::to_string(kNsOfSecond + rest).substr(1);
    while (digits.back() == '0') digits.pop_back();
    out += "." + digits;
  }
  return out + "Z";
}

std::optional<Duration> parse_length(std::string_view text, TimeUnit unit) {
  if (text.find(':') == std::string_view::npos) {
    const auto ns = number_ns(text, unit);
    if (!ns || *ns < 0 || *ns / kNsOfSecond > kLengthMax) return std::nullopt;
    return Duration(*ns);
  }
  const auto take = [&text](char behind) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0 || value > kLengthMax) return std::nullopt;
    const auto length = static_cast<std::size_t>(end - text.data());
    if (behind != 0 && (length >= text.size() || text[length] != behind)) return std::nullopt;
    text.remove_prefix(length + (behind != 0 ? 1 : 0));
    return value;
  };
  std::optional<std::int64_t> days = 0, hours = 0;
  if (text.find('-') != std::string_view::npos) days = take('-');
  const bool three = std::count(text.begin(), text.end(), ':') == 2;
  if (three) hours = take(':');
  const auto minutes = take(':');
  const auto seconds = take(0);
  if (!days || !hours || !minutes || !seconds) return std::nullopt;
  const std::int64_t fraction = take_fraction(text);
  const std::int64_t sum = *days * 86'400 + *hours * 3'600 + *minutes * 60 + *seconds;
  if (!text.empty() || *days > 36'500 || sum > kLengthMax) return std::nullopt;
  return Duration(sum * kNsOfSecond + fraction);
}

std::optional<Bytes> parse_amount_bytes(std::string_view text, std::int64_t plain_unit) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc{} || whole < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const std::int64_t fraction = take_fraction(text);
  std::int64_t unit = plain_unit;
  constexpr std::string_view kUnits = "KMGTP";
  if (!text.empty()) {
    const bool is_small = text[0] >= 'a' && text[0] <= 'z';
    const char letter = is_small ? static_cast<char>(text[0] - 32) : text[0];
    const std::size_t at = kUnits.find(letter);
    if (at != std::string_view::npos) {
      unit = std::int64_t{1} << (10 * (static_cast<int>(at) + 1));
      text.remove_prefix(1);
      if (!text.empty() && text[0] == 'i') text.remove_prefix(1);
    } else if (letter == 'B') {
      unit = 1;
    }
    if (!text.empty() && (text[0] == 'B' || text[0] == 'b')) text.remove_prefix(1);
    if (!text.empty()) return std::nullopt;
  }
  const Int128 bytes = Int128{whole} * unit + Int128{fraction} * unit / kNsOfSecond;
  if (bytes > (Int128{1} << 60)) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(bytes));
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  const auto ns = number_ns(text, TimeUnit::kSeconds);
  if (!ns || *ns % kNsOfSecond != 0) return std::nullopt;
  return *ns / kNsOfSecond;
}

std::optional<std::int64_t> parse_milli(std::string_view text) {
  const auto ns = number_ns(text, TimeUnit::kSeconds);
  if (!ns || *ns < 0) return std::nullopt;
  return *ns / 1'000'000;
}

std::int64_t count_hosts(std::string_view text) {
  if (text.empty()) return 0;
  std::int64_t hosts = 0, inside = 0;
  bool in_brackets = false, had_brackets = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[') {
      in_brackets = had_brackets = true;
    } else if (c == ']') {
      in_brackets = false;
    } else if (c == ',' && !in_brackets) {
      hosts += had_brackets ? inside : 1;
      inside = 0;
      had_brackets = false;
    }
    const bool begins = in_brackets && (c == '[' || c == ',');
    if (!begins) continue;
    std::int64_t first = 0, last = 0;
    const char* const end = text.data() + text.size();
    const auto one = std::from_chars(text.data() + at + 1, end, first);
    last = first;
    if (one.ptr != end && *one.ptr == '-') std::from_chars(one.ptr + 1, end, last);
    const bool sound = first >= 0 && last >= first && last - first < 1'000'000;
    inside = std::min<std::int64_t>(inside + (sound ? last - first + 1 : 1), 1'000'000'000);
  }
  return hosts + (had_brackets ? inside : 1);
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return small(x) == small(y); });
}

}  // namespace rota::history
