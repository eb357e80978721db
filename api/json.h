// JSON codec of every value that declares its fields (model/fields.h): one visitor, both ways.
//
// On the wire: Id, Instant, Duration and Quantity are whole numbers (value or nanoseconds), Int128
// is a decimal string, an enumeration is its name, an absent optional is left out (null where its
// default is not absent), text marked kMayLack or kTime (api/marks.h) is left out while it is
// empty, a variant is an object whose first key says which alternative
// ({"event": "job_submitted", "job": 7, ...}; decisions: "decision"). Fields keep their declared
// order.
// Reading is strict: an unknown key, a wrong type or a number out of range is an error that names
// the path, what was expected and the nearest known key. A missing key keeps its default.
// Pure; cost O(size). No function throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/marks.h"
#include "base/id.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/fields.h"

namespace rota::api {

using Json = nlohmann::ordered_json;

/// Says how a variant names its alternatives; specialise for each variant that travels.
template <class Variant>
struct VariantNames;
template <>
struct VariantNames<::rota::Event> {
  static constexpr std::string_view kKey = "event";
  static constexpr const auto& kNames = kEventNames;
};
template <>
struct VariantNames<::rota::Decision> {
  static constexpr std::string_view kKey = "decision";
  static constexpr const auto& kNames = kDecisionNames;
};

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsId : std::false_type {};
template <class Tag>
struct IsId<Id<Tag>> : std::true_type {};
template <class T>
struct IsQuantity : std::false_type {};
template <class Tag>
struct IsQuantity<Quantity<Tag>> : std::true_type {};
template <class T>
struct IsVariant : std::false_type {};
template <class... Ts>
struct IsVariant<std::variant<Ts...>> : std::true_type {};
template <class Mark>
constexpr bool kLeavesOut = std::is_same_v<std::remove_cvref_t<Mark>, MayLack> ||
                            std::is_same_v<std::remove_cvref_t<Mark>, TimeMark>;
template <class T>
constexpr bool kIsTime = std::is_same_v<T, Instant> || std::is_same_v<T, Duration>;
template <class>
constexpr bool kNoCodec = false;

[[nodiscard]] std::string text_of(Int128 value);
[[nodiscard]] std::optional<Int128> int128_from(std::string_view text);

/// "a whole number", "text", ...: what `value` holds, for messages.
[[nodiscard]] std::string_view kind_of(const Json& value);
/// Where a value stands in its document; words are made of it only for a message.
struct Path {
  std::string_view key;             // empty: the element `index` of a list
  std::size_t index = 0;
  const Path* above = nullptr;

