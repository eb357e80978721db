// Reads one YAML mapping strictly: every key must be asked for, once. Errors carry
// file:line:column; the first one wins.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"

namespace rota::server {

/// Where messages go; shared by all readers of one file.
struct ConfigErrors {
  std::string file;
  Status first;

  void add(const YAML::Node& at, const std::string& message);
};

class ConfigReader {
 public:
  /// `path` names the mapping in messages: "queues.research". An absent node reads as empty.
  ConfigReader(const YAML::Node& node, std::string path, ConfigErrors& errors);
  /// Reports keys nobody asked for.
  ~ConfigReader();
  ConfigReader(const ConfigReader&) = delete;
  ConfigReader& operator=(const ConfigReader&) = delete;

  void read(std::string_view key, std::string& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::int64_t& out);
  void read(std::string_view key, Duration& out);
  void read(std::string_view key, MilliGpu& out);
  void read(std::string_view key, std::vector<std::string>& out);
  /// Takes a value, or `none` for absent.
  template <class T>
  void read(std::string_view key, std::optional<T>& out) {
    const YAML::Node value = take(key);
    if (!value.IsDefined()) return;
    if (value.IsScalar() && value.Scalar() == "none") {
      out.reset();
      return;
    }
    T inner{};
    if (read_value(value, key, inner)) out = inner;
  }
  template <NamedEnum E>
  void read(std::string_view key, E& out) {
    const YAML::Node value = take(key);
    if (!value.IsDefined()) return;
    const std::optional<std::string> word = scalar(value, key);
    if (!word) return;
    if (const std::optional<E> found = enum_from<E>(*word)) {
      out = *found;
      return;
    }
    std::vector<std::string> known;
    for (const std::string_view name : names_of(E{})) known.emplace_back(name);
    unknown_word(value, key, *word, known);
  }
  /// The value as it is; undefined when missing.
  [[nodiscard]] YAML::Node take(std::string_view key);
  /// Calls `entry(name, value)` for every pair of the mapping `key`, in the order of the file.
  void each(std::string_view key,
            const std::function<void(const std::string&, const YAML::Node&)>& entry);

  [[nodiscard]] std::string path_of(std::string_view key) const;
  void fail(const YAML::Node& at, const std::string& message) { errors_.add(at, message); }

 private:
  std::optional<std::string> scalar(const YAML::Node& value, std::string_view key);
  void unknown_word(const YAML::Node& at, std::string_view key, const std::string& word,
                    const std::vector<std::string>& known);
  template <class T>
  bool parse(const YAML::Node& value, std::string_view key, Result<T> (*parser)(std::string_view),
             T& out);
  bool read_value(const YAML::Node& value, std::string_view key, std::string& out);
  bool read_value(const YAML::Node& value, std::string_view key, bool& out);
  bool read_value(const YAML::Node& value, std::string_view key, std::int64_t& out);
  bool read_value(const YAML::Node& value, std::string_view key, Duration& out);
  bool read_value(const YAML::Node& value, std::string_view key, MilliGpu& out);
  void check_duplicates();

  YAML::Node node_;
  std::string path_;
  ConfigErrors& errors_;
  std::vector<std::string> asked_;
};

}  // namespace rota::server
