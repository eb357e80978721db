#include "cli/report/demand.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "cli/report/cluster.h"
#include "cli/report/table_file.h"
#include "cli/usage.h"
#include "history/fields.h"
#include "history/words.h"
#include "report/words.h"

namespace rota::cli::reports {
namespace {

bool is_demand_table(const HistoryOptions& options) {
  if (options.files.size() != 1 || !options.format.empty() || !options.map.empty()) return false;
  const std::vector<std::string> header = header_names(options.files[0]);
  return history::field_named(header, "demand_gpus") >= 0;
}

Result<Instant> hour_of(const TableFile& table, const TableFile::Row& row, std::size_t column) {
  const auto at = history::parse_instant(row.fields[column], history::TimeUnit::kHours);
  if (at) return *at;
  return table.error_at(row, "hour '" + row.fields[column] +
                                 "': expected a number, or a time like 2026-03-02T10:00:00Z");
}

Status read_hours(const TableFile& table, Demand& demand, std::optional<Period>& told) {
  const auto hour = table.needed({"hour", "time"});
  if (!hour) return hour.error();
  const auto team = table.needed({"queue", "team"});
  if (!team) return team.error();
  const auto wanted = table.needed({"demand_gpus"});
  if (!wanted) return wanted.error();
  const auto used = table.needed({"used_gpus"});
  if (!used) return used.error();
  std::map<std::string, std::uint32_t> numbers;
  std::map<std::pair<std::uint32_t, Instant>, int> lines;
  for (const TableFile::Row& row : table.rows()) {
    const auto begin = hour_of(table, row, *hour);
    if (!begin) return begin.error();
    const auto want = parse_gpus(row.fields[*wanted]);
    const auto use = parse_gpus(row.fields[*used]);
    if (!want || !use || *want < MilliGpu() || *use < MilliGpu()) {
      return table.error_at(row, "expected numbers of GPUs in demand_gpus and used_gpus");
    }
    if (*use > *want) return table.error_at(row, "more was used than was wanted");
    const auto [found, is_new] = numbers.emplace(row.fields[*team], demand.teams.size());
    if (is_new) demand.teams.push_back(row.fields[*team]);
    const auto [line, is_first] = lines.emplace(std::pair(found->second, *begin), row.line);
    if (!is_first) {
      return table.error_at(row, "this hour of '" + found->first + "' is in line " +
                                     std::to_string(line->second) + " already");
    }
    const Instant end = *begin + Duration::hours(1);
    demand.owed.wanted.push_back({*begin, end, *want, found->second});
    demand.owed.held.push_back({*begin, end, *use, found->second});
    told = told ? Period{std::min(told->begin, *begin), std::max(told->end, end)}
                : Period{*begin, end};
  }
  return {};
}

Result<Demand> demand_of_table(const ReportOptions& options) {
  Demand demand;
  const auto table = TableFile::read(options.history.files[0]);
  if (!table) return table.error();
  std::optional<Period> told;
  if (auto status = read_hours(*table, demand, told); !status) return status.error();
  const auto period = period_of(options, told);
  if (!period) return period.error();
  demand.owed.begin = period->begin;
  demand.owed.end = period->end;
  if (!options.allocation.empty()) return demand;
  const auto cluster = report_cluster_of(options.on);
  if (!cluster) return cluster.error();
  if (cluster->empty()) {
    return usage_error("say what teams own: --allocation team=GPUS,.., or --shares team=N,.. of "
                       "the cluster --on");
  }
  ReportInput input;
  add_cluster(*cluster, input);
  demand.capacity = input.capacity();
  return demand;
}

Result<Demand> demand_of_history(Context& context, const ReportOptions& options, By by) {
  auto input = read_report_input(context, options, by);
  if (!input) return input.error();
  Demand demand;
  demand.owed.begin = input->usage.begin;
  demand.owed.end = input->usage.end;
  for (const audit::UsageHold& hold : input->usage.holds) {
    const audit::TeamStretch stretch{hold.begin, hold.end, hold.gpus, hold.group};
    demand.owed.held.push_back(stretch);
    demand.owed.wanted.push_back(stretch);
  }
  for (std::size_t i = 0; i < input->usage.waits.size(); ++i) {
    const audit::UsageWait& wait = input->usage.waits[i];
    demand.owed.wanted.push_back({wait.begin, wait.end, wait.gpus, input->wait_groups[i]});
  }
  demand.teams = std::move(input->groups);
  demand.notes = std::move(input->notes);
  demand.import_notes = std::move(input->import_notes);
  if (options.allocation.empty()) demand.capacity = input->capacity();
  return demand;
}

Status check_named(const std::string& option, const Demand& demand,
                   const std::map<std::string, std::int64_t>& named) {
  const auto stranger = std::find_if(named.begin(), named.end(), [&](const auto& amount) {
    return std::find(demand.teams.begin(), demand.teams.end(), amount.first) ==
           demand.teams.end();
  });
  if (stranger == named.end()) return {};
  const std::string_view near = nearest_word(stranger->first, demand.teams);
  return usage_error(option + ": nothing of '" + stranger->first + "' is in the input" +
                     (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
}

/// Keeps the teams that are named alone.
void keep_named(const std::map<std::string, std::int64_t>& named, Demand& demand) {
  std::vector<std::optional<std::uint32_t>> places(demand.teams.size());
  std::vector<std::string> kept;
  for (std::size_t team = 0; team < places.size(); ++team) {
    if (!named.contains(demand.teams[team])) continue;
    places[team] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(demand.teams[team]);
  }
  if (kept.size() < demand.teams.size()) {
    demand.notes.push_back(
        report::counted(std::ssize(demand.teams) - std::ssize(kept), "other team") +
        " without an allocation: not shown");
  }
  const auto move = [&](std::vector<audit::TeamStretch>& stretches) {
    std::erase_if(stretches, [&](const audit::TeamStretch& s) { return !places[s.team]; });
    for (audit::TeamStretch& stretch : stretches) stretch.team = *places[stretch.team];
  };
  move(demand.owed.wanted);
  move(demand.owed.held);
  demand.teams = std::move(kept);
}

Status give_parts(const ReportOptions& options, Demand& demand) {
  if (!options.allocation.empty()) {
    const auto gpus = named_amounts("--allocation", options.allocation, 3);
    if (!gpus) return gpus.error();
    if (auto status = check_named("--allocation", demand, *gpus); !status) return status;
    keep_named(*gpus, demand);
    for (const std::string& team : demand.teams) demand.owed.parts.push_back(gpus->at(team));
    return {};
  }
  std::map<std::string, std::int64_t> weights;
  if (!options.shares.empty()) {
    const auto named = named_amounts("--shares", options.shares, 3);
    if (!named) return named.error();
    weights = *named;
  } else {
    demand.notes.emplace_back("no --shares: every team counts as owner of an equal part");
  }
  if (auto status = check_named("--shares", demand, weights); !status) return status;
  demand.owed.denominator = 0;
  for (const std::string& team : demand.teams) {
    const std::int64_t weight = weights.emplace(team, 1000).first->second;
    demand.owed.parts.push_back(Int128{demand.capacity->value()} * weight);
    demand.owed.denominator += weight;
  }
  if (demand.owed.denominator == 0) return usage_error("--shares: all weights are 0");
  return {};
}

}  // namespace

Result<Demand> read_demand(Context& context, const ReportOptions& options, By by) {
  if (!options.allocation.empty() && !options.shares.empty()) {
    return usage_error("--allocation names GPUs and --shares weights; give one or the other");
  }
  auto demand = is_demand_table(options.history) ? demand_of_table(options)
                                                 : demand_of_history(context, options, by);
  if (!demand) return demand;
  if (demand->teams.empty()) return usage_error("nobody wanted a GPU in the input");
  if (auto status = give_parts(options, *demand); !status) return status.error();
  return demand;
}

}  // namespace rota::cli::reports
