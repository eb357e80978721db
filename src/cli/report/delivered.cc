#include "cli/report/delivered.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "audit/apportion.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/report/demand.h"
#include "cli/report/show.h"
#include "cli/usage.h"
#include "report/csv.h"
#include "report/words.h"

namespace rota::cli::reports {
namespace {

struct TeamRow {
  std::string name;
  Int128 part = 0;  // milli-GPU, rounded
  audit::Owed exact;
  audit::Owed hours;  // rounded, in units of the report's places
};

constexpr int kRatioPlaces = 4;

/// Delivered of owed; absent when nothing was owed.
std::optional<Int128> ratio_of(const audit::Owed& owed) {
  if (owed.owed == 0) return std::nullopt;
  return audit::rounded_to(owed.delivered * 10'000, owed.owed);
}

/// `0.90`, `0.9734`.
std::string ratio_text(const audit::Owed& owed) {
  const auto ratio = ratio_of(owed);
  if (!ratio) return "n/a";
  std::string text = fixed_text(*ratio, kRatioPlaces);
  for (int i = 0; i < kRatioPlaces - 2 && text.back() == '0'; ++i) text.pop_back();
  return text;
}

audit::Owed sum_of_rows(const std::vector<TeamRow>& rows, audit::Owed TeamRow::*amounts) {
  audit::Owed all;
  for (const TeamRow& row : rows) {
    all.wanted += (row.*amounts).wanted;
    all.held += (row.*amounts).held;
    all.owed += (row.*amounts).owed;
    all.delivered += (row.*amounts).delivered;
  }
  return all;
}

void round_column(std::vector<TeamRow>& rows, Int128 unit, Int128 audit::Owed::*field) {
  std::vector<Int128> parts;
  parts.reserve(rows.size());
  for (const TeamRow& row : rows) parts.push_back(row.exact.*field);
  const std::vector<Int128> rounded = audit::apportioned(parts, unit);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].hours.*field = rounded[i];
}

std::vector<TeamRow> rows_of_teams(const Demand& demand, int places) {
  const std::vector<audit::Owed> owed = audit::measure_owed(demand.owed);
  std::vector<TeamRow> rows;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    rows.push_back({.name = demand.teams[i],
                    .part = audit::rounded_to(demand.owed.parts[i], demand.owed.denominator),
                    .exact = owed[i],
                    .hours = {}});
  }
  std::sort(rows.begin(), rows.end(), [](const TeamRow& a, const TeamRow& b) {
    return a.exact.owed != b.exact.owed ? a.exact.owed > b.exact.owed : a.name < b.name;
  });
  Int128 unit = Int128{1000} * Duration::hours(1).ns();
  for (; places > 0; --places) unit /= 10;
  round_column(rows, unit, &audit::Owed::wanted);
  round_column(rows, unit, &audit::Owed::held);
  round_column(rows, unit, &audit::Owed::owed);
  round_column(rows, unit, &audit::Owed::delivered);
  return rows;
}

/// `2 of 3 teams got at least 95 % of what they were owed; least: speech (90.0 %).`
std::string verdict_text(const std::vector<TeamRow>& rows) {
  std::int64_t teams = 0;
  std::int64_t served = 0;
  const TeamRow* least = nullptr;
  for (const TeamRow& row : rows) {
    if (row.exact.owed == 0) continue;
    ++teams;
    if (row.exact.delivered * 100 >= row.exact.owed * 95) ++served;
    if (least == nullptr || row.exact.delivered * least->exact.owed <
                                least->exact.delivered * row.exact.owed) {
      least = &row;
    }
  }
  if (least == nullptr) return "Nobody was owed anything.\n";
  return grouped(served) + " of " + report::counted(teams, "team") +
         " got at least 95 % of what was owed; least: " +
         (least->name.empty() ? "(not told)" : least->name) + " (" +
         percent_text(least->exact.delivered, least->exact.owed) + ").\n";
}

struct RowText {
  std::string name;
  std::optional<Int128> part;
  audit::Owed hours;
  audit::Owed exact;
};

void add_row(Page& page, const RowText& row, const std::string& by, int places) {
  const auto& h = row.hours;
  const bool is_all = !row.part;
  page.table.add_row({{is_all ? "(all)" : row.name.empty() ? "(not told)" : row.name},
                      {row.part ? fixed_text(*row.part, 3) : ""},
                      {fixed_text(h.wanted, places)},
                      {fixed_text(h.held, places)},
                      {fixed_text(h.owed, places)},
                      {fixed_text(h.delivered, places)},
                      {percent_text(row.exact.delivered, row.exact.owed)}});
  page.csv += report::csv_row({is_all ? "all" : "group", report::csv_name(row.name),
                               row.part ? decimal_text(*row.part, 3) : "",
                               decimal_text(h.wanted, places), decimal_text(h.held, places),
                               decimal_text(h.owed, places), decimal_text(h.delivered, places),
                               ratio_text(row.exact)});
  api::Json json = api::Json::object();
  json["line"] = is_all ? "all" : "group";
  if (!is_all) {
    json[by] = row.name.empty() ? api::Json() : api::Json(row.name);
    json["allocation_gpus"] = decimal_value(*row.part, 3);
  }
  json["wanted_gpu_hours"] = decimal_value(h.wanted, places);
  json["held_gpu_hours"] = decimal_value(h.held, places);
  json["owed_gpu_hours"] = decimal_value(h.owed, places);
  json["delivered_gpu_hours"] = decimal_value(h.delivered, places);
  const auto ratio = ratio_of(row.exact);
  json["delivered_ratio"] = ratio ? api::Json(decimal_value(*ratio, kRatioPlaces)) : api::Json();
  page.json["lines"].push_back(std::move(json));
}

api::Json delivered_head(const Demand& demand, const std::string& by) {
  api::Json json = api::Json::object();
  json["report"] = "delivered";
  json["begin"] = point_text(demand.owed.begin);
  json["end"] = point_text(demand.owed.end);
  if (demand.capacity) json["gpus"] = static_cast<double>(demand.capacity->value()) / 1000;
  json["by"] = by;
  json["lines"] = api::Json::array();
  return json;
}

}  // namespace

