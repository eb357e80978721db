// Values in ascending order, in blocks that lie side by side: many of them are walked fast, and one
// comes or goes at little cost.
//
// Cost: insert, erase and look-ups O(log n + block); a block that is full or empty moves the list
// of blocks. Places are good until the next change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace rota::engine {

template <class T>
class SortedBlocks {
 public:
  struct Place {
    std::size_t block = 0;
    std::size_t at = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T& operator[](Place place) const { return blocks_[place.block][place.at]; }
  [[nodiscard]] const T& front() const { return blocks_.front().front(); }
  [[nodiscard]] Place begin() const { return {0, 0}; }
  [[nodiscard]] Place end() const { return {blocks_.size(), 0}; }
  [[nodiscard]] Place after(Place place) const {
    return ++place.at < blocks_[place.block].size() ? place : Place{place.block + 1, 0};
  }
  /// Not of begin().
  [[nodiscard]] Place before(Place place) const {
    if (place.at > 0) return {place.block, place.at - 1};
    return {place.block - 1, blocks_[place.block - 1].size() - 1};
  }
  /// The first for which `low`, true of all up to some place and of none behind it, is false.
  template <class Low>
  [[nodiscard]] Place first_not(Low&& low) const {
    const auto block =
        std::partition_point(blocks_.begin(), blocks_.end(),
                             [&](const std::vector<T>& values) { return low(values.back()); });
    if (block == blocks_.end()) return end();
    const auto at = std::partition_point(block->begin(), block->end(), low);
    return {static_cast<std::size_t>(block - blocks_.begin()),
            static_cast<std::size_t>(at - block->begin())};
  }
  void insert(T value) {
    ++size_;
    if (blocks_.empty()) {
      blocks_.emplace_back().push_back(std::move(value));
      return;
    }
    Place place = first_not([&](const T& other) { return other < value; });
    if (place == end()) place = {blocks_.size() - 1, blocks_.back().size()};
    std::vector<T>& block = blocks_[place.block];
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(place.at), std::move(value));
    if (block.size() < kBlock) return;
    std::vector<T> half(std::make_move_iterator(block.begin() + kBlock / 2),
                        std::make_move_iterator(block.end()));
    block.resize(kBlock / 2);
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block) + 1,
                   std::move(half));
  }
  /// One that equals `value` must be there.
  void erase(const T& value) {
    const Place place = first_not([&](const T& other) { return other < value; });
    ROTA_CHECK(!(place == end()) && !(value < (*this)[place]));
    std::vector<T>& block = blocks_[place.block];
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(place.at));
    if (block.empty()) {
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block));
    }
    --size_;
  }

 private:
  static constexpr std::size_t kBlock = 64;
  std::vector<std::vector<T>> blocks_;  // none empty
  std::size_t size_ = 0;
};

}  // namespace rota::engine
