#include "audit/scale_up.h"

#include <algorithm>

#include "base/text.h"

namespace rota::audit {
namespace {

Error scale_up_error(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          "'" + std::string(text) + "': " + std::string(why) +
              "; expected like 'p90 demand > 64', 'p50 demand > capacity for 4h' or "
              "'p90 wait > 2h'"};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

Result<std::int64_t> threshold_of(std::string_view text, std::string_view word, Measure measure,
                                  std::optional<std::int64_t> capacity) {
  if (measure == Measure::kWait) {
    const auto length = parse_duration(word);
    if (!length || length->ns() < 0) {
      return scale_up_error(text, "'" + std::string(word) + "' is no length of time");
    }
    return length->ns();
  }
  if (word == "capacity") {
    if (capacity) return *capacity;
    return scale_up_error(text, "nobody said what the capacity is (--capacity or --on)");
  }
  const auto gpus = parse_fixed(word, 3);
  if (!gpus || *gpus < 0) {
    return scale_up_error(text, "'" + std::string(word) + "' is no number of GPUs");
  }
  return *gpus;
}

}  // namespace

Result<ScaleUp> scale_up_from(std::string_view text, std::optional<std::int64_t> capacity) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 4 && words.size() != 6) {
    return scale_up_error(text, "four words, and two more for a length");
  }
  ScaleUp rule;
  if (words[0] == "p50") rule.band = Band::kP50;
  else if (words[0] != "p90") return scale_up_error(text, "the first word is p50 or p90");
  if (words[1] == "wait") rule.measure = Measure::kWait;
  else if (words[1] != "demand") return scale_up_error(text, "the second word is demand or wait");
  if (words[2] != ">") return scale_up_error(text, "the third word is >");
  const auto above = threshold_of(text, words[3], rule.measure, capacity);
  if (!above) return above.error();
  rule.above = *above;
  if (words.size() == 4) return rule;
  const auto length = parse_duration(words[5]);
  const std::int64_t ns = length ? length->ns() : 0;
  if (words[4] != "for" || ns <= 0 || ns % kHourLength != 0) {
    return scale_up_error(text, "a length is `for` and whole hours, like `for 4h`");
  }
  rule.hours = ns / kHourLength;
  return rule;
}

std::vector<Shortage> shortages_of(const ScaleUp& rule, const DemandForecast& demand,
                                   std::span<const HourWait> waits) {
  std::vector<Shortage> out;
  const bool is_wait = rule.measure == Measure::kWait;
  const std::size_t count = is_wait ? waits.size() : demand.hours.size();
  const auto excess_at = [&](std::size_t i) {
    const bool is_high = rule.band == Band::kP90;
    if (is_wait) return (is_high ? waits[i].p90 : waits[i].p50) - rule.above;
    return (is_high ? demand.hours[i].high : demand.hours[i].expected) - rule.above;
  };
  for (std::size_t i = 0; i < count;) {
    if (excess_at(i) <= 0) {
      ++i;
      continue;
    }
    Shortage shortage{.first_hour = demand.first_hour + static_cast<std::int64_t>(i)};
    for (; i < count && excess_at(i) > 0; ++i) {
      ++shortage.hours;
      shortage.short_max = std::max(shortage.short_max, excess_at(i));
      if (!is_wait) shortage.short_sum += excess_at(i);
    }
    if (shortage.hours >= rule.hours) out.push_back(shortage);
  }
  return out;
}

}  // namespace rota::audit
