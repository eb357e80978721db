#include <algorithm>

#include "audit/words.h"
#include "base/text.h"
#include "cli/audit_report.h"
#include "cli/output.h"
#include "history/words.h"
#include "report/words.h"

namespace rota::cli {
namespace {

using audit::Audit;
using audit::GpuTime;
using audit::hours_text;
using audit::percent_text;
using audit::ratio_text;
using report::Table;
using report::TableStyle;

constexpr std::size_t kGroupsShown = 8;

std::string audit_length(std::int64_t ns) { return report::short_duration(Duration(ns)); }

struct HourPeak {
  int most = -1;
  int least = -1;
};

/// Of hours of the week that the window holds at least once in full.
HourPeak hours_of(const audit::Timeline& timeline) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  HourPeak peak;
  const auto less = [&](int a, int b) {
    const auto left = static_cast<std::size_t>(a);
    const auto right = static_cast<std::size_t>(b);
    return timeline.held_by_hour[left] / timeline.length_by_hour[left] <
           timeline.held_by_hour[right] / timeline.length_by_hour[right];
  };
  for (int hour = 0; hour < audit::kHoursOfWeek; ++hour) {
    if (timeline.length_by_hour[static_cast<std::size_t>(hour)] < kHour) continue;
    if (peak.most < 0 || less(peak.most, hour)) peak.most = hour;
    if (peak.least < 0 || less(hour, peak.least)) peak.least = hour;
  }
  return peak;
}

std::string occupancy_text(const Audit& audit) {
  if (audit.timeline.placed == 0 || audit.capacity == 0) {
    return "cannot be known: no run tells when it held its GPUs";
  }
  std::string text = percent_text(audit.timeline.held, audit.capacity_time()) +
                     " of capacity was held";
  const auto at = [&](int hour) {
    const auto slot = static_cast<std::size_t>(hour);
    return audit::hour_of_week_text(hour) + " (" +
           percent_text(audit.timeline.held_by_hour[slot],
                        GpuTime{audit.capacity} * audit.timeline.length_by_hour[slot]) + ")";
  };
  const HourPeak peak = hours_of(audit.timeline);
  if (peak.most >= 0) text += "; most " + at(peak.most) + ", least " + at(peak.least);
  if (audit.timeline.unplaced > 0) {
    text += "; " + audit::counted(audit.timeline.unplaced, "run") + " without a start left out";
  }
  if (audit.timeline.beyond > 0) text += "; MORE was held than --on says";
  return text;
}

std::string ledger_of(const Audit& audit, const TableStyle& style) {
  const audit::Ledger& all = audit.ledgers.all;
  if (all.held == 0) return {};
  Table table({{"WHERE GPU TIME WENT"}, {"RUNS", Align::kRight}, {"GPU-HOURS", Align::kRight},
               {"OF HELD", Align::kRight}, {"GPUS ON AVERAGE", Align::kRight}});
  const auto row = [&](std::string name, std::string runs, GpuTime time, Tone tone) {
    table.add_row({{std::move(name), tone}, {std::move(runs)}, {hours_text(time)},
                   {percent_text(time, all.held)}, {ratio_text(audit.equivalents(time))}});
  };
  for (int i = 0; i < audit::kLines; ++i) {
    const auto which = static_cast<audit::Line>(i);
    const audit::LedgerLine& line = all.line(which);
    if (line.runs == 0) continue;
    const bool bad = audit::is_lost(which) || which == audit::Line::kIdle;
    row(std::string(audit::line_name(which)), audit::grouped(line.runs), line.gpu_time,
        bad ? Tone::kWarning : Tone::kPlain);
  }
  row("held, in all", "", all.held, Tone::kAccent);
  if (audit.capacity > 0 && audit.timeline.placed > 0) {
    table.add_row({{"not held"}, {""}, {hours_text(audit.timeline.free)}, {""},
                   {ratio_text(audit.equivalents(audit.timeline.free))}});
  }
  return "\n" + table.text(style);
}

void add_waits(Table& table, std::string_view kind, const std::vector<audit::WaitGroup>& groups) {
  std::size_t shown = 0;
  for (const audit::WaitGroup& group : groups) {
    if (groups.size() == 1 && group.name.empty()) return;
    if (++shown > kGroupsShown) {
      table.add_row({{std::string(kind)}, {"and " + std::to_string(groups.size() - kGroupsShown) +
                                           " more: -o json"}});
      return;
    }
    const audit::WaitFigures& figures = group.figures;
    std::vector<Cell> row{{std::string(kind)}, {group.name.empty() ? "(not told)" : group.name},
                          {audit::grouped(figures.count)}};
    for (const std::int64_t wait : {figures.p50, figures.p90, figures.p99, figures.max}) {
      row.push_back(figures.count > 0 ? Cell{audit_length(wait)} : Cell{"n/a", Tone::kDim});
    }
    row.push_back({figures.never > 0 ? audit::grouped(figures.never) : ""});
    row.push_back({figures.unknown > 0 ? audit::grouped(figures.unknown) : ""});
    table.add_row(std::move(row));
  }
}

std::string waits_of(const Audit& audit, const TableStyle& style) {
  if (audit.waits.all.count == 0) {
    return "\nWaits cannot be known: no run has both a submit and a start time.\n";
  }
  Table table({{"WAITS"}, {"", Align::kLeft, true}, {"RUNS", Align::kRight}, {"P50", Align::kRight},
               {"P90", Align::kRight}, {"P99", Align::kRight}, {"MAX", Align::kRight},
               {"NEVER STARTED", Align::kRight}, {"NOT TOLD", Align::kRight}});
  add_waits(table, "all", {{"with GPUs", audit.waits.all}});
  add_waits(table, "class", audit.waits.by_class);
  add_waits(table, "team", audit.waits.by_team);
  add_waits(table, "GPUs", audit.waits.by_size);
  return "\n" + table.text(style);
}

std::string teams_table(const Audit& audit, const TableStyle& style) {
  if (audit.teams.size() < 2) return {};
  Table table({{"TEAMS", Align::kLeft, true}, {"SHARE", Align::kRight},
               {"GPU-HOURS", Align::kRight}, {"OF HELD", Align::kRight},
               {"OF ITS SHARE", Align::kRight}, {"OWED", Align::kRight},
               {"DELIVERED", Align::kRight}, {"LOST", Align::kRight}});
  std::size_t shown = 0;
  for (const audit::TeamShare& team : audit.teams) {
    if (++shown > 2 * kGroupsShown) {
      table.add_row({{"and " + std::to_string(audit.teams.size() - 2 * kGroupsShown) +
                      " more: -o json"}});
      break;
    }
    const GpuTime part = team.part_of(audit.capacity_time());
    const bool placed = audit.timeline.placed > 0;
    table.add_row({{team.name.empty() ? "(not told)" : team.name},
                   {percent_text(team.part, team.parts)}, {hours_text(team.held)},
                   {percent_text(team.held, audit.ledgers.all.held)},
                   {placed ? percent_text(team.time.held, part) : "n/a"},
                   {placed ? hours_text(team.time.owed) : "n/a"},
                   {placed ? percent_text(team.time.delivered, team.time.owed) : "n/a"},
                   {percent_text(team.lost, team.end_told)}});
  }
  return "\n" + table.text(style) +
         (audit.shares_given ? "" : "Equal shares are assumed; --shares team=3,.. says yours.\n");
}

/// Lines of at most `width` characters, behind a label.
std::string wrapped(std::string_view label, const std::string& text, std::size_t width) {
  const std::string indent(16, ' ');
  std::string out = "    " + std::string(label);
  out.resize(16, ' ');
  std::size_t column = 16;
  bool first = true;
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t length = report::text_width(word);
    if (!first && column + 1 + length > width) {
      out += "\n" + indent;
      column = 16;
      first = true;
    }
    out += (first ? "" : " ") + std::string(word);
    column += length + (first ? 0 : 1);
    first = false;
  }
  return out + "\n";
}

