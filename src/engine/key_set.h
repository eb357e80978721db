// A set of 64-bit keys in ascending order, in blocks that lie side by side in one allocation.
//
// Cost: look-ups O(log n); insert and erase O(log n + block) and, where a block is split or joined,
// one move of the blocks behind it; a copy is one allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::engine {

class KeySet {
 public:
  /// Above every key that may be in the set.
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  void insert(std::uint64_t key);
  void erase(std::uint64_t key);
  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  /// The least key >= `key`; kEnd: none.
  [[nodiscard]] std::uint64_t at_least(std::uint64_t key) const;
  /// The greatest key < `key`; kEnd: none.
  [[nodiscard]] std::uint64_t below(std::uint64_t key) const;
  friend bool operator==(const KeySet& a, const KeySet& b);

 private:
  static constexpr std::size_t kBlock = 62;
  struct Block {
    std::size_t size = 0;
    std::array<std::uint64_t, kBlock> keys;  // the first `size`
  };
  /// The block that holds `key` or would; blocks_ must not be empty.
  [[nodiscard]] std::size_t block_of(std::uint64_t key) const;
  void join_small(std::size_t block);
  std::vector<Block> blocks_;  // none empty
};

}  // namespace rota::engine
