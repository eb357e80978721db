// Which column of a table is what: known names, and those that a user maps himself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/words.h"

namespace rota::history {

/// What a column can be.
enum class Role : std::uint8_t {
  kId, kName, kUser, kQueue, kPool, kClass, kCluster, kState, kExit, kReason, kNodes,
  kSubmit, kEligible, kStart, kEnd, kRun, kWait, kLimit, kMinRuntime,
  kGpus, kGpuMilli, kModel, kCpus, kCpuMilli, kMemory, kMemoryUsed, kNodeCount, kPriority, kBusy,
};
constexpr int kRoles = 29;
/// `id`, `submit`, `gpus`, ...
[[nodiscard]] std::string_view role_name(Role role);

/// `--map submit=created,gpus=ngpu`: roles and the columns that the user names for them; also
/// `time_unit=ms` (s, ms, us, ns, min, h: of plain numbers of time) and `memory_unit=MiB` (B, KiB,
/// MiB, GiB: of plain numbers of memory).
struct ColumnMap {
  std::vector<std::pair<Role, std::string>> columns;
  std::optional<TimeUnit> time_unit;
  std::optional<std::int64_t> memory_unit;  // bytes
  [[nodiscard]] bool empty() const { return columns.empty() && !time_unit && !memory_unit; }
};
/// Error: an unknown role with the nearest known one, a role given twice, a missing `=`.
[[nodiscard]] Result<ColumnMap> parse_column_map(std::string_view text);

/// A name under which tables hold a role. `unit` is bytes of memory columns.
struct ColumnWord {
  std::string_view word;
  Role role;
  std::int64_t unit = 0;
};
/// Names that are known without a map, the likeliest first.
[[nodiscard]] std::span<const ColumnWord> known_columns();

/// A table's columns by role.
struct TableLayout {
  struct Column {
    int at = -1;  // -1: the table has none
    TimeUnit time_unit = TimeUnit::kSeconds;
    std::int64_t memory_unit = 1;
  };
  std::array<Column, kRoles> columns;
  std::size_t width = 0;
  [[nodiscard]] const Column& of(Role role) const {
    return columns[static_cast<std::size_t>(role)];
  }
  [[nodiscard]] bool has(Role role) const { return of(role).at >= 0; }
};
/// Finds the columns of a header: those of `map` first, then `words`. A column's name may end with
/// its unit (`limit_min`, `start_ms`, `memory_gib`). Error: a mapped column that is not there, with
/// the nearest one.
[[nodiscard]] Result<TableLayout> layout_of(const std::vector<std::string>& header,
                                            const ColumnMap& map,
                                            std::span<const ColumnWord> words,
                                            TimeUnit time_unit);
/// What the table lacks to be a history: a way to place jobs in time. Empty: nothing.
[[nodiscard]] std::string lacking(const TableLayout& layout);

}  // namespace rota::history
