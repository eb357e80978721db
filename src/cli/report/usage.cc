#include "cli/report/usage.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/report/lines.h"
#include "cli/report/show.h"
#include "cli/usage.h"
#include "report/csv.h"

namespace rota::cli::reports {
namespace {

enum class What { kUsage, kCost };

constexpr int kWattHourPlaces = 3;  // shown in kWh

Result<By> by_of(const std::string& text, By otherwise) {
  if (text.empty()) return otherwise;
  const auto read = enum_list<By>("--by", text);
  if (!read) return read.error();
  if (read->size() == 1) return read->front();
  const auto names = names_of(By{});
  const std::vector<std::string> known(names.begin(), names.end());
  return usage_error("--by '" + text + "': expected one of " + join(known, ", "));
}

std::string in_capitals(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string line_name(const ReportLine& line) {
  switch (line.kind) {
    case LineKind::kGroup: return line.name.empty() ? "(not told)" : line.name;
    case LineKind::kIdle: return "(idle)";
    case LineKind::kDrained: return "(drained)";
    case LineKind::kBeyond: return "(beyond the capacity)";
    case LineKind::kAll: return "(all)";
  }
  return {};
}

struct Shape {
  What what = What::kUsage;
  std::string by;  // word of the column
  bool has_budget = false;
  bool has_energy = false;
};

report::Table lines_table(const ReportLines& report, const Shape& shape) {
  std::vector<report::Column> columns{{in_capitals(shape.by), Align::kLeft, true}};
  if (shape.what == What::kCost) columns.push_back({"GPU-HOURS", Align::kRight});
  for (const std::string_view kind : names_of(audit::HeldKind{})) {
    columns.push_back({in_capitals(kind), Align::kRight});
  }
  columns.push_back({shape.what == What::kCost ? "COST" : "GPU-HOURS", Align::kRight});
  if (shape.has_energy) {
    columns.push_back({"KWH", Align::kRight});
    columns.push_back({"ENERGY", Align::kRight});
    columns.push_back({"TOTAL", Align::kRight});
  }
  columns.push_back({"PART", Align::kRight});
  if (shape.has_budget) {
    columns.push_back({"BUDGET", Align::kRight});
    columns.push_back({"LEFT", Align::kRight});
  }
  report::Table table(std::move(columns));
  const bool is_cost = shape.what == What::kCost;
  const int places = is_cost ? ReportLines::kMoneyPlaces : report.hour_places;
  const auto amounts = [&](const ReportLine& line) { return is_cost ? line.cost : line.hours; };
  const auto total_of = [&](const ReportLine& line) {
    return is_cost ? line.cost_total() : line.hours.total;
  };
  const Int128 whole = total_of(report.lines.back());
  for (const ReportLine& line : report.lines) {
    const bool is_held = line.kind == LineKind::kGroup || line.kind == LineKind::kAll;
    std::vector<Cell> row{{line_name(line), is_held ? Tone::kPlain : Tone::kDim}};
    if (is_cost) row.push_back({fixed_text(line.hours.total, report.hour_places)});
    for (const Int128 held : amounts(line).held) {
      row.push_back({is_held ? fixed_text(held, places) : ""});
    }
    row.push_back({fixed_text(amounts(line).total, places)});
    if (shape.has_energy) {
      row.push_back({fixed_text(line.watt_hours.total, kWattHourPlaces)});
      row.push_back({fixed_text(line.energy.total, places)});
      row.push_back({fixed_text(line.cost_total(), places)});
    }
    row.push_back({percent_text(total_of(line), whole)});
    if (line.budget) {
      const Int128 left = *line.budget - line.spent;
      row.push_back({fixed_text(*line.budget, 2)});
      row.push_back({fixed_text(left, 2), left < 0 ? Tone::kBad : Tone::kPlain});
    }
    table.add_row(std::move(row));
  }
  return table;
}

/// Names and values of one line for programs: `used_gpu_hours`, `cost`, ...
std::vector<std::pair<std::string, std::pair<Int128, int>>> figures_of(const ReportLine& line,
                                                                       const ReportLines& report,
                                                                       const Shape& shape) {
  std::vector<std::pair<std::string, std::pair<Int128, int>>> figures;
  const auto add = [&](const Amounts& amounts, const std::string& unit, int places) {
    std::size_t kind = 0;
    for (const std::string_view word : names_of(audit::HeldKind{})) {
      figures.push_back({std::string(word) + "_" + unit, {amounts.held[kind++], places}});
    }
    figures.push_back({unit, {amounts.total, places}});
  };
  add(line.hours, "gpu_hours", report.hour_places);
  if (shape.what == What::kCost) add(line.cost, "cost", ReportLines::kMoneyPlaces);
  if (shape.has_energy) {
    figures.push_back({"kwh", {line.watt_hours.total, kWattHourPlaces}});
    add(line.energy, "energy_cost", ReportLines::kMoneyPlaces);
    figures.push_back({"total_cost", {line.cost_total(), ReportLines::kMoneyPlaces}});
  }
  return figures;
}

api::Json lines_json(const ReportLines& report, const Shape& shape) {
  api::Json list = api::Json::array();
  for (const ReportLine& line : report.lines) {
    api::Json json = api::Json::object();
    json["line"] = std::string(name_of(line.kind));
    if (line.kind == LineKind::kGroup) {
      json[shape.by] = line.name.empty() ? api::Json() : api::Json(line.name);
    }
    for (const auto& [name, figure] : figures_of(line, report, shape)) {
      json[name] = decimal_value(figure.first, figure.second);
    }
    if (line.budget) {
      json["budget"] = decimal_value(*line.budget, 2);
      json["budget_spent"] = decimal_value(line.spent, 2);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string lines_csv(const ReportLines& report, const Shape& shape) {
  std::vector<std::string> head{"line", shape.by};
  for (const auto& [name, figure] : figures_of({}, report, shape)) head.push_back(name);
  if (shape.has_budget) head.insert(head.end(), {"budget", "budget_spent"});
  std::string text = report::csv_row(head);
  for (const ReportLine& line : report.lines) {
    std::vector<std::string> row{std::string(name_of(line.kind)), report::csv_name(line.name)};
    for (const auto& [name, figure] : figures_of(line, report, shape)) {
      const bool is_money = figure.second == ReportLines::kMoneyPlaces;
      std::string number = is_money ? fixed_text(figure.first, figure.second)
                                    : decimal_text(figure.first, figure.second);
      std::erase(number, ',');
      row.push_back(std::move(number));
    }
    if (shape.has_budget) {
      row.push_back(line.budget ? decimal_text(*line.budget, 2) : std::string());
      row.push_back(line.budget ? decimal_text(line.spent, 2) : std::string());
    }
    text += report::csv_row(row);
  }
  return text;
}

/// `h100 0.2275 held, 0.039 idle`, for each model.
std::string energy_text(const ReportInput& input, const Energy& energy) {
  std::vector<std::string> rates;
  for (const ReportPool& pool : input.pools) {
    const auto draw = energy.of(pool.model);
    if (!draw) continue;
    const auto rate = [&](std::int64_t milliwatts) {
      return decimal_text(energy_rate(energy, milliwatts).value(), 6);
    };
    rates.push_back((pool.model.empty() ? "" : pool.model + " ") + rate(draw->held_milliwatts) +
                    " held, " + rate(draw->unheld_milliwatts) + " idle or drained");
  }
  return "Energy of a GPU-hour costs: " + join(rates, "; ") + ". A kWh costs " +
         decimal_text(energy.price.value(), 6) + ", PUE " +
         decimal_text(energy.overhead_milli, 3) + ".\n";
}

std::string foot_text(const ReportInput& input, const Shape& shape) {
  std::string text = "FAILED: errors and lost nodes. PREEMPTED: stopped for others, or requeued.\n"
                     "UNKNOWN: how it ended is not told.\n";
  if (shape.what == What::kCost) {
    std::vector<std::string> prices;
    for (const ReportPool& pool : input.pools) {
      if (!pool.price) continue;
      prices.push_back((pool.model.empty() ? "" : pool.model + " ") +
                       decimal_text(pool.price->value(), 6));
    }
    text += "A GPU-hour costs: " + join(prices, ", ") + ".\n";
  }
  return text + input.import_notes;
}

/// Where all of it went: kinds of held time, then what nobody held.
std::vector<report::HtmlPart> parts_of_report(const ReportLines& report, What what) {
  std::vector<report::HtmlPart> parts;
  const bool is_cost = what == What::kCost;
  const int places = is_cost ? ReportLines::kMoneyPlaces : report.hour_places;
  const auto add = [&](std::string_view name, Int128 amount) {
    parts.push_back({std::string(name), fixed_text(amount, places), amount});
  };
  const Amounts& all = is_cost ? report.lines.back().cost : report.lines.back().hours;
  std::size_t kind = 0;
  for (const std::string_view name : names_of(audit::HeldKind{})) add(name, all.held[kind++]);
  for (const ReportLine& line : report.lines) {
    if (line.kind != LineKind::kIdle && line.kind != LineKind::kDrained) continue;
    add(name_of(line.kind), is_cost ? line.cost.total : line.hours.total);
  }
  if (is_cost) add("energy", report.lines.back().energy.total);
  return parts;
}

Status add_money(const ReportInput& input, const audit::UsageLines& usage, What what,
                 const std::optional<Energy>& energy, ReportLines& report) {
  if (what != What::kCost) return {};
  if (auto status = add_costs(input, usage, report); !status) return status;
  return energy ? add_energy(input, usage, *energy, report) : Status();
}

int report_lines(Context& context, const ReportOptions& options, What what) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  const auto by = by_of(options.by, By::kQueue);
  if (!by) return report_error(context, by.error());
  const auto input = read_report_input(context, options, *by);
  if (!input) return report_error(context, input.error());
  const auto energy = energy_of(options);
  if (!energy) return report_error(context, energy.error());
  const Shape shape{what, std::string(name_of(*by)), !options.budget.empty(),
                    energy->has_value()};
  const audit::UsageLines usage = audit::measure_usage(input->usage);
  ReportLines report = hour_lines(*input, usage, hour_places(*format));
  if (auto status = add_money(*input, usage, what, *energy, report); !status) {
    return report_error(context, status.error());
  }
  if (shape.has_budget) {
    const auto budgets = budgets_of(options.budget, shape.by);
    if (!budgets) return report_error(context, budgets.error());
    add_budgets(*budgets, report);
  }
  finish_lines(report);
  Page page{.title = what == What::kCost ? "Cost of GPU time" : "GPU time",
            .facts = facts_of(*input),
            .parts = parts_of_report(report, what),
            .table = lines_table(report, shape),
            .foot = (*energy ? energy_text(*input, **energy) : std::string()) +
                    foot_text(*input, shape),
            .json = head_json(what == What::kCost ? "cost" : "usage", *input),
            .csv = lines_csv(report, shape),
            .notes = input->notes};
  page.json["by"] = shape.by;
  page.json["lines"] = lines_json(report, shape);
  return print_page(context, options.output, std::move(page));
}

}  // namespace

int report_usage(Context& context, const ReportOptions& options) {
  return report_lines(context, options, What::kUsage);
}

int report_cost(Context& context, const ReportOptions& options) {
  return report_lines(context, options, What::kCost);
}

}  // namespace rota::cli::reports
