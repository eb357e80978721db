// import: what is in a history of jobs, writing it in Rota's own form, and keeping such a file up
// to date with a live cluster.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/history_options.h"
#include "cli/live_import.h"
#include "cli/offline.h"
#include "cli/output.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "history/csv/rota_csv.h"
#include "report/csv.h"

namespace rota::cli {
namespace {

using history::AttemptRecord;
using history::JobHistory;
using history::JobRecord;

struct ImportOptions {
  HistoryOptions history;
  std::string to;
  bool from_slurm = false;
  std::string into;
  std::string since;
  std::string overlap;
  std::string every;
  OutputOptions output;
};

/// GPU time of one model or kind of partition, in thousandths of one and nanoseconds.
using GpuTimes = std::map<std::string, Int128>;

struct Summary {
  std::int64_t jobs = 0;
  std::int64_t attempts = 0;
  std::int64_t started = 0;  // attempts
  std::set<std::uint32_t> users;
  std::set<std::uint32_t> queues;
  std::set<std::uint32_t> pools;
  std::set<std::uint32_t> classes;
  std::map<history::Outcome, std::int64_t> outcomes;  // of jobs
  GpuTimes gpu_times;
  std::int64_t gpus_unknown = 0;  // attempts that ran
  std::int64_t busy_known = 0;    // attempts with utilisation
};

std::string kind_name(const JobHistory& history, const history::GpuItem& item) {
  const std::string_view model = history.text(item.model);
  std::string name = model.empty() ? "model not told" : std::string(model);
  if (!item.partition.empty()) name += "/" + std::string(history.text(item.partition));
  return name;
}

Summary summary_of(const JobHistory& history) {
  Summary summary;
  summary.jobs = std::ssize(history.jobs());
  summary.attempts = std::ssize(history.attempts());
  const auto note = [](std::set<std::uint32_t>& names, history::Name name) {
    if (!name.empty()) names.insert(name.index);
  };
  for (const JobRecord& job : history.jobs()) {
    note(summary.users, job.user);
    note(summary.queues, job.queue);
    note(summary.pools, job.pool);
    note(summary.classes, job.job_class);
    ++summary.outcomes[job.outcome];
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Int128> times;
  for (const AttemptRecord& attempt : history.attempts()) {
    const auto run = attempt.run_time();
    if (attempt.started || run) ++summary.started;
    if (attempt.gpu_busy_permille >= 0) ++summary.busy_known;
    if (!run) continue;
    const history::GpuSetId gpus = history.gpus_of(attempt);
    if (!gpus.known()) ++summary.gpus_unknown;
    for (const history::GpuItem& item : history.gpus().items(gpus)) {
      times[{item.model.index, item.partition.index}] += Int128{item.milli} * run->ns();
    }
  }
  for (const auto& [key, time] : times) {
    const history::GpuItem item{.model = {key.first}, .partition = {key.second}, .milli = 1};
    summary.gpu_times[kind_name(history, item)] += time;
  }
  return summary;
}

/// Hours to a thousandth, from thousandths of GPUs and nanoseconds.
double hours_of(Int128 time) {
  const auto thousandths = static_cast<std::int64_t>(time / 3'600'000'000'000);
  return static_cast<double>(thousandths) / 1000;
}

std::string names_of_files(const history::ImportNotes& notes) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < notes.files.size(); ++i) {
    parts.push_back(notes.files[i] + " (" + notes.formats[i] + ")");
  }
  if (parts.size() > 4) {
    const std::size_t more = parts.size() - 3;
    parts.resize(3);
    parts.push_back("and " + grouped(static_cast<std::int64_t>(more)) + " more");
  }
  return join(parts, ", ");
}

/// Dates, or lengths since the start of a trace that has none.
std::string span_text(const std::optional<JobHistory::Span>& span) {
  if (!span) return "not told";
  constexpr Instant kFirstDate(Duration::days(3650).ns());
  if (span->begin < kFirstDate) {
    const Instant origin;
    return format_duration(span->begin - origin) + " to " + format_duration(span->end - origin) +
           " since the trace's start";
  }
  return history::instant_text(span->begin) + " to " + history::instant_text(span->end);
}

std::string outcomes_text(const Summary& summary) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : summary.outcomes) {
    parts.push_back(grouped(count) + " " + std::string(history::outcome_name(outcome)));
  }
  return join(parts, ", ");
}

