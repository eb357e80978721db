// Energy: --energy-price, --watts, --pue.
#include "audit/apportion.h"
#include "base/text.h"
#include "cli/report/setting.h"
#include "cli/usage.h"

namespace rota::cli::reports {
namespace {

/// `700/120`: watts while held, and while not.
std::optional<Energy::Draw> draw_of(std::string_view text) {
  constexpr std::int64_t kMost = 10'000'000;  // 10 kW
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto held = parse_fixed(text.substr(0, slash), 3);
  const auto unheld = parse_fixed(text.substr(slash + 1), 3);
  const auto is_sound = [](const Result<std::int64_t>& value) {
    return value && *value >= 0 && *value <= kMost;
  };
  if (!is_sound(held) || !is_sound(unheld) || *unheld > *held) return std::nullopt;
  return Energy::Draw{*held, *unheld};
}

Status read_watts(const std::string& text, Energy& energy) {
  for (const std::string_view word : split(text, ',')) {
    const std::size_t equals = word.rfind('=');
    const bool is_named = equals != std::string_view::npos;
    const auto draw = draw_of(is_named ? word.substr(equals + 1) : word);
    const std::string model(is_named ? word.substr(0, equals) : std::string_view());
    const bool is_again = is_named ? energy.by_model.contains(model) : energy.others.has_value();
    if (!draw || is_again || (is_named && model.empty())) {
      return usage_error("--watts '" + std::string(word) + "': expected MODEL=HELD/IDLE in watts "
                         "once for each model, like h100=700/120, or HELD/IDLE for all others, "
                         "with at most as much idle as held");
    }
    if (is_named) energy.by_model.emplace(model, *draw);
    else energy.others = *draw;
  }
  return {};
}

}  // namespace

std::optional<Energy::Draw> Energy::of(std::string_view model) const {
  const auto named = by_model.find(std::string(model));
  const auto draw = named != by_model.end() ? std::optional(named->second) : others;
  if (!draw) return std::nullopt;
  const auto with_overhead = [&](std::int64_t milliwatts) {
    return static_cast<std::int64_t>(audit::rounded_to(Int128{milliwatts} * overhead_milli, 1000));
  };
  return Draw{with_overhead(draw->held_milliwatts), with_overhead(draw->unheld_milliwatts)};
}

Result<std::optional<Energy>> energy_of(const ReportOptions& options) {
  if (options.energy_price.empty() && options.watts.empty() && options.pue.empty()) {
    return std::optional<Energy>();
  }
  if (options.energy_price.empty() || options.watts.empty()) {
    return usage_error("the cost of energy takes --energy-price (of a kWh) and --watts (what a GPU "
                       "draws: measure it, `rota report devices` shows it); they are not guessed");
  }
  Energy energy;
  const auto price = parse_fixed(options.energy_price, 6);
  if (!price || *price < 0 || *price > 1'000'000'000) {
    return usage_error("--energy-price '" + options.energy_price +
                       "': expected the price of a kilowatt-hour, like 0.25");
  }
  energy.price = MicroMoney(*price);
  if (auto status = read_watts(options.watts, energy); !status) return status.error();
  if (options.pue.empty()) return std::optional(energy);
  const auto overhead = parse_fixed(options.pue, 3);
  if (!overhead || *overhead < 1000 || *overhead > 10'000) {
    return usage_error("--pue '" + options.pue + "': expected what the building draws over what "
                       "its machines do, from 1 to 10, like 1.3");
  }
  energy.overhead_milli = *overhead;
  return std::optional(energy);
}

}  // namespace rota::cli::reports
