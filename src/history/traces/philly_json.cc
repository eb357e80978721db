// The job log of Microsoft's Philly traces (cluster_job_log): a list of jobs with their attempts
// and the GPUs of each. Only the end of the whole job is told; an attempt with another behind it
// failed.
#include <string>

#include "history/importer.h"
#include "history/json_items.h"
#include "history/words.h"

namespace rota::history {
namespace {

std::optional<Instant> instant(const Json& json, const char* name) {
  return parse_instant(json_text(json, {name}), TimeUnit::kSeconds);
}

struct Held {
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::string names;
};

Held held_by(const Json& attempt) {
  Held held;
  const Json* detail = json_at(attempt, {"detail"});
  if (detail == nullptr || !detail->is_array()) return held;
  for (const Json& node : *detail) {
    const Json* gpus = json_at(node, {"gpus"});
    if (gpus != nullptr && gpus->is_array()) held.gpus += static_cast<std::int64_t>(gpus->size());
    ++held.nodes;
    held.names += (held.names.empty() ? "" : ",") + std::string(json_text(node, {"ip"}));
  }
  return held;
}

void read_job(ImportRun& run, const Json& job, std::int64_t number) {
  const RowPlace place{.file = run.text.name(), .item = number};
  JobRow row;
  row.id = json_text(job, {"jobid"});
  row.user = json_text(job, {"user"});
  row.queue = json_text(job, {"vc"});
  row.submitted = instant(job, "submitted_time");
  const std::string_view status = json_text(job, {"status"});
  const auto outcome = outcome_from(status);
  if (!outcome) run.builder.count(RowFate::kKept, "the state is not known", place, status);
  const Outcome last = outcome.value_or(Outcome::kUnknown);
  const Json* attempts = json_at(job, {"attempts"});
  if (attempts == nullptr || !attempts->is_array() || attempts->empty()) {
    row.outcome = last;
    run.builder.add(row, place);
    return;
  }
  for (std::size_t i = 0; i < attempts->size(); ++i) {
    const Json& attempt = (*attempts)[i];
    const Held held = held_by(attempt);
    row.started = instant(attempt, "start_time");
    row.ended = instant(attempt, "end_time");
    row.outcome = i + 1 == attempts->size() ? last : Outcome::kFailed;
    row.nodes = held.names;
    row.node_count = held.nodes;
    row.gpus_held = kGpusUnknown;
    if (held.nodes > 0) {
      row.gpus_held = run.builder.gpus().intern(
          {{.model = {}, .partition = {}, .milli = held.gpus * 1000}}, run.builder.names());
    }
    run.builder.add(row, place);
    row.submitted = row.ended;  // from here on it waits again
  }
}

}  // namespace

bool is_philly_json(std::string_view sample) {
  return looks_like_json(sample) && has_json_key(sample, "jobid") && has_json_key(sample, "vc") &&
         has_json_key(sample, "attempts");
}

Status import_philly_json(ImportRun& run) {
  return for_each_json_item(run.text, "jobs", [&](const Json& job, std::int64_t number) {
    read_job(run, job, number);
  });
}

}  // namespace rota::history
