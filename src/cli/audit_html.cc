#include "audit/words.h"
#include "cli/audit_charts.h"
#include "cli/audit_report.h"
#include "report/words.h"

namespace rota::cli {
namespace {

using audit::Audit;
using audit::GpuTime;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of GPU time</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;color:#1c2733;max-width:980px;margin:2em auto;
padding:0 1em}
h1{font-size:1.5em;margin:0}
h2{font-size:1.15em;margin:1.8em 0 .5em;border-bottom:1px solid #ccd}
svg{width:100%;height:auto;margin:.4em 0}svg text{font:12px system-ui,sans-serif;fill:#1c2733}
table{border-collapse:collapse;width:100%;font-size:.92em}
th,td{text-align:right;padding:.2em .5em;border-bottom:1px solid #e3e7ee;vertical-align:top}
th:first-child,td:first-child{text-align:left}th{font-weight:600}
dl{display:grid;grid-template-columns:9em 1fr;gap:.2em .8em;margin:.8em 0}dt{font-weight:600}
dd{margin:0;overflow-wrap:anywhere}
.finding{border-left:4px solid #0b3c7d;padding:.1em .9em;margin:.9em 0;break-inside:avoid}
.finding p{margin:.25em 0}.gain{font-weight:600}.how{color:#4a5663;font-size:.92em}
.key{display:inline-block;width:.8em;height:.8em;margin-right:.45em;border:1px solid #0003}
pre{background:#f3f5f8;padding:.8em;overflow-x:auto}.scroll{overflow-x:auto}
.scroll svg{min-width:34em}.rules td:nth-child(2),.rules th:nth-child(2){text-align:left}
code{font-size:.95em}
@media print{body{margin:0;max-width:none;font-size:11px}h2,h2+p,p:has(+pre){break-after:avoid}
tr,svg,pre{break-inside:avoid}thead{display:table-header-group}.scroll{overflow:visible}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
</style></head><body>
)";

class HtmlRows {
 public:
  explicit HtmlRows(const std::vector<std::string>& heads, std::string_view kind = "scroll")
      : columns_(heads.size()) {
    text_ = "<div class=\"" + std::string(kind) + "\"><table><thead><tr>";
    for (const std::string& head : heads) {
      text_ += "<th scope=\"col\">" + html_escaped(head) + "</th>";
    }
    text_ += "</tr></thead><tbody>";
  }
  /// `mark` is a colour that stands before the first cell; may be empty.
  void add(const std::vector<std::string>& cells, std::string_view mark = {}) {
    text_ += "<tr>";
    bool first = true;
    for (const std::string& cell : cells) {
      text_ += "<td>";
      if (first && !mark.empty()) {
        text_ += "<span class=\"key\" style=\"background:" + std::string(mark) + "\"></span>";
      }
      text_ += html_escaped(cell) + "</td>";
      first = false;
    }
    for (std::size_t i = cells.size(); i < columns_; ++i) text_ += "<td></td>";
    text_ += "</tr>";
  }
  [[nodiscard]] std::string finish() const { return text_ + "</tbody></table></div>\n"; }

 private:
  std::size_t columns_;
  std::string text_;
};

/// Escaped, and what stands between two backquotes as code.
std::string html_words(std::string_view text) {
  std::string out = html_escaped(text);
  for (std::size_t from = out.find('`'); from != std::string::npos; from = out.find('`', from)) {
    const std::size_t to = out.find('`', from + 1);
    if (to == std::string::npos) break;
    out = out.substr(0, from) + "<code>" + out.substr(from + 1, to - from - 1) + "</code>" +
          out.substr(to + 1);
  }
  return out;
}

/// Wide enough to be read: on a small screen it moves sideways.
std::string chart_box(const std::string& chart) {
  return "<div class=\"scroll\">" + chart + "</div>\n";
}

std::string heading(std::string_view text) { return "<h2>" + html_escaped(text) + "</h2>\n"; }
std::string paragraph(std::string_view text) { return "<p>" + html_escaped(text) + "</p>\n"; }

std::string pairs(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string out = "<dl>";
  for (const auto& [name, value] : lines) {
    out += "<dt>" + html_escaped(name) + "</dt><dd>" + html_escaped(value) + "</dd>";
  }
  return out + "</dl>\n";
}

std::string ledger_section(const Audit& audit) {
  const audit::Ledger& all = audit.ledgers.all;
  std::string out = heading("Where GPU time went");
  if (all.held == 0) return out + paragraph("Cannot be known: no GPU time is told.");
  out += ledger_chart(audit);
  HtmlRows rows({"", "Runs", "GPU-hours", "Of held", "GPUs on average"});
  for (int i = 0; i < audit::kLines; ++i) {
    const auto which = static_cast<audit::Line>(i);
    const audit::LedgerLine& line = all.line(which);
    if (line.runs == 0) continue;
    rows.add({std::string(line_name(which)), audit::grouped(line.runs),
              audit::hours_text(line.gpu_time), audit::percent_text(line.gpu_time, all.held),
              audit::ratio_text(audit.equivalents(line.gpu_time))},
             ledger_colour(which));
  }
  rows.add({"held, in all", "", audit::hours_text(all.held), audit::percent_text(1, 1),
            audit::ratio_text(audit.equivalents(all.held))});
  if (audit.capacity > 0 && audit.timeline.placed > 0) {
    rows.add({"not held", "", audit::hours_text(audit.timeline.free), "",
              audit::ratio_text(audit.equivalents(audit.timeline.free))}, "#e9ecef");
  }
  return out + rows.finish();
}

void add_groups(HtmlRows& rows, std::vector<WaitBar>& bars, const std::string& kind,
                const std::vector<audit::WaitGroup>& groups) {
  constexpr std::size_t kMost = 12;
  std::size_t shown = 0;
  for (const audit::WaitGroup& group : groups) {
    if (groups.size() == 1 && group.name.empty()) return;
    if (++shown > kMost) {
      rows.add({kind + ": " + std::to_string(groups.size() - kMost) + " more"});
      return;
    }
    const audit::WaitFigures& figures = group.figures;
    const std::string name = kind + " " + (group.name.empty() ? "(not told)" : group.name);
    std::vector<std::string> cells{name, audit::grouped(figures.count)};
    for (const std::int64_t wait : {figures.p50, figures.p90, figures.p99, figures.max}) {
      cells.push_back(figures.count > 0 ? report::short_duration(Duration(wait)) : "n/a");
    }
    cells.push_back(audit::grouped(figures.never));
    cells.push_back(audit::grouped(figures.unknown));
    rows.add(cells);
    if (figures.count > 0) bars.push_back({name, figures.p50, figures.p90, figures.p99});
  }
}

std::string waits_section(const Audit& audit) {
  std::string out = heading("Waits");
  if (audit.waits.all.count == 0) {
    return out + paragraph("Cannot be known: no run has both a submit and a start time.");
  }
  HtmlRows rows({"", "Runs", "p50", "p90", "p99", "Longest", "Never started", "Not told"});
  std::vector<WaitBar> bars;
  add_groups(rows, bars, "all", {{"with GPUs", audit.waits.all}});
  add_groups(rows, bars, "class", audit.waits.by_class);
  add_groups(rows, bars, "team", audit.waits.by_team);
  add_groups(rows, bars, "GPUs", audit.waits.by_size);
  out += paragraph("Dark until half of the runs had started, middle until nine in ten, light until "
                   "99 in 100; each mark is ten times the one before.");
  return out + chart_box(wait_chart(bars)) + rows.finish();
}

std::string teams_section(const Audit& audit) {
  if (audit.teams.size() < 2) return {};
  HtmlRows rows({"", "Share", "GPU-hours", "Of held", "Owed", "Delivered", "Lost"});
  const bool placed = audit.timeline.placed > 0;
  for (const audit::TeamShare& team : audit.teams) {
    rows.add({team.name.empty() ? "(not told)" : team.name,
              audit::percent_text(team.part, team.parts), audit::hours_text(team.held),
              audit::percent_text(team.held, audit.ledgers.all.held),
              placed ? audit::hours_text(team.time.owed) : "n/a",
              placed ? audit::percent_text(team.time.delivered, team.time.owed) : "n/a",
              audit::percent_text(team.lost, team.end_told)});
  }
  return heading("Teams against their shares") +
         (audit.shares_given ? "" : paragraph("Equal shares are assumed.")) + rows.finish();
}

std::string findings_section(const AuditReport& report) {
  std::string out = heading("Findings");
  if (report.findings.empty()) return out + paragraph("Nothing stands out in what is told.");
  out += paragraph("Gains are upper bounds in GPUs on average over the span; they overlap.");
  for (const audit::Finding& finding : report.findings) {
    const std::string gain =
        finding.gain ? "Gain: at most " + audit::ratio_text(*finding.gain) + " GPUs"
                     : "Gain: cannot be told in GPUs";
    out += "<div class=\"finding\"><p><strong>" + html_words(finding.figure) +
           "</strong></p><p>Do: " + html_words(finding.action) + "</p><p class=\"gain\">" +
           gain + "</p><p class=\"how\">Confidence " +
           std::string(confidence_word(finding.confidence)) + ": " +
           html_words(finding.because) + ". Computed: " + html_words(finding.how) +
           ".</p></div>\n";
  }
  return out;
}

std::string classes_section(const Audit& audit) {
  std::string out = heading("Proposed classes");
  if (audit.classes.classes.size() < 2) {
    return out + paragraph("None: too few jobs, or they do not fall apart into kinds.");
  }
  HtmlRows rows({"", "Rule", "Jobs", "GPU-hours", "Run p50", "Run p95", "Wait p90"},
                "scroll rules");
  const auto length = [](std::int64_t ns) { return report::short_duration(Duration(ns)); };
  for (const audit::ProposedClass& one : audit.classes.classes) {
    rows.add({std::string(class_name(one.behaviour)), rule_of(audit.classes, one.behaviour),
              audit::grouped(one.jobs), audit::hours_text(one.gpu_time), length(one.run_p50),
              length(one.run_p95), one.waits > 0 ? length(one.wait_p90) : "n/a"});
  }
  std::string yaml;
  for (const char c : classes_yaml(audit.classes)) {
    yaml += c == '\n' ? std::string("\n") : html_escaped(std::string_view(&c, 1));
  }
  return out + rows.finish() + "<p>As a part of rota.yaml:</p>\n<pre>" + yaml + "</pre>\n";
}

}  // namespace

std::string audit_html(const AuditReport& report) {
  const Audit& audit = report.audit;
  std::string out(kHead);
  out += "<h1>Where the GPU time went</h1>\n" + pairs(audit_head(report)) + heading("Four layers");
  out += pairs(audit_layers(audit));
  if (const std::string week = week_chart(audit); !week.empty()) {
    out += paragraph("Occupancy by weekday and hour (UTC): the darker, the fuller.") +
           chart_box(week);
  }
  out += ledger_section(audit) + findings_section(report) + waits_section(audit);
  out += teams_section(audit) + classes_section(audit);
  out += heading("What this history cannot tell") + "<ul>";
  for (const std::string& unknown : report.unknowns) {
    out += "<li>" + html_words(unknown) + "</li>";
  }
  return out + "</ul>\n</body></html>\n";
}

}  // namespace rota::cli
