#include "base/text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/utf8.h"

namespace rota {

namespace {

constexpr std::size_t kNamesMax = 1'000'000;

Error bad(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Takes the digits at the front of `text`. Empty when there are none or they overflow.
std::optional<std::int64_t> take_digits(std::string_view& text) {
  std::int64_t value = 0;
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, text[n] - '0', &value)) return std::nullopt;
    ++n;
  }
  if (n == 0) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

struct TimeUnit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<TimeUnit, 5> kTimeUnits{{{"d", 86'400'000'000'000},
                                              {"h", 3'600'000'000'000},
                                              {"m", 60'000'000'000},
                                              {"s", 1'000'000'000},
                                              {"ms", 1'000'000}}};

Error not_a_duration(std::string_view text) {
  return bad(quoted(text) + " is not a duration: expected a number with a unit of d, h, m, s, ms, "
                            "largest first, like 90s, 20m or 1h30m");
}

/// The part of a second written after the point, in nanoseconds. Empty when malformed.
std::optional<std::int64_t> take_second_fraction(std::string_view& rest) {
  std::int64_t ns = 0;
  std::int64_t scale = 100'000'000;
  std::size_t n = 0;
  while (n < rest.size() && is_digit(rest[n])) {
    if (scale == 0) return std::nullopt;
    ns += (rest[n] - '0') * scale;
    scale /= 10;
    ++n;
  }
  if (n == 0) return std::nullopt;
  rest.remove_prefix(n);
  return ns;
}

/// Takes one `<n><unit>`; units must come largest first, so `next_unit` moves on.
bool take_time_part(std::string_view& rest, std::size_t& next_unit, std::int64_t& total_ns) {
  const auto amount = take_digits(rest);
  if (!amount) return false;
  std::int64_t fraction_ns = 0;
  const bool has_fraction = !rest.empty() && rest[0] == '.';
  if (has_fraction) {
    rest.remove_prefix(1);
    const auto fraction = take_second_fraction(rest);
    if (!fraction) return false;
    fraction_ns = *fraction;
  }
  std::size_t length = 0;
  while (length < rest.size() && !is_digit(rest[length])) ++length;
  const std::string_view unit = rest.substr(0, length);
  while (next_unit < kTimeUnits.size() && kTimeUnits[next_unit].name != unit) ++next_unit;
  if (next_unit == kTimeUnits.size()) return false;
  if (has_fraction && unit != "s") return false;
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(*amount, kTimeUnits[next_unit].ns, &ns)) return false;
  if (__builtin_add_overflow(ns, fraction_ns, &ns)) return false;
  if (__builtin_add_overflow(total_ns, ns, &total_ns)) return false;
  rest.remove_prefix(length);
  ++next_unit;
  return true;
}

struct ByteUnit {
  std::string_view name;
  int shift;
};
constexpr std::array<ByteUnit, 5> kByteUnits{
    {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};

std::string format_fraction(std::int64_t whole, std::int64_t fraction, int digits) {
  std::string text = std::to_string(whole);
  if (fraction == 0) return text;
  std::string places = std::to_string(fraction);
  places.insert(0, static_cast<std::size_t>(digits) - places.size(), '0');
  while (places.back() == '0') places.pop_back();
  return text + "." + places;
}

/// Edit distance with swaps of neighbours (optimal string alignment). Cost O(a x b).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

template <class Candidates>
std::string_view nearest_of(std::string_view word, const Candidates& candidates) {
  if (word.size() > 64) return {};
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  std::string_view best;
  std::size_t best_distance = allowed + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word.size() + allowed || candidate.empty()) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{};
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative) rest.remove_prefix(1);
  if (rest == "0") return Duration{};
  if (rest.empty()) return not_a_duration(text);
  std::int64_t total_ns = 0;
  std::size_t next_unit = 0;
  while (!rest.empty()) {
    if (!take_time_part(rest, next_unit, total_ns)) return not_a_duration(text);
  }
  return Duration(negative ? -total_ns : total_ns);
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  const auto amount = take_digits(rest);
  if (amount) {
    for (const auto& unit : kByteUnits) {
      std::int64_t value = 0;
      if (rest != unit.name) continue;
      if (__builtin_mul_overflow(*amount, std::int64_t{1} << unit.shift, &value)) break;
      return Bytes(value);
    }
  }
  return bad(quoted(text) + " is not an amount of memory: expected a whole number with a unit of "
                            "TiB, GiB, MiB, KiB or B, like 40GiB");
}

Result<MilliGpu> parse_gpus(std::string_view text) {
  const auto scaled = parse_fixed(text, 3);
  if (!scaled || *scaled < 0) {
    return bad(quoted(text) + " is not a number of GPUs: expected a whole number, or a decimal "
                              "with at most three digits after the point, like 2 or 0.5");
  }
  return MilliGpu(*scaled);
}

Result<std::int64_t> parse_int(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative) rest.remove_prefix(1);
  const auto value = take_digits(rest);
  if (!value || !rest.empty()) return bad(quoted(text) + " is not a whole number");
  return negative ? -*value : *value;
}

Result<std::int64_t> parse_fixed(std::string_view text, int digits) {
  const Error error =
      bad(quoted(text) + " is not a number with at most " + std::to_string(digits) +
          " digits after the point");
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative) rest.remove_prefix(1);
  const auto whole = take_digits(rest);
  if (!whole) return error;
  std::int64_t value = *whole;
  const bool has_point = !rest.empty() && rest[0] == '.';
  if (has_point) rest.remove_prefix(1);
  if (has_point && rest.empty()) return error;
  for (int i = 0; i < digits; ++i) {
    std::int64_t digit = 0;
    if (!rest.empty()) {
      if (!has_point || !is_digit(rest[0])) return error;
      digit = rest[0] - '0';
      rest.remove_prefix(1);
    }
    if (__builtin_mul_overflow(value, 10, &value)) return error;
    if (__builtin_add_overflow(value, digit, &value)) return error;
  }
  if (!rest.empty()) return error;
  return negative ? -value : value;
}

