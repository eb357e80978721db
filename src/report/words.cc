#include "report/words.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace rota::report {
namespace {

constexpr std::int64_t kDay = 86'400;

/// "4m", "4m10s", "3h05m".
std::string two_units(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
  const std::string head = std::to_string(large) + large_unit;
  if (small == 0) return head;
  return head + (small < 10 ? "0" : "") + std::to_string(small) + small_unit;
}

}  // namespace

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string counted(std::int64_t count, std::string_view one) {
  return counted(count, one, std::string(one) + "s");
}

std::string gpu_words(MilliGpu gpus) {
  const bool one = gpus > MilliGpu() && gpus <= MilliGpu(1000);
  return format_gpus(gpus) + (one ? " GPU" : " GPUs");
}

std::string short_duration(double seconds) {
  if (!(seconds > 0)) return "0s";
  if (seconds < 10) {
    const auto tenths = static_cast<std::int64_t>(std::floor(seconds * 10 + 1e-6));
    const std::string part = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
    return std::to_string(tenths / 10) + part + "s";
  }
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 9e15));
  if (whole < 60) return std::to_string(whole) + "s";
  if (whole < 3600) return two_units(whole / 60, 'm', whole % 60, 's');
  if (whole < kDay) return two_units(whole / 3600, 'h', whole / 60 % 60, 'm');
  return two_units(whole / kDay, 'd', whole / 3600 % 24, 'h');
}

std::string short_duration(Duration span) {
  return short_duration(static_cast<double>(span.ns()) / 1e9);
}

}  // namespace rota::report
