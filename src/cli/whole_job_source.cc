#include "cli/whole_job_source.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

struct LeftOutKind {
  const char* field;
  std::int64_t history::WholeJobs::*count;
  const char* one;
  const char* many;
};

constexpr std::array<LeftOutKind, 4> kLeftOutKinds{{
    {"never_ran", &history::WholeJobs::never_ran, "job never ran to an end and was left out",
     "jobs never ran to an end and were left out"},
    {"no_time", &history::WholeJobs::no_time, "job has no submit time and was left out",
     "jobs have no submit time and were left out"},
    {"no_gpus", &history::WholeJobs::no_gpus, "job does not tell its GPUs and was left out",
     "jobs do not tell their GPUs and were left out"},
    {"parts_as_whole", &history::WholeJobs::parts, "job held a part of a GPU and counts as whole",
     "jobs held parts of GPUs and count as whole"},
}};

std::string sentences(const history::WholeJobs& whole) {
  std::string text;
  for (const LeftOutKind& kind : kLeftOutKinds) {
    const std::int64_t count = whole.*kind.count;
    if (count > 0) text += grouped(count) + " " + (count == 1 ? kind.one : kind.many) + ".\n";
  }
  return text;
}

}  // namespace

Result<WholeJobSource> read_whole_jobs(Context& context, const HistoryOptions& options) {
  const auto history = read_history(context, options);
  if (!history) return history.error();
  WholeJobSource source{.whole = history::whole_jobs(*history), .notes = history->notes()};
  if (!source.whole.jobs.empty()) return source;
  std::string why = sentences(source.whole);
  if (!why.empty()) why.pop_back();
  return usage_error("'" + join(options.files, "', '") + "' holds no job that ran: " + why);
}

std::string left_out_text(const WholeJobSource& source) {
  return import_notes_text(source.notes) + sentences(source.whole);
}

void add_left_out(api::Json& document, const WholeJobSource& source) {
  api::Json json = api::Json::object();
  for (const LeftOutKind& kind : kLeftOutKinds) {
    if (source.whole.*kind.count > 0) json[kind.field] = source.whole.*kind.count;
  }
  const std::int64_t skipped = source.notes.count_of(history::RowFate::kSkipped);
  if (skipped > 0) json["rows_skipped"] = skipped;
  if (!json.empty()) document["left_out"] = std::move(json);
}

}  // namespace rota::cli