std::string format_duration(Duration d) {
  if (d.ns() == 0) return "0s";
  std::string text = d.ns() < 0 ? "-" : "";
  // Unsigned, so that the lowest value has a magnitude too.
  std::uint64_t ns = static_cast<std::uint64_t>(d.ns());
  if (d.ns() < 0) ns = 0 - ns;
  for (const auto& unit : kTimeUnits) {
    const auto size = static_cast<std::uint64_t>(unit.ns);
    if (unit.name == "s") {
      if (ns == 0) break;
      text += format_fraction(static_cast<std::int64_t>(ns / size),
                              static_cast<std::int64_t>(ns % size), 9);
      text += "s";
      break;
    }
    if (ns >= size) text += std::to_string(ns / size) + std::string(unit.name);
    ns %= size;
  }
  return text;
}

std::string format_bytes(Bytes b) {
  for (const auto& unit : kByteUnits) {
    const std::int64_t size = std::int64_t{1} << unit.shift;
    if (b.value() != 0 && b.value() % size == 0) {
      return std::to_string(b.value() / size) + std::string(unit.name);
    }
  }
  return "0B";
}

std::string format_gpus(MilliGpu g) {
  const std::int64_t whole = g.value() / 1000;
  const std::int64_t fraction = g.value() % 1000;
  if (g.value() >= 0) return format_fraction(whole, fraction, 3);
  return "-" + format_fraction(-whole, -fraction, 3);
}

std::string_view nearest_word(std::string_view word,
                              std::span<const std::string_view> candidates) {
  return nearest_of(word, candidates);
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  return nearest_of(word, candidates);
}

Character take_character(std::string_view& text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size > text.size() || !is_utf8(text.substr(0, size))) size = 1;
  std::uint32_t code = size == 1 ? lead : lead & (0xFFU >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) code = code << 6U | (byte(k) & 0x3FU);
  const Character taken{code, text.substr(0, size)};
  text.remove_prefix(size);
  return taken;
}

bool is_control(const Character& character) {
  const std::uint32_t code = character.code;
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

bool has_control(std::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return false;
  while (!text.empty()) {
    if (is_control(take_character(text))) return true;
  }
  return false;
}

std::string without_control(std::string_view text) {
  if (!has_control(text)) return std::string(text);
  std::string plain;
  while (!text.empty()) {
    const Character next = take_character(text);
    if (is_control(next)) plain += ' ';
    else plain += next.bytes;
  }
  return plain;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != separator) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

namespace {

std::string padded(std::int64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

/// `1-4,7` inside brackets, as texts. Empty when malformed or too long.
std::vector<std::string> expand_range(std::string_view inside) {
  std::vector<std::string> numbers;
  for (std::string_view part : split(inside, ',')) {
    const std::string_view whole = part;
    const auto low = take_digits(part);
    if (!low) return {};
    const std::size_t low_size = whole.size() - part.size();
    const std::size_t width = low_size > 1 && whole[0] == '0' ? low_size : 0;
    std::int64_t high = *low;
    if (!part.empty()) {
      if (part[0] != '-') return {};
      part.remove_prefix(1);
      const auto parsed = take_digits(part);
      if (!parsed || !part.empty() || *parsed < *low) return {};
      high = *parsed;
    }
    if (static_cast<std::uint64_t>(high - *low) >= kNamesMax) return {};
    if (numbers.size() + static_cast<std::size_t>(high - *low) >= kNamesMax) return {};
    for (std::int64_t n = *low; n <= high; ++n) numbers.push_back(padded(n, width));
  }
  return numbers;
}

/// Where the list part that begins at `begin` ends: at a comma outside brackets, or at the end.
std::size_t end_of_part(std::string_view text, std::size_t begin) {
  int depth = 0;
  std::size_t i = begin;
  for (; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ',' && depth <= 0) break;
  }
  return i;
}

/// All names of one list part. Empty when a bracket is unbalanced or a range malformed.
std::vector<std::string> expand_part(std::string_view part) {
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const std::size_t open = part.find('[');
    const std::string_view plain = part.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return {};
    for (auto& name : names) name += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = part.find(']', open);
    if (close == std::string_view::npos) return {};
    const auto numbers = expand_range(part.substr(open + 1, close - open - 1));
    if (numbers.empty() || names.size() > kNamesMax / numbers.size()) return {};
    std::vector<std::string> next;
    next.reserve(names.size() * numbers.size());
    for (const auto& name : names) {
      for (const auto& number : numbers) next.push_back(name + number);
    }
    names = std::move(next);
    part.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_part(text, begin);
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty()) return bad(quoted(text) + " has an empty name in its list");
    auto expanded = expand_part(part);
    if (expanded.empty()) {
      return bad(quoted(part) + " is not a name or a range of names: expected something like "
                                "n1, n[1-4] or A.[1-16], with at most 1000000 names");
    }
    if (names.size() + expanded.size() > kNamesMax) {
      return bad(quoted(text) + " stands for more than 1000000 names");
    }
    std::move(expanded.begin(), expanded.end(), std::back_inserter(names));
    begin = end + 1;
  }
  return names;
}

}  // namespace rota
