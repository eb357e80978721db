// A forecast as tables for people, as HTML, as JSON and as CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/json.h"
#include "audit/forecast.h"
#include "audit/scale_up.h"
#include "audit/wait_forecast.h"
#include "cli/audit_report.h"
#include "report/table.h"

namespace rota::cli {

struct ForecastReport {
  std::string source;                      // files and their formats
  audit::Window window;
  audit::Demand demand;                    // its hours are of the past
  audit::DemandForecast forecast;
  audit::Bursts bursts;
  std::optional<audit::WaitForecast> waits;
  std::optional<std::int64_t> capacity;    // thousandths of a GPU
  bool capacity_given = false;             // else the most ever held at once, for waits alone
  std::string condition;                   // of --scale-up-when; empty: none
  audit::ScaleUp scale_up;
  std::vector<audit::Shortage> shortages;
  std::vector<std::string> unknowns;       // sentences without a stop

  [[nodiscard]] std::size_t day_count() const { return forecast.days.size(); }
  /// GPUs beyond the capacity in that hour, in thousandths; 0 unless the capacity is given.
  [[nodiscard]] std::int64_t short_expected(std::size_t hour) const;
  [[nodiscard]] std::int64_t short_high(std::size_t hour) const;
};

/// A line of blocks, one for each value, from nothing to `most`.
[[nodiscard]] std::string spark_line(const std::vector<std::int64_t>& values, std::int64_t most);

/// Parts of the pages. Bars of text stand in a terminal, not in HTML.
enum class Bars { kHidden, kShown };
[[nodiscard]] AuditLines forecast_facts(const ForecastReport& report);
[[nodiscard]] report::Table forecast_days_table(const ForecastReport& report, Bars bars);
[[nodiscard]] report::Table forecast_hours_table(const ForecastReport& report, Bars bars);
[[nodiscard]] std::vector<std::string> forecast_foot(const ForecastReport& report);
/// `Fri 22 Dec 08:00`; without dates the time since the start.
[[nodiscard]] std::string forecast_hour(std::int64_t hour);

enum class Hours { kHidden, kShown };
[[nodiscard]] std::string forecast_page(const ForecastReport& report,
                                        const report::TableStyle& style, Hours hours);
[[nodiscard]] std::string forecast_html(const ForecastReport& report);
/// Fields are permanent; a figure that cannot be known is left out, never 0.
[[nodiscard]] api::Json forecast_json(const ForecastReport& report);
/// One row an hour.
[[nodiscard]] std::string forecast_csv(const ForecastReport& report);
/// What a hook gets: the condition, and each stretch in which it holds.
[[nodiscard]] api::Json scale_up_json(const ForecastReport& report);

}  // namespace rota::cli
