// What an import found besides plain rows: counted by kind, with the first places of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::history {

/// What became of such a row.
enum class RowFate : std::uint8_t {
  kPassedOver,  // by rule: no job of its own (a step, a comment)
  kKept,        // in the history; a value of it is missing or was put right
  kSkipped,     // not in the history
};
/// `passed over`, `kept`, `skipped`.
[[nodiscard]] std::string_view fate_name(RowFate fate);

/// One kind of such rows.
struct RowKind {
  static constexpr std::size_t kPlacesMax = 3;
  std::string kind;   // in a few words: `the end is before the start`
  RowFate fate = RowFate::kSkipped;
  std::int64_t count = 0;
  std::vector<std::string> places;  // the first kPlacesMax: `file:line:column: what stands there`
};

struct ImportNotes {
  std::vector<std::string> files;
  std::vector<std::string> formats;  // one a file
  std::int64_t rows = 0;             // read, headers and comments not counted
  std::vector<RowKind> kinds;        // in the order in which they were met
  std::vector<std::string> remarks;  // what the reader of results should know

  /// Counts a row. `place` is made only for the first of a kind.
  void count(RowFate fate, std::string_view kind, const std::string& place);
  [[nodiscard]] bool wants_place(std::string_view kind) const;
  /// Once, however often it is said.
  void remark(std::string text);
  [[nodiscard]] std::int64_t count_of(RowFate fate) const;
};

}  // namespace rota::history
