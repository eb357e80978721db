#include "cli/sweep.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/read_file.h"
#include "cli/reserved_names.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

constexpr std::size_t kCombinationsMax = 100'000;

bool is_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

Status check_name(const std::string& name) {
  if (!is_name(name)) {
    return usage_error("'" + name + "' cannot be the name of a variable; use letters, digits and "
                       "_");
  }
  if (is_set_by_rota(name)) return usage_error("Rota sets " + name + " itself; use another name");
  if (is_of_account(name)) {
    return usage_error("every program needs " + name + " as it is; use another name");
  }
  return {};
}

/// Each of `left` with each of `right`.
Result<std::vector<Params>> combined(const std::vector<Params>& left,
                                     const std::vector<Params>& right) {
  if (left.size() * right.size() > kCombinationsMax) {
    return usage_error("the sweep has more than " + std::to_string(kCombinationsMax) +
                       " combinations");
  }
  std::vector<Params> all;
  all.reserve(left.size() * right.size());
  for (const Params& a : left) {
    for (const Params& b : right) {
      Params both = a;
      for (const auto& [name, value] : b) {
        if (!both.emplace(name, value).second) {
          return usage_error("the sweep names '" + name + "' twice");
        }
      }
      all.push_back(std::move(both));
    }
  }
  return all;
}

/// Splits one CSV line; quotes as in RFC 4180.
Result<std::vector<std::string>> csv_fields(std::string_view line, const std::string& where) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[i++];
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return usage_error("a double quote is never closed", where);
  return fields;
}

}  // namespace

Result<std::vector<Params>> params_of_csv(std::string_view text, const std::string& file) {
  std::vector<std::string> names;
  std::vector<Params> rows;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = file + ":" + std::to_string(number);
    auto fields = csv_fields(line, where);
    if (!fields) return fields.error();
    if (names.empty()) {
      names = *fields;
      for (const std::string& name : names) {
        if (auto status = check_name(name); !status) {
          return usage_error(status.error().message, where);
        }
        if (std::count(names.begin(), names.end(), name) > 1) {
          return usage_error("the column '" + name + "' is there twice", where);
        }
      }
      continue;
    }
    if (fields->size() != names.size()) {
      return usage_error("the line has " + std::to_string(fields->size()) + " values for " +
                     std::to_string(names.size()) + " variables", where);
    }
    Params row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = (*fields)[i];
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return usage_error("the file has no row of values below its names", file);
  return rows;
}

Result<std::vector<Params>> sweep_of(const std::vector<std::string>& params,
                                     const std::vector<std::string>& files) {
  std::vector<Params> all{Params{}};
  for (const std::string& param : params) {
    const std::size_t equals = param.find('=');
    const std::string name = param.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == param.size()) {
      return usage_error("--param '" + param + "': expected NAME=VALUE,VALUE,...");
    }
    if (auto status = check_name(name); !status) {
      return usage_error("--param '" + param + "': " + status.error().message);
    }
    std::vector<Params> values;
    for (const std::string_view value : split(std::string_view(param).substr(equals + 1), ',')) {
      if (value.empty()) {
        return usage_error("--param '" + param + "': one of the values is empty");
      }
      values.push_back({{name, std::string(value)}});
    }
    auto next = combined(all, values);
    if (!next) return next.error();
    all = std::move(*next);
  }
  for (const std::string& file : files) {
    const auto text = read_text(file);
    if (!text) return usage_error("--param-file: " + text.error().message);
    auto rows = params_of_csv(*text, file);
    if (!rows) return rows.error();
    auto next = combined(all, *rows);
    if (!next) return next.error();
    all = std::move(*next);
  }
  return all;
}

Status check_name_template(std::string_view name_template, const Params& example) {
  std::size_t at = 0;
  while ((at = name_template.find('{', at)) != std::string_view::npos) {
    const std::size_t end = name_template.find('}', at);
    if (end == std::string_view::npos) return usage_error("--name-template: a { is never closed");
    const std::string name(name_template.substr(at + 1, end - at - 1));
    if (name != "index" && !example.contains(name)) {
      std::vector<std::string> known;
      for (const auto& [key, value] : example) known.push_back(key);
      return usage_error("--name-template: the sweep has no variable '" + name + "'; it has " +
                 join(known, ", ") + " and index");
    }
    at = end;
  }
  return {};
}

}  // namespace rota::cli
