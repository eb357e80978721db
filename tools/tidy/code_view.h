#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rota::tidy {

/// Splits at '\n'. A last line without '\n' is still a line; the empty text has none.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

/// The same lines with comments, string and character literals blanked out by spaces, so that a
/// banned token in a sentence is no finding. Lines and columns stay where they are.
///
/// Knows raw strings and digit separators; does not expand macros or join continued lines.
[[nodiscard]] std::vector<std::string> code_only(const std::vector<std::string_view>& lines);

/// True if `word` stands in `line` with no identifier character on either side.
[[nodiscard]] bool has_word(std::string_view line, std::string_view word);

/// True if `name` stands in `line` as a whole word and an opening parenthesis follows.
/// Members called through '.' or '->' do not count.
[[nodiscard]] bool has_call(std::string_view line, std::string_view name);

}  // namespace rota::tidy
