// `squeue --json` and `scontrol show jobs --json`, of Slurm 21.08 and later: what waits and runs
// now, and what has ended so lately that the controller still knows it. What differs between
// releases: numbers are plain, or null, or {"set", "infinite", "number"}; the state is a word or a
// list; the exit code is a wait status or an object; the nodes of a job stand in a text or an
// object.
#include <algorithm>
#include <optional>
#include <string>

#include "history/importer.h"
#include "history/json_items.h"
#include "history/slurm/tres.h"
#include "history/slurm/verdict.h"

namespace rota::history {
namespace {

constexpr std::int64_t kTimeMax = 7'258'118'400;
constexpr std::int64_t kMinutesMax = 52'560'000;
constexpr std::int64_t kNoValue = 0xffff'fffe;   // Slurm's NO_VAL, where a release prints it plain
constexpr std::int64_t kInfinite = 0xffff'ffff;  // and its INFINITE
constexpr std::int64_t kDevicesMax = 1'000'000;

/// 0 stands for no time.
std::optional<Instant> time_at(const Json& job, const char* name) {
  const auto seconds = json_whole(job, {name});
  if (!seconds || *seconds <= 0 || *seconds > kTimeMax) return std::nullopt;
  return Instant(Duration::seconds(*seconds).ns());
}

std::string_view something(std::string_view text) {
  return is_slurm_nothing(text) ? std::string_view() : text;
}

/// Whether a job in that state holds nodes; its end is then a guess of Slurm's.
bool holds_nodes(std::string_view state) {
  return state == "RUNNING" || state == "COMPLETING" || state == "SUSPENDED" ||
         state == "STOPPED" || state == "CONFIGURING" || state == "SIGNALING" ||
         state == "STAGE_OUT" || state == "RESIZING";
}

class SqueueReader {
 public:
  explicit SqueueReader(ImportRun& run)
      : run_(run), tres_(run.builder.gpus(), run.builder.names()) {}

  void read(const Json& job, std::int64_t number) {
    const RowPlace place{.file = run_.text.name(), .item = number};
    const auto id = json_whole(job, {"job_id"});
    if (!id || *id < 0) {
      run_.builder.count(RowFate::kSkipped, "no job id", place);
      return;
    }
    row_ = JobRow{};
    const std::string id_text = id_of(job, *id, place);
    row_.id = id_text;
    texts(job, place);
    times(job);
    amounts(job);
    exit(job);
    const bool had_nodes = !row_.nodes.empty() || json_at(job, {"job_resources"}) != nullptr ||
                           !json_text(job, {"tres_alloc_str"}).empty();
    settle_unstarted(row_, had_nodes);
    if (!row_.started) row_.gpus_held = kGpusUnknown;
    if (json_whole(job, {"restart_cnt"}).value_or(0) > 0) {
      run_.builder.notes().remark("some jobs were restarted: only `sacct -D` shows their earlier "
                                  "attempts");
    }
    run_.builder.add(row_, place);
  }

 private:
  /// A member of an array is named as in other outputs of Slurm; waiting members share a row.
  std::string id_of(const Json& job, std::int64_t id, const RowPlace& place) {
    const auto array = json_whole(job, {"array_job_id"});
    const auto task = json_whole(job, {"array_task_id"});
    if (!array || *array <= 0) return std::to_string(id);
    if (task && *task >= 0 && *task < kNoValue) {
      return std::to_string(*array) + "_" + std::to_string(*task);
    }
    const std::string_view waiting = json_text(job, {"array_task_string"});
    if (waiting.empty()) return std::to_string(id);
    const std::string text = std::to_string(*array) + "_[" + std::string(waiting) + "]";
    run_.builder.count(RowFate::kKept, "several waiting tasks of an array in one row", place,
                       text);
    return text;
  }

  void texts(const Json& job, const RowPlace& place) {
    row_.name = json_text(job, {"name"});
    row_.user = json_text(job, {"user_name"});
    row_.queue = something(json_text(job, {"account"}));
    row_.pool = json_text(job, {"partition"});
    row_.job_class = something(json_text(job, {"qos"}));
    row_.cluster = json_text(job, {"cluster"});
    row_.nodes = something(json_text(job, {"nodes"}));
    if (row_.nodes.empty()) row_.nodes = something(json_text(job, {"job_resources", "nodes"}));
    if (row_.nodes.empty()) {
      row_.nodes = something(json_text(job, {"job_resources", "nodes", "list"}));
    }
    row_.reason = something(json_text(job, {"state_reason"}));
    state_ = json_first_text(job, {"job_state"});
    if (holds_nodes(state_)) row_.outcome = Outcome::kRunning;
    else if (const auto outcome = outcome_from(state_)) row_.outcome = *outcome;
    else run_.builder.count(RowFate::kKept, "the state is not known", place, state_);
  }

