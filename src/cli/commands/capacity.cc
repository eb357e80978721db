// capacity: the smallest cluster, or the change of policy, that meets a goal on past jobs.
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/capacity_search.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/goal.h"
#include "cli/option_checks.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/whatif_options.h"
#include "cli/whatif_report.h"
#include "cli/whatif_run.h"
#include "report/words.h"
#include "sim/resize.h"

namespace rota::cli {
namespace {

constexpr std::string_view kNoPolicies = "none";
constexpr std::int64_t kTimesToday = 8;  // at most so many times today's nodes are tried

struct CapacityCommand {
  WhatIfOptions base;
  std::string goal;
  std::string policies = "easy,time-fair,contracts";
  std::int64_t most = 0;
  OutputOptions output;
};

/// One thing that was tried.
struct CapacityTry {
  std::string policy;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  GoalStanding standing;
};

struct CapacityReport {
  WhatIfBase base;
  Goal goal;
  std::vector<CapacityTry> policies;       // at today's size
  std::map<std::int64_t, CapacityTry> sizes;  // today's policy, by nodes
  SearchResult search;
  bool reacts = false;
  std::vector<std::string> remarks;

  [[nodiscard]] const CapacityTry* found() const {
    return search.found ? &sizes.at(*search.found) : nullptr;
  }
  [[nodiscard]] const CapacityTry* policy_found() const {
    const auto met = std::find_if(policies.begin(), policies.end(),
                                  [](const CapacityTry& one) { return one.standing.met; });
    return met == policies.end() ? nullptr : &*met;
  }
};

Result<CapacityTry> try_setup(Context& context, const CapacityReport& report, sim::Setup setup) {
  CapacityTry out{.policy = setup.name, .nodes = std::ssize(setup.nodes),
                  .gpus = sim::gpus_of(setup.nodes)};
  const auto scenario = play(context, report.base, std::move(setup));
  if (!scenario) return scenario.error();
  const auto standing = standing_of(report.goal, scenario->outcome);
  if (!standing) return standing.error();
  out.standing = *standing;
  return out;
}

Status try_policies(Context& context, const CapacityCommand& options, CapacityReport& report) {
  if (options.policies == kNoPolicies) return {};
  for (const std::string_view policy : split(options.policies, ',')) {
    auto setup = scenario_setup(report.base, std::string(policy), options.base.changes);
    if (!setup) return setup.error();
    setup->name = std::string(policy);
    add_remarks(report.base.source.past, *setup, options.base.changes, report.remarks);
    auto tried = try_setup(context, report, std::move(*setup));
    if (!tried) return tried.error();
    report.policies.push_back(std::move(*tried));
  }
  return {};
}

Status try_sizes(Context& context, const CapacityCommand& options, CapacityReport& report) {
  const std::vector<std::string>& changes = options.base.changes;
  auto base = scenario_setup(report.base, {}, changes);
  if (!base) return base.error();
  base->name = changes.empty() ? report.base.today.words : join(changes, " ");
  report.reacts = base->reaction_permille > 0;
  add_remarks(report.base.source.past, *base, changes, report.remarks);
  const auto meets = [&](std::int64_t nodes) -> Result<bool> {
    sim::Setup setup = *base;
    setup.nodes = sim::with_node_count(base->nodes, nodes);
    auto tried = try_setup(context, report, std::move(setup));
    if (!tried) return tried.error();
    const bool met = tried->standing.met;
    report.sizes.emplace(nodes, std::move(*tried));
    return met;
  };
  const std::int64_t today = std::ssize(base->nodes);
  const SearchBounds bounds{today, options.most > 0 ? options.most : today * kTimesToday};
  const Better better =
      report.goal.figure == GoalFigure::kOccupancy ? Better::kFewer : Better::kMore;
  auto search = search_nodes(bounds, better, meets);
  if (!search) return search.error();
  report.search = std::move(*search);
  return {};
}

Result<CapacityReport> capacity_report(Context& context, const CapacityCommand& options) {
  CapacityReport report;
  auto goal = parse_goal(options.goal);
  if (!goal) return goal.error();
  report.goal = std::move(*goal);
  const PolicyList policies{.option = "--policies",
                            .names = options.policies == kNoPolicies ? "" : options.policies};
  if (auto status = check_words(options.base, policies); !status) return status.error();
  auto base = whatif_base(context, options.base);
  if (!base) return base.error();
  report.base = std::move(*base);
  if (const auto known = standing_of(report.goal, report.base.today.replayed); !known) {
    return known.error();
  }
  if (auto status = try_policies(context, options, report); !status) return status.error();
  if (auto status = try_sizes(context, options, report); !status) return status.error();
  return report;
}

std::string goal_title(const Goal& goal) {
  std::string title = goal.text.substr(0, goal.text.find_first_of("<>"));
  while (title.ends_with(' ')) title.pop_back();
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return title;
}

std::string never_words(const GoalStanding& standing) {
  return report::counted(standing.never, "job never starts", "jobs never start");
}

std::string tries_table(const CapacityReport& report, const report::TableStyle& style) {
  report::Table table({{"TRIED", Align::kLeft, true}, {"NODES", Align::kRight},
                       {"GPUS", Align::kRight}, {goal_title(report.goal), Align::kRight},
                       {"GOAL"}});
  const auto add = [&](const CapacityTry& one) {
    std::string standing = one.standing.met ? "met" : "missed";
    if (one.standing.never > 0) standing += ", " + never_words(one.standing);
    table.add_row({{one.policy}, {grouped(one.nodes)}, {grouped(one.gpus)},
                   {one.standing.words}, {standing}});
  };
  for (const CapacityTry& one : report.policies) add(one);
  for (const auto& [nodes, one] : report.sizes) add(one);
  return table.text(style);
}

std::string difference_words(std::int64_t nodes, std::int64_t today) {
  if (nodes == today) return "as many as today";
  return (nodes > today ? "+" : "") + std::to_string(nodes - today) + " against today";
}

std::string standing_words(const GoalStanding& standing) {
  return standing.words + (standing.never > 0 ? "; " + never_words(standing) : "");
}

std::string answer_text(const CapacityReport& report) {
  std::string text;
  const std::int64_t today = std::ssize(report.base.source.nodes);
  const bool fewer = report.goal.figure == GoalFigure::kOccupancy;
  if (const CapacityTry* policy = report.policy_found()) {
    text += "With policy " + policy->policy + " the goal is met on " +
            report::counted(policy->nodes, "node") + ": " + standing_words(policy->standing) +
            ".\n";
  } else if (!report.policies.empty()) {
    text += "No policy tried meets the goal on today's cluster.\n";
  }
  if (const CapacityTry* size = report.found()) {
    text += std::string("The ") + (fewer ? "largest" : "smallest") +
            " cluster that meets it under " + size->policy + ": " +
            report::counted(size->nodes, "node") + ", " + report::counted(size->gpus, "GPU") +
            " (" + difference_words(size->nodes, today) + "): " +
            standing_words(size->standing) + ".\n";
  } else {
    text += "No number of nodes tried meets it under today's policy.\n";
  }
  text += report.search.monotone
              ? std::string("Taken for granted: with ") + (fewer ? "fewer" : "more") +
                    " nodes it stays met. Nothing tried contradicts that.\n"
              : std::string("Careful: with ") + (fewer ? "fewer" : "more") +
                    " nodes it was missed again somewhere; a " +
                    (fewer ? "larger" : "smaller") + " cluster may meet it, too.\n";
  return text;
}

api::Json try_json(const CapacityTry& one) {
  api::Json json = api::Json::object();
  json["policy"] = one.policy;
  json["nodes"] = one.nodes;
  json["gpus"] = one.gpus;
  if (one.standing.value < 1e18) json["value"] = std::round(one.standing.value * 1e4) / 1e4;
  json["met"] = one.standing.met;
  json["never_started"] = one.standing.never;
  return json;
}

api::Json capacity_json(const CapacityReport& report) {
  api::Json json = whatif_head_json(report.base);
  json["goal"] = report.goal.text;
  json["tried"] = api::Json::array();
  for (const CapacityTry& one : report.policies) json["tried"].push_back(try_json(one));
  for (const auto& [nodes, one] : report.sizes) json["tried"].push_back(try_json(one));
  put_remarks(report.remarks, json);
  json["monotone"] = report.search.monotone;
  if (const CapacityTry* policy = report.policy_found()) json["policy_found"] = try_json(*policy);
  if (const CapacityTry* size = report.found()) json["found"] = try_json(*size);
  return json;
}

int run_capacity(Context& context, const CapacityCommand& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  const auto report = capacity_report(context, options);
  if (!report) return report_error(context, report.error());
  if (*format == Format::kJson) {
    context.out << json_of(capacity_json(*report));
  } else if (*format == Format::kYaml) {
    context.out << yaml_of(capacity_json(*report));
  } else {
    const report::TableStyle style = table_style(context, options.output);
    context.out << whatif_head(report->base, style) << "\nGoal: "
                << report->goal.text << "\n" << tries_table(*report, style)
                << answer_text(*report) << "\n" << remarks_text(report->remarks)
                << whatif_assumptions(report->base.source, report->reacts);
  }
  if (report->found() != nullptr || report->policy_found() != nullptr) return kExitOk;
  context.err << "rota: nothing that was tried meets the goal '" << report->goal.text
              << "'; allow more with --most, or try other --policies and --change\n";
  return kExitFailed;
}

}  // namespace

Runner declare_capacity(CLI::App& app, Context& context) {
  auto options = std::make_shared<CapacityCommand>();
  app.add_option("--goal", options->goal,
                 "'p90 wait of debug < 1m', 'delivered of all > 95%', 'occupancy > 80%'")
      ->required()
      ->type_name("GOAL")
      ->check(some_text())
      ->group("What");
  app.add_option("--policies", options->policies,
                 "tried on today's cluster first (easy,time-fair,contracts); none")
      ->type_name("POLICY,..")
      ->check(some_text())
      ->group("What");
  add_change_option(app, options->base, "made to all that is tried; see rota whatif");
  app.add_option("--most", options->most, "nodes; none above is tried (8 times today's)")
      ->type_name("NODES")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}).description(""))
      ->group("What");
  add_today_options(app, options->base);
  add_history_options(app, options->base.history);
  add_output_options(app, options->output, "table|json|yaml");
  return [options, &context](const Parsed&) { return run_capacity(context, *options); };
}

}  // namespace rota::cli
