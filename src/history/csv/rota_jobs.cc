// `rota history -o csv|json`, and the jobs of the HTTP API: one row a job with what its last
// attempt did. The attempts before stand in the JSON of a single job alone (`rota show -o json`);
// elsewhere of a restarted job the first and the last start are known, and the ends between not.
#include <cmath>
#include <memory>
#include <string>

#include "base/text.h"
#include "history/csv/table.h"
#include "history/fields.h"
#include "history/json_items.h"

namespace rota::history {
namespace {

constexpr ColumnWord kWords[] = {
    {"id", Role::kId}, {"name", Role::kName}, {"user", Role::kUser}, {"queue", Role::kQueue},
    {"job_class", Role::kClass}, {"state", Role::kState}, {"priority", Role::kPriority},
    {"gpus_total", Role::kGpus}, {"cpus", Role::kCpus}, {"memory_bytes", Role::kMemory, 1},
    {"submitted", Role::kSubmit}, {"started", Role::kStart}, {"ended", Role::kEnd},
    {"time_limit_seconds", Role::kLimit}, {"min_runtime_seconds", Role::kMinRuntime},
    {"exit_code", Role::kExit}, {"nodes", Role::kNodes}, {"detail", Role::kReason}};

/// The cause of an end says more than `failed` where it names a limit or a loss.
Outcome outcome_of(Outcome state, std::string_view cause) {
  const auto told = outcome_from(cause);
  if (!told || state == Outcome::kCompleted || state == Outcome::kCancelled) return state;
  const bool telling = *told == Outcome::kPreempted || *told == Outcome::kNodeFailed ||
                       *told == Outcome::kOutOfMemory || *told == Outcome::kTimeLimit ||
                       *told == Outcome::kRejected;
  return telling ? *told : state;
}

GpuSetId typed(GpuSetId gpus, std::string_view models, ImportRun& run) {
  if (!gpus.known() || models.empty() || models.find(';') != std::string_view::npos) return gpus;
  return run.builder.gpus().intern({{.model = run.builder.names().intern(models), .partition = {},
                                     .milli = run.builder.gpus().whole(gpus).value()}},
                                   run.builder.names());
}

/// Puts the first start of a restarted job before `row`, which tells the last.
void add_first_start(JobRow& row, std::string_view first_started, std::string_view waiting_since,
                     ImportRun& run, const RowPlace& place) {
  const auto first = parse_instant(first_started, TimeUnit::kSeconds);
  const auto waits = parse_instant(waiting_since, TimeUnit::kSeconds);
  if (!first || !row.started || *first >= *row.started) return;
  run.builder.notes().remark("of restarted jobs the first and the last attempt are known; when "
                             "those before the last ended is not");
  JobRow before = row;
  before.started = first;
  before.ended.reset();
  before.run_told.reset();
  before.exit_code.reset();
  before.outcome = Outcome::kRequeued;
  run.builder.add(before, place);
  row.submitted = waits && *waits > *first && *waits <= *row.started ? waits : row.started;
}

std::string joined(const Json* list) {
  std::string text;
  if (list == nullptr || !list->is_array()) return text;
  for (const Json& entry : *list) {
    if (!entry.is_string()) continue;
    text += (text.empty() ? "" : ";") + entry.get_ref<const std::string&>();
  }
  return text;
}

std::optional<std::int64_t> milli_of(const Json& job, const char* name) {
  const Json* at = json_at(job, {name});
  if (at == nullptr || !at->is_number()) return std::nullopt;
  const auto value = at->get<double>();
  if (!(value >= 0 && value < 1e6)) return std::nullopt;
  return std::llround(value * 1000);
}

std::optional<Duration> seconds_of(const Json& json, const char* name) {
  const Json* at = json_at(json, {name});
  if (at == nullptr || !at->is_number()) return std::nullopt;
  const auto value = at->get<double>();
  if (!(value >= 0 && value < 3e9)) return std::nullopt;
  return Duration::milliseconds(std::llround(value * 1000));
}

std::optional<Instant> instant(const Json& json, const char* name) {
  return parse_instant(json_text(json, {name}), TimeUnit::kSeconds);
}

/// The attempts of a single job, one row each; false when the job does not list them.
bool add_attempts(const Json& job, JobRow row, ImportRun& run, const RowPlace& place) {
  const Json* list = json_at(job, {"history"});
  if (list == nullptr || !list->is_array() || list->empty()) return false;
  const Outcome last = row.outcome;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& attempt = (*list)[i];
    const std::string nodes = joined(json_at(attempt, {"nodes"}));
    row.nodes = nodes;
    row.started = instant(attempt, "started");
    row.ended = instant(attempt, "ended");
    row.exit_code = json_whole(attempt, {"exit_code"});
    row.signal = json_whole(attempt, {"signal"});
    const auto told = outcome_from(json_text(attempt, {"cause"}));
    const bool is_last = i + 1 == list->size();
    row.outcome = is_last ? last : told.value_or(Outcome::kRequeued);
    if (!is_last && row.outcome == Outcome::kCompleted) row.outcome = Outcome::kFailed;
    row.gpus_held = row.started ? row.gpus_wanted : kGpusUnknown;
    run.builder.add(row, place);
    row.submitted = row.ended;
  }
  return true;
}

void read_job(ImportRun& run, const Json& job, std::int64_t number) {
  const RowPlace place{.file = run.text.name(), .item = number};
  JobRow row;
  row.id = json_text(job, {"id"});
  if (row.id.empty()) return run.builder.count(RowFate::kSkipped, "no job id", place);
  row.name = json_text(job, {"name"});
  row.user = json_text(job, {"user"});
  row.queue = json_text(job, {"queue"});
  row.job_class = json_text(job, {"job_class"});
  row.reason = json_text(job, {"detail"});
  const std::string nodes = joined(json_at(job, {"nodes"}));
  row.nodes = nodes;
  row.submitted = instant(job, "submitted");
  row.started = instant(job, "started");
  row.ended = instant(job, "ended");
  row.time_limit = seconds_of(job, "time_limit_seconds");
  if (row.time_limit) row.limit_kind = TimeLimit::kSet;
  row.min_runtime = seconds_of(job, "min_runtime_seconds");
  row.priority = json_whole(job, {"priority"});
  row.exit_code = json_whole(job, {"exit_code"});
  row.signal = json_whole(job, {"signal"});
  if (const auto memory = json_whole(job, {"memory_bytes"})) row.memory = Bytes(*memory);
  if (const auto cpus = json_whole(job, {"cpus"}); cpus && *cpus < 1'000'000) {
    row.cpus_milli = *cpus * 1000;
  }
  const std::string_view state = json_text(job, {"state"});
  const auto outcome = outcome_from(state);
  if (!outcome) run.builder.count(RowFate::kKept, "the state is not known", place, state);
  row.outcome = outcome_of(outcome.value_or(Outcome::kUnknown), json_text(job, {"end_cause"}));
  if (const auto milli = milli_of(job, "gpus_total")) {
    row.gpus_wanted = run.builder.gpus().intern(
        {{.model = {}, .partition = {}, .milli = *milli}}, run.builder.names());
    row.gpus_wanted = typed(row.gpus_wanted, joined(json_at(job, {"models"})), run);
  }
  if (add_attempts(job, row, run, place)) return;
  add_first_start(row, json_text(job, {"first_started"}), json_text(job, {"waiting_since"}), run,
                  place);
  run.builder.add(row, place);
}

/// Columns that other tables do not have.
struct OwnColumns {
  int models = -1;
  int end_cause = -1;
  int signal = -1;
  int first_started = -1;
  int waiting_since = -1;
};

}  // namespace

