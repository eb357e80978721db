#include "history/json_items.h"

#include <algorithm>
#include <istream>
#include <streambuf>

#include "history/words.h"

namespace rota::history {
namespace {

/// An InputText as characters for the parser. A failed read ends it; `status` keeps why.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(InputText& text) : text_(text) {}
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    const auto piece = text_.more();
    if (!piece) {
      status_ = piece.error();
      return traits_type::eof();
    }
    if (piece->empty()) return traits_type::eof();
    char* const begin = const_cast<char*>(piece->data());  // the interface wants it; only read
    setg(begin, begin, begin + piece->size());
    return traits_type::to_int_type(*begin);
  }

 private:
  InputText& text_;
  Status status_;
};

/// Hands items over while the parser makes them, and lets it forget them.
class Items {
 public:
  Items(std::string_view list, const JsonItemVisitor& visit) : list_(list), visit_(visit) {}

  /// Throws what the library throws.
  template <class Input>
  void parse(Input& input) {
    outermost_list_ = in_list_ = false;
    const Json rest = Json::parse(input, [this](int depth, Json::parse_event_t event, Json& value) {
      return this->event(depth, event, value);
    });
  }

 private:
  bool event(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth == 0 && event == Event::array_start) outermost_list_ = true;
    if (depth == 1 && event == Event::key) in_list_ = parsed == list_;
    if (event != Event::object_end) return true;
    const bool is_item = outermost_list_ ? depth == 1 : (depth == 2 && in_list_);
    if (is_item) {
      visit_(parsed, ++count_);
      return false;
    }
    if (depth == 0 && !parsed.contains(list_)) visit_(parsed, ++count_);
    return true;
  }

  const std::string list_;
  const JsonItemVisitor& visit_;
  std::int64_t count_ = 0;
  bool outermost_list_ = false;
  bool in_list_ = false;
};

/// `parse error at line 3, column 7: ...` of the library as one of ours.
Error syntax_error(const InputText& text, const std::string& what) {
  const std::size_t at = what.find("line ");
  std::string where = text.name();
  if (at != std::string::npos) {
    std::int64_t line = 0, column = 0;
    if (std::sscanf(what.c_str() + at, "line %ld, column %ld", &line, &column) == 2) {
      where += ":" + std::to_string(line) + ":" + std::to_string(column);
    }
  }
  const std::size_t colon = what.find(": ");
  std::string message = colon == std::string::npos ? what : what.substr(colon + 2);
  return {ErrorCode::kInvalidArgument, "this is no sound JSON: " + message.substr(0, 300), where};
}

Status parse_lines(InputText& text, Items& items) {
  std::string_view line;
  while (true) {
    const auto more = text.next_line(line);
    if (!more) return more.error();
    if (!*more) return {};
    if (stripped(line).empty()) continue;
    try {
      items.parse(line);
    } catch (const Json::exception& error) {
      const Error found = syntax_error(text, error.what());
      return text.error_at(1, found.message);
    }
  }
}

/// Whether every line is a document of its own: the first ends an object and another begins.
bool is_one_a_line(std::string_view sample) {
  const std::size_t end = sample.find('\n');
  if (end == std::string_view::npos || sample.empty() || sample.front() != '{') return false;
  const std::string_view first = stripped(sample.substr(0, end));
  return end + 1 < sample.size() && sample[end + 1] == '{' && first.ends_with('}');
}

}  // namespace

Status for_each_json_item(InputText& text, std::string_view list, const JsonItemVisitor& visit) {
  const auto sample = text.sample();
  if (!sample) return sample.error();
  Items items(list, visit);
  if (is_one_a_line(*sample)) return parse_lines(text, items);
  TextBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    items.parse(stream);
  } catch (const Json::exception& error) {
    if (!buffer.status()) return buffer.status();
    return syntax_error(text, error.what());
  }
  return buffer.status();
}

const Json* json_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* name : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at->is_null() ? nullptr : at;
}

std::string_view json_text(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = json_at(json, path);
  if (at == nullptr || !at->is_string()) return {};
  return at->get_ref<const std::string&>();
}

std::optional<std::int64_t> json_whole(const Json& json,
                                       std::initializer_list<const char*> path) {
  const Json* at = json_at(json, path);
  if (at == nullptr) return std::nullopt;
  if (at->is_object()) {
    const auto set = at->find("set");
    const auto number = at->find("number");
    if (number == at->end() || !number->is_number_integer()) return std::nullopt;
    if (set != at->end() && set->is_boolean() && !set->get<bool>()) return std::nullopt;
    at = &*number;
  }
  if (at->is_string()) return parse_whole(at->get_ref<const std::string&>());
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (at->is_number_integer()) return at->get<std::int64_t>();
  return std::nullopt;
}

bool json_infinite(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = json_at(json, path);
  if (at == nullptr || !at->is_object()) return false;
  const auto infinite = at->find("infinite");
  return infinite != at->end() && infinite->is_boolean() && infinite->get<bool>();
}

bool looks_like_json(std::string_view sample) {
  const std::size_t at = sample.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && (sample[at] == '{' || sample[at] == '[');
}

bool has_json_key(std::string_view sample, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  for (std::size_t at = sample.find(quoted); at != std::string_view::npos;
       at = sample.find(quoted, at + 1)) {
    const std::size_t behind = sample.find_first_not_of(" \t\r\n", at + quoted.size());
    if (behind != std::string_view::npos && sample[behind] == ':') return true;
  }
  return false;
}

}  // namespace rota::history