  [[nodiscard]] Path child(std::string_view name) const { return {.key = name, .above = this}; }
  [[nodiscard]] Path child(std::size_t at) const { return {.key = {}, .index = at, .above = this}; }
  [[nodiscard]] std::string text() const;  // "jobs[2].name"
};
[[nodiscard]] Error wrong_type(const Path& path, std::string_view expected,
                               const Json& found);
[[nodiscard]] Error out_of_range(const Path& path, std::string_view low,
                                 std::string_view high);
[[nodiscard]] Error unknown_key(const Path& path, std::string_view key,
                                const std::vector<std::string>& known);
[[nodiscard]] Error unknown_word(const Path& path, std::string_view word,
                                 const std::vector<std::string>& known);
[[nodiscard]] Status read_integer(const Json& json, const Path& path, std::int64_t low,
                                  std::int64_t high, std::int64_t& out);
[[nodiscard]] Status read_unsigned(const Json& json, const Path& path, std::uint64_t& out);

template <class Names>
std::vector<std::string> words(const Names& names) {
  return {names.begin(), names.end()};
}

template <class T>
void write(const T& value, Json& out);
template <class T>
[[nodiscard]] Status read(const Json& json, const Path& path, T& out);

/// By position: is the field an optional that holds something by default? Then its absence must be
/// said, since a missing key means the default.
template <class T>
const std::vector<bool>& filled_by_default() {
  static const std::vector<bool> kFilled = [] {
    std::vector<bool> out;
    const T defaults{};
    T::fields(defaults, [&](std::string_view, const auto& field, auto&&...) {
      if constexpr (IsOptional<std::remove_cvref_t<decltype(field)>>::value) {
        out.push_back(field.has_value());
      } else {
        out.push_back(false);
      }
    });
    return out;
  }();
  return kFilled;
}

/// Fields are unique, so none is looked for before it is appended.
template <class T>
void write_fields(const T& value, Json& out) {
  auto& object = out.template get_ref<Json::object_t&>();
  std::size_t position = 0;
  T::fields(value, [&](std::string_view name, const auto& field, auto&&... rest) {
    using Field = std::remove_cvref_t<decltype(field)>;
    [[maybe_unused]] const bool filled = filled_by_default<T>()[position++];
    const auto append = [&](const auto& what) {
      Json child;
      write(what, child);
      object.emplace_back(std::string(name), std::move(child));
    };
    if constexpr ((kLeavesOut<decltype(rest)> || ...)) {
      if (!field.empty()) append(field);
    } else if constexpr (IsOptional<Field>::value) {
      if (field.has_value()) {
        append(*field);
      } else if (filled) {
        object.emplace_back(std::string(name), Json());
      }
    } else {
      append(field);
    }
  });
}

template <class T>
void write(const T& value, Json& out) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                std::is_floating_point_v<T>) {
    out = value;
  } else if constexpr (std::is_same_v<T, Int128>) {
    out = text_of(value);
  } else if constexpr (NamedEnum<T>) {
    out = std::string(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    out = value;
  } else if constexpr (IsId<T>::value || IsQuantity<T>::value) {
    out = value.value();
  } else if constexpr (kIsTime<T>) {
    out = value.ns();
  } else if constexpr (IsOptional<T>::value) {
    if (value) write(*value, out);
  } else if constexpr (IsVector<T>::value) {
    out = Json::array();
    for (const auto& item : value) {
      Json child;
      write(item, child);
      out.push_back(std::move(child));
    }
  } else if constexpr (IsMap<T>::value) {
    out = Json::object();
    for (const auto& [key, item] : value) write(item, out[key]);
  } else if constexpr (IsVariant<T>::value) {
    out = Json::object();
    out[std::string(VariantNames<T>::kKey)] = std::string(VariantNames<T>::kNames[value.index()]);
    std::visit([&](const auto& alternative) { write_fields(alternative, out); }, value);
  } else if constexpr (HasFields<T>) {
    out = Json::object();
    write_fields(value, out);
  } else {
    static_assert(kNoCodec<T>, "this type has no JSON form");
  }
}

/// The first key that is neither a field of T nor `skip`.
template <class T>
Error stray_key(const Json& json, const Path& path, std::string_view skip) {
  std::vector<std::string> known;
  const T defaults{};
  T::fields(defaults, [&](std::string_view name, const auto&, auto&&...) {
    known.emplace_back(name);
  });
  for (const auto& [key, value] : json.items()) {
    if (key != skip && std::find(known.begin(), known.end(), key) == known.end()) {
      return unknown_key(path, key, known);
    }
  }
  return {.code = ErrorCode::kInvalidArgument, .message = "a key stands twice"};
}

/// Reads the fields of an object. `skip` is a key that the caller has dealt with; empty: none.
/// Cost: one look a field where the keys come in the declared order.
template <class T>
Status read_fields(const Json& json, const Path& path, std::string_view skip, T& out) {
  if (!json.is_object()) return wrong_type(path, "an object", json);
  const auto& object = json.get_ref<const Json::object_t&>();
  std::size_t found = skip.empty() ? 0 : 1;
  auto next = object.begin();
  Status status;
  T::fields(out, [&](std::string_view name, auto& field, auto&&...) {
    const auto is_it = [&](const auto& entry) { return entry.first == name; };
    const bool in_order = next != object.end() && is_it(*next);
    const auto at = in_order ? next : std::find_if(object.begin(), object.end(), is_it);
    if (at == object.end()) return;
    next = at + 1;
    ++found;
    if (status.ok()) status = read(at->second, path.child(name), field);
  });
  if (!status.ok() || found == json.size()) return status;
  return stray_key<T>(json, path, skip);
}

template <class T, std::size_t I = 0>
Status read_alternative(const Json& json, const Path& path, std::size_t index, T& out) {
  if constexpr (I < std::variant_size_v<T>) {
    if (index != I) return read_alternative<T, I + 1>(json, path, index, out);
    return read_fields(json, path, VariantNames<T>::kKey, out.template emplace<I>());
  } else {
    return Error{.code = ErrorCode::kInvalidArgument, .message = "no such alternative"};
  }
}

template <class T>
Status read_variant(const Json& json, const Path& path, T& out) {
  const std::string key(VariantNames<T>::kKey);
  if (!json.is_object()) return wrong_type(path, "an object", json);
  const auto it = json.find(key);
  if (it == json.end() || !it->is_string()) {
    return wrong_type(path.child(key), "text", it == json.end() ? Json() : *it);
  }
  const auto& name = it->template get_ref<const std::string&>();
  const auto& names = VariantNames<T>::kNames;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return read_alternative(json, path, i, out);
  }
  return unknown_word(path.child(key), name, words(names));
}

