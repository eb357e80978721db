#include <chrono>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "cli/whole_job_source.h"
#include "sim/replay.h"

namespace rota::cli {
namespace {

struct ReplayOptions {
  HistoryOptions history;
  std::string on = "flat:512";
  std::string orders = "fifo";
  std::string backfills = "easy";
  std::string time_unit;
  OutputOptions output;
};

struct ReplayRun {
  sim::ReplayPolicy policy;
  sim::ReplayResult result;
  double seconds = 0;
};

Result<WholeJobSource> source_of(Context& context, const ReplayOptions& options) {
  HistoryOptions history = options.history;
  if (options.time_unit == "ms") history.time_unit = history::TimeUnit::kMilliseconds;
  else if (options.time_unit == "s") history.time_unit = history::TimeUnit::kSeconds;
  else if (!options.time_unit.empty()) {
    return usage_error("--time-unit '" + options.time_unit + "': expected s or ms");
  }
  return read_whole_jobs(context, history);
}

std::vector<sim::ReplayJob> replay_jobs(const history::WholeJobs& whole) {
  std::vector<sim::ReplayJob> jobs;
  jobs.reserve(whole.jobs.size());
  for (const history::WholeJob& job : whole.jobs) {
    jobs.push_back({job.submitted, job.runtime, job.gpus});
  }
  return jobs;
}

std::string policy_name(const sim::ReplayPolicy& policy) {
  return std::string(name_of(policy.order)) + ", backfill " +
         std::string(name_of(policy.backfill));
}

Result<ReplayRun> run_one(Context& context, const std::vector<NodeSpec>& nodes,
                          const std::vector<sim::ReplayJob>& jobs, sim::ReplayPolicy policy) {
  Progress progress(context, policy_name(policy));
  const auto whole = static_cast<std::int64_t>(jobs.size());
  const auto begin = std::chrono::steady_clock::now();
  auto result = sim::replay(nodes, jobs, policy,
                            [&](std::int64_t finished) { progress.show(finished, whole); });
  if (!result) return result.error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return ReplayRun{policy, *result, took.count()};
}

double occupancy_of(const sim::ReplayResult& result) {
  if (result.gpu_time_capacity == 0) return 0;
  return static_cast<double>(result.gpu_time_held) / static_cast<double>(result.gpu_time_capacity);
}

api::Json run_json(const ReplayRun& run) {
  api::Json json = api::Json::object();
  json["order"] = std::string(name_of(run.policy.order));
  json["backfill"] = std::string(name_of(run.policy.backfill));
  json["clairvoyant"] = run.policy.order == Order::kShortest;
  json["jobs"] = run.result.finished;
  json["infeasible"] = run.result.infeasible;
  json["rounded_up"] = run.result.rounded_up;
  json["wait_seconds"] = spread_json(run.result.wait);
  json["completion_seconds"] = spread_json(run.result.completion);
  json["occupancy"] = std::round(occupancy_of(run.result) * 1e6) / 1e6;
  json["cycles"] = run.result.cycles;
  json["replay_seconds"] = std::round(run.seconds * 1000) / 1000;
  return json;
}

std::string runs_table(const Context& context, const OutputOptions& output,
                       const std::vector<ReplayRun>& runs) {
  report::Table table({{"ORDER"}, {"BACKFILL"}, {"JOBS", Align::kRight},
                       {"WAIT MEAN", Align::kRight}, {"P50", Align::kRight},
                       {"P90", Align::kRight}, {"P99", Align::kRight}, {"MAX", Align::kRight},
                       {"COMPLETION MEAN", Align::kRight}, {"P50", Align::kRight},
                       {"P90", Align::kRight}, {"P99", Align::kRight}, {"MAX", Align::kRight},
                       {"OCCUPANCY", Align::kRight}, {"TOOK", Align::kRight}});
  for (const ReplayRun& run : runs) {
    std::vector<Cell> row;
    const bool clairvoyant = run.policy.order == Order::kShortest;
    row.push_back({std::string(name_of(run.policy.order)) + (clairvoyant ? "*" : "")});
    row.push_back({std::string(name_of(run.policy.backfill))});
    row.push_back({grouped(run.result.finished)});
    for (const sim::Spread* spread : {&run.result.wait, &run.result.completion}) {
      for (const Duration d : {spread->mean, spread->p50, spread->p90, spread->p99, spread->max}) {
        row.push_back({grouped(rounded_seconds(d))});
      }
    }
    row.push_back({number_text(occupancy_of(run.result) * 100, 1) + "%"});
    row.push_back({number_text(run.seconds, 1) + "s"});
    table.add_row(std::move(row));
  }
  return table.text(table_style(context, output));
}

std::string notes(const std::vector<ReplayRun>& runs) {
  std::string text = "Waits and completion times are in seconds.\n";
  const auto clairvoyant = [](const ReplayRun& run) {
    return run.policy.order == Order::kShortest;
  };
  if (std::any_of(runs.begin(), runs.end(), clairvoyant)) {
    text += "* a clairvoyant bound: it orders by true run times, which nobody knows in advance.\n";
  }
  const sim::ReplayResult& first = runs.front().result;
  if (first.infeasible > 0) {
    text += grouped(first.infeasible) + " jobs are larger than the cluster and were left out.\n";
  }
  if (first.rounded_up > 0) {
    text += grouped(first.rounded_up) + " jobs were rounded up to whole nodes.\n";
  }
  return text;
}

int replay_file(Context& context, const ReplayOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  const auto orders = enum_list<Order>("--order", options.orders);
  if (!orders) return report_error(context, orders.error());
  const auto backfills = enum_list<Backfill>("--backfill", options.backfills);
  if (!backfills) return report_error(context, backfills.error());
  const auto nodes = cluster_of(options.on);
  if (!nodes) return report_error(context, nodes.error());
  const auto source = source_of(context, options);
  if (!source) return report_error(context, source.error());
  const std::vector<sim::ReplayJob> jobs = replay_jobs(source->whole);
  std::vector<ReplayRun> runs;
  for (const Order order : *orders) {
    for (const Backfill backfill : *backfills) {
      auto run = run_one(context, *nodes, jobs, {order, backfill});
      if (!run) return report_error(context, run.error());
      runs.push_back(*run);
    }
  }
  if (*format == Format::kTable) {
    context.out << runs_table(context, options.output, runs) << notes(runs)
                << left_out_text(*source);
    return kExitOk;
  }
  api::Json document = api::Json::object();
  document["file"] = join(options.history.files, ", ");
  document["on"] = options.on;
  add_left_out(document, *source);
  api::Json list = api::Json::array();
  for (const ReplayRun& run : runs) list.push_back(run_json(run));
  document["runs"] = std::move(list);
  context.out << (*format == Format::kJson ? json_of(document) : yaml_of(document));
  return kExitOk;
}

}  // namespace

Runner declare_replay(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReplayOptions>();
  app.add_option("--on", options->on,
                 "flat:512 (one pool; default), 64x8 (nodes of 8), or a cluster file")
      ->type_name("CLUSTER")
      ->group("What");
  app.add_option("--order", options->orders,
                 "fifo (default), priority, fair, shortest (knows true run times: a bound)")
      ->type_name("ORDER,..")
      ->group("What");
  app.add_option("--backfill", options->backfills, "off, easy (default), conservative, greedy")
      ->type_name("KIND,..")
      ->group("What");
  app.add_option("--time-unit", options->time_unit,
                 "of plain numbers of time: s or ms; else the format's own")
      ->type_name("s|ms")
      ->group("What");
  add_history_options(app, options->history);
  add_output_options(app, options->output, "table|json|yaml");
  return [options, &context](const Parsed&) { return replay_file(context, *options); };
}

}  // namespace rota::cli
