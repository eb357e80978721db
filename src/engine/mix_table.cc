#include "engine/mix_table.h"

namespace rota::engine {

namespace {

std::vector<std::int64_t> steps_of(const std::vector<MixKind>& kinds,
                                   std::int64_t MixKind::* amount) {
  std::vector<std::int64_t> steps;
  steps.reserve(kinds.size());
  for (const MixKind& kind : kinds) steps.push_back(kind.*amount);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

std::size_t steps_within(const std::vector<std::int64_t>& steps, std::int64_t amount) {
  return static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), amount) -
                                  steps.begin());
}

}  // namespace

void MixTable::build(std::vector<MixKind> kinds, std::size_t models, std::int64_t whole_max) {
  // What asks for no GPU or for more than a node has can use nothing.
  std::erase_if(kinds, [whole_max](const MixKind& kind) {
    return kind.milli == 0 || kind.milli / 1000 > whole_max;
  });
  kinds_ = std::move(kinds);
  whole_max_ = whole_max;
  cpus_ = steps_of(kinds_, &MixKind::cpus);
  std::vector<MixKind> parts = kinds_;
  std::erase_if(parts, [](const MixKind& kind) { return kind.milli >= 1000; });
  const std::vector<std::int64_t> sizes = steps_of(parts, &MixKind::milli);
  parts_ = sizes.size();
  for (std::size_t milli = 0; milli < rank_.size(); ++milli) {
    rank_[milli] = static_cast<std::uint16_t>(
        steps_within(sizes, static_cast<std::int64_t>(milli)));
  }
  rows_.assign(models * (cpus_.size() + 1), kUnmade);
  cells_.clear();
}

MixTable::Row MixTable::row(std::int32_t model, std::int64_t cpus) const {
  const std::size_t slot =
      static_cast<std::size_t>(model) * (cpus_.size() + 1) + steps_within(cpus_, cpus);
  const std::size_t width = parts_ + 1 + static_cast<std::size_t>(whole_max_) + 1;
  if (rows_[slot] == kUnmade) {
    rows_[slot] = static_cast<std::uint32_t>(cells_.size() / width);
    cells_.resize(cells_.size() + width, 0);
    fill(cells_.size() - width, model, cpus);
  }
  return static_cast<Row>(rows_[slot] * width);
}

void MixTable::fill(std::size_t at, std::int32_t model, std::int64_t cpus) const {
  std::int64_t* const parts = &cells_[at];
  std::int64_t* const whole = parts + parts_ + 1;
  for (const MixKind& kind : kinds_) {
    if (kind.cpus > cpus || !kind.takes(model)) continue;
    if (kind.milli < 1000) {
      parts[rank_[static_cast<std::size_t>(kind.milli)]] += kind.weight;
    } else {
      whole[kind.milli / 1000] += kind.weight;
    }
  }
  for (std::size_t i = 1; i <= parts_; ++i) parts[i] += parts[i - 1];
  for (std::int64_t i = 1; i <= whole_max_; ++i) whole[i] += whole[i - 1];
}

}  // namespace rota::engine
