// `rota report idle`: GPU time that nobody held, by model or by day.
#include <algorithm>
#include <array>
#include <utility>

#include "audit/apportion.h"
#include "cli/exit_codes.h"
#include "cli/offline.h"
#include "cli/report/show.h"
#include "cli/report/usage.h"
#include "cli/usage.h"
#include "report/csv.h"

namespace rota::cli::reports {
namespace {

enum class IdleBy { kModel, kDay };
constexpr auto names_of(IdleBy) { return std::array<std::string_view, 2>{"model", "day"}; }

/// Columns of a row, in the order in which they are shown. Capacity is the sum of the next four,
/// the last of which counts negative.
enum IdleColumn { kCapacity, kHeld, kIdle, kDrained, kBeyond, kWanted, kColumns };
constexpr std::array<std::string_view, kColumns> kIdleNames{
    "capacity", "held", "idle", "drained", "beyond_capacity", "idle_while_wanted"};

struct IdleRow {
  std::string name;
  std::array<Int128, kColumns> amounts{};

  void add(const audit::PoolLines& lines) {
    amounts[kIdle] += lines.idle;
    amounts[kDrained] += lines.drained;
    amounts[kBeyond] -= lines.beyond;
    amounts[kHeld] += lines.capacity - lines.idle - lines.drained + lines.beyond;
    amounts[kWanted] += lines.idle_wanted;
  }
};

std::vector<IdleRow> rows_by_model(const ReportInput& input) {
  const audit::UsageLines usage = audit::measure_usage(input.usage);
  std::vector<IdleRow> rows;
  for (std::size_t pool = 0; pool < input.pools.size(); ++pool) {
    rows.push_back({.name = input.pools[pool].model});
    rows.back().add(usage.pools[pool]);
  }
  std::sort(rows.begin(), rows.end(),
            [](const IdleRow& a, const IdleRow& b) { return a.name < b.name; });
  return rows;
}

/// Stretches that lie in no day in question are passed over before they are sorted.
template <class Stretch>
std::vector<Stretch> within(const std::vector<Stretch>& all, const Period& day) {
  std::vector<Stretch> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const Stretch& stretch) {
    return stretch.begin < day.end && stretch.end > day.begin;
  });
  return some;
}

std::vector<IdleRow> rows_by_day(const ReportInput& input) {
  const std::int64_t day_ns = Duration::days(1).ns();
  std::vector<IdleRow> rows;
  for (Instant begin = input.usage.begin; begin < input.usage.end;) {
    std::int64_t into_day = begin.ns() % day_ns;
    if (into_day < 0) into_day += day_ns;
    const Period day{begin, std::min(input.usage.end, begin + Duration(day_ns - into_day))};
    audit::UsageInput part{.begin = day.begin, .end = day.end, .capacity = input.usage.capacity,
                           .groups = input.usage.groups, .holds = within(input.usage.holds, day),
                           .outages = within(input.usage.outages, day),
                           .waits = within(input.usage.waits, day)};
    const std::string text = point_text(begin);
    rows.push_back({.name = text.find('T') == 10 ? text.substr(0, 10) : text});
    for (const audit::PoolLines& lines : audit::measure_usage(part).pools) rows.back().add(lines);
    begin = day.end;
  }
  return rows;
}

/// Rounds all rows together and adds one for all, so that what is shown adds up.
void round_rows(std::vector<IdleRow>& rows, int places) {
  Int128 unit = Int128{1000} * Duration::hours(1).ns();
  for (; places > 0; --places) unit /= 10;
  std::vector<Int128> cells;
  for (const IdleRow& row : rows) {
    cells.insert(cells.end(), row.amounts.begin() + kHeld, row.amounts.begin() + kWanted);
  }
  cells = audit::apportioned(cells, unit);
  IdleRow all{.name = "(all)"};
  auto cell = cells.begin();
  for (IdleRow& row : rows) {
    row.amounts[kCapacity] = 0;
    for (int column = kHeld; column < kWanted; ++column) {
      row.amounts[static_cast<std::size_t>(column)] = *cell++;
      row.amounts[kCapacity] += row.amounts[static_cast<std::size_t>(column)];
    }
    row.amounts[kWanted] =
        std::min(audit::rounded_to(row.amounts[kWanted], unit), row.amounts[kIdle]);
    for (std::size_t column = 0; column < kColumns; ++column) {
      all.amounts[column] += row.amounts[column];
    }
  }
  rows.push_back(std::move(all));
}

