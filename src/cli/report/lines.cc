#include "cli/report/lines.h"

#include <algorithm>
#include <numeric>

#include "audit/apportion.h"
#include "cli/usage.h"

namespace rota::cli::reports {
namespace {

constexpr Int128 kGpuHour = Int128{1000} * Duration::hours(1).ns();

/// All amounts that stand in cells: the groups' by kind, then idle, drained, beyond. `weights` are
/// by pool.
std::vector<Int128> cells_of(const ReportInput& input, const audit::UsageLines& usage,
                             const std::vector<std::int64_t>& weights) {
  std::vector<Int128> cells(input.groups.size() * audit::kHeldKinds + 3);
  for (std::size_t pool = 0; pool < weights.size(); ++pool) {
    for (std::size_t group = 0; group < input.groups.size(); ++group) {
      const audit::HeldTime& held = usage.of(group, pool);
      for (std::size_t kind = 0; kind < audit::kHeldKinds; ++kind) {
        cells[group * audit::kHeldKinds + kind] += held[kind] * weights[pool];
      }
    }
    Int128* rest = cells.data() + cells.size() - 3;
    rest[0] += usage.pools[pool].idle * weights[pool];
    rest[1] += usage.pools[pool].drained * weights[pool];
    rest[2] -= usage.pools[pool].beyond * weights[pool];
  }
  return cells;
}

/// Puts rounded cells into the lines, which stand in the order of the cells, the last for all.
void fill(const std::vector<Int128>& cells, std::vector<ReportLine>& lines,
          Amounts ReportLine::*amounts) {
  Amounts all;
  const std::size_t groups = lines.size() - 4;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    Amounts& line = lines[i].*amounts;
    if (i < groups) {
      for (std::size_t kind = 0; kind < audit::kHeldKinds; ++kind) {
        line.held[kind] = cells[i * audit::kHeldKinds + kind];
        all.held[kind] += line.held[kind];
      }
      line.total = std::accumulate(line.held.begin(), line.held.end(), Int128{0});
    } else {
      line.total = cells[groups * audit::kHeldKinds + (i - groups)];
    }
    all.total += line.total;
  }
  lines.back().*amounts = all;
}

std::string model_words(const std::string& model) {
  return model.empty() ? "GPUs whose model is not told" : "'" + model + "'";
}

void sort_groups(std::vector<ReportLine>& lines) {
  std::sort(lines.begin(), lines.end(), [](const ReportLine& a, const ReportLine& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.hours.total != b.hours.total) return a.hours.total > b.hours.total;
    return a.name < b.name;
  });
}

}  // namespace

ReportLines hour_lines(const ReportInput& input, const audit::UsageLines& usage,
                       int hour_places) {
  ReportLines report;
  report.hour_places = hour_places;
  for (const std::string& name : input.groups) report.lines.push_back({.name = name});
  for (const LineKind kind :
       {LineKind::kIdle, LineKind::kDrained, LineKind::kBeyond, LineKind::kAll}) {
    report.lines.push_back({.kind = kind, .name = {}});
  }
  Int128 unit = kGpuHour;
  for (int places = hour_places; places > 0; --places) unit /= 10;
  const std::vector<std::int64_t> ones(input.pools.size(), 1);
  fill(audit::apportioned(cells_of(input, usage, ones), unit), report.lines, &ReportLine::hours);
  return report;
}

Status add_costs(const ReportInput& input, const audit::UsageLines& usage, ReportLines& report) {
  constexpr std::int64_t kMicroPerCent = 10'000;
  std::vector<std::int64_t> prices;
  for (std::size_t pool = 0; pool < input.pools.size(); ++pool) {
    const ReportPool& priced = input.pools[pool];
    const audit::PoolLines& lines = usage.pools[pool];
    if (!priced.price && (lines.capacity > 0 || lines.beyond > 0)) {
      const std::string name = priced.model.empty() ? "" : priced.model + "=PRICE, or ";
      return usage_error("no price of a GPU-hour for " + model_words(priced.model) +
                         ": say --prices " + name + "one price for all, like --prices 2.5");
    }
    prices.push_back(priced.price.value_or(MicroMoney()).value());
  }
  fill(audit::apportioned(cells_of(input, usage, prices), kGpuHour * kMicroPerCent), report.lines,
       &ReportLine::cost);
  return {};
}

void add_budgets(const std::map<std::string, std::int64_t>& budgets, ReportLines& report) {
  for (const auto& [name, budget] : budgets) {
    const auto found = std::find_if(
        report.lines.begin(), report.lines.end(), [&](const ReportLine& line) {
          return line.kind == LineKind::kGroup && line.name == name;
        });
    if (found != report.lines.end()) found->budget = budget;
    else report.lines.push_back({.name = name, .budget = budget});
  }
}

void finish_lines(ReportLines& report) {
  sort_groups(report.lines);
  std::erase_if(report.lines, [](const ReportLine& line) {
    return line.kind == LineKind::kBeyond && line.hours.total == 0 && line.cost.total == 0;
  });
}

}  // namespace rota::cli::reports
