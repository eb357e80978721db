// `sacct --json` of Slurm 21.08 and later. What differs between releases: a state is a word or a
// list of words; numbers are plain or {"set", "infinite", "number"}; an exit status is a word or a
// list, its code a number or such an object.
#include <algorithm>
#include <string>

#include "history/importer.h"
#include "history/json_items.h"
#include "history/slurm/tres.h"
#include "history/slurm/verdict.h"

namespace rota::history {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kMebibytesMax = 1 << 30;  // above it, a count of memory is in bytes
constexpr std::int64_t kSecondsMax = 7'258'118'400;

/// 0 stands for no time.
std::optional<Instant> instant(const Json& job, const char* name) {
  const auto seconds = json_whole(job, {"time", name});
  if (!seconds || *seconds <= 0 || *seconds > kSecondsMax) return std::nullopt;
  return Instant(Duration::seconds(*seconds).ns());
}

struct TresList {
  GpuSetId gpus;
  std::optional<std::int64_t> cpus_milli;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> nodes;
};

class SacctJsonReader {
 public:
  explicit SacctJsonReader(ImportRun& run) : run_(run) {}

  void read(const Json& job, std::int64_t number) {
    const auto id = json_whole(job, {"job_id"});
    const RowPlace place{.file = run_.text.name(), .item = number};
    if (!id || *id < 0) {
      run_.builder.count(RowFate::kSkipped, "no job id", place);
      return;
    }
    row_ = JobRow{};
    const std::string id_text = id_of(job, *id);
    row_.id = id_text;
    texts(job, place);
    times(job);
    amounts(job);
    const bool had_nodes = !row_.nodes.empty() || (row_.gpus_held.known() &&
                                                   row_.gpus_held != kNoGpus) || held_something_;
    settle_unstarted(row_, had_nodes);
    if (!row_.started) row_.gpus_held = kGpusUnknown;
    steps(job);
    if (json_whole(job, {"restart_cnt"}).value_or(0) > 0) {
      run_.builder.notes().remark("some jobs were restarted: only an export with -D "
                                  "(--duplicates) shows their earlier attempts");
    }
    run_.builder.add(row_, place);
  }

 private:
  /// A member of an array is named as in other outputs of Slurm.
  static std::string id_of(const Json& job, std::int64_t id) {
    const auto array = json_whole(job, {"array", "job_id"});
    const auto task = json_whole(job, {"array", "task_id"});
    if (array && *array > 0 && task && *task >= 0) {
      return std::to_string(*array) + "_" + std::to_string(*task);
    }
    return std::to_string(id);
  }

  void texts(const Json& job, const RowPlace& place) {
    row_.name = json_text(job, {"name"});
    row_.user = json_text(job, {"user"});
    if (row_.user.empty()) row_.user = json_text(job, {"association", "user"});
    row_.queue = json_text(job, {"account"});
    row_.pool = json_text(job, {"partition"});
    row_.job_class = json_text(job, {"qos"});
    row_.cluster = json_text(job, {"cluster"});
    const auto told = [](std::string_view text) {
      return is_slurm_nothing(text) ? std::string_view() : text;
    };
    row_.nodes = told(json_text(job, {"nodes"}));
    row_.reason = told(json_text(job, {"state", "reason"}));
    row_.interactive = json_text(job, {"submit_line"}).starts_with("salloc");
    const std::string_view state = json_first_text(job, {"state", "current"});
    if (const auto outcome = outcome_from(state)) row_.outcome = *outcome;
    else run_.builder.count(RowFate::kKept, "the state is not known", place, state);
  }

  void times(const Json& job) {
    row_.submitted = instant(job, "submission");
    row_.eligible = instant(job, "eligible");
    row_.started = instant(job, "start");
    row_.ended = instant(job, "end");
    const auto suspended = json_whole(job, {"time", "suspended"});
    const auto elapsed = json_whole(job, {"time", "elapsed"});
    if (suspended && *suspended > 0 && elapsed && *elapsed >= 0 && *elapsed < kSecondsMax) {
      row_.run_told = Duration::seconds(*elapsed);
    }
    if (json_infinite(job, {"time", "limit"})) {
      row_.limit_kind = TimeLimit::kNone;
    } else if (const auto minutes = json_whole(job, {"time", "limit"});
               minutes && *minutes >= 0 && *minutes < 52'560'000) {
      row_.limit_kind = TimeLimit::kSet;
      row_.time_limit = Duration::minutes(*minutes);
    }
  }