bool is_rota_jobs_csv(std::string_view sample) {
  constexpr std::string_view kNames[] = {"id", "job_class", "gpus_total", "waiting_since",
                                         "gpu_hours", "end_cause"};
  return header_has(sample, kNames);
}

Status import_rota_jobs_csv(ImportRun& run) {
  const auto own = std::make_shared<OwnColumns>();
  TableRules rules;
  rules.words = kWords;
  rules.nothing = Nothing::kEmpty;
  rules.begin = [own](const std::vector<std::string>& header) {
    own->models = field_named(header, "models");
    own->end_cause = field_named(header, "end_cause");
    own->signal = field_named(header, "signal");
    own->first_started = field_named(header, "first_started");
    own->waiting_since = field_named(header, "waiting_since");
  };
  rules.finish = [own](const std::vector<std::string_view>& fields, JobRow& row, ImportRun& at) {
    const auto text = [&](int column) {
      return column < 0 ? std::string_view() : fields[static_cast<std::size_t>(column)];
    };
    row.outcome = outcome_of(row.outcome, text(own->end_cause));
    row.signal = parse_whole(text(own->signal));
    row.gpus_wanted = typed(row.gpus_wanted, text(own->models), at);
    add_first_start(row, text(own->first_started), text(own->waiting_since), at, at.here());
  };
  return import_table(run, rules);
}

bool is_rota_jobs_json(std::string_view sample) {
  return looks_like_json(sample) && has_json_key(sample, "job_class") &&
         has_json_key(sample, "gpus_total");
}

Status import_rota_jobs_json(ImportRun& run) {
  return for_each_json_item(run.text, "jobs", [&](const Json& job, std::int64_t number) {
    read_job(run, job, number);
  });
}

}  // namespace rota::history
