#include "report/html.h"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace rota::report {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;color:#182430;background:#fff;max-width:78em;"
    "margin:2em auto;padding:0 1em}\n"
    "h1{font-size:1.5em;margin:0 0 .6em}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:0 0 1.2em}\n"
    "dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto;margin-bottom:1.2em}.wide svg{height:auto;min-width:34em}\n"
    ".dense{font-size:.82em}.dense th,.dense td{padding:.3em .3em}\n"
    "th.r{white-space:normal}svg text{font:12px system-ui,sans-serif;fill:#182430}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.3em .5em;border-bottom:1px solid #dde3ea;text-align:left}\n"
    "th{border-bottom:2px solid #182430}.r{text-align:right;white-space:nowrap}\n"
    ".dim{color:#566270}.bad{color:#a31515;font-weight:600}.good{color:#0a5c2b}\n"
    "tr.all td{border-top:2px solid #182430;font-weight:600}\n"
    "svg{display:block;width:100%;height:2.2em;margin:.4em 0}\n"
    "ul.key{list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.4em;padding:0;"
    "margin:0 0 1.4em}\n"
    "ul.key i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;"
    "border:1px solid #0005;vertical-align:-.1em}\n"
    "p{margin:.3em 0;color:#3a4653}\n"
    "@media print{body{margin:0;max-width:none;font-size:11px}tr,svg{break-inside:avoid}"
    "thead{display:table-header-group}.wide{overflow:visible}"
    "th,td{padding:.2em .35em}.dense{font-size:.76em}.dense th,.dense td{padding:.2em}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

constexpr std::array<std::string_view, 8> kColours{"#0b3c7d", "#e08214", "#5aa7d6", "#8c2d04",
                                                   "#35978f", "#fdb863", "#762a83", "#9aa5b1"};

/// Tenths of a percent; absent when the text is no percentage.
std::optional<int> percentage(std::string_view text) {
  if (!text.ends_with(" %")) return std::nullopt;
  text.remove_suffix(2);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  if (!(value > 0)) return 0;
  return value > 100 ? 1000 : static_cast<int>(value * 10);
}

/// `12.5` for 125.
std::string tenths_text(int tenths) {
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string class_of(const Column& column, Tone tone) {
  std::string names = column.align == Align::kRight ? "r" : "";
  const std::string_view word = tone == Tone::kDim    ? "dim"
                                : tone == Tone::kBad  ? "bad"
                                : tone == Tone::kGood ? "good"
                                                      : "";
  if (!word.empty()) names += (names.empty() ? "" : " ") + std::string(word);
  return names.empty() ? "" : " class=\"" + names + "\"";
}

std::string cell_html(const Column& column, const Cell& cell) {
  std::string style;
  if (const auto tenths = percentage(cell.text); tenths && *tenths > 0) {
    const std::string to = tenths_text(*tenths) + "%";
    style = " style=\"background:linear-gradient(to right,#cfe0f2 " + to + ",transparent " + to +
            ")\"";
  }
  return "<td" + class_of(column, cell.tone) + style + ">" + html_escaped_text(cell.text) +
         "</td>";
}

}  // namespace

std::string html_escaped_text(std::string_view text) {
  std::string safe;
  for (const char c : without_control(text)) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '"') safe += "&quot;";
    else if (c == '\'') safe += "&#39;";
    else safe += c;
  }
  return safe;
}

std::string html_table(const Table& table) {
  constexpr std::size_t kManyColumns = 11;
  const bool is_dense = table.columns().size() >= kManyColumns;
  std::string text = "<div class=\"wide\"><table" +
                     std::string(is_dense ? " class=\"dense\"" : "") + "><thead><tr>";
  for (const Column& column : table.columns()) {
    text += "<th scope=\"col\"" + class_of(column, Tone::kPlain) + ">" +
            html_escaped_text(column.title) + "</th>";
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows()) {
    text += !row.empty() && row[0].text == "(all)" ? "<tr class=\"all\">" : "<tr>";
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      text += cell_html(table.columns()[i], i < row.size() ? row[i] : Cell());
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_bar(const std::vector<HtmlPart>& parts) {
  Int128 whole = 0;
  for (const HtmlPart& part : parts) whole += part.amount > 0 ? part.amount : 0;
  if (whole == 0) return {};
  constexpr std::int64_t kWidth = 10'000;
  std::string bar;
  std::string key;
  std::string words;
  Int128 before = 0;
  std::size_t colour = 0;
  for (const HtmlPart& part : parts) {
    if (part.amount <= 0) continue;
    const auto from = static_cast<std::int64_t>(before * kWidth / whole);
    before += part.amount;
    const auto to = static_cast<std::int64_t>(before * kWidth / whole);
    const std::string fill(kColours[colour++ % kColours.size()]);
    const std::string name = html_escaped_text(part.name + " " + part.text);
    bar.append("<rect x=\"").append(std::to_string(from)).append("\" y=\"0\" width=\"");
    bar.append(std::to_string(to - from)).append("\" height=\"100\" fill=\"").append(fill);
    bar.append("\" stroke=\"#fff\" stroke-width=\"8\"><title>").append(name);
    bar += "</title></rect>";
    key.append("<li><i style=\"background:").append(fill).append("\"></i>").append(name);
    key += "</li>";
    words += (words.empty() ? "" : ", ") + name;
  }
  return "<svg role=\"img\" viewBox=\"0 0 10000 100\" preserveAspectRatio=\"none\" aria-label=\"" +
         words + "\">" + bar + "</svg>\n<ul class=\"key\">" + key + "</ul>\n";
}

std::string html_page(const HtmlPage& page) {
  const std::string title = html_escaped_text(page.title);
  std::string text = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<title>" + title + "</title>\n<style>\n" + std::string(kStyle) +
                     "</style></head><body>\n<h1>" + title + "</h1>\n";
  if (!page.facts.empty()) text += "<dl>";
  for (const auto& [name, value] : page.facts) {
    text += "<dt>" + html_escaped_text(name) + "</dt><dd>" + html_escaped_text(value) + "</dd>";
  }
  if (!page.facts.empty()) text += "</dl>\n";
  text += page.body;
  for (const std::string& remark : page.remarks) {
    if (!remark.empty()) text += "<p>" + html_escaped_text(remark) + "</p>\n";
  }
  return text + "</body></html>\n";
}

}  // namespace rota::report
