// Tables of holdings: who held which part of which device, at what price.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "cli/report/input.h"
#include "cli/report/table_file.h"
#include "cli/usage.h"
#include "history/fields.h"
#include "history/history.h"
#include "history/words.h"

namespace rota::cli::reports {
namespace {

struct HoldingColumns {
  std::size_t node = 0;
  std::size_t gpu = 0;
  std::size_t fraction = 0;
  std::size_t start = 0;
  std::size_t end = 0;
  std::optional<std::size_t> group;  // none: by model
  std::optional<std::size_t> price;
  std::optional<std::size_t> model;
  std::optional<std::size_t> state;
};

Result<HoldingColumns> holding_columns(const TableFile& table, By by) {
  HoldingColumns columns;
  const auto need = [&](std::size_t& at, std::initializer_list<std::string_view> names) {
    const auto found = table.needed(names);
    if (found) at = *found;
    return found ? Status() : Status(found.error());
  };
  if (auto status = need(columns.node, {"node"}); !status) return status.error();
  if (auto status = need(columns.gpu, {"gpu"}); !status) return status.error();
  if (auto status = need(columns.fraction, {"fraction"}); !status) return status.error();
  if (auto status = need(columns.start, {"start"}); !status) return status.error();
  if (auto status = need(columns.end, {"end"}); !status) return status.error();
  columns.price = table.column({"price_per_gpu_hour", "price"});
  columns.model = table.column({"model"});
  columns.state = table.column({"state", "outcome"});
  if (by != By::kModel) {
    std::size_t group = 0;
    const auto names = names_of(By{});
    if (auto status = need(group, {names[static_cast<std::size_t>(by)]}); !status) {
      return status.error();
    }
    columns.group = group;
  }
  return columns;
}

audit::HeldKind kind_of_word(std::string_view word) {
  const auto outcome = history::outcome_from(word);
  if (!outcome) return audit::HeldKind::kUnknown;
  return held_kind_of(*outcome);
}

class HoldingsReader {
 public:
  HoldingsReader(const TableFile& table, const HoldingColumns& columns)
      : table_(table), columns_(columns) {}

  Status read() {
    for (const TableFile::Row& row : table_.rows()) {
      if (auto status = read_row(row); !status) return status;
    }
    return {};
  }

  ReportInput take() {
    input_.usage.groups = static_cast<std::uint32_t>(input_.groups.size());
    return std::move(input_);
  }
  [[nodiscard]] std::optional<Period> told() const { return told_; }

 private:
  Status read_row(const TableFile::Row& row) {
    const auto gpus = parse_gpus(row.fields[columns_.fraction]);
    if (!gpus || gpus->value() <= 0 || gpus->value() > 1000) {
      return table_.error_at(row, "fraction '" + row.fields[columns_.fraction] +
                                      "': expected a part of one GPU, like 0.25");
    }
    const auto begin = time_of(row, columns_.start);
    if (!begin) return begin.error();
    const auto end = time_of(row, columns_.end);
    if (!end) return end.error();
    if (*end < *begin) return table_.error_at(row, "it ends before it starts");
    const auto pool = pool_of(row);
    if (!pool) return pool.error();
    const std::string name =
        columns_.group ? row.fields[*columns_.group] : input_.pools[*pool].model;
    const auto kind = columns_.state ? kind_of_word(row.fields[*columns_.state])
                                     : audit::HeldKind::kUsed;
    input_.usage.holds.push_back({*begin, *end, *gpus, *pool, group_of(name), kind});
    told_ = told_ ? Period{std::min(told_->begin, *begin), std::max(told_->end, *end)}
                  : Period{*begin, *end};
    return {};
  }

  Result<Instant> time_of(const TableFile::Row& row, std::size_t column) const {
    const auto at = history::parse_instant(row.fields[column], history::TimeUnit::kSeconds);
    if (at) return *at;
    return table_.error_at(row, "'" + row.fields[column] + "' is no time; expected one like "
                                "2026-03-02T10:00:00Z");
  }

  Result<std::optional<MicroMoney>> price_of(const TableFile::Row& row) const {
    if (!columns_.price) return std::optional<MicroMoney>();
    const auto price = parse_fixed(row.fields[*columns_.price], 6);
    if (price && *price >= 0) return std::optional(MicroMoney(*price));
    return table_.error_at(row, "'" + row.fields[*columns_.price] +
                                    "' is no price of a GPU-hour");
  }

  /// Devices of one model and one price are a pool; a device is in one pool.
  Result<std::uint32_t> pool_of(const TableFile::Row& row) {
    const std::string model = columns_.model ? row.fields[*columns_.model] : std::string();
    const auto price = price_of(row);
    if (!price) return price.error();
    const auto key = std::pair(model, *price);
    auto found = pools_.find(key);
    if (found == pools_.end()) {
      found = pools_.emplace(key, static_cast<std::uint32_t>(input_.pools.size())).first;
      input_.pools.push_back({model, *price});
      input_.usage.capacity.emplace_back();
    }
    const std::uint32_t pool = found->second;
    const auto [device, is_new] =
        devices_.emplace(std::pair(row.fields[columns_.node], row.fields[columns_.gpu]), pool);
    if (is_new) input_.usage.capacity[pool] += kWholeGpu;
    if (device->second != pool) {
      return table_.error_at(row, "GPU " + device->first.second + " of node " +
                                      device->first.first + " has another model or price in an "
                                      "earlier line");
    }
    return pool;
  }

  std::uint32_t group_of(const std::string& name) {
    const auto [found, is_new] =
        groups_.emplace(name, static_cast<std::uint32_t>(input_.groups.size()));
    if (is_new) input_.groups.push_back(name);
    return found->second;
  }

  const TableFile& table_;
  const HoldingColumns& columns_;
  ReportInput input_;
  std::optional<Period> told_;
  std::map<std::pair<std::string, std::optional<MicroMoney>>, std::uint32_t> pools_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> devices_;
  std::map<std::string, std::uint32_t> groups_;
};

}  // namespace

bool is_holdings(const HistoryOptions& options) {
  if (options.files.size() != 1 || !options.format.empty() || !options.map.empty()) return false;
  const std::vector<std::string> header = header_names(options.files[0]);
  for (const char* name : {"node", "gpu", "fraction", "start", "end"}) {
    if (history::field_named(header, name) < 0) return false;
  }
  return true;
}

Result<ReportInput> read_holdings(const ReportOptions& options, By by) {
  if (!options.on.empty()) {
    return usage_error("--on is for histories: the devices of a table of holdings are its own");
  }
  const auto table = TableFile::read(options.history.files[0]);
  if (!table) return table.error();
  const auto columns = holding_columns(*table, by);
  if (!columns) return columns.error();
  std::optional<Prices> prices;
  if (!options.prices.empty()) {
    const auto read = prices_of(options.prices);
    if (!read) return read.error();
    prices = *read;
  }
  HoldingsReader reader(*table, *columns);
  if (auto status = reader.read(); !status) return status.error();
  const auto period = period_of(options, reader.told());
  if (!period) return period.error();
  ReportInput input = reader.take();
  input.usage.begin = period->begin;
  input.usage.end = period->end;
  if (!prices) return input;
  if (auto status = add_prices(*prices, input); !status) return status.error();
  return input;
}

}  // namespace rota::cli::reports
