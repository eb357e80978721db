// The one place where commands print lists and objects: table, wide, json, yaml, csv, name; html
// of reports alone.
//
// json, yaml and csv show exactly the fields of api/v1.h, in their order: a field is never renamed
// or removed within version 1. csv has one column a field; lists are joined by ';', maps and lists
// of objects are JSON. Tables are for people and may change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "report/table.h"

namespace rota::cli {

enum class Format { kTable, kWide, kJson, kYaml, kCsv, kName, kHtml };

constexpr std::string_view kAllFormats = "table|wide|json|yaml|csv|name";

struct OutputOptions {
  std::string_view formats = kAllFormats;  // those of the command
  std::string format_text = "table";
  bool json = false;        // --json
  bool no_headers = false;
  bool one_line = false;    // json without line breaks, for documents that follow each other

  /// Error: kInvalidArgument with the nearest format.
  [[nodiscard]] Result<Format> format() const;
};

enum class Shown { kAlways, kWide };
using report::Align;
using report::Cell;
using report::Tone;

template <class T>
struct Column {
  std::string_view title;
  std::function<Cell(const T&)> cell;
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  bool may_shrink = false;
};

/// Tone of a job's, device's or node's state.
[[nodiscard]] Tone state_tone(std::string_view state);
/// The style of tables on the context's output; `wide` is never cut.
[[nodiscard]] report::TableStyle table_style(const Context& context, const OutputOptions& options);
[[nodiscard]] std::string paint(const Context& context, std::string_view text, Tone tone);

[[nodiscard]] std::string yaml_of(const api::Json& json);
[[nodiscard]] std::string csv_of(const std::vector<std::string>& fields,
                                 const std::vector<api::Json>& items, bool headers);
/// Two-space indented JSON with a line end.
[[nodiscard]] std::string json_of(const api::Json& json);
/// The same in one line.
[[nodiscard]] std::string json_line(const api::Json& json);

/// A decimal without needless zeros: 2, 0.5, 12.25 (at most `digits` places).
[[nodiscard]] std::string number_text(double value, int digits = 3);
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

template <class T>
[[nodiscard]] std::vector<std::string> field_names() {
  std::vector<std::string> names;
  const T value{};
  T::fields(value, [&](std::string_view name, const auto&, auto&&...) {
    names.emplace_back(name);
  });
  return names;
}

/// Prints a list. `key` names it in json and yaml ({"jobs": [...]}), `name` gives the line of
/// `-o name`, `empty` is what a table says when there is nothing (on `err`).
template <class T>
struct ListView {
  std::string_view key;
  std::function<std::string(const T&)> name;
  std::vector<Column<T>> columns;
  std::string_view empty;
};

template <class T>
[[nodiscard]] std::string table_of(const Context& context, const OutputOptions& options,
                                   const std::vector<T>& items, const ListView<T>& view) {
  const bool wide = options.format() && *options.format() == Format::kWide;
  std::vector<report::Column> heads;
  std::vector<const Column<T>*> shown;
  for (const Column<T>& column : view.columns) {
    if (column.shown == Shown::kWide && !wide) continue;
    shown.push_back(&column);
    heads.push_back({std::string(column.title), column.align, column.may_shrink});
  }
  report::Table table(std::move(heads));
  for (const T& item : items) {
    std::vector<Cell> row;
    row.reserve(shown.size());
    for (const Column<T>* column : shown) row.push_back(column->cell(item));
    table.add_row(std::move(row));
  }
  return table.text(table_style(context, options));
}

template <class T>
void print_list(Context& context, const OutputOptions& options, const std::vector<T>& items,
                const ListView<T>& view) {
  const Format format = options.format() ? *options.format() : Format::kTable;
  std::vector<api::Json> rows;
  if (format == Format::kJson || format == Format::kYaml || format == Format::kCsv) {
    for (const T& item : items) rows.push_back(api::to_json(item));
  }
  switch (format) {
    case Format::kJson:
    case Format::kYaml: {
      api::Json document = api::Json::object();
      document[std::string(view.key)] = rows;
      if (options.one_line && format == Format::kJson) {
        context.out << json_line(document);
      } else {
        context.out << (format == Format::kJson ? json_of(document) : yaml_of(document));
      }
      return;
    }
    case Format::kCsv:
      context.out << csv_of(field_names<T>(), rows, !options.no_headers);
      return;
    case Format::kName:
      for (const T& item : items) context.out << view.name(item) << "\n";
      return;
    case Format::kTable:
    case Format::kWide:
    case Format::kHtml:
      if (items.empty()) {
        context.err << view.empty << "\n";
        return;
      }
      context.out << table_of(context, options, items, view);
  }
}

/// Prints one object; `table` is the form for people.
template <class T>
void print_object(Context& context, const OutputOptions& options, const T& item,
                  const std::string& name, const std::function<std::string()>& table) {
  const Format format = options.format() ? *options.format() : Format::kTable;
  switch (format) {
    case Format::kJson: context.out << json_of(api::to_json(item)); return;
    case Format::kYaml: context.out << yaml_of(api::to_json(item)); return;
    case Format::kCsv:
      context.out << csv_of(field_names<T>(), {api::to_json(item)}, !options.no_headers);
      return;
    case Format::kName: context.out << name << "\n"; return;
    case Format::kTable:
    case Format::kWide:
    case Format::kHtml: context.out << table(); return;
  }
}

/// "Key:   value" lines with aligned values; empty values are left out.
[[nodiscard]] std::string key_values(const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace rota::cli
