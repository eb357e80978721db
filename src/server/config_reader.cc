#include "server/config_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "telemetry/yaml_text.h"

namespace rota::server {

void ConfigErrors::add(const YAML::Node& at, const std::string& message) {
  if (!first.ok()) return;
  first = Error{.code = ErrorCode::kInvalidArgument,
                .message = message,
                .where = telemetry::place_of(file, at.Mark())};
}

ConfigReader::ConfigReader(const YAML::Node& node, std::string path, ConfigErrors& errors)
    : node_(node), path_(std::move(path)), errors_(errors) {
  if (!node_.IsDefined() || node_.IsNull()) {
    node_ = YAML::Node(YAML::NodeType::Map);
  } else if (!node_.IsMap()) {
    fail(node_, (path_.empty() ? "the file" : "'" + path_ + "'") +
                    " must be a mapping of keys to values");
    node_ = YAML::Node(YAML::NodeType::Map);
  }
  check_duplicates();
}

void ConfigReader::check_duplicates() {
  std::set<std::string> seen;
  for (const auto& pair : node_) {
    if (!pair.first.IsScalar()) {
      fail(pair.first, "keys must be plain words");
    } else if (!seen.insert(pair.first.Scalar()).second) {
      fail(pair.first, "'" + path_of(pair.first.Scalar()) + "' is given twice; keep one");
    }
  }
}

ConfigReader::~ConfigReader() {
  for (const auto& pair : node_) {
    if (!pair.first.IsScalar()) continue;
    const std::string& key = pair.first.Scalar();
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const std::string_view near = nearest_word(key, asked_);
    fail(pair.first, "unknown key '" + path_of(key) + "'" +
                         (near.empty() ? "; known here: " + join(asked_, ", ")
                                       : "; did you mean '" + std::string(near) + "'?"));
  }
}

std::string ConfigReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

YAML::Node ConfigReader::take(std::string_view key) {
  asked_.emplace_back(key);
  for (const auto& pair : node_) {
    if (pair.first.IsScalar() && pair.first.Scalar() == key) return pair.second;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

void ConfigReader::each(std::string_view key,
                        const std::function<void(const std::string&, const YAML::Node&)>& entry) {
  const YAML::Node map = take(key);
  if (!map.IsDefined() || map.IsNull()) return;
  if (!map.IsMap()) {
    fail(map, "'" + path_of(key) + "' must be a mapping of names");
    return;
  }
  std::set<std::string> seen;
  for (const auto& pair : map) {
    if (!pair.first.IsScalar() || pair.first.Scalar().empty()) {
      fail(pair.first, "names in '" + path_of(key) + "' must be plain words");
    } else if (!seen.insert(pair.first.Scalar()).second) {
      fail(pair.first, "'" + path_of(key) + "." + pair.first.Scalar() +
                           "' is given twice; keep one");
    } else {
      entry(pair.first.Scalar(), pair.second);
    }
  }
}

std::optional<std::string> ConfigReader::scalar(const YAML::Node& value, std::string_view key) {
  if (value.IsScalar()) return value.Scalar();
  fail(value, "'" + path_of(key) + "' must be one value");
  return std::nullopt;
}

void ConfigReader::unknown_word(const YAML::Node& at, std::string_view key,
                                const std::string& word, const std::vector<std::string>& known) {
  const std::string_view near = nearest_word(word, known);
  fail(at, "'" + path_of(key) + "' cannot be '" + word + "'" +
               (near.empty() ? "; one of: " + join(known, ", ")
                             : "; did you mean '" + std::string(near) + "'?"));
}

template <class T>
bool ConfigReader::parse(const YAML::Node& value, std::string_view key,
                         Result<T> (*parser)(std::string_view), T& out) {
  const std::optional<std::string> text = scalar(value, key);
  if (!text) return false;
  Result<T> parsed = parser(*text);
  if (!parsed.ok()) {
    fail(value, "'" + path_of(key) + "': " + parsed.error().message);
    return false;
  }
  out = *std::move(parsed);
  return true;
}

bool ConfigReader::read_value(const YAML::Node& value, std::string_view key, std::string& out) {
  const std::optional<std::string> text = scalar(value, key);
  if (text) out = *text;
  return text.has_value();
}

bool ConfigReader::read_value(const YAML::Node& value, std::string_view key, bool& out) {
  const std::optional<std::string> text = scalar(value, key);
  if (!text) return false;
  out = *text == "on" || *text == "true" || *text == "yes";
  if (out || *text == "off" || *text == "false" || *text == "no") return true;
  fail(value, "'" + path_of(key) + "' must be on or off, not '" + *text + "'");
  return false;
}

bool ConfigReader::read_value(const YAML::Node& value, std::string_view key, std::int64_t& out) {
  return parse(value, key, &parse_int, out);
}
bool ConfigReader::read_value(const YAML::Node& value, std::string_view key, Duration& out) {
  if (!parse(value, key, &parse_duration, out)) return false;
  if (out.ns() >= 0) return true;
  fail(value, "'" + path_of(key) + "' may not be negative");
  return false;
}
bool ConfigReader::read_value(const YAML::Node& value, std::string_view key, MilliGpu& out) {
  return parse(value, key, &parse_gpus, out);
}

void ConfigReader::read(std::string_view key, std::string& out) {
  const YAML::Node value = take(key);
  if (value.IsDefined()) (void)read_value(value, key, out);
}
void ConfigReader::read(std::string_view key, bool& out) {
  const YAML::Node value = take(key);
  if (value.IsDefined()) (void)read_value(value, key, out);
}
void ConfigReader::read(std::string_view key, std::int64_t& out) {
  const YAML::Node value = take(key);
  if (value.IsDefined()) (void)read_value(value, key, out);
}
void ConfigReader::read(std::string_view key, Duration& out) {
  const YAML::Node value = take(key);
  if (value.IsDefined()) (void)read_value(value, key, out);
}
void ConfigReader::read(std::string_view key, MilliGpu& out) {
  const YAML::Node value = take(key);
  if (value.IsDefined()) (void)read_value(value, key, out);
}

void ConfigReader::read(std::string_view key, std::vector<std::string>& out) {
  const YAML::Node value = take(key);
  if (!value.IsDefined()) return;
  if (!value.IsSequence()) {
    fail(value, "'" + path_of(key) + "' must be a list: [a, b]");
    return;
  }
  out.clear();
  for (const auto& item : value) {
    if (!item.IsScalar()) {
      fail(item, "'" + path_of(key) + "' must be a list of plain words");
      return;
    }
    out.push_back(item.Scalar());
  }
}

}  // namespace rota::server
