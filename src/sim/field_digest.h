// The digest of any value that declares its fields (model/fields.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"

namespace rota::sim {

inline void add_fields(Digest& digest, const std::string& value) { digest.add(value); }
inline void add_fields(Digest& digest, Duration value) {
  digest.add(static_cast<std::uint64_t>(value.ns()));
}
inline void add_fields(Digest& digest, Instant value) {
  digest.add(static_cast<std::uint64_t>(value.ns()));
}
template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void add_fields(Digest& digest, T value) {
  digest.add(static_cast<std::uint64_t>(value));
}
template <class Tag>
void add_fields(Digest& digest, Id<Tag> value) {
  digest.add(value.value());
}
template <class Tag>
void add_fields(Digest& digest, Quantity<Tag> value) {
  digest.add(static_cast<std::uint64_t>(value.value()));
}
template <HasFields T>
void add_fields(Digest& digest, const T& value);
template <class T>
void add_fields(Digest& digest, const std::vector<T>& values);

template <class T>
void add_fields(Digest& digest, const std::optional<T>& value) {
  digest.add(std::uint64_t{value.has_value()});
  if (value) add_fields(digest, *value);
}
template <class T>
void add_fields(Digest& digest, const std::vector<T>& values) {
  digest.add(static_cast<std::uint64_t>(values.size()));
  for (const auto& value : values) add_fields(digest, value);
}
template <HasFields T>
void add_fields(Digest& digest, const T& value) {
  T::fields(value, [&digest](std::string_view, const auto& field) { add_fields(digest, field); });
}
/// The alternative's position goes first.
template <class... Alternatives>
void add_fields(Digest& digest, const std::variant<Alternatives...>& value) {
  digest.add(static_cast<std::uint64_t>(value.index()));
  std::visit([&digest](const auto& alternative) { add_fields(digest, alternative); }, value);
}

}  // namespace rota::sim
