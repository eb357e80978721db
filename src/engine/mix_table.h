// What the mix of tasks can do with free GPU: for each model and each amount of CPUs left beside
// it, how many tasks (by weight) could use a free part or so many whole devices.
//
// A row answers for one model and for all amounts of CPUs between two at which another kind of task
// finds room; rows are made when they are first asked for.
// Cost: row O(log kinds), O(kinds) the first time; part, whole O(1). Memory: a row for each model
// and each amount of CPUs that some kind asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::engine {

/// A kind of task as the mix weighs it.
struct MixKind {
  std::int64_t milli = 0;  // of one GPU, or whole GPUs
  std::int64_t cpus = 0;
  std::vector<std::int32_t> models;  // empty: any
  std::int64_t weight = 0;

  [[nodiscard]] bool takes(std::int32_t model) const {
    return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
  }
};

class MixTable {
 public:
  enum class Row : std::size_t {};

  /// `whole_max`: devices of the largest node.
  void build(std::vector<MixKind> kinds, std::size_t models, std::int64_t whole_max);
  /// For a node of this model with so much left on it.
  [[nodiscard]] Row row(std::int32_t model, std::int64_t cpus) const;
  /// A device with so much free: that times the weight of the parts that fit on it.
  [[nodiscard]] std::int64_t part(Row row, std::int32_t milli) const {
    return milli * cells_[static_cast<std::size_t>(row) + rank_[static_cast<std::size_t>(milli)]];
  }
  /// So many untouched devices: their milli-GPU times the weight of the tasks they could serve.
  [[nodiscard]] std::int64_t whole(Row row, std::int64_t count) const {
    const auto at = static_cast<std::size_t>(std::min(count, whole_max_));
    return 1000 * count * cells_[static_cast<std::size_t>(row) + parts_ + 1 + at];
  }

 private:
  void fill(std::size_t at, std::int32_t model, std::int64_t cpus) const;

  std::vector<MixKind> kinds_;
  std::vector<std::int64_t> cpus_;       // steps, ascending
  std::array<std::uint16_t, 1001> rank_{};  // by milli-GPU: how many sizes of parts are no larger
  std::size_t parts_ = 0;                // sizes of parts
  std::int64_t whole_max_ = 0;
  static constexpr std::uint32_t kUnmade = ~std::uint32_t{0};
  mutable std::vector<std::uint32_t> rows_;  // by model and step of CPUs: its number
  mutable std::vector<std::int64_t> cells_;
};

}  // namespace rota::engine
