#include "history/names.h"

#include <cstring>
#include <functional>

#include "base/text.h"

namespace rota::history {
namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;
constexpr std::size_t kSlotsFirst = 1024;

}  // namespace

NameTable::NameTable() : texts_(1), slots_(kSlotsFirst, 0) {}

std::string_view NameTable::keep(std::string_view text) {
  if (text.size() > block_left_) {
    const std::size_t size = text.size() > kBlockBytes ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    block_at_ = blocks_.back().get();
    block_left_ = size;
  }
  std::memcpy(block_at_, text.data(), text.size());
  const std::string_view kept(block_at_, text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return kept;
}

void NameTable::grow() {
  std::vector<std::uint32_t> slots(slots_.size() * 2, 0);
  const std::size_t mask = slots.size() - 1;
  for (std::uint32_t index = 1; index < texts_.size(); ++index) {
    std::size_t at = std::hash<std::string_view>{}(texts_[index]) & mask;
    while (slots[at] != 0) at = (at + 1) & mask;
    slots[at] = index;
  }
  slots_ = std::move(slots);
}

Name NameTable::intern(std::string_view text) {
  if (text.empty()) return {};
  if (has_control(text)) return intern(without_control(text));
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = std::hash<std::string_view>{}(text) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    if (texts_[slots_[at]] == text) return {slots_[at]};
  }
  const auto index = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(keep(text));
  slots_[at] = index;
  if (texts_.size() * 2 > slots_.size()) grow();
  return {index};
}

}  // namespace rota::history
