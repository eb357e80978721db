#include "audit/words.h"

#include <array>
#include <cmath>

namespace rota::audit {
namespace {

/// With `digits` decimals, needless zeros cut.
std::string decimal(double value, int digits) {
  std::int64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const std::int64_t scaled = std::llround(value * static_cast<double>(scale));
  std::string text = std::to_string(scaled / scale);
  if (scaled % scale == 0) return text;
  std::string rest = std::to_string(scale + scaled % scale).substr(1);
  while (rest.back() == '0') rest.pop_back();
  return text + "." + rest;
}

int digits_for(double value) {
  if (value >= 100 || value == 0) return 0;
  if (value >= 10) return 1;
  if (value >= 1) return 2;
  return value >= 0.1 ? 2 : 4;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string counted(std::int64_t count, std::string_view one) {
  return grouped(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

std::string hours_text(GpuTime gpu_time) {
  const double hours = gpu_hours(gpu_time);
  return hours >= 100 ? grouped(std::llround(hours)) : decimal(hours, digits_for(hours));
}

std::string gib_hours_text(Int128 mib_time) {
  const double hours = static_cast<double>(mib_time) / 1024 / 3.6e12;
  return hours >= 100 ? grouped(std::llround(hours)) : decimal(hours, digits_for(hours));
}

std::string percent_text(Int128 part, Int128 whole) {
  if (whole <= 0) return "n/a";
  const double percent = static_cast<double>(part) / static_cast<double>(whole) * 100;
  if (part > 0 && percent < 0.1) return "<0.1 %";
  return decimal(percent, percent < 10 ? 1 : 0) + " %";
}

std::string permille_text(std::int64_t permille) { return percent_text(permille, 1000); }

std::string ratio_text(double value) {
  return value >= 1000 ? grouped(std::llround(value)) : decimal(value, digits_for(value));
}

std::string chance_text(double chance) {
  if (chance <= 0) return "1 in 1e300";
  const double one_in = 1 / chance;
  if (one_in < 1e9) return "1 in " + grouped(std::llround(one_in));
  return "1 in 1e" + std::to_string(static_cast<int>(std::floor(std::log10(one_in))));
}

std::string hour_of_week_text(int hour) {
  constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu",
                                                  "Fri", "Sat", "Sun"};
  const int of_day = hour % 24;
  return std::string(kDays[static_cast<std::size_t>(hour / 24)]) + (of_day < 10 ? " 0" : " ") +
         std::to_string(of_day) + ":00";
}

}  // namespace rota::audit