std::string summary_table(const JobHistory& history, const Summary& summary) {
  const auto count = [](const std::set<std::uint32_t>& names) {
    return names.empty() ? std::string("not told") : grouped(std::ssize(names));
  };
  std::vector<std::pair<std::string, std::string>> lines{
      {"Read", names_of_files(history.notes())},
      {"Rows", grouped(history.notes().rows)},
      {"Jobs", grouped(summary.jobs)},
      {"Attempts", grouped(summary.attempts) + ", " + grouped(summary.started) + " started"},
      {"Ends", outcomes_text(summary)},
      {"Time", span_text(history.span())},
      {"Users", count(summary.users)},
      {"Queues", count(summary.queues)},
      {"Pools", count(summary.pools)},
      {"Classes", count(summary.classes)},
      {"Utilisation", summary.busy_known == 0
                          ? std::string("not told")
                          : "of " + grouped(summary.busy_known) + " attempts"},
  };
  std::string text = key_values(lines);
  if (summary.gpu_times.empty()) {
    text += "No attempt that ran shows a GPU.\n";
  } else {
    text += "GPU-hours held:\n";
    for (const auto& [name, time] : summary.gpu_times) {
      text += "    " + name + "  " + number_text(hours_of(time), 3) + "\n";
    }
  }
  if (summary.gpus_unknown > 0) {
    text += grouped(summary.gpus_unknown) + " attempts ran with a number of GPUs not told.\n";
  }
  return text + import_notes_text(history.notes());
}

api::Json notes_json(const history::ImportNotes& notes) {
  api::Json list = api::Json::array();
  for (const history::RowKind& kind : notes.kinds) {
    api::Json json = api::Json::object();
    json["kind"] = kind.kind;
    json["fate"] = std::string(history::fate_name(kind.fate));
    json["count"] = kind.count;
    json["places"] = kind.places;
    list.push_back(std::move(json));
  }
  return list;
}

api::Json summary_json(const JobHistory& history, const Summary& summary) {
  api::Json json = api::Json::object();
  json["files"] = history.notes().files;
  json["formats"] = history.notes().formats;
  json["rows"] = history.notes().rows;
  json["jobs"] = summary.jobs;
  json["attempts"] = summary.attempts;
  json["attempts_started"] = summary.started;
  json["rows_skipped"] = history.notes().count_of(history::RowFate::kSkipped);
  api::Json outcomes = api::Json::object();
  for (const auto& [outcome, count] : summary.outcomes) {
    outcomes[std::string(history::outcome_name(outcome))] = count;
  }
  json["outcomes"] = std::move(outcomes);
  const auto span = history.span();
  json["begin"] = span ? api::Json(history::instant_text(span->begin)) : api::Json();
  json["end"] = span ? api::Json(history::instant_text(span->end)) : api::Json();
  json["users"] = std::ssize(summary.users);
  json["queues"] = std::ssize(summary.queues);
  json["pools"] = std::ssize(summary.pools);
  json["classes"] = std::ssize(summary.classes);
  json["attempts_with_utilisation"] = summary.busy_known;
  json["attempts_with_unknown_gpus"] = summary.gpus_unknown;
  api::Json hours = api::Json::object();
  for (const auto& [name, time] : summary.gpu_times) hours[name] = hours_of(time);
  json["gpu_hours"] = std::move(hours);
  json["row_kinds"] = notes_json(history.notes());
  json["remarks"] = history.notes().remarks;
  return json;
}