void fill_page(Page& page, const std::vector<IdleRow>& rows, const std::string& by, int places) {
  std::vector<std::string> head{by};
  for (const std::string_view name : kIdleNames) head.push_back(std::string(name) + "_gpu_hours");
  page.csv = report::csv_row(head);
  page.json["by"] = by;
  page.json["lines"] = api::Json::array();
  for (const IdleRow& row : rows) {
    const bool is_all = &row == &rows.back();
    const std::string name = row.name.empty() ? "(not told)" : row.name;
    std::vector<Cell> cells{{name}};
    std::vector<std::string> fields{is_all ? "all" : report::csv_name(row.name)};
    api::Json json = api::Json::object();
    json["line"] = is_all ? "all" : "group";
    if (!is_all) json[by] = row.name.empty() ? api::Json() : api::Json(row.name);
    for (std::size_t column = 0; column < kColumns; ++column) {
      const Int128 amount = row.amounts[column];
      fields.push_back(decimal_text(amount, places));
      json[head[column + 1]] = decimal_value(amount, places);
      if (column != kBeyond) cells.push_back({fixed_text(amount, places)});
      if (column == kIdle) cells.push_back({percent_text(amount, row.amounts[kCapacity])});
    }
    page.csv += report::csv_row(fields);
    page.json["lines"].push_back(std::move(json));
    page.table.add_row(std::move(cells));
  }
}

}  // namespace

int report_idle(Context& context, const ReportOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  const auto by = enum_list<IdleBy>("--by", options.by.empty() ? "model" : options.by);
  if (!by) {
    return report_error(context, usage_error(by.error().message +
                                             "; idle time belongs to nobody"));
  }
  if (by->size() != 1) {
    return report_error(context, usage_error("--by '" + options.by + "': expected model or day"));
  }
  const auto input = read_report_input(context, options, By::kModel);
  if (!input) return report_error(context, input.error());
  const std::string word(name_of(by->front()));
  std::vector<IdleRow> rows =
      by->front() == IdleBy::kDay ? rows_by_day(*input) : rows_by_model(*input);
  const int places = hour_places(*format);
  round_rows(rows, places);
  const Int128 beyond = rows.back().amounts[kBeyond];
  Page page{.title = "Idle GPU time",
            .facts = facts_of(*input),
            .parts = {},
            .table = report::Table({{word == "day" ? "DAY" : "MODEL", Align::kLeft, true},
                                    {"CAPACITY", Align::kRight},
                                    {"HELD", Align::kRight},
                                    {"IDLE", Align::kRight},
                                    {"PART", Align::kRight},
                                    {"DRAINED", Align::kRight},
                                    {"IDLE WHILE WANTED", Align::kRight}}),
            .foot = "GPU-hours. IDLE WHILE WANTED: idle by number while as many GPUs were waited "
                    "for; not all of it can be used.\n" + input->import_notes,
            .json = head_json("idle", *input),
            .csv = {},
            .notes = input->notes};
  if (beyond != 0) {
    page.notes.push_back(fixed_text(-beyond, places) +
                         " GPU-hours were held beyond the capacity; --on seems too small");
  }
  for (const IdleColumn column : {kHeld, kIdle, kDrained}) {
    const Int128 amount = rows.back().amounts[column];
    page.parts.push_back({std::string(kIdleNames[column]), fixed_text(amount, places), amount});
  }
  fill_page(page, rows, word, places);
  return print_page(context, options.output, std::move(page));
}

}  // namespace rota::cli::reports
