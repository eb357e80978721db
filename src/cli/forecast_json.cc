#include <algorithm>
#include <string>
#include <vector>

#include "cli/audit_report.h"
#include "cli/forecast_report.h"
#include "cli/output.h"
#include "report/csv.h"

namespace rota::cli {
namespace {

using api::Json;

constexpr std::size_t kForecastJsonDay = audit::kHoursOfDay;

double forecast_gpus_of(std::int64_t milli) { return static_cast<double>(milli) / 1000; }
double forecast_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
double forecast_ratio(std::int64_t permille) { return static_cast<double>(permille) / 1000; }

std::string forecast_begin(std::int64_t hour) { return audit_instant(hour * audit::kHourLength); }

void put_forecast_ratio(Json& json, const char* name, std::optional<std::int64_t> permille) {
  if (permille) json[name] = forecast_ratio(*permille);
}

void put_day_errors(Json& json, const audit::DayErrors& errors) {
  put_forecast_ratio(json, "wape", errors.error());
  put_forecast_ratio(json, "wape_last_week", errors.error_last_week());
  if (errors.hours == 0) return;
  json["below_p90"] = forecast_ratio(errors.below_high_permille());
  json["between_p10_and_p90"] = forecast_ratio(errors.inside_permille());
}

Json wait_errors_json(const audit::WaitErrors& errors) {
  Json json = Json::object();
  json["runs"] = errors.runs;
  if (const auto off = errors.mean_off()) json["mean_error_seconds"] = forecast_seconds(*off);
  if (const auto off = errors.mean_off_last_week()) {
    json["mean_error_seconds_last_week"] = forecast_seconds(*off);
  }
  put_forecast_ratio(json, "below_p90", errors.below_p90_permille());
  return json;
}

Json forecast_day_json(const ForecastReport& report, std::size_t day) {
  const audit::DemandForecast& forecast = report.forecast;
  Json json = Json::object();
  const auto ahead = static_cast<std::int64_t>(day * kForecastJsonDay);
  json["begin"] = forecast_begin(forecast.first_hour + ahead);
  json["gpu_hours_p50"] = forecast_gpus_of(forecast.expected_of_day(day));
  std::int64_t hours_short = 0;
  std::int64_t short_max = 0;
  std::int64_t peak = 0;
  std::int64_t peak_high = 0;
  for (std::size_t i = day * kForecastJsonDay; i < (day + 1) * kForecastJsonDay; ++i) {
    peak = std::max(peak, forecast.hours[i].expected);
    peak_high = std::max(peak_high, forecast.hours[i].high);
    short_max = std::max(short_max, report.short_high(i));
    if (report.short_high(i) > 0) ++hours_short;
  }
  json["gpus_peak_p50"] = forecast_gpus_of(peak);
  json["gpus_peak_p90"] = forecast_gpus_of(peak_high);
  if (report.capacity_given) {
    json["hours_short_p90"] = hours_short;
    json["gpus_short_max_p90"] = forecast_gpus_of(short_max);
  }
  put_day_errors(json, forecast.days[day]);
  if (report.waits) json["waits_back_test"] = wait_errors_json(report.waits->days[day]);
  return json;
}

Json forecast_hour_json(const ForecastReport& report, std::size_t i) {
  const audit::HourForecast& hour = report.forecast.hours[i];
  Json json = Json::object();
  json["begin"] = forecast_begin(report.forecast.first_hour + static_cast<std::int64_t>(i));
  json["gpus_p10"] = forecast_gpus_of(hour.low);
  json["gpus_p50"] = forecast_gpus_of(hour.expected);
  json["gpus_p90"] = forecast_gpus_of(hour.high);
  if (report.capacity_given) {
    json["gpus_short_p50"] = forecast_gpus_of(report.short_expected(i));
    json["gpus_short_p90"] = forecast_gpus_of(report.short_high(i));
  }
  if (report.waits) {
    json["wait_seconds_p50"] = forecast_seconds(report.waits->hours[i].p50);
    json["wait_seconds_p90"] = forecast_seconds(report.waits->hours[i].p90);
  }
  return json;
}

Json back_test_json(const ForecastReport& report) {
  Json json = Json::object();
  json["forecasts"] = report.forecast.tests;
  json["first"] = forecast_begin(report.forecast.first_test_hour);
  put_day_errors(json, report.forecast.all);
  if (report.waits) json["waits"] = wait_errors_json(report.waits->all);
  return json;
}

std::string forecast_number(double value) { return number_text(value, 3); }

}  // namespace

Json scale_up_json(const ForecastReport& report) {
  const bool is_wait = report.scale_up.measure == audit::Measure::kWait;
  Json json = Json::object();
  json["condition"] = report.condition;
  json["met"] = !report.shortages.empty();
  std::int64_t hours = 0;
  std::int64_t most = 0;
  Json stretches = Json::array();
  for (const audit::Shortage& each : report.shortages) {
    hours += each.hours;
    most = std::max(most, each.short_max);
    Json stretch = Json::object();
    stretch["begin"] = forecast_begin(each.first_hour);
    stretch["end"] = forecast_begin(each.first_hour + each.hours);
    stretch["hours"] = each.hours;
    if (is_wait) {
      stretch["seconds_longer_max"] = forecast_seconds(each.short_max);
    } else {
      stretch["gpus_short_max"] = forecast_gpus_of(each.short_max);
      stretch["gpu_hours_short"] = forecast_gpus_of(each.short_sum);
    }
    stretches.push_back(std::move(stretch));
  }
  json["hours"] = hours;
  if (is_wait) json["seconds_longer_max"] = forecast_seconds(most);
  else json["gpus_short_max"] = forecast_gpus_of(most);
  if (!report.shortages.empty()) {
    json["first"] = forecast_begin(report.shortages.front().first_hour);
  }
  if (report.capacity_given) json["capacity_gpus"] = forecast_gpus_of(*report.capacity);
  json["stretches"] = std::move(stretches);
  json["back_test"] = back_test_json(report);
  return json;
}

Json forecast_json(const ForecastReport& report) {
  const audit::DemandForecast& forecast = report.forecast;
  Json json = Json::object();
  json["report"] = "forecast";
  json["source"] = report.source;
  json["history_begin"] = audit_instant(report.window.begin);
  json["history_end"] = audit_instant(report.window.end);
  json["runs"] = report.demand.runs;
  if (report.capacity) json["capacity_gpus"] = forecast_gpus_of(*report.capacity);
  json["capacity_given"] = report.capacity_given;
  json["method"] = audit::shape_words(forecast.shape);
  json["growth_gpus_per_week"] = forecast_gpus_of(forecast.growth);
  if (report.bursts.days > 0) {
    json["bursts"] = {{"days", report.bursts.days},
                      {"burst_days", report.bursts.bursts},
                      {"largest_times_mean", report.bursts.largest},
                      {"largest_begin", audit_instant(report.bursts.largest_at)}};
  }
  json["back_test"] = back_test_json(report);
  if (report.waits) json["gpu_hours_left_over"] = forecast_gpus_of(report.waits->left_over);
  json["days"] = Json::array();
  for (std::size_t i = 0; i < report.day_count(); ++i) {
    json["days"].push_back(forecast_day_json(report, i));
  }
  json["hours"] = Json::array();
  for (std::size_t i = 0; i < forecast.hours.size(); ++i) {
    json["hours"].push_back(forecast_hour_json(report, i));
  }
  if (!report.condition.empty()) json["scale_up"] = scale_up_json(report);
  json["cannot_tell"] = report.unknowns;
  return json;
}

std::string forecast_csv(const ForecastReport& report) {
  const audit::DemandForecast& forecast = report.forecast;
  std::string text = report::csv_row({"begin", "gpus_p10", "gpus_p50", "gpus_p90",
                                      "gpus_short_p50", "gpus_short_p90", "wait_seconds_p50",
                                      "wait_seconds_p90", "wape", "wape_last_week", "below_p90"});
  const auto gpus = [](std::int64_t milli) { return forecast_number(forecast_gpus_of(milli)); };
  const auto seconds = [](std::int64_t ns) { return forecast_number(forecast_seconds(ns)); };
  const auto ratio = [](std::optional<std::int64_t> permille) {
    return permille ? forecast_number(forecast_ratio(*permille)) : std::string();
  };
  for (std::size_t i = 0; i < forecast.hours.size(); ++i) {
    const audit::HourForecast& hour = forecast.hours[i];
    const audit::DayErrors& errors = forecast.days[i / kForecastJsonDay];
    std::vector<std::string> row{
        forecast_begin(forecast.first_hour + static_cast<std::int64_t>(i)), gpus(hour.low),
        gpus(hour.expected), gpus(hour.high)};
    const bool has_capacity = report.capacity_given;
    row.push_back(has_capacity ? gpus(report.short_expected(i)) : "");
    row.push_back(has_capacity ? gpus(report.short_high(i)) : "");
    row.push_back(report.waits ? seconds(report.waits->hours[i].p50) : "");
    row.push_back(report.waits ? seconds(report.waits->hours[i].p90) : "");
    row.push_back(ratio(errors.error()));
    row.push_back(ratio(errors.error_last_week()));
    row.push_back(ratio(errors.below_high_permille()));
    text += report::csv_row(row);
  }
  return text;
}

}  // namespace rota::cli
