// Strong 64-bit identities. An Id of one kind never converts to another kind or to a number.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace rota {

/// Identity of kind `Tag`. Value 0 is "none" and is never given out. Ordered by value, so every
/// sort can end with it. Copies freely; no allocation.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint64_t value) : value_(value) {}
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint64_t value_ = 0;
};

struct JobTag {};
struct GroupTag {};
struct QueueTag {};
struct UserTag {};
struct NodeTag {};
struct EventTag {};

using JobId = Id<JobTag>;      // Rota's own job number, kept through requeues and restarts
using GroupId = Id<GroupTag>;  // array, periodic job or service: shares the number space of jobs
using EventSeq = Id<EventTag>;  // position in the journal

}  // namespace rota

template <class Tag>
struct std::hash<rota::Id<Tag>> {
  std::size_t operator()(rota::Id<Tag> id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value());
  }
};
