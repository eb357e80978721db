// Binary form of plain state for snapshots and digests: little-endian, length-prefixed, no
// padding. Writer and Reader walk the same `fields` declarations, so they cannot disagree.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"

namespace rota::engine {

class Writer {
 public:
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

  template <class T>
  void operator()(std::string_view, const T& value) { put(value); }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, Int128>) {
      put(static_cast<std::uint64_t>(value));
      put(static_cast<std::uint64_t>(value >> 64));
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      std::array<char, 8> little{};
      for (int i = 0; i < 8; ++i) little[i] = static_cast<char>(bits >> (8 * i));
      bytes_.append(little.data(), little.size());
    } else {
      put_object(value);
    }
  }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }

 private:
  template <class Tag>
  void put_object(const Id<Tag>& id) { put(id.value()); }
  template <class Tag>
  void put_object(const Quantity<Tag>& q) { put(q.value()); }
  void put_object(const Instant& t) { put(t.ns()); }
  void put_object(const Duration& d) { put(d.ns()); }
  template <class T>
  void put_object(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put_object(const std::pair<A, B>& value) { put(value.first); put(value.second); }
  template <class T>
  void put_object(const std::vector<T>& values) { put_all(values); }
  template <class T>
  void put_object(const std::deque<T>& values) { put_all(values); }
  template <class K>
  void put_object(const std::set<K>& values) { put_all(values); }
  template <class K, class V>
  void put_object(const std::map<K, V>& values) { put_all(values); }
  template <class Range>
  void put_all(const Range& values) {
    put(values.size());
    for (const auto& value : values) put(value);
  }
  template <class... Ts>
  void put_object(const std::variant<Ts...>& value) {
    put(value.index());
    std::visit([this](const auto& v) { this->put(v); }, value);
  }
  template <HasFields T>
  void put_object(const T& value) { T::fields(value, *this); }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  /// What an older version wrote has fewer fields: those that it lacks keep what they are.
  void set_format(std::uint64_t format) { format_ = format; }

  template <class T>
  void operator()(std::string_view name, T& value) {
    constexpr std::uint64_t kMovesAndKeptMix = 4;
    if (format_ < kMovesAndKeptMix) {
      if (name == "next_place" || name == "consolidation") return;
      if constexpr (requires { value.get_as_of_format_3(*this); }) {
        return value.get_as_of_format_3(*this);
      }
    }
    get(value);
  }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, Int128>) {
      std::uint64_t low = 0;
      std::uint64_t high = 0;
      get(low);
      get(high);
      value = static_cast<Int128>((static_cast<UInt128>(high) << 64) | low);
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      value = static_cast<T>(number());
    } else {
      get_object(value);
    }
  }
  void get(std::string& text) {
    std::size_t size = count(1);
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }

 private:
  std::int64_t number() {
    if (bytes_.size() < 8) {
      ok_ = false;
      bytes_ = {};
      return 0;
    }
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) {
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    }
    bytes_.remove_prefix(8);
    return static_cast<std::int64_t>(bits);
  }
  /// A stored element count, never more than the bytes left could hold.
  std::size_t count(std::size_t bytes_each) {
    auto n = static_cast<std::uint64_t>(number());
    if (n > bytes_.size() / bytes_each) {
      ok_ = false;
      bytes_ = {};
      return 0;
    }
    return static_cast<std::size_t>(n);
  }
  template <class Tag>
  void get_object(Id<Tag>& id) { id = Id<Tag>(static_cast<std::uint64_t>(number())); }
  template <class Tag>
  void get_object(Quantity<Tag>& q) { q = Quantity<Tag>(number()); }
  void get_object(Instant& t) { t = Instant(number()); }
  void get_object(Duration& d) { d = Duration(number()); }
  template <class T>
  void get_object(std::optional<T>& value) {
    value.reset();
    if (number() != 0) get(value.emplace());
  }
  template <class A, class B>
  void get_object(std::pair<A, B>& value) { get(value.first); get(value.second); }
  template <class T>
  void get_object(std::vector<T>& values) {
    values.clear();
    std::size_t n = count(1);
    for (std::size_t i = 0; i < n && ok_; ++i) get(values.emplace_back());
  }
  template <class T>
  void get_object(std::deque<T>& values) {
    values.clear();
    std::size_t n = count(1);
    for (std::size_t i = 0; i < n && ok_; ++i) get(values.emplace_back());
  }
  template <class K>
  void get_object(std::set<K>& values) {
    values.clear();
    std::size_t n = count(1);
    for (std::size_t i = 0; i < n && ok_; ++i) {
      K key{};
      get(key);
      values.insert(std::move(key));
    }
  }
  template <class K, class V>
  void get_object(std::map<K, V>& values) {
    values.clear();
    std::size_t n = count(1);
    for (std::size_t i = 0; i < n && ok_; ++i) {
      std::pair<K, V> entry{};
      get(entry);
      values.insert(std::move(entry));
    }
  }
  template <class... Ts>
  void get_object(std::variant<Ts...>& value) {
    const std::size_t index = static_cast<std::size_t>(number());
    std::size_t i = 0;
    const bool known = ((i++ == index ? (get(value.template emplace<Ts>()), true) : false) || ...);
    ok_ = ok_ && known;
  }
  template <HasFields T>
  void get_object(T& value) { T::fields(value, *this); }

  std::string_view bytes_;
  std::uint64_t format_ = std::numeric_limits<std::uint64_t>::max();
  bool ok_ = true;
};

}  // namespace rota::engine
