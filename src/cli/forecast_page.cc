// A forecast for people: days, hours, how well the past was told, when GPUs will be short.
#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "audit/words.h"
#include "base/text.h"
#include "cli/audit_report.h"
#include "cli/forecast_report.h"
#include "cli/output.h"
#include "report/words.h"

namespace rota::cli {
namespace {

constexpr std::size_t kForecastDay = audit::kHoursOfDay;

std::string forecast_gpus(std::int64_t milli) {
  return number_text(static_cast<double>(milli) / 1000, milli < 100'000 ? 1 : 0);
}

std::string forecast_wait(std::int64_t ns) { return report::short_duration(Duration(ns)); }

}  // namespace

std::string forecast_hour(std::int64_t hour) {
  const std::int64_t ns = hour * audit::kHourLength;
  if (ns < Duration::days(3650).ns()) return audit_instant(ns);
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%a %d %b %H:%M", &parts);
  return {text.data(), length};
}

namespace {

/// Of pages of HTML unbreakable.
std::string first_cell(std::int64_t hour, Bars bars) {
  std::string text;
  for (const char c : forecast_hour(hour)) {
    text += c == ' ' && bars == Bars::kHidden ? std::string("\u00a0") : std::string(1, c);
  }
  return text;
}

std::string forecast_error(std::optional<std::int64_t> permille) {
  return permille ? audit::permille_text(*permille) : "-";
}

std::vector<std::int64_t> hours_of_day(const ForecastReport& report, std::size_t day,
                                   std::int64_t audit::HourForecast::*field) {
  std::vector<std::int64_t> out;
  for (std::size_t i = day * kForecastDay; i < (day + 1) * kForecastDay; ++i) {
    out.push_back(report.forecast.hours[i].*field);
  }
  return out;
}

std::int64_t most_expected(const ForecastReport& report) {
  std::int64_t most = 0;
  for (const audit::HourForecast& hour : report.forecast.hours) {
    most = std::max(most, hour.expected);
  }
  return most;
}

void add_wait_cells(const ForecastReport& report, std::size_t day, std::vector<Cell>& row) {
  std::vector<std::int64_t> middle;
  std::int64_t high = 0;
  for (std::size_t i = day * kForecastDay; i < (day + 1) * kForecastDay; ++i) {
    middle.push_back(report.waits->hours[i].p50);
    high = std::max(high, report.waits->hours[i].p90);
  }
  std::sort(middle.begin(), middle.end());
  const auto off = report.waits->days[day].mean_off();
  row.push_back({forecast_wait(middle[kForecastDay / 2 - 1])});
  row.push_back({forecast_wait(high)});
  row.push_back({off ? forecast_wait(*off) : "-", Tone::kDim});
}

std::vector<Cell> forecast_day_row(const ForecastReport& report, std::size_t day, Bars bars) {
  const audit::DayErrors& errors = report.forecast.days[day];
  const auto low = hours_of_day(report, day, &audit::HourForecast::low);
  const auto expected = hours_of_day(report, day, &audit::HourForecast::expected);
  const auto high = hours_of_day(report, day, &audit::HourForecast::high);
  const auto hour = report.forecast.first_hour + static_cast<std::int64_t>(day * kForecastDay);
  std::vector<Cell> row{{first_cell(hour, bars)},
                        {forecast_gpus(report.forecast.expected_of_day(day) / audit::kHoursOfDay)},
                        {forecast_gpus(*std::min_element(low.begin(), low.end()))},
                        {forecast_gpus(*std::max_element(high.begin(), high.end()))},
                        {forecast_error(errors.error()), Tone::kDim},
                        {forecast_error(errors.error_last_week()), Tone::kDim},
                        {audit::permille_text(errors.below_high_permille()), Tone::kDim}};
  if (bars == Bars::kShown) {
    row.insert(row.begin() + 4, {spark_line(expected, most_expected(report)), Tone::kAccent});
  }
  if (report.capacity_given) {
    std::int64_t hours = 0;
    std::int64_t most = 0;
    for (std::size_t i = day * kForecastDay; i < (day + 1) * kForecastDay; ++i) {
      if (report.short_high(i) > 0) ++hours;
      most = std::max(most, report.short_high(i));
    }
    row.push_back({hours > 0 ? std::to_string(hours) : "", Tone::kBad});
    row.push_back({most > 0 ? forecast_gpus(most) : "", Tone::kBad});
  }
  if (report.waits) add_wait_cells(report, day, row);
  return row;
}

}  // namespace

report::Table forecast_days_table(const ForecastReport& report, Bars bars) {
  std::vector<report::Column> columns{
      {"24 HOURS FROM", Align::kLeft}, {"GPUS", Align::kRight},      {"P10", Align::kRight},
      {"P90", Align::kRight},          {"OFF BY", Align::kRight},
      {"LAST WEEK", Align::kRight},    {"BELOW P90", Align::kRight}};
  if (bars == Bars::kShown) columns.insert(columns.begin() + 4, {"HOUR BY HOUR", Align::kLeft});
  if (report.capacity_given) {
    columns.push_back({"SHORT H", Align::kRight});
    columns.push_back({"SHORT GPUS", Align::kRight});
  }
  if (report.waits) {
    columns.push_back({"WAIT P50", Align::kRight});
    columns.push_back({"WAIT P90", Align::kRight});
    columns.push_back({"OFF BY", Align::kRight});
  }
  report::Table table(std::move(columns));
  for (std::size_t day = 0; day < report.day_count(); ++day) {
    table.add_row(forecast_day_row(report, day, bars));
  }
  return table;
}


report::Table forecast_hours_table(const ForecastReport& report, Bars bars) {
  std::vector<report::Column> columns{{"HOUR", Align::kLeft}, {"P10", Align::kRight},
                                      {"P50", Align::kRight}, {"P90", Align::kRight}};
  if (bars == Bars::kShown) columns.push_back({"P50", Align::kLeft});
  if (report.capacity_given) columns.push_back({"SHORT AT P90", Align::kRight});
  if (report.waits) {
    columns.push_back({"WAIT P50", Align::kRight});
    columns.push_back({"WAIT P90", Align::kRight});
  }
  report::Table table(std::move(columns));
  const std::int64_t most = std::max<std::int64_t>(1, most_expected(report));
  for (std::size_t i = 0; i < report.forecast.hours.size(); ++i) {
    const audit::HourForecast& hour = report.forecast.hours[i];
    const auto at = report.forecast.first_hour + static_cast<std::int64_t>(i);
    std::vector<Cell> row{{first_cell(at, bars)},
                          {forecast_gpus(hour.low)},
                          {forecast_gpus(hour.expected)},
                          {forecast_gpus(hour.high)}};
    if (bars == Bars::kShown) {
      row.push_back({report::bar(hour.expected, most, 20), Tone::kAccent});
    }
    if (report.capacity_given) {
      const std::int64_t missing = report.short_high(i);
      row.push_back({missing > 0 ? forecast_gpus(missing) : "", Tone::kBad});
    }
    if (report.waits) {
      row.push_back({forecast_wait(report.waits->hours[i].p50)});
      row.push_back({forecast_wait(report.waits->hours[i].p90)});
    }
    table.add_row(std::move(row));
  }
  return table;
}

namespace {

std::string back_test_text(const ForecastReport& report) {
  const audit::DemandForecast& forecast = report.forecast;
  const auto error = forecast.all.error();
  if (!error) return "nothing was wanted in " + audit::counted(forecast.tests, "test");
  return audit::counted(forecast.tests, "forecast") + " of " +
         report::counted(static_cast<std::int64_t>(report.day_count()), "day") +
         " made in the past were off by " + forecast_error(error) + " (same hour last week: " +
         forecast_error(forecast.all.error_last_week()) + "); " +
         audit::permille_text(forecast.all.below_high_permille()) + " of hours at most at P90, " +
         audit::permille_text(forecast.all.inside_permille()) + " between P10 and P90";
}

std::string wait_test_text(const audit::WaitForecast& waits) {
  const auto off = waits.all.mean_off();
  const auto below = waits.all.below_p90_permille();
  if (!off || !below) return "no wait in the time of the tests";
  return "waits of " + audit::counted(waits.all.runs, "run") + " were off by " +
         forecast_wait(*off) +
         " on average (median of the last week: " + forecast_wait(*waits.all.mean_off_last_week()) +
         "); " + audit::permille_text(*below) + " of them at most at P90";
}

std::string forecast_bursts(const ForecastReport& report) {
  const audit::Bursts& bursts = report.bursts;
  return report::counted(bursts.bursts, "day") + " of " + audit::grouped(bursts.days) +
         " brought twice the mean of GPU time and more; the largest " +
         audit::ratio_text(bursts.largest) + " times, from " + audit_instant(bursts.largest_at);
}

}  // namespace

AuditLines forecast_facts(const ForecastReport& report) {
  AuditLines facts{{"Source", report.source},
                      {"History", audit_instant(report.window.begin) + " to " +
                                      audit_instant(report.window.end) + ", " +
                                      audit::counted(report.demand.runs, "run")}};
  if (report.capacity) {
    facts.emplace_back("Capacity", report::gpu_words(MilliGpu(*report.capacity)) +
                                       (report.capacity_given ? "" : ", the most ever held at once "
                                                                     "(--on or --capacity)"));
  }
  facts.emplace_back("Method", audit::shape_words(report.forecast.shape));
  if (report.forecast.shape.growth == audit::Growth::kOn) {
    facts.emplace_back("Growth", forecast_gpus(report.forecast.growth) + " GPUs a week");
  }
  facts.emplace_back("Back-test", back_test_text(report));
  if (report.waits) facts.emplace_back("Wait test", wait_test_text(*report.waits));
  if (report.bursts.days > 0) facts.emplace_back("Bursts", forecast_bursts(report));
  return facts;
}

namespace {

std::string shortage_words(const ForecastReport& report, const audit::Shortage& shortage) {
  const std::string most = report.scale_up.measure == audit::Measure::kWait
                               ? forecast_wait(shortage.short_max) + " longer"
                               : forecast_gpus(shortage.short_max) + " GPUs short, " +
                                     forecast_gpus(shortage.short_sum) + " GPU-hours in all";
  return forecast_hour(shortage.first_hour) + " for " +
         report::counted(shortage.hours, "hour") + ": at most " + most;
}

}  // namespace

std::vector<std::string> forecast_foot(const ForecastReport& report) {
  std::vector<std::string> lines{
      "GPUS: expected mean of the 24 hours. P10, P90: least and most of their bands. OFF BY: mean "
      "absolute",
      "error of forecasts as many days ahead, part of what was wanted. LAST WEEK: the same of the",
      "same hour last week. BELOW P90: hours of the past at most there; 90 % would be right."};
  if (report.waits) {
    lines.emplace_back("WAIT: median of the hours' medians, and the largest P90 of an hour.");
  }
  for (const std::string& unknown : report.unknowns) lines.push_back("Not told: " + unknown + ".");
  if (report.condition.empty()) return lines;
  if (report.shortages.empty()) {
    lines.push_back("Scale up when " + report.condition + ": at no hour.");
    return lines;
  }
  lines.push_back("Scale up when " + report.condition + ":");
  for (const audit::Shortage& each : report.shortages) {
    lines.push_back("  " + shortage_words(report, each));
  }
  return lines;
}


std::int64_t ForecastReport::short_expected(std::size_t hour) const {
  if (!capacity_given) return 0;
  return std::max<std::int64_t>(0, forecast.hours[hour].expected - *capacity);
}
std::int64_t ForecastReport::short_high(std::size_t hour) const {
  if (!capacity_given) return 0;
  return std::max<std::int64_t>(0, forecast.hours[hour].high - *capacity);
}

std::string spark_line(const std::vector<std::int64_t>& values, std::int64_t most) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const std::int64_t value : values) {
    const std::int64_t level = most > 0 ? value * 8 / most : 0;
    text += kBlocks[static_cast<std::size_t>(std::clamp<std::int64_t>(level, 0, 7))];
  }
  return text;
}

std::string forecast_page(const ForecastReport& report, const report::TableStyle& style,
                          Hours hours) {
  std::string text = key_values(forecast_facts(report)) + "\n" +
                     forecast_days_table(report, Bars::kShown).text(style);
  for (const std::string& line : forecast_foot(report)) text += line + "\n";
  if (hours == Hours::kShown) text += "\n" + forecast_hours_table(report, Bars::kShown).text(style);
  return text;
}

}  // namespace rota::cli
