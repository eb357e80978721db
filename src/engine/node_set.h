// A set of node indices as bits, with one summary bit for each word of 64.
//
// Order: ascending. Cost: insert, erase, contains O(1); next O(words of summary) at worst, that is
// one step for each 4,096 nodes; memory one bit a node up to the highest that was ever in it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::engine {

class NodeSet {
 public:
  static constexpr std::int32_t kEnd = -1;

  void insert(std::int32_t node) {
    const auto word = static_cast<std::size_t>(node) >> 6;
    if (word >= words_.size()) {
      words_.resize(word + 1, 0);
      summary_.resize((word >> 6) + 1, 0);
    }
    words_[word] |= bit(node);
    summary_[word >> 6] |= std::uint64_t{1} << (word & 63);
  }
  void erase(std::int32_t node) {
    const auto word = static_cast<std::size_t>(node) >> 6;
    if (word >= words_.size()) return;
    words_[word] &= ~bit(node);
    if (words_[word] == 0) summary_[word >> 6] &= ~(std::uint64_t{1} << (word & 63));
  }
  [[nodiscard]] bool contains(std::int32_t node) const {
    const auto word = static_cast<std::size_t>(node) >> 6;
    return word < words_.size() && (words_[word] & bit(node)) != 0;
  }
  [[nodiscard]] bool empty() const { return next(0) == kEnd; }
  /// The least node >= `from`; kEnd: none.
  [[nodiscard]] std::int32_t next(std::int32_t from) const { return next_common(*this, from); }
  /// The least node >= `from` that is in both.
  [[nodiscard]] std::int32_t next_common(const NodeSet& other, std::int32_t from) const {
    auto word = static_cast<std::size_t>(from) >> 6;
    if (word >= std::min(words_.size(), other.words_.size())) return kEnd;
    std::uint64_t hit = words_[word] & other.words_[word] & (~std::uint64_t{0} << (from & 63));
    while (hit == 0) {
      word = next_word(other, word + 1);
      if (word == kNoWord) return kEnd;
      hit = words_[word] & other.words_[word];
    }
    return static_cast<std::int32_t>(word * 64) + std::countr_zero(hit);
  }

  /// How many are in both.
  [[nodiscard]] std::int64_t count_common(const NodeSet& other) const {
    std::int64_t count = 0;
    const std::size_t end = std::min(words_.size(), other.words_.size());
    for (std::size_t i = 0; i < end; ++i) count += std::popcount(words_[i] & other.words_[i]);
    return count;
  }

  /// Equal members; how much either has grown does not count.
  friend bool operator==(const NodeSet& a, const NodeSet& b) {
    const auto& less = a.words_.size() < b.words_.size() ? a.words_ : b.words_;
    const auto& more = a.words_.size() < b.words_.size() ? b.words_ : a.words_;
    const auto rest = more.begin() + static_cast<std::ptrdiff_t>(less.size());
    return std::equal(less.begin(), less.end(), more.begin()) &&
           std::all_of(rest, more.end(), [](std::uint64_t word) { return word == 0; });
  }

 private:
  static constexpr std::size_t kNoWord = ~std::size_t{0};
  static std::uint64_t bit(std::int32_t node) { return std::uint64_t{1} << (node & 63); }
  /// The first word >= `from` that is empty in neither set.
  [[nodiscard]] std::size_t next_word(const NodeSet& other, std::size_t from) const {
    std::uint64_t mask = ~std::uint64_t{0} << (from & 63);
    const std::size_t end = std::min(summary_.size(), other.summary_.size());
    for (std::size_t i = from >> 6; i < end; ++i, mask = ~std::uint64_t{0}) {
      const std::uint64_t hit = summary_[i] & other.summary_[i] & mask;
      if (hit != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(hit));
    }
    return kNoWord;
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
};

}  // namespace rota::engine
