// What the reports have in common: their options, the period, and the words of options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "cli/context.h"
#include "cli/history_options.h"
#include "cli/output.h"

namespace rota::cli::reports {

/// Texts as typed; empty: not given.
struct ReportOptions {
  HistoryOptions history;
  std::string on;
  std::string drained;
  std::string by;
  std::string month;
  std::string from;
  std::string until;
  std::string prices;
  std::string budget;
  std::string energy_price;
  std::string watts;
  std::string pue;
  std::string shares;
  std::string allocation;
  OutputOptions output;
};

struct Period {
  Instant begin;
  Instant end;
  [[nodiscard]] Duration length() const { return end - begin; }
};

/// --month, or --from and --until; what is not given is taken from `told`, the time that the input
/// covers. Dates count as UTC; a plain number is seconds since the start of a trace without dates.
/// Error: kInvalidArgument, also when nothing lies between, or more than 100 years.
[[nodiscard]] Result<Period> period_of(const ReportOptions& options, std::optional<Period> told);

/// `vision=3,speech=2` with amounts of at most `digits` places, scaled by 10^digits. Error: no
/// name, no amount, a negative one, a name twice.
[[nodiscard]] Result<std::map<std::string, std::int64_t>> named_amounts(const std::string& option,
                                                                        const std::string& text,
                                                                        int digits);

/// Prices of one GPU-hour by model.
struct Prices {
  std::map<std::string, MicroMoney> by_model;
  std::optional<MicroMoney> others;  // one price for all models that are not named
  bool is_list = false;  // of a file, which may name models that are not there
  [[nodiscard]] std::optional<MicroMoney> of(std::string_view model) const;
};
/// `h100=2.5,a100=1.2`, `2.5`, both together, or a table with columns `model` and `price`.
[[nodiscard]] Result<Prices> prices_of(const std::string& text);

/// Energy: what a GPU draws, and what that costs.
struct Energy {
  struct Draw {
    std::int64_t held_milliwatts = 0;    // while somebody holds it
    std::int64_t unheld_milliwatts = 0;  // while nobody does
  };
  MicroMoney price;                      // of a kilowatt-hour
  std::int64_t overhead_milli = 1000;    // PUE: of the building over the machines
  std::map<std::string, Draw> by_model;
  std::optional<Draw> others;            // one for all models that are not named
  /// With the overhead, rounded to milliwatts.
  [[nodiscard]] std::optional<Draw> of(std::string_view model) const;
};
/// --energy-price, --watts (`h100=700/120,a100=400/60`, or `400/60`) and --pue; absent when none is
/// given. Error: one without the others, or no such amounts.
[[nodiscard]] Result<std::optional<Energy>> energy_of(const ReportOptions& options);

struct Budget {
  Budget(std::int64_t amount_ = 0, std::string parent_ = {})  // NOLINT: an amount is a budget
      : amount(amount_), parent(std::move(parent_)) {}
  std::int64_t amount;  // in hundredths of the currency
  std::string parent;   // whose budget it is a part of; empty: nobody's
};
/// Of a table with columns NAME (`by`, or `name`), `budget`, and perhaps `parent`. A budget may be
/// a percentage of the parent's, `40%`; the parts of one parent are rounded such that they add up.
/// Error: kInvalidArgument, also for a parent without a budget, parts above 100 %, or a circle.
[[nodiscard]] Result<std::map<std::string, Budget>> budgets_of(const std::string& file,
                                                               std::string_view by);

/// `2026-10-01T00:00:00Z to 2026-11-01T00:00:00Z (31d)`; without dates as time since the start.
[[nodiscard]] std::string period_text(const Period& period);
/// `2026-10-01T00:00:00Z`; without dates the time since the trace's start, `5h`.
[[nodiscard]] std::string point_text(Instant at);

/// Amounts in units of 10^-places.
[[nodiscard]] std::string fixed_text(Int128 amount, int places);    // 1,234.500
[[nodiscard]] std::string decimal_text(Int128 amount, int places);  // 1234.5
[[nodiscard]] double decimal_value(Int128 amount, int places);

}  // namespace rota::cli::reports