  TresList tres(const Json* list) {
    TresList found;
    if (list == nullptr || !list->is_array()) return found;
    TresGpus gpus(run_.builder.names());
    for (const Json& entry : *list) {
      const std::string_view type = json_text(entry, {"type"});
      const auto count = json_whole(entry, {"count"});
      if (!count || *count < 0) continue;
      if (type == "cpu") found.cpus_milli = *count < 1'000'000 ? *count * 1000 : 0;
      if (type == "node") found.nodes = *count;
      if (type == "mem") found.memory = Bytes(*count < kMebibytesMax ? *count * kMiB : *count);
      if (type == "gres") gpus.add(json_text(entry, {"name"}), *count);
    }
    if (!list->empty()) found.gpus = run_.builder.gpus().intern(gpus.take(), run_.builder.names());
    return found;
  }

  void amounts(const Json& job) {
    const TresList wanted = tres(json_at(job, {"tres", "requested"}));
    const TresList held = tres(json_at(job, {"tres", "allocated"}));
    held_something_ = held.cpus_milli.value_or(0) > 0;
    row_.gpus_wanted = wanted.gpus;
    row_.gpus_held = held.gpus;
    row_.cpus_milli = wanted.cpus_milli ? wanted.cpus_milli : held.cpus_milli;
    row_.memory = wanted.memory;
    row_.nodes_wanted = wanted.nodes;
    row_.node_count = held.nodes ? held.nodes : json_whole(job, {"allocation_nodes"});
    row_.priority = json_whole(job, {"priority"});
    row_.exit_code = json_whole(job, {"exit_code", "return_code"});
    row_.signal = json_whole(job, {"exit_code", "signal", "id"});
    if (!row_.signal) row_.signal = json_whole(job, {"exit_code", "signal", "signal_id"});
    // Release 22.05 writes 0 here for jobs that failed.
    if (row_.outcome == Outcome::kFailed && row_.exit_code == 0) row_.exit_code.reset();
  }

  /// The count of one resource in a list of use; absent when it is not there.
  static std::optional<std::int64_t> used(const Json& step, const char* measure,
                                          std::string_view type, std::string_view name) {
    const Json* list = json_at(step, {"tres", "requested", measure});
    if (list == nullptr || !list->is_array()) return std::nullopt;
    for (const Json& entry : *list) {
      if (json_text(entry, {"type"}) != type) continue;
      if (!name.empty() && json_text(entry, {"name"}) != name) continue;
      return json_whole(entry, {"count"});
    }
    return std::nullopt;
  }

  void steps(const Json& job) {
    const Json* list = json_at(job, {"steps"});
    if (list == nullptr || !list->is_array()) return;
    std::int64_t longest = -1;
    const auto larger = [](std::optional<Bytes>& into, std::optional<std::int64_t> bytes) {
      if (bytes && *bytes >= 0 && (!into || *into < Bytes(*bytes))) into = Bytes(*bytes);
    };
    for (const Json& step : *list) {
      larger(row_.memory_used, used(step, "max", "mem", ""));
      larger(row_.gpu_memory_used, used(step, "max", "gres", "gpumem"));
      const auto busy = used(step, "average", "gres", "gpuutil");
      const std::int64_t elapsed = json_whole(step, {"time", "elapsed"}).value_or(0);
      if (busy && *busy >= 0 && elapsed > longest) {
        row_.gpu_busy_permille = std::min<std::int64_t>(*busy, 100) * 10;
        longest = elapsed;
      }
    }
  }

  ImportRun& run_;
  JobRow row_;
  bool held_something_ = false;
};

}  // namespace

bool is_sacct_json(std::string_view sample) {
  return looks_like_json(sample) && has_json_key(sample, "jobs") && has_json_key(sample, "tres") &&
         (has_json_key(sample, "association") || has_json_key(sample, "allocation_nodes"));
}

Status import_sacct_json(ImportRun& run) {
  SacctJsonReader reader(run);
  return for_each_json_item(run.text, "jobs", [&](const Json& job, std::int64_t number) {
    reader.read(job, number);
  });
}

}  // namespace rota::history
