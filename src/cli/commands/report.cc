// report: bills and balances of GPU time over a history.
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/report/delivered.h"
#include "cli/report/devices.h"
#include "cli/report/usage.h"

namespace rota::cli {
namespace {

using reports::ReportOptions;

using ReportAdd = std::function<void(const char* name, std::string& field, const char* help,
                                     const char* type)>;

/// The options of reports over a history, the report's own among them.
Runner declare_history_report(CLI::App& app, Context& context,
                              const std::function<void(const ReportAdd&, ReportOptions&)>& own,
                              int (*work)(Context&, const ReportOptions&)) {
  auto options = std::make_shared<ReportOptions>();
  const ReportAdd add = [&](const char* name, std::string& field, const char* help,
                            const char* type) {
    app.add_option(name, field, help)->type_name(type)->group("What");
  };
  own(add, *options);
  add("--on", options->on, "the cluster: 64x8, flat:512 or a file with `node` lines", "CLUSTER");
  add("--month", options->month, "a month, UTC (default: all that the input tells)", "YYYY-MM");
  add("--from", options->from, "first instant or day, UTC", "TIME");
  add("--until", options->until, "the end: first instant or day that no longer counts", "TIME");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|json|csv|html");
  return [options, &context, work](const Parsed&) { return work(context, *options); };
}

Runner declare_devices(CLI::App& app, Context& context) {
  auto options = std::make_shared<reports::DevicesOptions>();
  app.add_option("SCRAPE", options->file, "metrics as DCGM's exporter prints them; - is standard "
                                          "input")
      ->required()
      ->type_name("");
  add_output_options(app, options->output, "table|json|csv|html");
  return [options, &context](const Parsed&) {
    return reports::report_devices(context, *options);
  };
}

constexpr const char* kByHelp = "queue (default), user, class, model or job";
constexpr const char* kDrainedHelp =
    "table of nodes out of service: node, start, end";

void usage_own(const ReportAdd& add, ReportOptions& options) {
  add("--by", options.by, kByHelp, "WHAT");
  add("--drained", options.drained, kDrainedHelp, "FILE");
}

void cost_own(const ReportAdd& add, ReportOptions& options) {
  usage_own(add, options);
  add("--prices", options.prices, "of a GPU-hour: 2.5, h100=2.5,a100=1.2 or a table model, price",
      "PRICES");
  add("--budget", options.budget,
      "table: queue (or what --by says), budget (12.50, or 40% of its parent's), parent", "FILE");
  add("--energy-price", options.energy_price, "of a kilowatt-hour; takes --watts", "PRICE");
  add("--watts", options.watts, "what a GPU draws held/idle: h100=700/120 or 400/60 for all",
      "WATTS");
  add("--pue", options.pue, "power of the building over that of its machines (default: 1)", "N");
}

void idle_own(const ReportAdd& add, ReportOptions& options) {
  add("--by", options.by, "model (default) or day", "WHAT");
  add("--drained", options.drained, kDrainedHelp, "FILE");
}

void delivered_own(const ReportAdd& add, ReportOptions& options) {
  add("--by", options.by, "queue (default) or user", "WHAT");
  add("--shares", options.shares, "weights of the teams; those not named: 1", "TEAM=N,..");
  add("--allocation", options.allocation, "GPUs that teams own, instead of weights",
      "TEAM=GPUS,..");
}

}  // namespace

Runner declare_report(CLI::App& app, Context& context) {
  std::vector<std::pair<CLI::App*, Runner>> reports;
  const auto command = [&](const char* name, const char* summary) {
    CLI::App* report = app.add_subcommand(name, summary);
    report->set_help_flag();
    return report;
  };
  CLI::App* usage = command("usage", "who held how many GPU-hours, and what nobody held");
  reports.emplace_back(
      usage, declare_history_report(*usage, context, usage_own, reports::report_usage));
  CLI::App* cost = command("cost", "what that cost, and what is left of budgets");
  reports.emplace_back(cost,
                       declare_history_report(*cost, context, cost_own, reports::report_cost));
  CLI::App* idle = command("idle", "GPU-hours that nobody held, and of them while jobs waited");
  reports.emplace_back(idle,
                       declare_history_report(*idle, context, idle_own, reports::report_idle));
  CLI::App* delivered = command("delivered", "what teams were owed, and what they got of it");
  reports.emplace_back(delivered, declare_history_report(*delivered, context, delivered_own,
                                                         reports::report_delivered));
  CLI::App* devices = command("devices", "power and utilization in one scrape of DCGM's exporter");
  reports.emplace_back(devices, declare_devices(*devices, context));
  return [reports](const Parsed& parsed) {
    for (const auto& [report, run] : reports) {
      if (report->parsed()) return run(parsed);
    }
    return reports.front().second(parsed);
  };
}

}  // namespace rota::cli
