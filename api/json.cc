#include "api/json.h"

#include <algorithm>
#include <functional>
#include <set>

namespace rota::api {
namespace detail {

std::string text_of(Int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string digits;
  while (value != 0) {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<Int128> int128_from(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 39) return std::nullopt;
  Int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    Int128 shifted = 0;
    const Int128 digit = negative ? -(c - '0') : c - '0';
    if (__builtin_mul_overflow(value, Int128{10}, &shifted) ||
        __builtin_add_overflow(shifted, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "nothing";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "text";
    case Json::value_t::boolean: return "true or false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return "a whole number";
    case Json::value_t::number_float: return "a fraction";
    default: return "something else";
  }
}

std::string Path::text() const {
  if (above == nullptr) return std::string(key);
  std::string out = above->text();
  if (key.empty()) return out + "[" + std::to_string(index) + "]";
  if (!out.empty()) out += '.';
  return out += key;
}

namespace {

std::string shown(const Path& path) {
  const std::string text = path.text();
  return text.empty() ? "the document" : "'" + text + "'";
}

Error invalid(const Path& path, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = path.text()};
}

std::string hint(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view near = nearest_word(word, known);
  if (!near.empty()) return "; did you mean '" + std::string(near) + "'?";
  return "; known: " + join(known, ", ");
}

}  // namespace

Error wrong_type(const Path& path, std::string_view expected, const Json& found) {
  return invalid(path, shown(path) + " must be " + std::string(expected) + ", not " +
                           std::string(kind_of(found)));
}

Error out_of_range(const Path& path, std::string_view low, std::string_view high) {
  return invalid(path, shown(path) + " must lie between " + std::string(low) + " and " +
                           std::string(high));
}

Error unknown_key(const Path& path, std::string_view key,
                  const std::vector<std::string>& known) {
  return invalid(path.child(key),
                 "unknown key '" + std::string(key) + "' in " + shown(path) + hint(key, known));
}

Error unknown_word(const Path& path, std::string_view word,
                   const std::vector<std::string>& known) {
  return invalid(path, shown(path) + " cannot be '" + std::string(word) + "'" + hint(word, known));
}

Status read_integer(const Json& json, const Path& path, std::int64_t low, std::int64_t high,
                    std::int64_t& out) {
  if (!json.is_number_integer()) return wrong_type(path, "a whole number", json);
  const bool too_big = json.is_number_unsigned() &&
                       json.get<std::uint64_t>() >
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = too_big ? 0 : json.get<std::int64_t>();
  if (too_big || number < low || number > high) {
    return out_of_range(path, std::to_string(low), std::to_string(high));
  }
  out = number;
  return {};
}

Status read_unsigned(const Json& json, const Path& path, std::uint64_t& out) {
  if (!json.is_number_integer()) return wrong_type(path, "a whole number", json);
  if (!json.is_number_unsigned() && json.get<std::int64_t>() < 0) {
    return out_of_range(path, "0", std::to_string(std::numeric_limits<std::uint64_t>::max()));
  }
  out = json.get<std::uint64_t>();
  return {};
}

}  // namespace detail

namespace {

/// Notes the first key that its object has already. Throws nothing by itself.
class KeyWatch {
 public:
  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      objects_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      objects_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!objects_.back().insert(key).second && !twice_) twice_ = key;
    }
    return true;
  }
  [[nodiscard]] const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> objects_;
  std::optional<std::string> twice_;
};

Error unreadable(std::string_view why) {
  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
  const std::size_t number = why.rfind("parsing '");
  return {.code = ErrorCode::kInvalidArgument,
          .message = number == std::string_view::npos
                         ? "not JSON that can be read"
                         : "the number " + std::string(why.substr(number + 8)) +
                               " is larger than any that can be counted with"};
}

}  // namespace

Result<Json> parse_json_once(std::string_view text) {
  try {
    KeyWatch keys;
    Json json = Json::parse(text, std::ref(keys));
    if (!keys.twice()) return json;
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "the key '" + *keys.twice() +
                            "' is given twice in one object; keep one",
                 .where = *keys.twice()};
  } catch (const Json::exception&) {
    return parse_json(text);  // the same fault, in its words
  }
}

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "not JSON: stops being so at byte " + std::to_string(error.byte),
                 .where = "byte " + std::to_string(error.byte)};
  } catch (const Json::exception& error) {
    return unreadable(error.what());
  }
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rota::api
