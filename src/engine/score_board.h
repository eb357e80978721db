// The best of many nodes: a key for each, and the least key of every block of 64.
//
// Less is better; among equals the lower index. Cost: set O(1) where the key falls, else O(64);
// best O(nodes / 64), and O(nodes) at worst where the best ones may not be taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::engine {

class ScoreBoard {
 public:
  /// The key of a node that cannot be chosen.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  void reset(std::size_t nodes) {
    const std::size_t blocks = (nodes + kBlock - 1) / kBlock;
    keys_.assign(blocks * kBlock, kNever);
    least_.assign(blocks, kNever);
  }
  void set(std::int32_t node, std::uint64_t key) {
    const auto at = static_cast<std::size_t>(node);
    const std::uint64_t before = keys_[at];
    keys_[at] = key;
    std::uint64_t& least = least_[at / kBlock];
    if (key <= least) {
      least = key;
    } else if (before == least) {
      const auto block = keys_.begin() + static_cast<std::ptrdiff_t>(at / kBlock * kBlock);
      least = *std::min_element(block, block + kBlock);
    }
  }
  /// The best node of those that `may` accepts; -1: none.
  template <class May>
  [[nodiscard]] std::int32_t best(May&& may) const {
    const auto first = std::min_element(least_.begin(), least_.end());
    if (first == least_.end() || *first == kNever) return -1;
    Found found;
    const auto start = static_cast<std::size_t>(first - least_.begin());
    look_in(start, may, found);
    if (found.key == *first) return found.node;
    found = {};
    for (std::size_t block = 0; block < least_.size(); ++block) look_in(block, may, found);
    return found.node;
  }

 private:
  static constexpr std::size_t kBlock = 64;
  struct Found {
    std::uint64_t key = kNever;
    std::int32_t node = -1;
  };
  template <class May>
  void look_in(std::size_t block, May& may, Found& found) const {
    if (least_[block] >= found.key) return;
    for (std::size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
      const auto node = static_cast<std::int32_t>(i);
      if (keys_[i] < found.key && may(node)) found = {keys_[i], node};
    }
  }
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> least_;
};

}  // namespace rota::engine
