// whatif: past jobs under other rules, or on another cluster, side by side with today.
#include <memory>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/whatif_options.h"
#include "cli/whatif_report.h"
#include "cli/whatif_run.h"

namespace rota::cli {
namespace {

struct WhatIfCommand {
  WhatIfOptions base;
  std::string compare;
  std::string prices;
  OutputOptions output;
};

Status play_all(Context& context, const WhatIfCommand& options, WhatIfReport& report) {
  const auto add = [&](std::string name, const std::string& policies) -> Status {
    auto setup = scenario_setup(report.base, policies, options.base.changes);
    if (!setup) return setup.error();
    setup->name = std::move(name);
    add_remarks(report.base.source.past, *setup, options.base.changes, report.remarks);
    auto scenario = play(context, report.base, std::move(*setup));
    if (!scenario) return scenario.error();
    report.scenarios.push_back(std::move(*scenario));
    return {};
  };
  if (!options.compare.empty()) {
    for (const std::string_view policy : split(options.compare, ',')) {
      if (auto status = add(std::string(policy), std::string(policy)); !status) return status;
    }
    return {};
  }
  if (options.base.changes.empty()) return {};
  return add(join(options.base.changes, " "), {});
}

Result<WhatIfReport> whatif_report(Context& context, const WhatIfCommand& options) {
  const PolicyList compared{.option = "--compare", .names = options.compare};
  if (auto status = check_words(options.base, compared); !status) return status.error();
  WhatIfReport report;
  if (!options.prices.empty()) {
    auto prices = reports::prices_of(options.prices);
    if (!prices) return prices.error();
    report.prices = std::move(*prices);
  }
  auto base = whatif_base(context, options.base);
  if (!base) return base.error();
  report.base = std::move(*base);
  add_remarks(report.base.source.past, report.base.today.setup, {}, report.remarks);
  if (auto status = play_all(context, options, report); !status) return status.error();
  return report;
}

int run_whatif(Context& context, const WhatIfCommand& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  auto report = whatif_report(context, options);
  if (!report) return report_error(context, report.error());
  report->by_team = *format == Format::kWide;
  if (*format == Format::kJson) context.out << json_of(whatif_json(*report));
  else if (*format == Format::kYaml) context.out << yaml_of(whatif_json(*report));
  else context.out << whatif_page(*report, table_style(context, options.output));
  return kExitOk;
}

}  // namespace

Runner declare_whatif(CLI::App& app, Context& context) {
  auto options = std::make_shared<WhatIfCommand>();
  add_change_option(app, options->base,
                    "one change, again for more: policy=time-fair, gpus=+16, ...");
  app.add_option("--compare", options->compare,
                 "policies, each a scenario of its own: contracts,priority,rota.yaml")
      ->type_name("POLICY,..")
      ->check(some_text())
      ->group("What");
  add_today_options(app, options->base);
  app.add_option("--prices", options->prices, "of a GPU-hour: 2.5, or h100=2.5,a100=1.2")
      ->type_name("PRICES")
      ->check(some_text())
      ->group("Output");
  add_history_options(app, options->base.history);
  add_output_options(app, options->output, "table|wide|json|yaml");
  return [options, &context](const Parsed&) { return run_whatif(context, *options); };
}

}  // namespace rota::cli
