#include "cli/report/input.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/report/cluster.h"
#include "cli/report/collect.h"
#include "cli/usage.h"
#include "history/words.h"

namespace rota::cli::reports {

MilliGpu ReportInput::capacity() const {
  MilliGpu sum;
  for (const MilliGpu capacity : usage.capacity) sum += capacity;
  return sum;
}

audit::HeldKind held_kind_of(history::Outcome outcome) {
  using history::Outcome;
  switch (outcome) {
    case Outcome::kFailed:
    case Outcome::kOutOfMemory:
    case Outcome::kNodeFailed: return audit::HeldKind::kFailed;
    case Outcome::kPreempted:
    case Outcome::kRequeued: return audit::HeldKind::kPreempted;
    case Outcome::kUnknown: return audit::HeldKind::kUnknown;
    default: return audit::HeldKind::kUsed;
  }
}

Result<ReportInput> read_report_input(Context& context, const ReportOptions& options, By by) {
  if (is_holdings(options.history)) return read_holdings(options, by);
  std::optional<Prices> prices;
  if (!options.prices.empty()) {
    const auto read = prices_of(options.prices);
    if (!read) return read.error();
    prices = *read;
  }
  auto cluster = report_cluster_of(options.on);
  if (!cluster) return cluster.error();
  if (!options.drained.empty() && options.on.empty()) {
    return usage_error("--drained needs --on with the nodes that it names");
  }
  const auto history = read_history(context, options.history);
  if (!history) return history.error();
  const auto period = period_of(options, period_of_history(*history));
  if (!period) return period.error();
  ReportInput input;
  input.usage.begin = period->begin;
  input.usage.end = period->end;
  add_cluster(*cluster, input);
  if (!options.drained.empty()) {
    if (auto status = add_outages(options.drained, *cluster, input); !status) {
      return status.error();
    }
  }
  collect(*history, by, options.on.empty() ? Capacity::kFromHistory : Capacity::kTold, input);
  if (input.pools.empty()) {
    return usage_error("no attempt in the history held a GPU at a time that it tells; "
                       "`rota import` says what is in it");
  }
  input.import_notes = import_notes_text(history->notes());
  if (!prices) return input;
  if (auto status = add_prices(*prices, input); !status) return status.error();
  return input;
}

Status add_prices(const Prices& prices, ReportInput& input) {
  std::vector<std::string> models;
  for (ReportPool& pool : input.pools) {
    if (const auto price = prices.of(pool.model)) pool.price = price;
    if (!pool.model.empty()) models.push_back(pool.model);
  }
  if (prices.is_list) return {};
  for (const auto& [name, price] : prices.by_model) {
    const bool is_there =
        std::any_of(models.begin(), models.end(), [&name = name](const std::string& model) {
          return history::same_word(model, name);
        });
    if (is_there) continue;
    const std::string_view near = nearest_word(name, models);
    return usage_error("--prices: there is no GPU of model '" + name + "'" +
                       (near.empty() ? "; models: " + join(models, ", ")
                                     : " (did you mean '" + std::string(near) + "'?)"));
  }
  return {};
}

}  // namespace rota::cli::reports
