#include "history/json_items.h"

#include <algorithm>
#include <istream>
#include <streambuf>

#include "history/words.h"

namespace rota::history {
namespace {

constexpr int kDepthMax = 200;
constexpr std::int64_t kItemBytesMax = 64 * 1024 * 1024;

constexpr std::int64_t kItemValuesMax = 4'000'000;

/// Thrown through the parser, which knows no limits.
struct TooMuch {
  std::string what;
};

/// Hands items over while the parser makes them, and lets it forget them.
class Items {
 public:
  virtual ~Items() = default;
  /// Items so far.
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Throws what the library throws, and TooMuch.
  template <class Input>
  void parse(Input& input) {
    begin();
    const Json rest = Json::parse(input, [this](int depth, Json::parse_event_t event, Json& value) {
      check(depth, event);
      return this->event(depth, event, value);
    });
  }

 protected:
  virtual void begin() = 0;
  /// False: the parser forgets the value.
  virtual bool event(int depth, Json::parse_event_t event, Json& parsed) = 0;
  std::int64_t count_ = 0;

 private:
  void check(int depth, Json::parse_event_t event) {
    if (depth > kDepthMax) {
      throw TooMuch{"this JSON is nested deeper than " + std::to_string(kDepthMax) + " levels"};
    }
    if (event == Json::parse_event_t::key) return;
    if (values_of_ != count_) values_ = 0;
    values_of_ = count_;
    if (++values_ <= kItemValuesMax) return;
    throw TooMuch{std::to_string(kItemValuesMax) + " values without the end of an item, behind "
                  "item " + std::to_string(count_) + "; this is no list of jobs"};
  }
  std::int64_t values_ = 0;  // behind item values_of_
  std::int64_t values_of_ = 0;
};

/// Those of one list of the outermost object.
class ListItems : public Items {
 public:
  ListItems(std::string_view list, const JsonItemVisitor& visit) : list_(list), visit_(visit) {}

 private:
  void begin() override { outermost_list_ = in_list_ = false; }
  bool event(int depth, Json::parse_event_t event, Json& parsed) override {
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
  bool outermost_list_ = false;
  bool in_list_ = false;
};

/// Those of all lists of one object inside the outermost.
class InnerItems : public Items {
 public:
  InnerItems(std::string_view outer, const JsonListVisitor& visit)
      : outer_(outer), visit_(visit) {}

 private:
  void begin() override { inside_ = false; }
  bool event(int depth, Json::parse_event_t event, Json& parsed) override {
    using Event = Json::parse_event_t;
    if (depth == 1 && event == Event::key) inside_ = parsed == outer_;
    if (depth == 2 && event == Event::key && inside_) {
      list_ = parsed.get_ref<const std::string&>();
      in_list_ = 0;
    }
    if (event != Event::object_end || depth != 3 || !inside_) return true;
    ++count_;
    visit_(list_, parsed, ++in_list_);
    return false;
  }

  const std::string outer_;
  const JsonListVisitor& visit_;
  std::string list_;
  std::int64_t in_list_ = 0;
  bool inside_ = false;
};

/// An InputText as characters for the parser. A failed read or an item without end ends it;
/// `status` keeps why.
class TextBuffer : public std::streambuf {
 public:
  TextBuffer(InputText& text, const Items& items) : text_(text), items_(items) {}
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    const auto piece = text_.more();
    if (!piece) {
      status_ = piece.error();
      return traits_type::eof();
    }
    if (piece->empty()) return traits_type::eof();
    if (items_.count() != counted_) bytes_ = 0;
    counted_ = items_.count();
    bytes_ += std::ssize(*piece);
    if (bytes_ > kItemBytesMax) {
      status_ = Error{ErrorCode::kInvalidArgument,
                      "64 MiB without the end of an item, behind item " +
                          std::to_string(counted_) + "; this is no list of jobs",
                      text_.name()};
      return traits_type::eof();
    }
    char* const begin = const_cast<char*>(piece->data());  // the interface wants it; only read
    setg(begin, begin, begin + piece->size());
    return traits_type::to_int_type(*begin);
  }

 private:
  InputText& text_;
  const Items& items_;
  Status status_;
  std::int64_t counted_ = 0;
  std::int64_t bytes_ = 0;  // since the item before
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
    } catch (const TooMuch& error) {
      return text.error_at(1, error.what);
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

Status parse_whole_text(InputText& text, Items& items) {
  TextBuffer buffer(text, items);
  std::istream stream(&buffer);
  try {
    items.parse(stream);
  } catch (const Json::exception& error) {
    if (!buffer.status()) return buffer.status();
    return syntax_error(text, error.what());
  } catch (const TooMuch& error) {
    return Error{ErrorCode::kInvalidArgument, error.what, text.name()};
  }
  return buffer.status();
}

}  // namespace

Status for_each_json_item(InputText& text, std::string_view list, const JsonItemVisitor& visit) {
  const auto sample = text.sample();
  if (!sample) return sample.error();
  ListItems items(list, visit);
  return is_one_a_line(*sample) ? parse_lines(text, items) : parse_whole_text(text, items);
}

Status for_each_json_list(InputText& text, std::string_view outer, const JsonListVisitor& visit) {
  InnerItems items(outer, visit);
  return parse_whole_text(text, items);
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

std::string_view json_first_text(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = json_at(json, path);
  if (at != nullptr && at->is_array() && !at->empty()) at = &at->front();
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
