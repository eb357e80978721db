// What a report measures, taken from a history or from a table of holdings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/usage_lines.h"
#include "base/result.h"
#include "cli/context.h"
#include "cli/report/setting.h"
#include "history/history.h"

namespace rota::cli::reports {

/// Whose time a line counts.
enum class By { kQueue, kUser, kClass, kModel, kJob };
constexpr auto names_of(By) {
  return std::array<std::string_view, 5>{"queue", "user", "class", "model", "job"};
}

/// What GPU time of an attempt that ended so counts as. A time limit and a cancel are used time:
/// whoever held it got what he asked for.
[[nodiscard]] audit::HeldKind held_kind_of(history::Outcome outcome);

struct ReportPool {
  std::string model;  // empty: not told
  std::optional<MicroMoney> price;  // of a GPU-hour
};

struct ReportInput {
  audit::UsageInput usage;
  std::vector<ReportPool> pools;           // as usage.capacity
  std::vector<std::string> groups;         // names, as usage.groups; empty: not told
  std::vector<std::uint32_t> wait_groups;  // as usage.waits
  std::vector<std::string> notes;          // what the reader should know; sentences without a stop
  std::string import_notes;                // of rows that were not plain; for tables

  [[nodiscard]] Period period() const { return {usage.begin, usage.end}; }
  [[nodiscard]] MilliGpu capacity() const;
};

/// Gives pools the prices of --prices, where there is one. Error: a model named there that no pool
/// has, with the nearest one.
[[nodiscard]] Status add_prices(const Prices& prices, ReportInput& input);

/// Whether `file` is a table of holdings: columns node, gpu, job, fraction, start, end.
[[nodiscard]] bool is_holdings(const HistoryOptions& options);

/// Reads what the options name. Without --on the capacity is the most that was held at once of
/// each model, and a note says so. Errors: kInvalidArgument.
[[nodiscard]] Result<ReportInput> read_report_input(Context& context, const ReportOptions& options,
                                                    By by);

/// Of a table of holdings. Its devices are the capacity; a part that is held counts for as long as
/// the line says.
[[nodiscard]] Result<ReportInput> read_holdings(const ReportOptions& options, By by);

}  // namespace rota::cli::reports
