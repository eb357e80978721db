// Words for amounts and times, parsing them back, and finding the nearest known word.
//
// Grammar (scenario files, rota.yaml, command line): durations `90s 20m 4h 2d 1h30m` (also ms);
// memory `40GiB 512MiB 12KiB 7B`; GPUs `2` or a decimal with at most three digits (`0.5`).
// All functions are pure and allocate only their result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace rota {

/// Parses `[-]<n><unit>...` with units d h m s ms; `0` needs no unit. Error message says what was
/// expected. Overflow is an error.
Result<Duration> parse_duration(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);
Result<MilliGpu> parse_gpus(std::string_view text);
Result<std::int64_t> parse_int(std::string_view text);
/// A decimal with at most `digits` places, scaled by 10^digits (`2.5`, 6 -> 2500000).
Result<std::int64_t> parse_fixed(std::string_view text, int digits);

/// `1h30m`, `90s` -> `1m30s`, `10m30s`, `-13h`, `1.5s` (milliseconds and below as a decimal of
/// seconds), `0s`. parse_duration(format_duration(d)) == d for whole milliseconds.
std::string format_duration(Duration d);
std::string format_bytes(Bytes b);    // largest exact unit: `24GiB`, `2424MiB`, `7B`
std::string format_gpus(MilliGpu g);  // `2`, `0.5`, `0.125`

/// The candidate with the least edit distance to `word` when that is small enough to be a likely
/// typo (at most a third of the length, at least 1 allowed); empty when there is none.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);
std::string_view nearest_word(std::string_view word, const std::vector<std::string>& candidates);

/// One character, and its bytes. Bytes that are not UTF-8 count as one character each.
struct Character {
  std::uint32_t code = 0;
  std::string_view bytes;
};
/// Takes the character at the front of `text`, which is not empty, off it.
Character take_character(std::string_view& text);
/// True for what changes how the text around it is shown, or breaks its line: control characters of
/// ASCII and Latin-1 (U+0080 to U+009F), line and paragraph separators, and those that turn the
/// direction of writing.
bool is_control(const Character& character);
bool has_control(std::string_view text);
/// With one blank in the place of each such character.
std::string without_control(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Expands `a,b`, `n[1-4]`, `gpu[01-16]` (width kept), `A.[1-3]` to single names, in order.
/// Error: unbalanced brackets, an empty part, more than 1,000,000 names.
Result<std::vector<std::string>> expand_names(std::string_view text);

}  // namespace rota