std::string findings_text(const AuditReport& report, const TableStyle& style) {
  if (report.findings.empty()) return "\nNo finding: nothing stands out in what is told.\n";
  const std::size_t width = std::max<std::size_t>(style.width_max == 0 ? 100 : style.width_max, 60);
  std::string out = "\n" + report::painted("FINDINGS", Tone::kAccent, style.colour) +
                    "  gains are upper bounds in GPUs on average; they overlap\n";
  int number = 0;
  for (const audit::Finding& finding : report.findings) {
    out += wrapped(std::to_string(++number) + ". found", finding.figure, width);
    out += wrapped("computed", finding.how, width);
    out += wrapped("confidence", std::string(confidence_word(finding.confidence)) + ": " +
                                     finding.because, width);
    out += wrapped("do", finding.action, width);
    out += wrapped("gain", finding.gain ? "at most " + ratio_text(*finding.gain) + " GPUs"
                                        : "cannot be told in GPUs", width);
  }
  return out;
}

std::string classes_of(const AuditReport& report, const TableStyle& style) {
  const audit::ClassProposal& proposal = report.audit.classes;
  if (proposal.classes.size() < 2) {
    return "\nNo classes are proposed: too few jobs, or they do not fall apart into kinds.\n";
  }
  Table table({{"PROPOSED CLASS"}, {"RULE", Align::kLeft, true}, {"JOBS", Align::kRight},
               {"GPU-HOURS", Align::kRight}, {"RUN P50", Align::kRight},
               {"RUN P95", Align::kRight}, {"WAIT P50", Align::kRight},
               {"WAIT P90", Align::kRight}});
  for (const audit::ProposedClass& one : proposal.classes) {
    const bool waits = one.waits > 0;
    table.add_row({{std::string(class_name(one.behaviour))}, {rule_of(proposal, one.behaviour)},
                   {audit::grouped(one.jobs)}, {hours_text(one.gpu_time)},
                   {audit_length(one.run_p50)}, {audit_length(one.run_p95)},
                   {waits ? audit_length(one.wait_p50) : "n/a"},
                   {waits ? audit_length(one.wait_p90) : "n/a"}});
  }
  std::string how;
  if (proposal.short_run_max) {
    how += std::string("Short is cut where ") +
           (proposal.by_wait ? "a wait hurts most for the run time" : "run times part best") +
           " (explains " + audit::permille_text(proposal.short_explained) + " of the variance). ";
  }
  if (proposal.large_above || proposal.large_run_above) {
    how += "Large is cut where GPU time of jobs parts best (explains " +
           audit::permille_text(proposal.large_explained) + "). ";
  }
  return "\n" + table.text(style) + how + "As a part of rota.yaml (--classes-to FILE):\n\n" +
         classes_yaml(proposal);
}

}  // namespace

