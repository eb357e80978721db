// Budgets: amounts, and parts of others.
#include <map>
#include <utility>
#include <vector>

#include "audit/apportion.h"
#include "base/text.h"
#include "cli/report/setting.h"
#include "cli/report/table_file.h"
#include "cli/usage.h"

namespace rota::cli::reports {
namespace {

constexpr std::int64_t kWholeBudget = 100'000;  // 100 % in thousandths of a percent

/// One row, its amount perhaps still a part.
struct BudgetRow {
  const TableFile::Row* row = nullptr;
  std::string parent;
  std::int64_t part = 0;  // of the parent's, in thousandths of a percent
  bool is_part = false;
  bool is_known = false;
  std::int64_t amount = 0;
};
using BudgetRows = std::map<std::string, BudgetRow>;

Status read_amount(const TableFile& table, const std::string& text, BudgetRow& budget) {
  budget.is_part = text.ends_with('%');
  const auto amount = budget.is_part
                          ? parse_fixed(text.substr(0, text.find_last_not_of(" %") + 1), 3)
                          : parse_fixed(text, 2);
  if (!amount || *amount < 0 || (budget.is_part && *amount > kWholeBudget)) {
    return table.error_at(*budget.row, "'" + text + "' is no budget; expected an amount with at "
                                       "most two places, like 1200.50, or a part of the parent's, "
                                       "like 40%");
  }
  if (budget.is_part && budget.parent.empty()) {
    return table.error_at(*budget.row, "'" + text + "' of what? A part needs a column `parent`");
  }
  (budget.is_part ? budget.part : budget.amount) = *amount;
  budget.is_known = !budget.is_part;
  return {};
}

Status check_parents(const TableFile& table, const BudgetRows& rows) {
  std::vector<std::string> names;
  std::map<std::string, std::int64_t> parts;
  for (const auto& [name, budget] : rows) names.push_back(name);
  for (const auto& [name, budget] : rows) {
    if (budget.parent.empty()) continue;
    if (!rows.contains(budget.parent)) {
      const std::string_view near = nearest_word(budget.parent, names);
      const std::string hint =
          near.empty() ? "" : "; did you mean '" + std::string(near) + "'?";
      return table.error_at(*budget.row, "the parent '" + budget.parent +
                                             "' has no budget of its own" + hint);
    }
    std::int64_t& sum = parts[budget.parent] += budget.part;
    if (sum > kWholeBudget) {
      return table.error_at(*budget.row,
                            "the parts of '" + budget.parent + "' come to more than 100 %");
    }
    std::size_t steps = 0;
    for (std::string at = budget.parent; !at.empty(); at = rows.at(at).parent) {
      if (++steps > rows.size()) {
        return table.error_at(*budget.row, "'" + name + "' is a parent of itself");
      }
    }
  }
  return {};
}

/// The parts of one parent, rounded such that they and the rest add up to it.
void share_out(const std::string& parent, BudgetRows& rows) {
  const std::int64_t whole = rows.at(parent).amount;
  std::vector<BudgetRow*> children;
  std::vector<Int128> amounts;
  std::int64_t rest = kWholeBudget;
  for (auto& [name, budget] : rows) {
    if (!budget.is_part || budget.parent != parent) continue;
    children.push_back(&budget);
    amounts.push_back(Int128{whole} * budget.part);
    rest -= budget.part;
  }
  amounts.push_back(Int128{whole} * rest);
  const std::vector<Int128> rounded = audit::apportioned(amounts, kWholeBudget);
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i]->amount = static_cast<std::int64_t>(rounded[i]);
    children[i]->is_known = true;
  }
}

void resolve(BudgetRows& rows) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [name, budget] : rows) {
      if (budget.is_known || !rows.at(budget.parent).is_known) continue;
      share_out(budget.parent, rows);
      changed = true;
    }
  }
}

}  // namespace

Result<std::map<std::string, Budget>> budgets_of(const std::string& file, std::string_view by) {
  const auto table = TableFile::read(file);
  if (!table) return usage_error("--budget: " + table.error().message, table.error().where);
  const auto name = table->needed({by, "name"});
  if (!name) return name.error();
  const auto budget = table->needed({"budget", "amount"});
  if (!budget) return budget.error();
  const auto parent = table->column({"parent"});
  BudgetRows rows;
  for (const TableFile::Row& row : table->rows()) {
    BudgetRow one{.row = &row, .parent = parent ? row.fields[*parent] : std::string()};
    if (auto status = read_amount(*table, row.fields[*budget], one); !status) {
      return status.error();
    }
    if (!rows.emplace(row.fields[*name], std::move(one)).second) {
      return table->error_at(row, "'" + row.fields[*name] + "' has two budgets");
    }
  }
  if (auto status = check_parents(*table, rows); !status) return status.error();
  resolve(rows);
  std::map<std::string, Budget> budgets;
  for (const auto& [key, one] : rows) budgets.emplace(key, Budget(one.amount, one.parent));
  return budgets;
}

}  // namespace rota::cli::reports
