// A few job ids in ascending order, side by side in memory.
//
// For sets that are small or mostly grow at the end. Cost: insert, erase O(ids after it); contains
// O(log ids).
#pragma once

#include <algorithm>
#include <vector>

#include "base/id.h"

namespace rota::engine {

class SortedIds {
 public:
  void insert(JobId id) {
    if (ids_.empty() || ids_.back() < id) {
      ids_.push_back(id);
      return;
    }
    const auto place = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (*place != id) ids_.insert(place, id);
  }
  void erase(JobId id) {
    const auto place = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (place != ids_.end() && *place == id) ids_.erase(place);
  }
  [[nodiscard]] bool contains(JobId id) const {
    return std::binary_search(ids_.begin(), ids_.end(), id);
  }
  [[nodiscard]] bool empty() const { return ids_.empty(); }
  void clear() { ids_.clear(); }
  [[nodiscard]] auto begin() const { return ids_.begin(); }
  [[nodiscard]] auto end() const { return ids_.end(); }

 private:
  std::vector<JobId> ids_;
};

}  // namespace rota::engine