template <class T>
Status read_list(const Json& json, const Path& path, T& out) {
  if (!json.is_array()) return wrong_type(path, "a list", json);
  out.clear();
  for (std::size_t i = 0; i < json.size(); ++i) {
    typename T::value_type item{};
    Status status = read(json[i], path.child(i), item);
    if (!status.ok()) return status;
    out.push_back(std::move(item));
  }
  return {};
}

template <class T>
Status read_map(const Json& json, const Path& path, T& out) {
  if (!json.is_object()) return wrong_type(path, "an object", json);
  out.clear();
  for (const auto& [key, value] : json.items()) {
    Status status = read(value, path.child(key), out[key]);
    if (!status.ok()) return status;
  }
  return {};
}

template <NamedEnum T>
Status read_enum(const Json& json, const Path& path, T& out) {
  if (!json.is_string()) return wrong_type(path, "text", json);
  const auto& name = json.get_ref<const std::string&>();
  const std::optional<T> value = enum_from<T>(name);
  if (!value) return unknown_word(path, name, words(names_of(T{})));
  out = *value;
  return {};
}

template <class T>
Status read_whole(const Json& json, const Path& path, T& out) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return read_unsigned(json, path, out);
  } else {
    std::int64_t number = 0;
    Status status = read_integer(json, path, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max(), number);
    if (status.ok()) out = static_cast<T>(number);
    return status;
  }
}

template <class T>
Status read_wrapped(const Json& json, const Path& path, T& out) {
  if constexpr (IsId<T>::value) {
    std::uint64_t number = 0;
    Status status = read_unsigned(json, path, number);
    if (status.ok()) out = T(number);
    return status;
  } else {
    std::int64_t number = 0;
    Status status = read_whole(json, path, number);
    if (status.ok()) out = T(number);
    return status;
  }
}

template <class T>
Status read(const Json& json, const Path& path, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return wrong_type(path, "true or false", json);
    out = json.get<bool>();
    return {};
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return wrong_type(path, "text", json);
    out = json.get_ref<const std::string&>();
    return {};
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) return wrong_type(path, "a number", json);
    out = json.get<T>();
    return {};
  } else if constexpr (std::is_same_v<T, Int128>) {
    const auto number = json.is_string() ? int128_from(json.get_ref<const std::string&>())
                                         : std::nullopt;
    if (!number) return wrong_type(path, "a whole number as text", json);
    out = *number;
    return {};
  } else if constexpr (NamedEnum<T>) {
    return read_enum(json, path, out);
  } else if constexpr (std::is_integral_v<T>) {
    return read_whole(json, path, out);
  } else if constexpr (IsId<T>::value || IsQuantity<T>::value || kIsTime<T>) {
    return read_wrapped(json, path, out);
  } else if constexpr (IsOptional<T>::value) {
    out.reset();
    return json.is_null() ? Status() : read(json, path, out.emplace());
  } else if constexpr (IsVector<T>::value) {
    return read_list(json, path, out);
  } else if constexpr (IsMap<T>::value) {
    return read_map(json, path, out);
  } else if constexpr (IsVariant<T>::value) {
    return read_variant(json, path, out);
  } else if constexpr (HasFields<T>) {
    return read_fields(json, path, {}, out);
  } else {
    static_assert(kNoCodec<T>, "this type has no JSON form");
  }
}

}  // namespace detail

template <class T>
[[nodiscard]] Json to_json(const T& value) {
  Json out;
  detail::write(value, out);
  return out;
}

/// `path` names the value in messages: empty for a whole document. Error: kInvalidArgument.
template <class T>
[[nodiscard]] Result<T> from_json(const Json& json, const std::string& path = {}) {
  T value{};
  const Status status = detail::read(json, detail::Path{.key = path}, value);
  if (!status.ok()) return status.error();
  return value;
}

/// Error: kInvalidArgument with the byte at which the text stops to be JSON.
[[nodiscard]] Result<Json> parse_json(std::string_view text);
/// The same for documents of others, in which a key given twice is an error too. Slower.
[[nodiscard]] Result<Json> parse_json_once(std::string_view text);

/// One line; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump_json(const Json& json);

template <class T>
[[nodiscard]] std::string to_text(const T& value) {
  return dump_json(to_json(value));
}

template <class T>
[[nodiscard]] Result<T> from_text(std::string_view text) {
  Result<Json> json = parse_json(text);
  if (!json.ok()) return json.error();
  return from_json<T>(*json);
}

}  // namespace rota::api
