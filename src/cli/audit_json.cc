#include <cmath>

#include "audit/words.h"
#include "base/text.h"
#include "cli/audit_report.h"
#include "report/csv.h"

namespace rota::cli {
namespace {

using api::Json;
using audit::Audit;
using audit::GpuTime;

double rounded(double value, double scale) { return std::round(value * scale) / scale; }
double hours_in(GpuTime time) { return rounded(audit::gpu_hours(time), 1e6); }
double gib_hours_in(Int128 mib_time) {
  return rounded(static_cast<double>(mib_time) / 1024 / 3.6e12, 1e6);
}
double seconds_of(std::int64_t ns) { return rounded(static_cast<double>(ns) / 1e9, 1e3); }
double gpus_of_milli(std::int64_t milli) { return static_cast<double>(milli) / 1000; }

void put_ratio(Json& json, const char* name, GpuTime part, GpuTime whole) {
  if (whole > 0) {
    json[name] = rounded(static_cast<double>(part) / static_cast<double>(whole), 1e6);
  }
}

Json wait_json(const audit::WaitFigures& figures) {
  Json json = Json::object();
  json["runs"] = figures.count;
  json["runs_not_told"] = figures.unknown;
  json["runs_never_started"] = figures.never;
  json["gpu_hours"] = hours_in(figures.gpu_time);
  if (figures.count == 0) return json;
  Json wait = Json::object();
  wait["mean"] = seconds_of(static_cast<std::int64_t>(figures.sum / figures.count));
  wait["p50"] = seconds_of(figures.p50);
  wait["p90"] = seconds_of(figures.p90);
  wait["p99"] = seconds_of(figures.p99);
  wait["max"] = seconds_of(figures.max);
  json["wait_seconds"] = std::move(wait);
  return json;
}

Json groups_json(const std::vector<audit::WaitGroup>& groups) {
  Json list = Json::array();
  for (const audit::WaitGroup& group : groups) {
    Json json = Json::object();
    if (!group.name.empty()) json["name"] = group.name;
    json.update(wait_json(group.figures));
    list.push_back(std::move(json));
  }
  return list;
}

Json occupancy_json(const Audit& audit) {
  Json json = Json::object();
  const audit::Timeline& timeline = audit.timeline;
  json["runs_placed"] = timeline.placed;
  json["runs_not_placed"] = timeline.unplaced;
  if (timeline.placed == 0) return json;
  put_ratio(json, "ratio", timeline.held, audit.capacity_time());
  json["gpus_held_mean"] = rounded(audit.equivalents(timeline.held), 1e3);
  json["gpus_held_peak"] = gpus_of_milli(timeline.held_peak);
  json["gpus_wanted_mean"] = rounded(audit.equivalents(timeline.wanted), 1e3);
  json["gpus_wanted_peak"] = gpus_of_milli(timeline.wanted_peak);
  json["runs_waiting_peak"] = timeline.waiting_peak;
  json["gpu_hours_free"] = hours_in(timeline.free);
  json["gpu_hours_free_while_wanted"] = hours_in(timeline.idle_while_wanted);
  json["gpu_hours_beyond_capacity"] = hours_in(timeline.beyond);
  Json week = Json::array();
  for (int hour = 0; hour < audit::kHoursOfWeek; ++hour) {
    const auto slot = static_cast<std::size_t>(hour);
    if (timeline.length_by_hour[slot] == 0) continue;
    Json one = Json::object();
    one["hour"] = audit::hour_of_week_text(hour);
    put_ratio(one, "ratio", timeline.held_by_hour[slot],
              GpuTime{audit.capacity} * timeline.length_by_hour[slot]);
    week.push_back(std::move(one));
  }
  json["by_hour_of_week"] = std::move(week);
  return json;
}

Json ledger_json(const Audit& audit) {
  const audit::Ledger& all = audit.ledgers.all;
  Json json = Json::object();
  json["held"] = hours_in(all.held);
  if (all.held > all.line(audit::Line::kUnknown).gpu_time) json["lost"] = hours_in(all.lost());
  json["measured"] = hours_in(all.measured);
  put_ratio(json, "utilisation", audit.ledgers.busy, all.measured);
  Json lines = Json::array();
  for (int i = 0; i < audit::kLines; ++i) {
    const auto which = static_cast<audit::Line>(i);
    if (all.line(which).runs == 0) continue;
    Json line = Json::object();
    line["line"] = std::string(audit::line_word(which));
    line["runs"] = all.line(which).runs;
    line["gpu_hours"] = hours_in(all.line(which).gpu_time);
    put_ratio(line, "of_held", all.line(which).gpu_time, all.held);
    line["gpu_equivalents"] = rounded(audit.equivalents(all.line(which).gpu_time), 1e3);
    lines.push_back(std::move(line));
  }
  json["lines"] = std::move(lines);
  return json;
}

Json teams_json(const Audit& audit) {
  Json list = Json::array();
  for (const audit::TeamShare& team : audit.teams) {
    Json json = Json::object();
    if (!team.name.empty()) json["name"] = team.name;
    put_ratio(json, "share", team.part, team.parts);
    json["gpu_hours"] = hours_in(team.held);
    if (team.end_told > 0) json["gpu_hours_lost"] = hours_in(team.lost);
    if (audit.timeline.placed > 0 && audit.capacity > 0) {
      json["gpu_hours_wanted"] = hours_in(team.time.wanted);
      json["gpu_hours_owed"] = hours_in(team.time.owed);
      json["gpu_hours_delivered"] = hours_in(team.time.delivered);
      put_ratio(json, "delivered_ratio", team.time.delivered, team.time.owed);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json failures_json(const Audit& audit) {
  const audit::Failures& failures = audit.failures;
  Json json = Json::object();
  json["runs_ended"] = failures.ended;
  json["runs_failed"] = failures.failed;
  json["runs_failed_early"] = failures.early;
  if (failures.ended > 0) json["gpu_hours_failed"] = hours_in(failures.lost);
  json["jobs_restarted"] = failures.jobs_restarted;
  json["restarts"] = failures.restarts;
  json["gpu_hours_repeated"] = hours_in(failures.restart_cost);
  json["runs_stopped"] = failures.stopped;
  json["gpu_hours_stopped"] = hours_in(failures.stopped_lost);
  Json users = Json::array();
  for (const audit::FailureGroup& group : failures.by_user) {
    users.push_back({{"name", group.name}, {"runs_ended", group.runs},
                     {"runs_failed", group.failed}, {"gpu_hours_failed", hours_in(group.lost)}});
  }
  json["by_user"] = std::move(users);
  json["nodes_seen"] = audit.lemons.nodes;
  Json nodes = Json::array();
  for (const audit::Lemon& lemon : audit.lemons.found) {
    nodes.push_back({{"name", lemon.node}, {"runs", lemon.runs}, {"runs_failed", lemon.failed},
                     {"others_failure_ratio", rounded(lemon.others_rate, 1e6)},
                     {"chance", lemon.chance}, {"gpu_hours_excess", hours_in(lemon.excess)}});
  }
  json["nodes_suspect"] = std::move(nodes);
  return json;
}

void put_over_requests(const audit::OverRequests& over, Json& json) {
  const audit::GpuUse& gpus = over.gpus;
  json["runs_of_several_gpus"] = gpus.runs;
  json["runs_of_several_gpus_measured"] = gpus.measured;
  if (gpus.measured > 0) {
    json["runs_over_requested_gpus"] = gpus.over;
    json["gpu_hours_over_requested"] = hours_in(gpus.excess);
  }
  const audit::MemoryUse& memory = over.memory;
  json["runs_with_memory_told"] = memory.told;
  if (memory.told > 0) {
    json["memory_used_p50"] = gpus_of_milli(memory.used_p50);
    json["runs_below_half_of_memory"] = memory.below_half;
    json["runs_below_tenth_of_memory"] = memory.below_tenth;
    json["gib_hours_memory_asked"] = gib_hours_in(memory.asked);
    json["gib_hours_memory_unused"] = gib_hours_in(memory.excess);
  }
  const audit::GpuMemoryUse& gpu_memory = over.gpu_memory;
  json["runs_with_gpu_memory_told"] = gpu_memory.told;
  if (gpu_memory.told == 0) return;
  json["gpu_memory_mib_p50"] = gpu_memory.used_p50;
  json["gpu_memory_mib_max"] = gpu_memory.used_max;
  json["runs_part_of_a_gpu"] = gpu_memory.small;
  json["gpu_hours_part_of_a_gpu"] = hours_in(gpu_memory.small_held);
}

Json requests_json(const Audit& audit) {
  Json json = Json::object();
  json["jobs_with_limit"] = audit.limits.jobs;
  json["jobs_without_limit"] = audit.limits.without_limit;
  if (audit.limits.jobs > 0) {
    json["limit_used_p50"] = gpus_of_milli(audit.limits.used_p50);
    json["jobs_below_half"] = audit.limits.below_half;
    json["jobs_below_tenth"] = audit.limits.below_tenth;
  }
  put_over_requests(audit.over, json);
  const audit::Sessions& sessions = audit.sessions;
  json["sessions"] = sessions.interactive;
  json["gpu_hours_sessions"] = hours_in(sessions.interactive_held);
  json["runs_measured"] = sessions.measured;
  if (sessions.measured > 0) {
    json["runs_squatting"] = sessions.squatting;
    json["gpu_hours_squatting_idle"] = hours_in(sessions.squatting_idle);
  }
  json["days"] = audit.arrivals.days;
  if (const double burst = audit.arrivals.burst(); burst > 0) {
    json["day_max_over_mean"] = rounded(burst, 1e3);
  }
  return json;
}

Json classes_json(const Audit& audit) {
  Json list = Json::array();
  if (audit.classes.classes.size() < 2) return list;
  for (const audit::ProposedClass& one : audit.classes.classes) {
    Json json = Json::object();
    json["name"] = std::string(class_name(one.behaviour));
    json["rule"] = rule_of(audit.classes, one.behaviour);
    json["jobs"] = one.jobs;
    json["gpu_hours"] = hours_in(one.gpu_time);
    json["run_seconds_p50"] = seconds_of(one.run_p50);
    json["run_seconds_p95"] = seconds_of(one.run_p95);
    if (one.waits > 0) json["wait_seconds_p50"] = seconds_of(one.wait_p50);
    if (one.waits > 0) json["wait_seconds_p90"] = seconds_of(one.wait_p90);
    json["time_limit_seconds"] = seconds_of(one.time_limit);
    json["min_runtime_seconds"] = seconds_of(one.min_runtime);
    list.push_back(std::move(json));
  }
  return list;
}

Json findings_json(const AuditReport& report) {
  Json list = Json::array();
  for (const audit::Finding& finding : report.findings) {
    Json json = Json::object();
    json["id"] = finding.id;
    json["figure"] = finding.figure;
    json["how"] = finding.how;
    json["confidence"] = std::string(confidence_word(finding.confidence));
    json["because"] = finding.because;
    json["action"] = finding.action;
    if (finding.gain) json["gpu_equivalents_max"] = rounded(*finding.gain, 1e3);
    list.push_back(std::move(json));
  }
  return list;
}

void add_figures(std::string& out, const std::string& key, const Json& value) {
  if (value.is_structured()) {
    std::size_t index = 0;
    for (const auto& [name, inner] : value.items()) {
      const std::string part = value.is_array() ? std::to_string(index++) : name;
      std::string inner_key = key;
      if (!inner_key.empty()) inner_key += '.';
      inner_key += part;
      add_figures(out, inner_key, inner);
    }
    return;
  }
  out += report::csv_row(
      {key, value.is_string() ? report::csv_name(value.get<std::string>()) : value.dump()});
}

}  // namespace

Json audit_json(const AuditReport& report) {
  const Audit& audit = report.audit;
  Json json = Json::object();
  json["source"] = report.source;
  json["begin"] = audit_instant(audit.window.begin);
  json["end"] = audit_instant(audit.window.end);
  json["span_seconds"] = seconds_of(audit.window.length());
  json["jobs"] = audit.jobs;
  json["runs"] = audit.runs;
  json["jobs_rejected"] = audit.jobs_rejected;
  json["jobs_without_gpus"] = audit.jobs_without_gpus;
  if (audit.capacity > 0) json["capacity_gpus"] = gpus_of_milli(audit.capacity);
  json["capacity_given"] = audit.capacity_given;
  json["occupancy"] = occupancy_json(audit);
  json["gpu_hours"] = ledger_json(audit);
  Json waits = Json::object();
  waits["all"] = wait_json(audit.waits.all);
  waits["by_class"] = groups_json(audit.waits.by_class);
  waits["by_team"] = groups_json(audit.waits.by_team);
  waits["by_size"] = groups_json(audit.waits.by_size);
  json["waits"] = std::move(waits);
  json["shares_given"] = audit.shares_given;
  json["teams"] = teams_json(audit);
  json["failures"] = failures_json(audit);
  json["requests"] = requests_json(audit);
  json["findings"] = findings_json(report);
  json["cannot_tell"] = report.unknowns;
  json["classes"] = classes_json(audit);
  if (const std::string yaml = classes_yaml(audit.classes); !yaml.empty()) {
    json["classes_yaml"] = yaml;
  }
  return json;
}

std::string audit_csv(const AuditReport& report) {
  std::string out = report::csv_row({"figure", "value"});
  add_figures(out, "", audit_json(report));
  return out;
}

}  // namespace rota::cli