/// One line for each figure of the JSON form: `gpu_hours.h100,12.5`.
void add_csv(std::string& out, const std::string& key, const api::Json& value) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      add_csv(out, std::string(key).append(".").append(name), inner);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_csv(out, key + "." + std::to_string(i), value[i]);
    }
  } else {
    out += report::csv_row({key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
}

Status write_to(const JobHistory& history, const std::string& path) {
  std::ofstream output(path, std::ios::binary | std::ios::trunc);
  if (output) history::write_history_csv(history, output);
  output.close();
  if (output) return {};
  return usage_error("--to: cannot write '" + path + "': " + std::strerror(errno));
}

int show_history(Context& context, Format format, const JobHistory& history) {
  const Summary summary = summary_of(history);
  if (format == Format::kTable) {
    context.out << summary_table(history, summary);
    return kExitOk;
  }
  const api::Json json = summary_json(history, summary);
  if (format == Format::kJson) {
    context.out << json_of(json);
    return kExitOk;
  }
  std::string out = report::csv_row({"figure", "value"});
  for (const auto& [name, value] : json.items()) add_csv(out, name, value);
  context.out << out;
  return kExitOk;
}

int import_files(Context& context, const ImportOptions& options, Format format) {
  if (auto status = check_is_no_input("--to", options.to, options.history); !status) {
    return report_error(context, status.error());
  }
  const auto history = read_history(context, options.history);
  if (!history) return report_error(context, history.error());
  if (!options.to.empty()) {
    if (auto status = write_to(*history, options.to); !status) {
      return report_error(context, status.error());
    }
  }
  return show_history(context, format, *history);
}

struct LiveSetting {
  SlurmImport import;
  std::optional<Duration> every;
};

/// A span like 5m that is longer than nothing.
Result<Duration> live_span(const std::string& option, const std::string& text) {
  const auto span = parse_span(text);
  if (span && *span > Duration()) return *span;
  return usage_error(option + " '" + text + "': expected a span of time like 5m, 1h or 7d");
}

Result<LiveSetting> live_setting(const Context& context, const ImportOptions& options) {
  if (!options.history.files.empty() || !options.to.empty() || !options.history.format.empty() ||
      !options.history.map.empty()) {
    return usage_error("--from-slurm reads what sacct tells, into --into FILE; it takes no "
                       "HISTORY, --format, --map or --to");
  }
  if (options.into.empty()) {
    return usage_error("--from-slurm: name the file that grows, like --into jobs.csv");
  }
  LiveSetting setting{.import = {.into = options.into, .since = {}, .overlap = Duration::hours(1),
                                 .first = Duration::days(30)}};
  if (!options.since.empty()) {
    const auto since = parse_past(options.since, context.now_seconds());
    if (!since) return usage_error("--since: " + since.error().message);
    if (*since > context.now_seconds()) {
      return usage_error("--since '" + options.since + "': that is in the future; sacct knows "
                         "only what was");
    }
    setting.import.since = *since;
  }
  if (!options.overlap.empty()) {
    const auto overlap = live_span("--overlap", options.overlap);
    if (!overlap) return overlap.error();
    setting.import.overlap = *overlap;
  }
  if (!options.every.empty()) {
    const auto every = live_span("--every", options.every);
    if (!every) return every.error();
    if (*every < Duration::seconds(1)) {
      return usage_error("--every '" + options.every + "': sacct is asked once a second at most; "
                         "5m is usual");
    }
    setting.every = *every;
  }
  return setting;
}

/// What one reading brought, for people.
std::string round_text(const SlurmImported& round, const std::string& into) {
  const auto attempts = std::ssize(round.history.attempts());
  std::string text = iso_time(round.until) + "  " + into + ": " +
                     grouped(std::ssize(round.history.jobs())) + " jobs, " + grouped(attempts) +
                     " attempts, " + grouped(attempts - round.attempts_before) +
                     " more than before; sacct was asked from " + iso_time(round.since) + " on\n";
  if (round.untold > 0) {
    text += "Note: " + grouped(round.untold) +
            " attempts of the file have no end and sacct tells them no more; a larger --overlap "
            "finds records that came late.\n";
  }
  return text;
}

api::Json round_json(const SlurmImported& round, const std::string& into) {
  api::Json json = api::Json::object();
  json["into"] = into;
  json["since"] = iso_time(round.since);
  json["until"] = iso_time(round.until);
  json["jobs"] = std::ssize(round.history.jobs());
  json["attempts"] = std::ssize(round.history.attempts());
  json["attempts_before"] = round.attempts_before;
  json["attempts_untold"] = round.untold;
  return json;
}

/// One reading, or one after the other. What fails later than the first is tried again.
int import_live(Context& context, const ImportOptions& options, Format format) {
  auto setting = live_setting(context, options);
  if (!setting) return report_error(context, setting.error());
  for (bool is_first = true;; is_first = false) {
    const auto round = import_from_slurm(context, setting->import);
    if (!round && (is_first || !setting->every)) return report_error(context, round.error());
    if (!round) {
      report_error(context, round.error());
    } else if (setting->every && format == Format::kJson) {
      context.out << json_line(round_json(*round, options.into)) << std::flush;
    } else {
      if (format == Format::kTable) context.out << round_text(*round, options.into) << std::flush;
      if (!setting->every) return show_history(context, format, round->history);
    }
    if (!context.out.good()) return kExitFailed;
    if (round) setting->import.since.reset();  // from here on the file tells
    std::this_thread::sleep_for(std::chrono::nanoseconds(setting->every->ns()));
  }
}

int run_import(Context& context, const ImportOptions& options) {
  const auto format = options.output.format();
  if (!format) return report_error(context, format.error());
  if (options.from_slurm) return import_live(context, options, *format);
  const std::pair<const char*, const std::string*> live[] = {{"--into", &options.into},
                                                             {"--since", &options.since},
                                                             {"--overlap", &options.overlap},
                                                             {"--every", &options.every}};
  for (const auto& [name, value] : live) {
    if (value->empty()) continue;
    return report_error(context, usage_error(std::string(name) + " goes with --from-slurm; to "
                                             "write a history to a file there is --to FILE"));
  }
  if (options.history.files.empty()) {
    return report_error(context, usage_error("HISTORY is required; or read a "
                                             "live cluster with --from-slurm --into FILE"));
  }
  return import_files(context, options, *format);
}

}  // namespace

Runner declare_import(CLI::App& app, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  add_history_options(app, options->history)->required(false);
  app.add_option("--to", options->to, "write all attempts there, as CSV in Rota's own form")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--from-slurm", options->from_slurm, "read what sacct tells since the last time")
      ->group("Live");
  app.add_option("--into", options->into, "the file in Rota's own form that grows")
      ->type_name("FILE")
      ->group("Live");
  app.add_option("--since", options->since,
                 "ask from there on: 7d, 2026-03-01 (the file's end less overlap; else 30d)")
      ->type_name("TIME")
      ->group("Live");
  app.add_option("--overlap", options->overlap,
                 "read so much again, for records that come late (1h)")
      ->type_name("SPAN")
      ->group("Live");
  app.add_option("--every", options->every, "go on, once in that span; else it ends after one")
      ->type_name("SPAN")
      ->group("Live");
  add_output_options(app, options->output, "table|json|csv");
  return [options, &context](const Parsed&) { return run_import(context, *options); };
}

}  // namespace rota::cli