int report_delivered(Context& context, const ReportOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  const auto by = enum_list<By>("--by", options.by.empty() ? "queue" : options.by);
  if (!by) return report_error(context, by.error());
  if (by->size() != 1 || (by->front() != By::kQueue && by->front() != By::kUser)) {
    return report_error(context, usage_error("--by '" + options.by +
                                             "': GPU time is owed to a queue or a user"));
  }
  const auto demand = read_demand(context, options, by->front());
  if (!demand) return report_error(context, demand.error());
  const int places = hour_places(*format);
  const std::vector<TeamRow> rows = rows_of_teams(*demand, places);
  const std::string word(name_of(by->front()));
  Facts facts{{"Period", period_text({demand->owed.begin, demand->owed.end})}};
  if (demand->capacity) facts.push_back({"Capacity", report::gpu_words(*demand->capacity)});
  Page page{.title = "GPU time owed and delivered",
            .facts = std::move(facts),
            .parts = {},
            .table = report::Table({{by->front() == By::kUser ? "USER" : "QUEUE", Align::kLeft,
                                     true},
                                    {"GPUS", Align::kRight},
                                    {"WANTED", Align::kRight},
                                    {"HELD", Align::kRight},
                                    {"OWED", Align::kRight},
                                    {"DELIVERED", Align::kRight},
                                    {"PART", Align::kRight}}),
            .foot = "GPU-hours. OWED: its GPUs, or what it wanted where that was less, at every "
                    "moment.\nDELIVERED: what it held of that.\n" +
                    verdict_text(rows) + demand->import_notes,
            .json = delivered_head(*demand, word),
            .csv = report::csv_row({"line", word, "allocation_gpus", "wanted_gpu_hours",
                                    "held_gpu_hours", "owed_gpu_hours", "delivered_gpu_hours",
                                    "delivered_ratio"}),
            .notes = demand->notes};
  for (const TeamRow& row : rows) {
    add_row(page, {row.name, row.part, row.hours, row.exact}, word, places);
  }
  add_row(page, {{}, {}, sum_of_rows(rows, &TeamRow::hours), sum_of_rows(rows, &TeamRow::exact)},
          word, places);
  return print_page(context, options.output, std::move(page));
}

}  // namespace rota::cli::reports
