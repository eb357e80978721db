#include "cli/report/setting.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/report/table_file.h"
#include "cli/usage.h"
#include "history/words.h"

namespace rota::cli::reports {
namespace {

Result<Instant> point_of(const std::string& option, const std::string& text) {
  const bool is_date = text.size() == 10 && text[4] == '-' && text[7] == '-';
  const auto at = history::parse_instant(is_date ? text + "T00:00:00" : text,
                                         history::TimeUnit::kSeconds);
  if (at) return *at;
  return usage_error(option + " '" + text + "': expected a date or time (UTC) like 2026-10-01 or "
                     "2026-10-01T08:00:00Z, or seconds since the start of a trace without dates");
}

Instant month_begin(std::chrono::year_month month) {
  const std::chrono::sys_days day{month / std::chrono::day{1}};
  return Instant() + Duration::days(day.time_since_epoch().count());
}

Result<Period> month_of(const std::string& text) {
  const auto parts = split(text, '-');
  if (parts.size() == 2 && parts[0].size() == 4 && parts[1].size() == 2) {
    const auto year = parse_int(parts[0]);
    const auto month = parse_int(parts[1]);
    if (year && month && *year >= 1970 && *year <= 2200 && *month >= 1 && *month <= 12) {
      const std::chrono::year_month begin{std::chrono::year(static_cast<int>(*year)),
                                          std::chrono::month(static_cast<unsigned>(*month))};
      return Period{month_begin(begin), month_begin(begin + std::chrono::months{1})};
    }
  }
  return usage_error("--month '" + text + "': expected a year and a month, like 2026-10");
}

Int128 power_of_ten(int places) {
  Int128 power = 1;
  for (; places > 0; --places) power *= 10;
  return power;
}

std::string digits_of(Int128 amount) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(amount % 10)));
    amount /= 10;
  } while (amount > 0);
  return digits;
}

struct Decimal {
  std::string sign;
  std::string whole;
  std::string fraction;
};

Decimal parts_of(Int128 amount, int places) {
  const Int128 size = amount < 0 ? -amount : amount;
  const Int128 scale = power_of_ten(places);
  Decimal parts{amount < 0 ? "-" : "", digits_of(size / scale), {}};
  if (places > 0) {
    parts.fraction = digits_of(size % scale);
    parts.fraction.insert(0, static_cast<std::size_t>(places) - parts.fraction.size(), '0');
  }
  return parts;
}

}  // namespace

