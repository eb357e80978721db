// whatif: past jobs under other rules, or on another cluster, side by side with today.
#include <memory>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/history_options.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "cli/whatif_changes.h"
#include "cli/whatif_report.h"

namespace rota::cli {
namespace {

struct WhatIfCommand {
  HistoryOptions history;
  std::string on;
  std::string today;
  std::vector<std::string> changes;
  std::string compare;
  std::string prices;
  OutputOptions output;
};

/// What does not need the history: told before a long file is read.
Status check_words(const WhatIfCommand& options) {
  sim::Setup scratch;
  scratch.nodes = sim::uniform_nodes(1, 8);
  if (!options.today.empty()) {
    if (auto status = apply_policy_list("--today", options.today, scratch); !status) {
      return status;
    }
  }
  for (const std::string& text : options.changes) {
    if (const auto change = parse_change("--change", text); !change) return change.error();
  }
  if (options.compare.empty()) return {};
  for (const std::string_view policy : split(options.compare, ',')) {
    if (auto status = apply_policy("--compare", std::string(policy), scratch); !status) {
      return status;
    }
  }
  return {};
}

Status play_all(Context& context, const WhatIfCommand& options, WhatIfReport& report) {
  const auto add = [&](std::string name, const std::string& policies) -> Status {
    auto setup = scenario_setup(report.source.past, report.today, policies,
                                options.changes);
    if (!setup) return setup.error();
    setup->name = std::move(name);
    add_remarks(report.source.past, *setup, options.changes, report.remarks);
    auto scenario = play(context, report.source, report.today, std::move(*setup), report.measure);
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
  if (options.changes.empty()) return {};
  return add(join(options.changes, " "), {});
}

Result<WhatIfReport> whatif_report(Context& context, const WhatIfCommand& options) {
  if (auto status = check_words(options); !status) return status.error();
  WhatIfReport report;
  if (!options.prices.empty()) {
    auto prices = reports::prices_of(options.prices);
    if (!prices) return prices.error();
    report.prices = std::move(*prices);
  }
  auto source = whatif_source(context, options.history, options.on);
  if (!source) return source.error();
  report.source = std::move(*source);
  report.measure = measure_of(report.source);
  auto today = find_today(context, report.source, options.today, report.measure);
  if (!today) return today.error();
  report.today = std::move(*today);
  add_remarks(report.source.past, report.today.setup, {}, report.remarks);
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
  app.add_option("--change", options->changes,
                 "one change, again for more: policy=time-fair, gpus=+16, ...")
      ->type_name("KEY=VALUE")
      ->check(some_text())
      ->allow_extra_args(false)
      ->group("What");
  app.add_option("--compare", options->compare,
                 "policies, each a scenario of its own: contracts,priority,rota.yaml")
      ->type_name("POLICY,..")
      ->check(some_text())
      ->group("What");
  app.add_option("--on", options->on,
                 "today's cluster: 64x8, flat:512 or a cluster file; else from the history")
      ->type_name("CLUSTER")
      ->check(some_text())
      ->group("Today");
  app.add_option("--today", options->today,
                 "today's policy: easy, slurm-like,backfill-every=10s; else the nearest")
      ->type_name("POLICY,..")
      ->check(some_text())
      ->group("Today");
  app.add_option("--prices", options->prices, "of a GPU-hour: 2.5, or h100=2.5,a100=1.2")
      ->type_name("PRICES")
      ->check(some_text())
      ->group("Output");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|wide|json|yaml");
  return [options, &context](const Parsed&) { return run_whatif(context, *options); };
}

}  // namespace rota::cli
