// Owners: queues in a tree, users. Plain values as declared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/fields.h"

namespace rota {

/// A queue. Only queues without children take jobs. Siblings divide their parent by weight.
struct QueueSpec {
  std::string name;
  std::string parent;                 // empty: below the root
  std::int64_t weight = 1;            // 0: gets only what nobody else wants; up to 1,000,000
  std::optional<MilliGpu> quota;      // guaranteed at every moment
  std::optional<MilliGpu> limit;      // hard cap, uncharged work included

  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("parent", self.parent);
    visit("weight", self.weight);
    visit("quota", self.quota);
    visit("limit", self.limit);
  }
};

struct UserSpec {
  std::string name;
  std::optional<MilliGpu> limit;

  friend bool operator==(const UserSpec&, const UserSpec&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("limit", self.limit);
  }
};

}  // namespace rota
