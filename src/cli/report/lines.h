// The lines of a usage or cost report, rounded such that they add up as they are shown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/usage_lines.h"
#include "base/result.h"
#include "cli/report/input.h"

namespace rota::cli::reports {

enum class LineKind { kGroup, kIdle, kDrained, kBeyond, kAll };
constexpr auto names_of(LineKind) {
  return std::array<std::string_view, 5>{"group", "idle", "drained", "beyond_capacity", "all"};
}

/// Amounts in units of the report's places. Of lines that are no group `held` is zero; those
/// beyond the capacity are negative.
struct Amounts {
  std::array<Int128, audit::kHeldKinds> held{};
  Int128 total = 0;
};

struct ReportLine {
  LineKind kind = LineKind::kGroup;
  std::string name;  // of a group; empty: not told
  Amounts hours;
  Amounts cost;
  Amounts energy;       // cost of it
  Amounts watt_hours;
  std::optional<std::int64_t> budget;  // in hundredths
  Int128 spent = 0;     // of the budget: its own and of those whose budgets are parts of it

  /// Of GPUs and energy.
  [[nodiscard]] Int128 cost_total() const { return cost.total + energy.total; }
};

struct ReportLines {
  int hour_places = 3;
  static constexpr int kMoneyPlaces = 2;
  std::vector<ReportLine> lines;  // groups, most first, ties by name; then the others
};

/// GPU-hours alone. The line of all is the capacity x time; every other column and line adds up
/// to it. A line beyond the capacity is there only where there is some.
[[nodiscard]] ReportLines hour_lines(const ReportInput& input, const audit::UsageLines& usage,
                                     int hour_places);

/// Adds the costs, likewise adding up. Error: kInvalidArgument where a pool has no price.
[[nodiscard]] Status add_costs(const ReportInput& input, const audit::UsageLines& usage,
                               ReportLines& report);

/// Adds energy and its cost, likewise adding up: GPUs that are held draw the one power, all others
/// the other. The cost of a GPU-hour is rounded to a millionth first (energy_rate). Error:
/// kInvalidArgument where the power of a pool is not told.
[[nodiscard]] Status add_energy(const ReportInput& input, const audit::UsageLines& usage,
                                const Energy& energy, ReportLines& report);
/// Cost of an hour at that power.
[[nodiscard]] MicroMoney energy_rate(const Energy& energy, std::int64_t milliwatts);

/// Adds budgets by name, after all costs; one for whom nothing was held gets a line.
void add_budgets(const std::map<std::string, Budget>& budgets, ReportLines& report);

/// Puts the lines in their order and leaves out one beyond the capacity that is empty. The last
/// step: the functions above need all lines.
void finish_lines(ReportLines& report);

}  // namespace rota::cli::reports
