#include "engine/key_set.h"

#include <algorithm>

namespace rota::engine {

std::size_t KeySet::block_of(std::uint64_t key) const {
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), key,
      [](std::uint64_t k, const Block& block) { return k < block.keys[0]; });
  return after == blocks_.begin() ? 0 : static_cast<std::size_t>(after - blocks_.begin()) - 1;
}

void KeySet::insert(std::uint64_t key) {
  if (blocks_.empty()) {
    blocks_.emplace_back();
    blocks_[0].keys[0] = key;
    blocks_[0].size = 1;
    return;
  }
  std::size_t index = block_of(key);
  if (blocks_[index].size == kBlock) {
    const auto place = blocks_.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    Block& upper = *blocks_.insert(place, Block{});
    Block& lower = blocks_[index];
    constexpr std::size_t kHalf = kBlock / 2;
    upper.size = kBlock - kHalf;
    std::copy_n(lower.keys.begin() + kHalf, upper.size, upper.keys.begin());
    lower.size = kHalf;
    if (key >= upper.keys[0]) ++index;
  }
  Block& block = blocks_[index];
  const auto end = block.keys.begin() + static_cast<std::ptrdiff_t>(block.size);
  const auto at = std::lower_bound(block.keys.begin(), end, key);
  if (at != end && *at == key) return;
  std::copy_backward(at, end, end + 1);
  *at = key;
  ++block.size;
}

void KeySet::erase(std::uint64_t key) {
  if (blocks_.empty()) return;
  const std::size_t index = block_of(key);
  Block& block = blocks_[index];
  const auto end = block.keys.begin() + static_cast<std::ptrdiff_t>(block.size);
  const auto at = std::lower_bound(block.keys.begin(), end, key);
  if (at == end || *at != key) return;
  std::copy(at + 1, end, at);
  --block.size;
  if (block.size < kBlock / 4) join_small(index);
}

/// Empties go; a block with few keys takes its successor's in where they fit.
void KeySet::join_small(std::size_t index) {
  const auto place = blocks_.begin() + static_cast<std::ptrdiff_t>(index);
  if (place->size == 0) {
    blocks_.erase(place);
    return;
  }
  if (index + 1 == blocks_.size() || place->size + (place + 1)->size > kBlock * 3 / 4) return;
  std::copy_n((place + 1)->keys.begin(), (place + 1)->size,
              place->keys.begin() + static_cast<std::ptrdiff_t>(place->size));
  place->size += (place + 1)->size;
  blocks_.erase(place + 1);
}

std::uint64_t KeySet::at_least(std::uint64_t key) const {
  if (blocks_.empty()) return kEnd;
  const std::size_t index = block_of(key);
  const Block& block = blocks_[index];
  const auto end = block.keys.begin() + static_cast<std::ptrdiff_t>(block.size);
  const auto at = std::lower_bound(block.keys.begin(), end, key);
  if (at != end) return *at;
  return index + 1 < blocks_.size() ? blocks_[index + 1].keys[0] : kEnd;
}

std::uint64_t KeySet::below(std::uint64_t key) const {
  if (blocks_.empty()) return kEnd;
  const std::size_t index = block_of(key);
  const Block& block = blocks_[index];
  const auto end = block.keys.begin() + static_cast<std::ptrdiff_t>(block.size);
  const auto at = std::lower_bound(block.keys.begin(), end, key);
  if (at != block.keys.begin()) return *(at - 1);
  return index > 0 ? blocks_[index - 1].keys[blocks_[index - 1].size - 1] : kEnd;
}

bool operator==(const KeySet& a, const KeySet& b) {
  std::uint64_t key = 0;
  while (true) {
    const std::uint64_t next = a.at_least(key);
    if (next != b.at_least(key)) return false;
    if (next == KeySet::kEnd) return true;
    key = next + 1;
  }
}

}  // namespace rota::engine
