// forecast: demand and waits of the next days from past ones, and when GPUs will be short.
#include <chrono>
#include <memory>

#include "audit/audit.h"
#include "audit/words.h"
#include "base/text.h"
#include "cli/audit_source.h"
#include "cli/audit_span.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/forecast_report.h"
#include "cli/history_options.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

struct ForecastCommand {
  HistoryOptions history;
  SpanOptions span;
  std::string on;
  std::string capacity;
  std::string days = "7";
  std::string scale_up;
  std::string hook;
  std::string hook_timeout = "5m";
  OutputOptions output;
};

Result<std::int64_t> forecast_days_of(const std::string& text) {
  const auto days = parse_int(text);
  if (days && *days >= 1 && *days <= audit::kForecastDaysMax) return *days;
  return usage_error("--days '" + text + "': expected a number of days from 1 to " +
                     std::to_string(audit::kForecastDaysMax));
}

Result<std::optional<std::int64_t>> capacity_of_forecast(const ForecastCommand& options) {
  if (options.capacity.empty()) return gpus_on(options.on);
  if (!options.on.empty()) return usage_error("--on and --capacity say the same: leave one out");
  const auto gpus = parse_fixed(options.capacity, 3);
  if (gpus && *gpus > 0 && *gpus <= 1'000'000'000) return std::optional<std::int64_t>(*gpus);
  return usage_error("--capacity '" + options.capacity +
                     "': expected a number of GPUs up to 1,000,000, like 64");
}

std::vector<std::string> unknowns_of_forecast(const ForecastReport& report,
                                              const audit::HourWaits& waits,
                                              std::int64_t rows_skipped) {
  std::vector<std::string> out;
  if (rows_skipped > 0) {
    out.push_back(audit::counted(rows_skipped, "row") +
                  " skipped on reading: `rota import` says which and why");
  }
  const audit::Demand& demand = report.demand;
  const auto left_out = [&](std::int64_t count, const char* why) {
    if (count > 0) out.push_back(std::string(why) + " of " + audit::counted(count, "run") +
                                 ", which are left out");
  };
  left_out(demand.gpus_unknown, "GPUs");
  left_out(demand.length_unknown, "how long they ran");
  left_out(demand.place_unknown, "when they were wanted");
  left_out(demand.never_started, "how long they would have run");
  if (!waits.told()) {
    out.emplace_back("waits: no run has both a submit and a start time");
  } else if (!report.waits) {
    out.emplace_back(report.capacity ? "waits of the time before the first test"
                                     : "what there is, which waits depend on (--capacity, --on)");
  }
  return out;
}

/// What is known of past jobs, and the most of them at once.
struct ForecastInput {
  ForecastReport report;
  audit::Work work;
  std::int64_t rows_skipped = 0;
};

Result<ForecastInput> forecast_input_of(Context& context, const ForecastCommand& options) {
  ForecastInput input;
  {
    auto history = read_history(context, options.history);
    if (!history) return history.error();
    input.report.source = source_words(history->notes());
    input.rows_skipped = history->notes().count_of(history::RowFate::kSkipped);
    input.work = work_of(std::move(*history));
  }
  const auto window = span_of_work(context, options.span, input.work);
  if (!window) return window.error();
  input.report.window = *window;
  return input;
}

Status add_scale_up(const ForecastCommand& options, ForecastReport& report) {
  if (options.scale_up.empty()) return {};
  const auto capacity = report.capacity_given ? report.capacity : std::nullopt;
  const auto rule = audit::scale_up_from(options.scale_up, capacity);
  if (!rule) return usage_error("--scale-up-when " + rule.error().message);
  if (rule->measure == audit::Measure::kWait && !report.waits) {
    return usage_error("--scale-up-when '" + options.scale_up +
                       "': this history does not tell waits; ask for demand");
  }
  report.condition = options.scale_up;
  report.scale_up = *rule;
  report.shortages = audit::shortages_of(
      *rule, report.forecast,
      report.waits ? std::span<const audit::HourWait>(report.waits->hours)
                   : std::span<const audit::HourWait>());
  return {};
}

Result<ForecastReport> forecast_report_of(Context& context, const ForecastCommand& options) {
  const auto days = forecast_days_of(options.days);
  if (!days) return days.error();
  const auto capacity = capacity_of_forecast(options);
  if (!capacity) return capacity.error();
  auto input = forecast_input_of(context, options);
  if (!input) return input.error();
  ForecastReport& report = input->report;
  report.capacity = *capacity;
  report.capacity_given = capacity->has_value();
  report.demand = audit::measure_demand(input->work, report.window);
  const audit::HourWaits waits = audit::measure_hour_waits(input->work, report.demand);
  if (!report.capacity_given && waits.told()) {
    const std::int64_t peak = audit::peak_held(input->work, report.window);
    if (peak > 0) report.capacity = peak;
  }
  auto tested = audit::forecast_demand(report.demand, *days);
  if (!tested) return tested.error();
  report.bursts = audit::find_bursts(input->work, report.window);
  if (report.capacity) {
    report.waits = audit::forecast_waits(report.demand, waits, *tested, *report.capacity);
  }
  report.forecast = std::move(tested->forecast);
  report.unknowns = unknowns_of_forecast(report, waits, input->rows_skipped);
  if (auto status = add_scale_up(options, report); !status) return status.error();
  return std::move(report);
}

Result<Duration> patience_of(const std::string& text) {
  const auto span = parse_duration(text);
  if (span && *span > Duration() && *span <= Duration::days(365)) return *span;
  return usage_error("--hook-timeout '" + text + "': expected a duration like 30s or 5m");
}

int run_hook(Context& context, const std::string& hook, Duration patience,
             const ForecastReport& report) {
  context.out.flush();
  const auto code = run_shell(hook, json_of(scale_up_json(report)),
                              std::chrono::milliseconds(patience.ns() / 1'000'000 + 1));
  if (!code && code.error().code == ErrorCode::kTimeout) {
    context.err << "rota: --hook '" << hook << "' had not ended after "
                << format_duration(patience)
                << " and was killed; --hook-timeout gives it longer\n";
    return kExitFailed;
  }
  if (!code) return report_error(context, code.error());
  if (*code == 0) return kExitScaleUp;
  context.err << "rota: --hook '" << hook << "' ended with exit code " << *code << "\n";
  return kExitFailed;
}

/// A forecast that the disk did not take is an error, whatever it says. A reader who left is none.
bool is_written(Context& context) {
  context.out.flush();
  return context.out.good() || (context.reader_left && context.reader_left());
}

int forecast_files(Context& context, const ForecastCommand& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  if (!options.hook.empty() && options.scale_up.empty()) {
    return report_error(context, usage_error("--hook needs a condition: --scale-up-when "
                                             "'p90 demand > 64'"));
  }
  const auto patience = patience_of(options.hook_timeout);
  if (!patience) return report_error(context, patience.error());
  const auto report = forecast_report_of(context, options);
  if (!report) return report_error(context, report.error());
  if (*format == Format::kJson) context.out << json_of(forecast_json(*report));
  else if (*format == Format::kCsv) context.out << forecast_csv(*report);
  else if (*format == Format::kHtml) context.out << forecast_html(*report);
  else {
    context.out << forecast_page(*report, table_style(context, options.output),
                                 *format == Format::kWide ? Hours::kShown : Hours::kHidden);
  }
  if (report->shortages.empty()) return kExitOk;
  const int code = options.hook.empty()
                       ? kExitScaleUp
                       : run_hook(context, options.hook, *patience, *report);
  return is_written(context) ? code : kExitFailed;
}

}  // namespace

