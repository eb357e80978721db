// How plain values show their fields to codecs, digests and snapshots.
//
// A value type declares, once,
//     template <class Self, class Visit>
//     static void fields(Self& self, Visit&& visit) { visit("gpus", self.gpus); ... }
// and every codec (JSON, binary snapshot, digest, schema) is one visitor over it. Names are the
// names used on the wire. Enumerations declare `constexpr auto names_of(E)`, an array whose
// position is the enumerator's value.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

namespace rota {

struct AnyVisit {
  template <class T>
  void operator()(std::string_view, T&) const {}
};

template <class T>
concept HasFields = requires(T& value, AnyVisit visit) { T::fields(value, visit); };

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) { names_of(e); };

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

template <NamedEnum E>
constexpr std::optional<E> enum_from(std::string_view name) {
  constexpr auto names = names_of(E{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace rota
