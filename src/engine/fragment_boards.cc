#include "engine/fragment_boards.h"

#include <algorithm>

namespace rota::engine {

/// True when the boards are this ledger's, who may get them from one that asks no more.
bool FragmentBoards::bind(const Ledger& ledger) {
  if (pages_ != nullptr && ledger.log().pages() == pages_.get()) {
    strangers_ = 0;
    return true;
  }
  const bool owned = pages_ != nullptr && pages_.use_count() > 1;
  if (owned && ++strangers_ < kStrangersMax) return false;
  boards_.clear();
  pages_ = ledger.log().watch();
  strangers_ = 0;
  return true;
}

FragmentBoards::Board& FragmentBoards::find(const BoardKey& key, std::size_t nodes) {
  const auto [place, added] = boards_.try_emplace(key);
  place->second.used = ++uses_;
  if (added && boards_.size() * nodes > kKeysMax && boards_.size() > 1) {
    const auto older = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    boards_.erase(std::min_element(boards_.begin(), boards_.end(), older));
  }
  return place->second;
}

}  // namespace rota::engine