Result<Period> period_of(const ReportOptions& options, std::optional<Period> told) {
  Period period = told.value_or(Period());
  if (!options.month.empty()) {
    if (!options.from.empty() || !options.until.empty()) {
      return usage_error("--month stands for --from and --until; give one or the other");
    }
    return month_of(options.month);
  }
  if (!told && (options.from.empty() || options.until.empty())) {
    return usage_error("the input tells no time; say --month, or --from and --until");
  }
  if (!options.from.empty()) {
    const auto from = point_of("--from", options.from);
    if (!from) return from.error();
    period.begin = *from;
  }
  if (!options.until.empty()) {
    const auto until = point_of("--until", options.until);
    if (!until) return until.error();
    period.end = *until;
  }
  if (period.begin >= period.end) {
    return usage_error("the period is empty: it begins " + point_text(period.begin) +
                       " and ends " + point_text(period.end) + "; see --from and --until");
  }
  if (period.end.ns() / 2 - period.begin.ns() / 2 > Duration::days(36'525).ns() / 2) {
    return usage_error("the period is longer than 100 years: it begins " +
                       point_text(period.begin) + "; see --from and --until");
  }
  return period;
}

Result<std::map<std::string, std::int64_t>> named_amounts(const std::string& option,
                                                          const std::string& text, int digits) {
  std::map<std::string, std::int64_t> amounts;
  for (const std::string_view word : split(text, ',')) {
    const std::size_t equals = word.rfind('=');
    const std::string name(word.substr(0, std::min(equals, word.size())));
    if (equals == std::string_view::npos || name.empty()) {
      return usage_error(option + " '" + std::string(word) + "': expected NAME=AMOUNT");
    }
    const auto amount = parse_fixed(word.substr(equals + 1), digits);
    if (!amount || *amount < 0) {
      return usage_error(option + " '" + std::string(word) + "': expected " +
                         (digits == 0 ? "a whole number" : "a number with at most " +
                                                               std::to_string(digits) + " places") +
                         " behind the =");
    }
    if (!amounts.emplace(name, *amount).second) {
      return usage_error(option + " '" + std::string(word) + "': that name came before");
    }
  }
  return amounts;
}

std::optional<MicroMoney> Prices::of(std::string_view model) const {
  for (const auto& [name, price] : by_model) {
    if (history::same_word(name, model)) return price;
  }
  return others;
}

Result<Prices> prices_of(const std::string& text) {
  constexpr int kMicro = 6;
  Prices prices;
  const bool is_file = text.find('=') == std::string::npos && !parse_fixed(text, kMicro);
  if (is_file) {
    const auto table = TableFile::read(text);
    if (!table) {
      return usage_error("--prices '" + text + "': expected 2.5, h100=2.5,a100=1.2 or a table "
                         "with columns model and price; " + table.error().message);
    }
    prices.is_list = true;
    const auto model = table->needed({"model", "gpu", "gpu_model"});
    if (!model) return model.error();
    const auto price = table->needed({"price", "price_per_gpu_hour"});
    if (!price) return price.error();
    for (const TableFile::Row& row : table->rows()) {
      const auto amount = parse_fixed(row.fields[*price], kMicro);
      if (!amount || *amount < 0) {
        return table->error_at(row, "'" + row.fields[*price] + "' is no price of a GPU-hour");
      }
      if (!prices.by_model.emplace(row.fields[*model], MicroMoney(*amount)).second) {
        return table->error_at(row, "'" + row.fields[*model] + "' is named twice");
      }
    }
    return prices;
  }
  std::vector<std::string> named;
  for (const std::string_view word : split(text, ',')) {
    if (word.find('=') != std::string_view::npos) {
      named.emplace_back(word);
      continue;
    }
    const auto amount = parse_fixed(word, kMicro);
    if (!amount || *amount < 0 || prices.others) {
      return usage_error("--prices '" + std::string(word) +
                         "': expected MODEL=PRICE, or one price for all other models");
    }
    prices.others = MicroMoney(*amount);
  }
  if (named.empty()) return prices;
  const auto amounts = named_amounts("--prices", join(named, ","), kMicro);
  if (!amounts) return amounts.error();
  for (const auto& [name, amount] : *amounts) prices.by_model[name] = MicroMoney(amount);
  return prices;
}

std::string point_text(Instant at) {
  constexpr Instant kFirstDate(Duration::days(3650).ns());
  return at < kFirstDate ? format_duration(at - Instant()) : history::instant_text(at);
}

std::string period_text(const Period& period) {
  const std::string end = point_text(period.end);
  return point_text(period.begin) + " to " + end +
         (end.find('T') == std::string::npos ? " since the start" : "") + " (" +
         format_duration(period.length()) + ")";
}

std::string fixed_text(Int128 amount, int places) {
  const Decimal parts = parts_of(amount, places);
  std::string whole = parts.whole;
  for (std::size_t at = whole.size(); at > 3;) whole.insert(at -= 3, ",");
  return parts.sign + whole + (places > 0 ? "." + parts.fraction : "");
}

std::string decimal_text(Int128 amount, int places) {
  Decimal parts = parts_of(amount, places);
  while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.pop_back();
  return parts.sign + parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction);
}

double decimal_value(Int128 amount, int places) {
  return static_cast<double>(amount) / std::pow(10.0, places);
}

}  // namespace rota::cli::reports
