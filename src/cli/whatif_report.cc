#include "cli/whatif_report.h"

#include <algorithm>
#include <cmath>

#include "cli/offline.h"
#include "cli/output.h"
#include "report/words.h"
#include "sim/resize.h"

namespace rota::cli {
namespace {

using report::Table;
using report::TableStyle;
using sim::Fidelity;
using sim::JobGroup;
using sim::Trust;

/// `whole` is not 0.
double of_whole(Int128 part, Int128 whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}
double gpu_hours_of(Int128 time) { return static_cast<double>(time) / 3.6e15; }
double seconds_in(Duration span) { return static_cast<double>(span.ns()) / 1e9; }
double to_places(double value, double scale) { return std::round(value * scale) / scale; }
std::string percent_text(double value) { return number_text(value * 100, 1) + "%"; }
/// `-`: a part of nothing.
std::string part_text(Int128 part, Int128 whole) {
  return whole == 0 ? "-" : percent_text(of_whole(part, whole));
}
std::string signed_percent(double value) {
  return (value > 0 ? "+" : "") + number_text(value * 100, 1) + "%";
}

/// Tenths up to 100 seconds: waits of replays are compared.
std::string span_words(Duration span) {
  const double seconds = seconds_in(span);
  return seconds < 100 ? number_text(seconds, 1) + "s" : report::short_duration(span);
}

/// The team that got least of what it was owed; none: nobody was owed anything.
const JobGroup* worst_team(const sim::Outcome& outcome) {
  const JobGroup* worst = nullptr;
  for (const JobGroup& team : outcome.teams) {
    if (team.owed == 0) continue;
    if (worst == nullptr ||
        of_whole(team.delivered, team.owed) < of_whole(worst->delivered, worst->owed)) {
      worst = &team;
    }
  }
  return worst;
}

std::string cluster_words(const WhatIfSource& source) {
  const std::string size = grouped(std::ssize(source.nodes)) +
                           (source.nodes.size() == 1 ? " node, " : " nodes, ") +
                           report::counted(sim::gpus_of(source.nodes), "GPU");
  switch (source.cluster_from) {
    case ClusterFrom::kOption: return size + " (--on)";
    case ClusterFrom::kNodesOfHistory:
      return size + ", the nodes that the history names, each with the most ever held on its kind";
    case ClusterFrom::kMostHeld:
      return size + ", a guess: the most ever held at once, as nodes of 8; --on tells better";
  }
  return size;
}

std::string policy_words(const WhatIfSource& source, const Today& today) {
  if (today.given) return today.words + " (--today)";
  if (!today.tried.empty()) {
    return today.words + ", of those tried the one that comes nearest to the observed waits";
  }
  return today.words + (source.from_slurm ? ", since the history is Slurm's" : ", a guess");
}

/// What keeps the replay from being trusted: its waits, or jobs that ran and do not start in it.
std::string error_words(const Fidelity& fidelity) {
  const double off = std::abs(fidelity.mean);
  std::string text = "the replay's mean wait is off by " + percent_text(off);
  if (off > sim::kTrustFair) text += ", more than " + percent_text(sim::kTrustFair);
  if (fidelity.never > sim::kNeverFair) {
    text += ", and " + percent_text(fidelity.never) + " of the jobs, which ran, never start in it";
  }
  return text;
}

std::string trust_words(const Today& today) {
  switch (today.fidelity.trust) {
    case Trust::kGood:
      return "Trust: good. The replay of today's policy reproduces the mean wait to " +
             percent_text(std::abs(today.fidelity.mean)) + ".\n";
    case Trust::kFair:
      return "Trust: fair. T" + error_words(today.fidelity).substr(1) +
             "; take differences smaller than that for nothing.\n";
    case Trust::kPoor:
      return "DO NOT TRUST what follows: " + error_words(today.fidelity) +
             ". The cluster (--on) or the policy (--today) is not what it was; put them right "
             "first.\n";
    case Trust::kUnknown:
      return "Trust: unknown. The history tells no waits, so nobody can say how well a replay "
             "reproduces them. Compare scenarios with each other, not with your cluster.\n";
  }
  return {};
}

std::string fidelity_table(const Today& today, const TableStyle& style) {
  Table table({{"FIDELITY"}, {"OBSERVED", Align::kRight}, {"REPLAYED", Align::kRight},
               {"ERROR", Align::kRight}});
  const auto row = [&](const char* name, Duration observed, Duration replayed, double error) {
    table.add_row({{name}, {span_words(observed)}, {span_words(replayed)},
                   {signed_percent(error)}});
  };
  const sim::Spread& observed = today.observed.wait;
  const sim::Spread& replayed = today.replayed.wait;
  row("wait mean", observed.mean, replayed.mean, today.fidelity.mean);
  row("wait p50", observed.p50, replayed.p50, today.fidelity.p50);
  row("wait p90", observed.p90, replayed.p90, today.fidelity.p90);
  row("makespan", today.observed.makespan, today.replayed.makespan, today.fidelity.makespan);
  return table.text(style);
}

/// Cost of all GPUs of a setup over the time that today's replay took; none: no price for some.
std::optional<double> cost_of(const WhatIfReport& report, const sim::Setup& setup) {
  if (!report.prices) return std::nullopt;
  double hourly = 0;
  for (const NodeSpec& node : setup.nodes) {
    for (const DeviceSpec& device : node.devices) {
      const auto price = report.prices->of(device.model);
      if (!price) return std::nullopt;
      hourly += static_cast<double>(price->value()) / 1e6;
    }
  }
  return hourly * seconds_in(report.base.today.replayed.makespan) / 3600;
}

/// One line of the comparison: a figure of each scenario.
struct Line {
  std::string name;
  std::function<std::string(const sim::Outcome&)> text;
};

std::string wait_text(const JobGroup& group, Duration sim::Spread::* figure) {
  return group.started == 0 ? "-" : span_words(group.wait.*figure);
}

std::vector<Line> wait_lines(const WhatIfReport& report) {
  const auto all = [](Duration sim::Spread::* figure) {
    return [figure](const sim::Outcome& o) {
      return o.started == 0 ? "-" : span_words(o.wait.*figure);
    };
  };
  std::vector<Line> lines{{"wait mean", all(&sim::Spread::mean)},
                          {"wait p50", all(&sim::Spread::p50)},
                          {"wait p90", all(&sim::Spread::p90)},
                          {"wait max", all(&sim::Spread::max)}};
  const std::string wide = number_text(report.base.measure.wide_milli / 1000.0);
  lines.push_back({"p90 of jobs of " + wide + "+ GPUs",
                   [](const sim::Outcome& o) { return wait_text(o.wide, &sim::Spread::p90); }});
  lines.push_back({"p90 of debug jobs",
                   [](const sim::Outcome& o) { return wait_text(o.shorts, &sim::Spread::p90); }});
  return lines;
}

std::vector<Line> share_lines() {
  return {
      {"delivered of owed", [](const sim::Outcome& o) {
         return part_text(o.delivered, o.owed);
       }},
      {"  worst team", [](const sim::Outcome& o) {
         const JobGroup* worst = worst_team(o);
         return worst == nullptr ? "-" : part_text(worst->delivered, worst->owed);
       }},
      {"occupancy", [](const sim::Outcome& o) {
         return part_text(o.held, o.capacity);
       }},
      {"preemptions", [](const sim::Outcome& o) { return grouped(o.preemptions); }},
      {"lost GPU-hours", [](const sim::Outcome& o) {
         return number_text(gpu_hours_of(o.lost), 1);
       }},
      {"wide jobs stopped", [](const sim::Outcome& o) {
         return grouped(o.wide_stopped) + " of " + grouped(o.wide.jobs);
       }},
      {"makespan", [](const sim::Outcome& o) { return span_words(o.makespan); }},
      {"GPUs", [](const sim::Outcome& o) { return grouped(o.gpus); }},
  };
}

bool any_reacts(const WhatIfReport& report) {
  return std::any_of(report.scenarios.begin(), report.scenarios.end(),
                     [](const Scenario& s) { return s.setup.reaction_permille > 0; });
}

/// What is shown only where something is to be told.
template <class Add>
void add_rare_lines(const WhatIfReport& report, Add&& add) {
  const auto never = [](const sim::Outcome& o) { return grouped(o.jobs - o.started); };
  const auto is_any = [&](auto&& test) {
    return test(report.base.today.replayed) ||
           std::any_of(report.scenarios.begin(), report.scenarios.end(),
                       [&](const Scenario& s) { return test(s.outcome); });
  };
  if (is_any([](const sim::Outcome& o) { return o.jobs > o.started; })) {
    add("never started", never(report.base.today.replayed),
        [&](const Scenario& s) { return never(s.outcome); });
  }
  if (is_any([](const sim::Outcome& o) { return o.cut > 0; })) {
    add("cut at their limit", grouped(report.base.today.replayed.cut),
        [](const Scenario& s) { return grouped(s.outcome.cut); });
  }
  if (report.prices) {
    const auto money = [&](const sim::Setup& setup) {
      const auto cost = cost_of(report, setup);
      return cost ? number_text(*cost, 2) : std::string("no price");
    };
    add("cost", money(report.base.today.setup), [&](const Scenario& s) { return money(s.setup); });
  }
  if (any_reacts(report)) {
    add("demand", "1", [](const Scenario& s) { return number_text(s.demand, 3); });
  }
}

std::string comparison(const WhatIfReport& report, const TableStyle& style) {
  std::vector<report::Column> columns{{"SIDE BY SIDE"}, {"TODAY", Align::kRight}};
  for (const Scenario& scenario : report.scenarios) {
    columns.push_back({scenario.name, Align::kRight, true});
  }
  Table table(std::move(columns));
  const auto add = [&](const std::string& name, const std::string& today, auto&& text) {
    std::vector<report::Cell> row{{name}, {today}};
    for (const Scenario& scenario : report.scenarios) row.push_back({text(scenario)});
    table.add_row(std::move(row));
  };
  std::vector<Line> lines = wait_lines(report);
  for (Line& line : share_lines()) lines.push_back(std::move(line));
  for (const Line& line : lines) {
    add(line.name, line.text(report.base.today.replayed),
        [&](const Scenario& s) { return line.text(s.outcome); });
  }
  add_rare_lines(report, add);
  return table.text(style);
}

const JobGroup* group_named(const std::vector<JobGroup>& groups, const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const JobGroup& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::string team_cell(const sim::Outcome& outcome, const std::string& name) {
  const JobGroup* team = group_named(outcome.teams, name);
  if (team == nullptr) return "-";
  return part_text(team->delivered, team->owed) + ", " +
         wait_text(*team, &sim::Spread::p90);
}

std::string teams_side_by_side(const WhatIfReport& report, const TableStyle& style) {
  std::vector<report::Column> columns{{"TEAM"}, {"JOBS", Align::kRight},
                                      {"TODAY", Align::kRight}};
  for (const Scenario& scenario : report.scenarios) {
    columns.push_back({scenario.name, Align::kRight, true});
  }
  Table table(std::move(columns));
  for (const JobGroup& team : report.base.today.replayed.teams) {
    std::vector<report::Cell> row{{team.name}, {grouped(team.jobs)},
                                  {team_cell(report.base.today.replayed, team.name)}};
    for (const Scenario& s : report.scenarios) row.push_back({team_cell(s.outcome, team.name)});
    table.add_row(std::move(row));
  }
  return "\nTeams: delivered of owed, and p90 of their waits\n" + table.text(style);
}

/// Waits of nobody are not told: zeros would read as no wait at all.
void put_waits(const char* field, const sim::Spread& wait, std::int64_t started, api::Json& to) {
  if (started > 0) to[field] = spread_json(wait);
}

api::Json groups_json(const std::vector<JobGroup>& groups, const char* key) {
  api::Json list = api::Json::array();
  for (const JobGroup& group : groups) {
    api::Json one = api::Json::object();
    one[key] = group.name;
    one["jobs"] = group.jobs;
    one["started"] = group.started;
    put_waits("wait_seconds", group.wait, group.started, one);
    if (group.owed > 0) {
      one["owed_gpu_hours"] = to_places(gpu_hours_of(group.owed), 10);
      one["delivered_gpu_hours"] = to_places(gpu_hours_of(group.delivered), 10);
      one["delivered_ratio"] = to_places(of_whole(group.delivered, group.owed), 1e4);
    }
    list.push_back(std::move(one));
  }
  return list;
}

api::Json fidelity_json(const Today& today) {
  const Fidelity& fidelity = today.fidelity;
  api::Json json = api::Json::object();
  json["trust"] = std::string(name_of(fidelity.trust));
  if (fidelity.trust == Trust::kUnknown) return json;
  json["wait_mean_error"] = to_places(fidelity.mean, 1e4);
  json["wait_p50_error"] = to_places(fidelity.p50, 1e4);
  json["wait_p90_error"] = to_places(fidelity.p90, 1e4);
  if (fidelity.never > 0) json["never_started"] = to_places(fidelity.never, 1e4);
  json["makespan_error"] = to_places(fidelity.makespan, 1e4);
  return json;
}

std::string count_line(std::int64_t count, const char* one, const char* many,
                       const std::string& rest) {
  if (count == 0) return {};
  return "- " + report::counted(count, one, many) + rest + "\n";
}

}  // namespace

std::string whatif_head(const WhatIfBase& base, const TableStyle& style) {
  const WhatIfSource& source = base.source;
  const Today& today = base.today;
  std::string text = "Past jobs: " + grouped(today.replayed.jobs) + " of " + source.files;
  if (source.left_out.all() > 0) {
    text += "; " + grouped(source.left_out.all()) + " left out";
  }
  text += "\nCluster:   " + cluster_words(source) + "\nPolicy:    " +
          policy_words(source, today) + "\n\n";
  if (today.fidelity.trust != Trust::kUnknown) text += fidelity_table(today, style);
  for (const TodayTry& one : today.tried) {
    if (one.name == today.words) continue;
    text += "  (" + one.name + " would be off by " + signed_percent(one.fidelity.mean) + ")\n";
  }
  return text + trust_words(today);
}

std::string remarks_text(const std::vector<std::string>& remarks) {
  if (remarks.empty()) return {};
  std::string text = "Careful:\n";
  for (const std::string& remark : remarks) text += "- " + remark + ".\n";
  return text + "\n";
}

void put_remarks(const std::vector<std::string>& remarks, api::Json& json) {
  if (!remarks.empty()) json["remarks"] = remarks;
}

std::string whatif_assumptions(const WhatIfSource& source, bool reacts) {
  std::string text = "Assumed:\n";
  text += reacts ? "- People react to waits: GPU time submitted grows by the power `reaction` of "
                   "how much\n  sooner jobs are done. Nobody measured that.\n"
                 : "- Demand is as it was submitted: nobody submits more because waits are "
                   "shorter.\n";
  text += count_line(source.limits_guessed, "job tells", "jobs tell",
                     " no time limit: twice the run time, at least 15m.");
  text += count_line(source.stopped_attempts, "run was", "runs were",
                     " stopped by the system: what they did until then is not replayed.");
  text += count_line(source.left_out.never_ran, "job never ran and is", "jobs never ran and are",
                     " left out.");
  text += count_line(source.left_out.no_gpu, "job has", "jobs have",
                     " no GPU, or not told how many, and do not count.");
  text += count_line(source.left_out.no_time, "job tells", "jobs tell",
                     " no submit time and do not count.");
  text += count_line(source.rows_skipped, "row was", "rows were",
                     " skipped on reading: `rota import` says which and why.");
  return text;
}

std::string whatif_page(const WhatIfReport& report, const TableStyle& style) {
  std::string text = whatif_head(report.base, style) + "\n" +
                     comparison(report, style);
  if (report.by_team) text += teams_side_by_side(report, style);
  return text + "\n" + remarks_text(report.remarks) +
         whatif_assumptions(report.base.source, any_reacts(report));
}

api::Json outcome_json(const sim::Outcome& outcome) {
  api::Json json = api::Json::object();
  json["gpus"] = outcome.gpus;
  json["jobs"] = outcome.jobs;
  json["started"] = outcome.started;
  put_waits("wait_seconds", outcome.wait, outcome.started, json);
  put_waits("wide_wait_seconds", outcome.wide.wait, outcome.wide.started, json);
  put_waits("debug_wait_seconds", outcome.shorts.wait, outcome.shorts.started, json);
  json["makespan_seconds"] = to_places(seconds_in(outcome.makespan), 1e3);
  if (outcome.capacity > 0) {
    json["occupancy"] = to_places(of_whole(outcome.held, outcome.capacity), 1e4);
  }
  if (outcome.replayed) {
    json["refused"] = outcome.refused;
    json["cut_at_limit"] = outcome.cut;
    json["owed_gpu_hours"] = to_places(gpu_hours_of(outcome.owed), 10);
    if (outcome.owed > 0) {
      json["delivered_ratio"] = to_places(of_whole(outcome.delivered, outcome.owed), 1e4);
    }
    json["preemptions"] = outcome.preemptions;
    json["lost_gpu_hours"] = to_places(gpu_hours_of(outcome.lost), 10);
    json["wide_jobs"] = outcome.wide.jobs;
    json["wide_jobs_stopped"] = outcome.wide_stopped;
  }
  json["teams"] = groups_json(outcome.teams, "team");
  json["classes"] = groups_json(outcome.classes, "class");
  return json;
}

api::Json whatif_head_json(const WhatIfBase& base) {
  const WhatIfSource& source = base.source;
  const Today& today = base.today;
  constexpr const char* kFrom[] = {"given", "nodes_of_history", "most_held"};
  api::Json json = api::Json::object();
  json["source"] = source.files;
  json["jobs"] = today.replayed.jobs;
  json["left_out"] = {{"never_ran", source.left_out.never_ran},
                      {"no_gpu", source.left_out.no_gpu},
                      {"no_time", source.left_out.no_time},
                      {"rows_skipped", source.rows_skipped}};
  json["cluster"] = {{"nodes", std::ssize(source.nodes)},
                     {"gpus", sim::gpus_of(source.nodes)},
                     {"from", kFrom[static_cast<int>(source.cluster_from)]}};
  json["policy"] = today.words;
  json["policy_given"] = today.given;
  json["fidelity"] = fidelity_json(today);
  if (today.fidelity.trust != Trust::kUnknown) json["observed"] = outcome_json(today.observed);
  json["today"] = outcome_json(today.replayed);
  return json;
}

api::Json whatif_json(const WhatIfReport& report) {
  api::Json json = whatif_head_json(report.base);
  const auto put_cost = [&](api::Json& to, const sim::Setup& setup) {
    if (const auto cost = cost_of(report, setup)) to["cost"] = to_places(*cost, 100);
  };
  put_cost(json["today"], report.base.today.setup);
  put_remarks(report.remarks, json);
  json["scenarios"] = api::Json::array();
  for (const Scenario& scenario : report.scenarios) {
    api::Json one = api::Json::object();
    one["name"] = scenario.name;
    one["demand"] = to_places(scenario.demand, 1e4);
    const api::Json outcome = outcome_json(scenario.outcome);
    for (const auto& [key, value] : outcome.items()) one[key] = value;
    put_cost(one, scenario.setup);
    json["scenarios"].push_back(std::move(one));
  }
  return json;
}

}  // namespace rota::cli
