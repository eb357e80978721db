#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <thread>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/read_file.h"
#include "cli/usage.h"
#include "history/openb_csv.h"
#include "sim/packing.h"

namespace rota::cli {
namespace {

struct PackingOptions {
  std::string nodes;
  std::string tasks;
  std::string loads = "1.0,1.3";
  std::string seeds = "42-51";
  std::string placements = "pack,spread,least_fragmentation";
  std::int64_t departures = 0;
  std::int64_t moves = -1;  // absent: 8 with departures, else 0
  OutputOptions output;
};

/// One run and what came of it.
struct PackingJob {
  sim::PackingRun run;
  Result<std::vector<sim::PackingResult>> results = Error{};
};

Result<std::vector<double>> loads_from(const std::string& text) {
  std::vector<double> loads;
  for (const std::string_view word : split(text, ',')) {
    const auto milli = parse_fixed(word, 3);
    if (!milli || *milli <= 0 || *milli > 100'000) {
      return usage_error("--load '" + text + "': expected shares of the capacity, each above "
                         "0 and at most 100, like 1.0,1.3");
    }
    loads.push_back(static_cast<double>(*milli) / 1000);
  }
  std::sort(loads.begin(), loads.end());
  loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  return loads;
}

/// `42-51`, `1,2,7`, or both.
Result<std::vector<std::uint64_t>> seeds_from(const std::string& text) {
  constexpr std::int64_t kMost = 10'000;
  std::set<std::uint64_t> seeds;
  for (const std::string_view word : split(text, ',')) {
    const std::size_t dash = word.find('-');
    const auto first = parse_int(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(word.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last - *first >= kMost) {
      return usage_error("--seeds '" + text + "': expected numbers from 0 up and ranges of at "
                         "most 10,000 of them, like 42-51");
    }
    for (std::int64_t seed = *first; seed <= *last; ++seed) {
      seeds.insert(static_cast<std::uint64_t>(seed));
    }
  }
  return std::vector(seeds.begin(), seeds.end());
}

template <class T, class Read>
Result<std::vector<T>> read_file(const std::string& option, const std::string& file,
                                 Read&& read) {
  auto input = open_to_read(file);
  if (!input) return usage_error(option + ": " + input.error().message);
  auto list = read(*input, file);
  if (list && list->empty()) return usage_error(option + ": '" + file + "' has no row");
  return list;
}

Result<std::vector<PackingJob>> jobs_from(const PackingOptions& options) {
  const auto placements = enum_list<Placement>("--placement", options.placements);
  if (!placements) return placements.error();
  const auto loads = loads_from(options.loads);
  if (!loads) return loads.error();
  const auto seeds = seeds_from(options.seeds);
  if (!seeds) return seeds.error();
  const bool turnover = options.departures > 0;
  std::vector<PackingJob> jobs;
  for (const Placement placement : *placements) {
    for (const std::uint64_t seed : *seeds) {
      PackingJob job;
      job.run = {placement, seed, *loads, options.departures,
                 options.moves >= 0 ? options.moves : (turnover ? 8 : 0)};
      if (!turnover) {
        jobs.push_back(std::move(job));
        continue;
      }
      for (const double load : *loads) {
        job.run.loads = {load};
        jobs.push_back(job);
      }
    }
  }
  return jobs;
}

/// Runs all, several at once; the results do not depend on how many.
void run_all(Context& context, const std::vector<NodeSpec>& nodes,
             const std::vector<JobShape>& tasks, std::vector<PackingJob>& jobs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::atomic<std::int64_t>> done(jobs.size());  // in thousandths
  std::atomic<std::size_t> finished{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      jobs[i].results = sim::run_packing(nodes, tasks, jobs[i].run, [&, i](double share) {
        done[i] = static_cast<std::int64_t>(share * 1000);
      });
      done[i] = 1000;
      ++finished;
    }
  };
  const std::size_t count =
      std::min<std::size_t>(jobs.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
  Progress progress(context, "packing");
  while (finished < jobs.size()) {
    std::int64_t sum = 0;
    for (const auto& one : done) sum += one;
    progress.show(sum, std::ssize(jobs) * 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (std::thread& worker : workers) worker.join();
}

struct Row {
  Placement placement = Placement::kPack;
  std::optional<std::uint64_t> seed;  // absent: the mean over seeds
  sim::PackingResult result;
};

std::vector<Row> rows_of(const std::vector<PackingJob>& jobs) {
  std::vector<Row> rows;
  for (const PackingJob& job : jobs) {
    for (const sim::PackingResult& result : *job.results) {
      rows.push_back({job.run.placement, job.run.seed, result});
    }
  }
  return rows;
}

/// The mean over seeds for each placement and load, in the order of the rows.
std::vector<Row> means_of(const std::vector<Row>& rows) {
  std::vector<Row> means;
  std::vector<double> counts;
  for (const Row& row : rows) {
    std::size_t at = 0;
    while (at < means.size() && (means[at].placement != row.placement ||
                                 means[at].result.load != row.result.load)) {
      ++at;
    }
    if (at == means.size()) {
      means.push_back({row.placement, std::nullopt, {}});
      means[at].result.load = row.result.load;
      means[at].result.infeasible = row.result.infeasible;
      counts.push_back(0);
    }
    sim::PackingResult& mean = means[at].result;
    const double n = ++counts[at];
    const auto fold = [n](double& into, double value) { into += (value - into) / n; };
    fold(mean.demand_percent, row.result.demand_percent);
    fold(mean.allocated_percent, row.result.allocated_percent);
    fold(mean.fragment_percent, row.result.fragment_percent);
    fold(mean.lost_demand_percent, row.result.lost_demand_percent);
    fold(mean.moves_per_1000, row.result.moves_per_1000);
    for (const auto& [size, refused] : row.result.refused_percent) {
      fold(mean.refused_percent[size], refused);
    }
  }
  return means;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

api::Json row_json(const Row& row) {
  api::Json json = api::Json::object();
  json["placement"] = std::string(name_of(row.placement));
  if (row.seed) json["seed"] = *row.seed;
  json["load"] = row.result.load;
  json["demand_percent"] = rounded(row.result.demand_percent);
  json["allocated_percent"] = rounded(row.result.allocated_percent);
  json["fragment_percent"] = rounded(row.result.fragment_percent);
  api::Json refused = api::Json::object();
  for (const auto& [size, percent] : row.result.refused_percent) refused[size] = rounded(percent);
  json["refused_percent"] = std::move(refused);
  json["lost_demand_percent"] = rounded(row.result.lost_demand_percent);
  json["moves_per_1000"] = rounded(row.result.moves_per_1000);
  if (row.seed) json["arrived"] = row.result.arrived;
  json["infeasible"] = row.result.infeasible;
  return json;
}

std::string refused_text(const sim::PackingResult& result, const std::string& size) {
  const auto found = result.refused_percent.find(size);
  return found == result.refused_percent.end() ? "-" : number_text(found->second, 2) + "%";
}

std::string rows_table(const Context& context, const OutputOptions& output,
                       const std::vector<Row>& rows) {
  report::Table table({{"PLACEMENT"}, {"LOAD", Align::kRight}, {"SEED", Align::kRight},
                       {"DEMAND", Align::kRight}, {"ALLOCATED", Align::kRight},
                       {"FRAGMENTS", Align::kRight}, {"LOST", Align::kRight},
                       {"REFUSED PART", Align::kRight}, {"1", Align::kRight},
                       {"2", Align::kRight}, {"4", Align::kRight}, {"8", Align::kRight},
                       {"MOVES/1000", Align::kRight}});
  for (const Row& row : rows) {
    std::vector<Cell> cells;
    cells.push_back({std::string(name_of(row.placement))});
    cells.push_back({number_text(row.result.load, 3)});
    cells.push_back({row.seed ? std::to_string(*row.seed) : "mean"});
    cells.push_back({number_text(row.result.demand_percent, 2) + "%"});
    cells.push_back({number_text(row.result.allocated_percent, 2) + "%"});
    cells.push_back({number_text(row.result.fragment_percent, 2) + "%"});
    cells.push_back({number_text(row.result.lost_demand_percent, 2) + "%"});
    for (const char* size : {"part", "1", "2", "4", "8"}) {
      cells.push_back({refused_text(row.result, size)});
    }
    cells.push_back({number_text(row.result.moves_per_1000, 2)});
    table.add_row(std::move(cells));
  }
  return table.text(table_style(context, output));
}

std::string notes(const PackingOptions& options, const std::vector<Row>& means) {
  std::string text = options.departures > 0
                         ? "Tasks arrive and leave; what fits nowhere is lost. Shares of GPU time."
                         : "Tasks arrive until they ask for the load; none leaves. Shares of GPUs.";
  text += " REFUSED: of the tasks of that size.\n";
  const std::int64_t infeasible = means.front().result.infeasible;
  if (infeasible > 0) {
    text += grouped(infeasible) + (infeasible == 1 ? " task fits" : " tasks fit") +
            " no empty node and never arrived.\n";
  }
  return text;
}

int study_packing(Context& context, const PackingOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  auto jobs = jobs_from(options);
  if (!jobs) return report_error(context, jobs.error());
  const auto nodes =
      read_file<NodeSpec>("--nodes", options.nodes, history::read_openb_nodes);
  if (!nodes) return report_error(context, nodes.error());
  const auto listed =
      read_file<history::ListedTask>("--tasks", options.tasks, history::read_openb_tasks);
  if (!listed) return report_error(context, listed.error());
  std::vector<JobShape> tasks;
  for (const history::ListedTask& task : *listed) tasks.push_back(task.shape);
  run_all(context, *nodes, tasks, *jobs);
  for (const PackingJob& job : *jobs) {
    if (!job.results) return report_error(context, job.results.error());
  }
  const std::vector<Row> rows = rows_of(*jobs);
  const std::vector<Row> means = means_of(rows);
  if (*format == Format::kTable || *format == Format::kWide) {
    std::vector<Row> shown = *format == Format::kWide ? rows : std::vector<Row>();
    shown.insert(shown.end(), means.begin(), means.end());
    context.out << rows_table(context, options.output, shown) << notes(options, means);
    return kExitOk;
  }
  api::Json document = api::Json::object();
  document["runs"] = api::Json::array();
  for (const Row& row : rows) document["runs"].push_back(row_json(row));
  document["mean"] = api::Json::array();
  for (const Row& row : means) document["mean"].push_back(row_json(row));
  context.out << (*format == Format::kJson ? json_of(document) : yaml_of(document));
  return kExitOk;
}

Runner declare_packing(CLI::App& app, Context& context) {
  auto options = std::make_shared<PackingOptions>();
  const auto add = [&](const char* name, auto& field, const char* help, const char* type) {
    return app.add_option(name, field, help)->type_name(type)->group("What");
  };
  add("--nodes", options->nodes, "CSV list of nodes", "FILE")->required();
  add("--tasks", options->tasks, "CSV list of tasks", "FILE")->required();
  add("--load", options->loads, "GPUs asked for, as shares of the capacity (1.0,1.3)",
      "SHARE,..");
  add("--seeds", options->seeds, "one run for each (42-51)", "A-B,..");
  add("--placement", options->placements, "pack, spread, least_fragmentation (all)", "POLICY,..");
  add("--departures", options->departures, "let so many tasks arrive, and leave again",
      "ARRIVALS")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}).description(""));
  add("--moves", options->moves,
      "small tasks that may move to make room for a large one (8 with departures, else 0)", "N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{64}).description(""));
  add_output_options(app, options->output, "table|wide|json|yaml");
  return [options, &context](const Parsed&) { return study_packing(context, *options); };
}

}  // namespace

Runner declare_study(CLI::App& app, Context& context) {
  CLI::App* packing = app.add_subcommand("packing", "how much of a cluster a policy can use");
  CLI::App* sharing =
      app.add_subcommand("sharing", "what teams get of a contended cluster, policy by policy");
  packing->set_help_flag();
  sharing->set_help_flag();
  Runner run_packing = declare_packing(*packing, context);
  Runner run_sharing = declare_study_sharing(*sharing, context);
  return [run_packing, run_sharing, sharing](const Parsed& parsed) {
    return sharing->parsed() ? run_sharing(parsed) : run_packing(parsed);
  };
}

}  // namespace rota::cli
