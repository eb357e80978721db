#include "cli/report/lines.h"

#include <algorithm>
#include <numeric>

#include "audit/apportion.h"
#include "cli/usage.h"

namespace rota::cli::reports {
namespace {

constexpr std::int64_t kMicroPerCent = 10'000;
constexpr Int128 kGpuHour = Int128{1000} * Duration::hours(1).ns();

/// What a GPU-time counts, by pool.
struct Weights {
  std::vector<std::int64_t> held;
  std::vector<std::int64_t> unheld;  // idle and drained
};

/// All amounts that stand in cells: the groups' by kind, then idle, drained, beyond.
std::vector<Int128> cells_of(const ReportInput& input, const audit::UsageLines& usage,
                             const Weights& weights) {
  std::vector<Int128> cells(input.groups.size() * audit::kHeldKinds + 3);
  for (std::size_t pool = 0; pool < weights.held.size(); ++pool) {
    for (std::size_t group = 0; group < input.groups.size(); ++group) {
      const audit::HeldTime& held = usage.of(group, pool);
      for (std::size_t kind = 0; kind < audit::kHeldKinds; ++kind) {
        cells[group * audit::kHeldKinds + kind] += held[kind] * weights.held[pool];
      }
    }
    Int128* rest = cells.data() + cells.size() - 3;
    rest[0] += usage.pools[pool].idle * weights.unheld[pool];
    rest[1] += usage.pools[pool].drained * weights.unheld[pool];
    rest[2] -= usage.pools[pool].beyond * weights.held[pool];
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
  fill(audit::apportioned(cells_of(input, usage, {ones, ones}), unit), report.lines,
       &ReportLine::hours);
  return report;
}

Status add_costs(const ReportInput& input, const audit::UsageLines& usage, ReportLines& report) {
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
  fill(audit::apportioned(cells_of(input, usage, {prices, prices}), kGpuHour * kMicroPerCent),
       report.lines, &ReportLine::cost);
  return {};
}

MicroMoney energy_rate(const Energy& energy, std::int64_t milliwatts) {
  constexpr std::int64_t kMilliwattsPerKilowatt = 1'000'000;
  return MicroMoney(static_cast<std::int64_t>(
      audit::rounded_to(Int128{milliwatts} * energy.price.value(), kMilliwattsPerKilowatt)));
}

Status add_energy(const ReportInput& input, const audit::UsageLines& usage, const Energy& energy,
                  ReportLines& report) {
  constexpr std::int64_t kMilliwattsPerWatt = 1000;
  Weights power;
  Weights rates;
  for (std::size_t pool = 0; pool < input.pools.size(); ++pool) {
    const std::string& model = input.pools[pool].model;
    const audit::PoolLines& lines = usage.pools[pool];
    const auto draw = energy.of(model);
    if (!draw && (lines.capacity > 0 || lines.beyond > 0)) {
      return usage_error("nobody says what " + model_words(model) + " draw: say --watts " +
                         (model.empty() ? "" : model + "=HELD/IDLE, or ") +
                         "HELD/IDLE for all, in watts");
    }
    const Energy::Draw known = draw.value_or(Energy::Draw{});
    power.held.push_back(known.held_milliwatts);
    power.unheld.push_back(known.unheld_milliwatts);
    rates.held.push_back(energy_rate(energy, known.held_milliwatts).value());
    rates.unheld.push_back(energy_rate(energy, known.unheld_milliwatts).value());
  }
  fill(audit::apportioned(cells_of(input, usage, power), kGpuHour * kMilliwattsPerWatt),
       report.lines, &ReportLine::watt_hours);
  fill(audit::apportioned(cells_of(input, usage, rates), kGpuHour * kMicroPerCent), report.lines,
       &ReportLine::energy);
  return {};
}

void add_budgets(const std::map<std::string, Budget>& budgets, ReportLines& report) {
  for (const auto& known : budgets) {
    const Budget& budget = known.second;
    const auto found = std::find_if(
        report.lines.begin(), report.lines.end(), [&](const ReportLine& line) {
          return line.kind == LineKind::kGroup && line.name == known.first;
        });
    if (found != report.lines.end()) found->budget = budget.amount;
    else report.lines.push_back({.name = known.first, .budget = budget.amount});
  }
  std::map<std::string, Int128> spent;
  for (const ReportLine& line : report.lines) {
    if (line.kind != LineKind::kGroup) continue;
    for (auto at = budgets.find(line.name); at != budgets.end();
         at = budgets.find(at->second.parent)) {
      spent[at->first] += line.cost_total();
      if (at->second.parent.empty()) break;
    }
  }
  for (ReportLine& line : report.lines) {
    if (line.budget) line.spent = spent[line.name];
  }
}

void finish_lines(ReportLines& report) {
  sort_groups(report.lines);
  std::erase_if(report.lines, [](const ReportLine& line) {
    return line.kind == LineKind::kBeyond && line.hours.total == 0 && line.cost.total == 0;
  });
}

}  // namespace rota::cli::reports
