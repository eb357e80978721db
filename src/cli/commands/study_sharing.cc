// `rota study sharing`: what teams would get of a contended cluster under four policies.
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "cli/whole_job_source.h"
#include "report/words.h"
#include "sim/trial.h"

namespace rota::cli {
namespace {

/// The policies compared. Only the first preempts.
enum class Rule { kContracts, kFifo, kEasy, kPriority };
constexpr auto names_of(Rule) {
  return std::array<std::string_view, 4>{"contracts", "fifo", "easy", "priority"};
}

constexpr std::int32_t kUsual = 0;
constexpr std::int32_t kDebug = 1;
constexpr Duration kDebugApart = Duration::minutes(5);
constexpr std::array<Duration, 2> kSpans{Duration::days(1), Duration::days(7)};
constexpr std::size_t kWeek = 1;
constexpr const char* kTeams = "(teams)";  // above the queues of the teams
constexpr const char* kDebugQueue = "(debug)";

struct SharingOptions {
  HistoryOptions history;
  std::string on = "32x8";
  std::string from;
  std::string days = "30";
  std::string weights;
  std::string rules = "contracts,priority,easy,fifo";
  std::string contract = "2h";
  std::string grace = "30s";
  std::string checkpoint = "30m";
  std::string fairness = "window:7d";
  std::string debug_under = "15m";
  std::string debug_weight = "0.05";
  std::int64_t debug_gpus = 0;
  OutputOptions output;
};

struct Setting {
  std::vector<NodeSpec> nodes;
  std::vector<Rule> rules;
  std::map<std::string, std::int64_t> weights;
  Duration contract;
  Duration grace;
  Duration checkpoint;
  Duration debug_under;
  std::int64_t debug_milli = 0;  // of the sum of all weights
  std::int64_t debug_gpus = 0;   // that nobody else may hold
  FairnessKind fairness = FairnessKind::kWindow;
  Duration fairness_span;
  Duration length;
  std::optional<Instant> from;
};

Result<Duration> span_of(const std::string& option, const std::string& text) {
  const auto span = parse_duration(text);
  const bool may_be_none = option == "--contract" || option == "--grace";
  if (!span || *span < Duration() || (*span == Duration() && !may_be_none)) {
    return usage_error(option + " '" + text + "': expected a duration like 30s or 2h" +
                       (may_be_none ? ", or 0s" : ""));
  }
  return *span;
}

Status read_fairness(const std::string& text, Setting& setting) {
  const std::size_t colon = text.find(':');
  const auto kind = enum_from<FairnessKind>(text.substr(0, colon));
  const bool has_span = colon != std::string::npos;
  const auto span = has_span ? parse_duration(text.substr(colon + 1)) : Result(Duration());
  if (!kind || !span || has_span != (*kind != FairnessKind::kInstant) ||
      (has_span && *span <= Duration())) {
    return usage_error("--fairness '" + text +
                       "': expected instant, window:7d or half_life:7d");
  }
  setting.fairness = *kind;
  setting.fairness_span = *span;
  return {};
}

Status read_weights(const std::string& text, Setting& setting) {
  if (text.empty()) return {};
  for (const std::string_view word : split(text, ',')) {
    const std::size_t equals = word.find('=');
    const auto weight =
        parse_int(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    if (equals == 0 || !weight || *weight < 0 || *weight > 1000) {
      return usage_error("--weights '" + std::string(word) + "': expected team=weight,...");
    }
    setting.weights[std::string(word.substr(0, equals))] = *weight;
  }
  return {};
}

Result<Setting> setting_from(const SharingOptions& options) {
  Setting setting;
  auto nodes = cluster_of(options.on);
  if (!nodes) return nodes.error();
  setting.nodes = std::move(*nodes);
  auto rules = enum_list<Rule>("--policy", options.rules);
  if (!rules) return rules.error();
  setting.rules = std::move(*rules);
  const std::pair<const char*, std::pair<const std::string*, Duration*>> spans[] = {
      {"--contract", {&options.contract, &setting.contract}},
      {"--grace", {&options.grace, &setting.grace}},
      {"--checkpoint", {&options.checkpoint, &setting.checkpoint}},
      {"--debug-under", {&options.debug_under, &setting.debug_under}}};
  for (const auto& [name, place] : spans) {
    const auto span = span_of(name, *place.first);
    if (!span) return span.error();
    *place.second = *span;
  }
  const auto days = parse_fixed(options.days, 3);
  if (!days || *days <= 0 || *days > 3'650'000) {
    return usage_error("--days '" + options.days + "': expected a number of days like 30");
  }
  setting.length = Duration::milliseconds(*days * 86'400);
  const auto part = parse_fixed(options.debug_weight, 3);
  if (!part || *part <= 0 || *part > 1000) {
    return usage_error("--debug-weight '" + options.debug_weight +
                       "': expected a part of all weights like 0.05");
  }
  setting.debug_milli = *part;
  setting.debug_gpus = options.debug_gpus;
  std::int64_t gpus = 0;
  for (const NodeSpec& node : setting.nodes) gpus += std::ssize(node.devices);
  if (setting.debug_gpus >= gpus) {
    return usage_error("--debug-gpus " + std::to_string(setting.debug_gpus) +
                       ": the cluster has no more than " + std::to_string(gpus) + " GPUs");
  }
  if (!options.from.empty()) {
    const auto from = history::parse_civil_seconds(
        options.from.size() == 10 ? options.from + " 00:00:00" : options.from);
    if (!from) {
      return usage_error("--from '" + options.from + "': expected a day like 2017-10-09");
    }
    setting.from = Instant() + Duration::seconds(*from);
  }
  if (auto status = read_fairness(options.fairness, setting); !status) return status.error();
  if (auto status = read_weights(options.weights, setting); !status) return status.error();
  return setting;
}

/// The jobs of the span in question.
Result<std::vector<history::WholeJob>> jobs_of(WholeJobSource& source, const std::string& file,
                                               Setting& setting) {
  auto* const all = &source.whole.jobs;
  if (!setting.from) setting.from = all->front().submitted;
  const Instant until = *setting.from + setting.length;
  std::erase_if(*all, [&](const history::WholeJob& job) {
    return job.submitted < *setting.from || job.submitted >= until ||
           job.runtime <= Duration() || job.gpus == 0;
  });
  if (all->empty()) return usage_error("'" + file + "' holds no job of that time");
  for (const auto& weight : setting.weights) {
    const std::string& team = weight.first;
    const bool known = std::any_of(all->begin(), all->end(),
                                   [&team](const auto& job) { return job.team == team; });
    if (!known) {
      std::set<std::string> teams;
      for (const auto& job : *all) teams.insert(job.team);
      return usage_error("--weights: no job of '" + team + "' in that time; teams are " +
                         join({teams.begin(), teams.end()}, ", "));
    }
  }
  return std::move(*all);
}

std::int64_t largest_node(const std::vector<NodeSpec>& nodes) {
  std::int64_t most = 0;
  for (const NodeSpec& node : nodes) most = std::max(most, std::ssize(node.devices));
  return most;
}

/// Which jobs were short tries somebody waited for: one GPU, short, and no other such job of the
/// team shortly before, since many at once are a sweep. `jobs` by submit time.
std::vector<bool> debug_jobs(const std::vector<history::WholeJob>& jobs,
                             const Setting& setting) {
  std::map<std::string, Instant> latest;
  std::vector<bool> debug(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const history::WholeJob& job = jobs[i];
    if (job.gpus != 1 || job.runtime > setting.debug_under) continue;
    const auto before = latest.find(job.team);
    debug[i] = before == latest.end() || job.submitted - before->second >= kDebugApart;
    latest[job.team] = job.submitted;
  }
  return debug;
}

std::string queue_name(const history::WholeJob& job) {
  return job.team.empty() ? "default" : job.team;
}

sim::TrialJob trial_job(const history::WholeJob& past, bool debug, const Setting& setting,
                        Rule rule) {
  sim::TrialJob job;
  job.submitted = past.submitted;
  job.runtime = past.runtime;
  job.kind = debug ? kDebug : kUsual;
  JobSpec& spec = job.spec;
  spec.queue = queue_name(past);
  spec.shape.task.gpus = whole_gpus(past.gpus);
  const std::int64_t most = largest_node(setting.nodes);
  if (past.gpus > most) {
    spec.shape.task.gpus = whole_gpus(most);
    spec.shape.tasks = (past.gpus + most - 1) / most;
  }
  // People ask for more than they use: twice the run time, at least a quarter of an hour.
  spec.time_limit = std::max(past.runtime + past.runtime, Duration::minutes(15));
  spec.checkpoint = setting.checkpoint;
  if (rule == Rule::kPriority) {
    const auto weight = setting.weights.find(past.team);
    spec.priority = weight == setting.weights.end() ? 1 : weight->second;
    if (job.kind == kDebug) spec.priority = 1'000'000;
  }
  if (rule != Rule::kContracts) return job;
  spec.min_runtime = setting.contract;
  if (job.kind == kDebug) {
    spec.queue = kDebugQueue;
    spec.min_runtime = std::min(setting.contract, Duration::minutes(15));
  }
  return job;
}

sim::TrialPlan plan_of(const std::vector<history::WholeJob>& jobs, const Setting& setting,
                       Rule rule) {
  sim::TrialPlan plan;
  plan.nodes = setting.nodes;
  plan.until = *setting.from + setting.length;
  plan.spans.assign(kSpans.begin(), kSpans.end());
  plan.policy.quarantine_after.reset();
  plan.policy.grace = setting.grace;
  switch (rule) {
    case Rule::kContracts:
      plan.policy.fairness = setting.fairness;
      plan.policy.fairness_span = setting.fairness_span;
      plan.policy.min_runtime_max = std::max(setting.contract, Duration::minutes(15));
      break;
    case Rule::kFifo:
      plan.policy.order = Order::kFifo;
      plan.policy.backfill = Backfill::kOff;
      break;
    case Rule::kEasy: plan.policy.order = Order::kFifo; break;
    case Rule::kPriority: plan.policy.order = Order::kPriority; break;
  }
  const bool contracts = rule == Rule::kContracts;
  if (contracts) {
    std::int64_t gpus = 0;
    for (const NodeSpec& node : plan.nodes) gpus += std::ssize(node.devices);
    plan.queues.push_back({.name = kTeams, .weight = 1000});
    if (setting.debug_gpus > 0) {
      plan.queues.back().limit = whole_gpus(gpus - setting.debug_gpus);
    }
    plan.queues.push_back({.name = kDebugQueue, .weight = setting.debug_milli});
  }
  std::set<std::string> teams;
  for (const history::WholeJob& job : jobs) teams.insert(queue_name(job));
  for (const std::string& team : teams) {
    const auto found = setting.weights.find(team);
    const std::int64_t weight = found == setting.weights.end() ? 1 : found->second;
    plan.queues.push_back({.name = team, .parent = contracts ? kTeams : "", .weight = weight});
  }
  return plan;
}

struct SharingRun {
  Rule rule = Rule::kContracts;
  sim::TrialResult result;
};

double part(Int128 of, Int128 whole) {
  return whole == 0 ? 1 : static_cast<double>(of) / static_cast<double>(whole);
}

double gpu_hours(Int128 time) {
  return static_cast<double>(time) / (1000.0 * 3600.0 * 1e9);
}

/// What of its due the team got that got least of it; debug work is nobody's. None: no team was
/// owed anything.
std::optional<double> worst_of(const sim::TrialResult& result,
                               Int128 (*delivered)(const sim::TrialQueue&)) {
  std::optional<double> worst;
  for (const sim::TrialQueue& queue : result.queues) {
    if (queue.owed == 0 || queue.name == kDebugQueue) continue;
    const double got = part(delivered(queue), queue.owed);
    if (!worst || got < *worst) worst = got;
  }
  return worst;
}

Int128 by_moment(const sim::TrialQueue& queue) { return queue.delivered; }
Int128 by_week(const sim::TrialQueue& queue) { return queue.delivered_over[kWeek]; }

const sim::Spread& wait_of(const sim::TrialResult& result, std::int32_t kind) {
  static const sim::Spread kNone;
  return kind < std::ssize(result.wait_of_kind)
             ? result.wait_of_kind[static_cast<std::size_t>(kind)]
             : kNone;
}

std::string percent(double value) { return number_text(value * 100, 1) + "%"; }

std::string runs_table(const Context& context, const OutputOptions& output,
                       const std::vector<SharingRun>& runs) {
  report::Table table({{"POLICY"}, {"DELIVERED", Align::kRight}, {"WORST TEAM", Align::kRight},
                       {"BY WEEK", Align::kRight}, {"WORST", Align::kRight},
                       {"DEBUG P90", Align::kRight}, {"WAIT P50", Align::kRight},
                       {"P90", Align::kRight}, {"MEAN", Align::kRight},
                       {"OCCUPANCY", Align::kRight}, {"PREEMPTIONS", Align::kRight},
                       {"LOST GPU-H", Align::kRight}});
  for (const SharingRun& run : runs) {
    const sim::TrialResult& result = run.result;
    const auto ratio = [&](std::optional<double> of) {
      return result.owed == 0 || !of ? "-" : percent(*of);
    };
    const auto time = [](Duration d) {
      return report::short_duration(static_cast<double>(d.ns()) / 1e9);
    };
    const sim::Spread& usual = wait_of(result, kUsual);
    table.add_row({{std::string(name_of(run.rule))},
                   {ratio(part(result.delivered, result.owed))},
                   {ratio(worst_of(result, by_moment))},
                   {ratio(part(result.delivered_over[kWeek], result.owed))},
                   {ratio(worst_of(result, by_week))},
                   {kDebug < std::ssize(result.wait_of_kind) ? time(wait_of(result, kDebug).p90)
                                                             : "-"},
                   {time(usual.p50)},
                   {time(usual.p90)},
                   {time(usual.mean)},
                   {percent(part(result.held, result.capacity))},
                   {grouped(result.evictions)},
                   {number_text(gpu_hours(result.lost), 0)}});
  }
  return table.text(table_style(context, output));
}

std::string teams_table(const Context& context, const OutputOptions& output,
                        const std::vector<SharingRun>& runs) {
  std::vector<report::Column> columns{{"TEAM"}, {"OWED GPU-H", Align::kRight}};
  for (const SharingRun& run : runs) {
    columns.push_back({std::string(name_of(run.rule)), Align::kRight});
  }
  report::Table table(columns);
  for (const sim::TrialQueue& queue : runs.front().result.queues) {
    if (queue.owed == 0) continue;
    std::vector<Cell> row{{queue.name}, {number_text(gpu_hours(queue.owed), 0)}};
    for (const SharingRun& run : runs) {
      std::string text = "-";
      for (const sim::TrialQueue& other : run.result.queues) {
        if (other.name == queue.name && other.owed > 0) {
          text = percent(part(other.delivered, other.owed));
        }
      }
      row.push_back({text});
    }
    table.add_row(std::move(row));
  }
  return table.text(table_style(context, output));
}

double rounded(double value, double places) { return std::round(value * places) / places; }

/// Null where nothing was owed.
api::Json ratio_json(Int128 delivered, Int128 owed) {
  return owed == 0 ? api::Json() : api::Json(rounded(part(delivered, owed), 1e4));
}

/// Jobs that the engine would not take under a policy.
std::string refused_text(const std::vector<SharingRun>& runs) {
  std::string text;
  for (const SharingRun& run : runs) {
    if (run.result.refused == 0) continue;
    text += "Refused by " + std::string(name_of(run.rule)) + ": " + grouped(run.result.refused) +
            " of " + grouped(run.result.jobs) + " jobs; they are in no figure.\n";
  }
  return text;
}

api::Json run_json(const SharingRun& run) {
  const sim::TrialResult& result = run.result;
  api::Json json = api::Json::object();
  json["policy"] = std::string(name_of(run.rule));
  json["jobs"] = result.jobs;
  json["started"] = result.started;
  json["finished"] = result.finished;
  json["refused"] = result.refused;
  json["delivered_ratio"] = ratio_json(result.delivered, result.owed);
  json["delivered_by_day_ratio"] = ratio_json(result.delivered_over[0], result.owed);
  json["delivered_by_week_ratio"] = ratio_json(result.delivered_over[kWeek], result.owed);
  json["occupancy"] = rounded(part(result.held, result.capacity), 1e4);
  json["preemptions"] = result.evictions;
  json["lost_gpu_hours"] = rounded(gpu_hours(result.lost), 10);
  json["wait_seconds"] = spread_json(wait_of(result, kUsual));
  json["debug_wait_seconds"] = spread_json(wait_of(result, kDebug));
  json["queues"] = api::Json::array();
  for (const sim::TrialQueue& queue : result.queues) {
    api::Json one = api::Json::object();
    one["queue"] = queue.name;
    one["jobs"] = queue.jobs;
    one["started"] = queue.started;
    one["owed_gpu_hours"] = rounded(gpu_hours(queue.owed), 10);
    one["delivered_gpu_hours"] = rounded(gpu_hours(queue.delivered), 10);
    one["delivered_ratio"] = ratio_json(queue.delivered, queue.owed);
    one["delivered_by_day_ratio"] = ratio_json(queue.delivered_over[0], queue.owed);
    one["delivered_by_week_ratio"] = ratio_json(queue.delivered_over[kWeek], queue.owed);
    one["gpu_hours"] = rounded(gpu_hours(queue.held), 10);
    one["wait_seconds"] = spread_json(queue.wait);
    json["queues"].push_back(std::move(one));
  }
  return json;
}

int study_sharing(Context& context, const SharingOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  auto setting = setting_from(options);
  if (!setting) return report_error(context, setting.error());
  auto source = read_whole_jobs(context, options.history);
  if (!source) return report_error(context, source.error());
  const std::string file = join(options.history.files, ", ");
  const auto past = jobs_of(*source, file, *setting);
  if (!past) return report_error(context, past.error());
  const std::vector<bool> debug = debug_jobs(*past, *setting);
  std::vector<SharingRun> runs;
  for (const Rule rule : setting->rules) {
    std::vector<sim::TrialJob> jobs;
    jobs.reserve(past->size());
    for (std::size_t i = 0; i < past->size(); ++i) {
      jobs.push_back(trial_job((*past)[i], debug[i], *setting, rule));
    }
    Progress progress(context, std::string(name_of(rule)));
    auto result = sim::run_trial(plan_of(*past, *setting, rule), jobs, [&](double share) {
      progress.show(static_cast<std::int64_t>(share * 1000), 1000);
    });
    if (!result) return report_error(context, result.error());
    runs.push_back({rule, std::move(*result)});
  }
  if (*format == Format::kTable || *format == Format::kWide) {
    context.out << runs_table(context, options.output, runs);
    if (*format == Format::kWide) {
      context.out << "\nDelivered of what each was owed:\n"
                  << teams_table(context, options.output, runs);
    }
    context.out << "DELIVERED: of the GPU time that teams wanted and their weights entitled them "
                   "to,\nmoment by moment; BY WEEK: week by week, where more at one time makes up "
                   "for less at another.\nDebug jobs: one GPU, at most "
                << options.debug_under
                << ", none of the team's in the 5 minutes before. The other waits are of all other "
                   "jobs that started.\n"
                << refused_text(runs) << left_out_text(*source);
    return kExitOk;
  }
  api::Json document = api::Json::object();
  document["file"] = file;
  document["on"] = options.on;
  add_left_out(document, *source);
  document["runs"] = api::Json::array();
  for (const SharingRun& run : runs) document["runs"].push_back(run_json(run));
  context.out << (*format == Format::kJson ? json_of(document) : yaml_of(document));
  return kExitOk;
}

}  // namespace

Runner declare_study_sharing(CLI::App& app, Context& context) {
  auto options = std::make_shared<SharingOptions>();
  const auto add = [&](const char* name, std::string& field, const char* help, const char* type,
                       const char* group) {
    return app.add_option(name, field, help)->type_name(type)->group(group);
  };
  add("--on", options->on, "32x8 (nodes of 8; default), flat:512 or a cluster file", "CLUSTER",
      "What");
  add("--from", options->from, "first day (default: that of the first job)", "DAY", "What");
  add("--days", options->days, "length (30)", "N", "What");
  add("--weights", options->weights, "shares of the teams; those not named: 1", "TEAM=N,..",
      "What");
  add("--policy", options->rules, "contracts, priority, easy, fifo (all)", "POLICY,..", "What");
  add("--contract", options->contract, "minimum run time of every job (2h)", "TIME", "Contracts");
  add("--fairness", options->fairness, "instant, window:7d (default) or half_life:7d", "RULE",
      "Contracts");
  add("--grace", options->grace, "from the warning of a preempted job to its end (30s)", "TIME",
      "Contracts");
  add("--checkpoint", options->checkpoint, "jobs save their work so often (30m)", "TIME",
      "Contracts");
  add("--debug-under", options->debug_under,
      "jobs of one GPU that ran at most so long are debug jobs (15m)", "TIME", "Contracts");
  add("--debug-weight", options->debug_weight, "weight of debug, as a part of all others' (0.05)",
      "PART", "Contracts");
  app.add_option("--debug-gpus", options->debug_gpus,
                 "GPUs kept free for debug jobs: teams may not hold them (0)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
      ->group("Contracts");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|wide|json|yaml");
  return [options, &context](const Parsed&) { return study_sharing(context, *options); };
}

}  // namespace rota::cli