  /// The start of a waiting job and the end of a running one are what Slurm expects.
  void times(const Json& job) {
    row_.submitted = time_at(job, "submit_time");
    row_.eligible = time_at(job, "eligible_time");
    if (row_.outcome != Outcome::kPending) row_.started = time_at(job, "start_time");
    if (has_ended(row_.outcome)) row_.ended = time_at(job, "end_time");
    const auto minutes = json_whole(job, {"time_limit"});
    if (json_infinite(job, {"time_limit"}) || minutes == kInfinite) {
      row_.limit_kind = TimeLimit::kNone;
    } else if (minutes && *minutes > 0 && *minutes < kMinutesMax) {
      row_.limit_kind = TimeLimit::kSet;
      row_.time_limit = Duration::minutes(*minutes);
    }
  }

  void amounts(const Json& job) {
    const Tres wanted = tres_.read(json_text(job, {"tres_req_str"}));
    const Tres held = tres_.read(json_text(job, {"tres_alloc_str"}));
    row_.gpus_wanted = wanted.gpus;
    row_.gpus_held = held.gpus;
    const auto tells_none = [](GpuSetId id) { return !id.known() || id == kNoGpus; };
    if (tells_none(held.gpus)) row_.gpus_held = or_else(held_by_gres(job), held.gpus);
    if (tells_none(wanted.gpus)) row_.gpus_wanted = or_else(wanted_by_gres(job), wanted.gpus);
    row_.cpus_milli = wanted.cpus_milli ? wanted.cpus_milli : held.cpus_milli;
    row_.memory = wanted.memory;
    row_.nodes_wanted = wanted.nodes ? wanted.nodes : json_whole(job, {"node_count"});
    if (row_.started) row_.node_count = held.nodes;
    const auto priority = json_whole(job, {"priority"});
    if (priority && *priority < kNoValue) row_.priority = priority;
  }

  static GpuSetId or_else(GpuSetId found, GpuSetId otherwise) {
    return found.known() && found != kNoGpus ? found : otherwise;
  }

  /// `gpu:a100:2(IDX:6-7)` for each node, also where Slurm does not count devices.
  GpuSetId held_by_gres(const Json& job) {
    const Json* list = json_at(job, {"gres_detail"});
    if (list == nullptr || !list->is_array()) return kGpusUnknown;
    std::string all;
    for (const Json& node : *list) {
      if (node.is_string()) all += (all.empty() ? "" : ",") + node.get<std::string>();
    }
    return tres_.read_gres(all);
  }

  /// `gres:gpu:h100:8` of the whole job, or of each node or task.
  GpuSetId wanted_by_gres(const Json& job) {
    const std::int64_t nodes = json_whole(job, {"node_count"}).value_or(1);
    const std::int64_t tasks = json_whole(job, {"tasks"}).value_or(1);
    for (const auto& [name, times] : {std::pair("tres_per_job", std::int64_t{1}),
                                      std::pair("tres_per_node", nodes),
                                      std::pair("tres_per_task", tasks)}) {
      const GpuSetId each = tres_.read_gres(json_text(job, {name}));
      if (!each.known() || each == kNoGpus) continue;
      std::vector<GpuItem> items;
      for (GpuItem item : run_.builder.gpus().items(each)) {
        item.milli = std::min(item.milli, kDevicesMax * 1000) *
                     std::clamp<std::int64_t>(times, 1, kDevicesMax);
        items.push_back(item);
      }
      return run_.builder.gpus().intern(std::move(items), run_.builder.names());
    }
    return kGpusUnknown;
  }

  /// A wait status, as of wait(2), or an object that tells code and signal apart.
  void exit(const Json& job) {
    if (!has_ended(row_.outcome)) return;
    const Json* code = json_at(job, {"exit_code"});
    if (code == nullptr) return;
    if (json_at(*code, {"return_code"}) != nullptr || json_at(*code, {"signal"}) != nullptr) {
      row_.exit_code = json_whole(*code, {"return_code"});
      row_.signal = json_whole(*code, {"signal", "id"});
      if (!row_.signal) row_.signal = json_whole(*code, {"signal", "signal_id"});
    } else if (const auto status = json_whole(job, {"exit_code"});
               status && *status >= 0 && *status < 65'536) {
      row_.exit_code = *status / 256;
      row_.signal = *status % 128;
    }
  }

  ImportRun& run_;
  TresReader tres_;
  JobRow row_;
  std::string_view state_;
};

}  // namespace

bool is_squeue_json(std::string_view sample) {
  return looks_like_json(sample) && has_json_key(sample, "jobs") &&
         has_json_key(sample, "job_state") &&
         (has_json_key(sample, "tres_req_str") || has_json_key(sample, "submit_time"));
}

Status import_squeue_json(ImportRun& run) {
  SqueueReader reader(run);
  auto status = for_each_json_item(run.text, "jobs", [&](const Json& job, std::int64_t number) {
    reader.read(job, number);
  });
  run.builder.notes().remark("squeue tells what waits and runs now, and hides most of what has "
                             "ended; the past is in `sacct -a -D -P -o ALL`");
  return status;
}

}  // namespace rota::history