std::string audit_instant(std::int64_t ns) {
  constexpr std::int64_t kFirstDate = Duration::days(3650).ns();
  if (ns < kFirstDate) return format_duration(Duration(ns)) + " since its start";
  return history::instant_text(Instant(ns));
}

AuditLines audit_head(const AuditReport& report) {
  const Audit& audit = report.audit;
  std::string jobs = audit::grouped(audit.jobs) + " (" + audit::counted(audit.runs, "run");
  if (audit.jobs_without_gpus > 0) {
    jobs += ", " + audit::grouped(audit.jobs_without_gpus) + " without GPUs";
  }
  if (audit.jobs_rejected > 0) {
    jobs += ", " + audit::grouped(audit.jobs_rejected) + " refused at submit";
  }
  std::string capacity = "cannot be known: give it with --on 64x8";
  if (audit.capacity > 0) {
    capacity = report::gpu_words(MilliGpu(audit.capacity));
    capacity += audit.capacity_given ? " (" + report.capacity_words + ")"
                                     : ": the most ever held at once; say yours with --on 64x8";
  }
  return {{"Audit of", report.source},
                     {"Span", audit_instant(audit.window.begin) + " to " +
                                  audit_instant(audit.window.end) + " (" +
                                  audit_length(audit.window.length()) + ")"},
                     {"Jobs", jobs + ")"},
                     {"Capacity", capacity}};
}

AuditLines audit_layers(const Audit& audit) {
  const audit::Ledger& all = audit.ledgers.all;
  const GpuTime unknown = all.line(audit::Line::kUnknown).gpu_time;
  std::string impact = "cannot be known: no GPU time is told";
  if (all.held > 0 && unknown < all.held) {
    impact = percent_text(all.held - unknown - all.lost(), all.held - unknown) +
             " of held time ended well or still runs";
    if (unknown > 0) impact += " (of the part whose end is told)";
  } else if (all.held > 0) {
    impact = "cannot be known: how runs ended is not told";
  }
  std::string busy = "cannot be known: allocated is not busy, and nothing was measured";
  if (all.measured > 0) {
    busy = percent_text(audit.ledgers.busy, all.measured) + " busy while held, where measured (" +
           percent_text(all.measured, all.held) + " of held time)";
  }
  return {{"Availability", "cannot be known from a job history"},
                     {"Occupancy", occupancy_text(audit)},
                     {"Impact", impact},
                     {"Utilisation", busy}};
}

std::string audit_page(const AuditReport& report, const TableStyle& style) {
  std::string page = key_values(audit_head(report)) + "\n" + key_values(audit_layers(report.audit));
  page += ledger_of(report.audit, style) + waits_of(report.audit, style);
  page += teams_table(report.audit, style) + findings_text(report, style);
  page += "\nWHAT THIS HISTORY CANNOT TELL\n";
  for (const std::string& unknown : report.unknowns) page += "  - " + unknown + "\n";
  return page + classes_of(report, style);
}

}  // namespace rota::cli
