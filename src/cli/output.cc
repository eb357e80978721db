#include "cli/output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "report/csv.h"

namespace rota::cli {
namespace {

constexpr std::array<std::string_view, 7> kFormatNames{"table", "wide", "json", "yaml",
                                                       "csv",   "name", "html"};
constexpr std::size_t kGap = 2;  // blanks between key and value

bool plain_yaml(const std::string& text) {
  static constexpr std::array<std::string_view, 10> kWords{"true", "false", "null", "yes", "no",
                                                           "on",   "off",   "y",    "n",   "~"};
  if (text.empty()) return false;
  std::string lower;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool inner = (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '/' || c == '.';
    if (!letter && (lower.empty() || !inner)) return false;
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

std::string yaml_scalar(const api::Json& json) {
  if (json.is_string() && plain_yaml(json.get_ref<const std::string&>())) {
    return json.get<std::string>();
  }
  return api::dump_json(json);  // JSON scalars, quoted strings and empty containers are YAML
}

bool is_block(const api::Json& json) { return json.is_structured() && !json.empty(); }

void write_yaml(const api::Json& json, std::size_t indent, std::string& out) {
  const std::string pad(indent, ' ');
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      out += pad + (plain_yaml(key) ? key : api::dump_json(key)) + ":";
      if (is_block(value)) {
        out += "\n";
        write_yaml(value, indent + (value.is_object() ? 2 : 0), out);
      } else {
        out += " " + yaml_scalar(value) + "\n";
      }
    }
    return;
  }
  for (const api::Json& value : json) {
    if (!is_block(value)) {
      out += pad + "- " + yaml_scalar(value) + "\n";
      continue;
    }
    std::string inner;
    write_yaml(value, indent + 2, inner);
    out += pad + "- " + inner.substr(indent + 2);
  }
}

std::string csv_value(const api::Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_null()) return "";
  if (!json.is_array()) return json.is_object() && json.empty() ? "" : api::dump_json(json);
  const bool flat = std::none_of(json.begin(), json.end(),
                                 [](const api::Json& item) { return item.is_structured(); });
  if (!flat) return api::dump_json(json);
  std::vector<std::string> parts;
  for (const api::Json& item : json) parts.push_back(csv_value(item));
  return join(parts, ";");
}

}  // namespace

Result<Format> OutputOptions::format() const {
  if (json) return Format::kJson;
  const std::vector<std::string_view> known = split(formats, '|');
  if (std::find(known.begin(), known.end(), format_text) != known.end()) {
    const auto at = std::find(kFormatNames.begin(), kFormatNames.end(), format_text);
    return static_cast<Format>(at - kFormatNames.begin());
  }
  std::string list(formats);
  for (std::size_t bar; (bar = list.rfind('|')) != std::string::npos;) {
    list.replace(bar, 1, list.find(" or ") == std::string::npos ? " or " : ", ");
  }
  std::string message = "unknown output format '" + format_text + "'; expected " + list;
  const std::string_view near = nearest_word(format_text, known);
  if (!near.empty()) message += " (did you mean '" + std::string(near) + "'?)";
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Tone state_tone(std::string_view state) {
  if (state == "running" || state == "up" || state == "used") return Tone::kGood;
  if (state == "pending" || state == "draining" || state == "starting" || state == "stopping" ||
      state == "foreign" || state == "shared") {
    return Tone::kWarning;
  }
  if (state == "failed" || state == "timeout" || state == "down" || state == "unhealthy" ||
      state == "quarantined") {
    return Tone::kBad;
  }
  if (state == "done" || state == "cancelled" || state == "free") return Tone::kDim;
  return Tone::kPlain;
}

report::TableStyle table_style(const Context& context, const OutputOptions& options) {
  const bool wide = options.format() && *options.format() == Format::kWide;
  const bool cut = context.out_is_terminal && !wide;
  return {.width_max = cut ? static_cast<std::size_t>(context.width) : 0,
          .colour = context.color ? report::Colour::kOn : report::Colour::kOff,
          .header = !options.no_headers};
}

std::string paint(const Context& context, std::string_view text, Tone tone) {
  return report::painted(text, tone, context.color ? report::Colour::kOn : report::Colour::kOff);
}

std::string yaml_of(const api::Json& json) {
  if (!is_block(json)) return yaml_scalar(json) + "\n";
  std::string out;
  write_yaml(json, 0, out);
  return out;
}

std::string csv_of(const std::vector<std::string>& fields, const std::vector<api::Json>& items,
                   bool headers) {
  std::string out;
  if (headers) out += report::csv_row(fields);
  for (const api::Json& item : items) {
    std::vector<std::string> row;
    for (const std::string& field : fields) {
      const auto found = item.find(field);
      row.push_back(found == item.end() ? "" : csv_value(*found));
    }
    out += report::csv_row(row);
  }
  return out;
}

std::string json_of(const api::Json& json) {
  return json.dump(2, ' ', false, api::Json::error_handler_t::replace) + "\n";
}

std::string json_line(const api::Json& json) {
  return json.dump(-1, ' ', false, api::Json::error_handler_t::replace) + "\n";
}

std::string number_text(double value, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  std::string text(buffer.data());
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  return number_text(amount, 1) + std::string(kUnits[unit]);
}

std::string key_values(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [key, value] : lines) {
    if (!value.empty()) width = std::max(width, report::text_width(key) + 1);
  }
  std::string out;
  for (const auto& [key, value] : lines) {
    if (value.empty()) continue;
    const std::string head = key + ":";
    out += head + std::string(width - report::text_width(head) + kGap, ' ') +
           without_control(value) + "\n";
  }
  return out;
}

}  // namespace rota::cli