Runner declare_forecast(CLI::App& app, Context& context) {
  auto options = std::make_shared<ForecastCommand>();
  const auto add = [&](const char* name, std::string& field, const char* help, const char* type,
                       const char* group) {
    app.add_option(name, field, help)->type_name(type)->check(some_text())->group(group);
  };
  add("--days", options->days, "how far to look ahead, 1 to 28 (default: 7)", "N", "What");
  add("--on", options->on, "what there is: flat:512, 64x8 or a cluster file", "CLUSTER", "What");
  add("--capacity", options->capacity, "the same as a number of GPUs", "GPUS", "What");
  add("--from", options->span.from, "leave out what was before: 2026-03-02, or 90d (ago)", "TIME",
      "What");
  add("--until", options->span.until, "forecast from then on, from what was before", "TIME",
      "What");
  add("--scale-up-when", options->scale_up,
      "'p90 demand > 64', 'p90 wait > 2h for 4h', ..; exit code 10 if so",
      "CONDITION", "Scaling");
  add("--hook", options->hook,
      "then run it by the shell, with the shortage as JSON on its standard input", "COMMAND",
      "Scaling");
  add("--hook-timeout", options->hook_timeout, "the hook is killed after that time (5m)", "TIME",
      "Scaling");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|wide|json|csv|html");
  return [options, &context](const Parsed&) { return forecast_files(context, *options); };
}

}  // namespace rota::cli
