// Rota's own submission options, most of which sbatch spells the same way.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/signals.h"
#include "cli/submit_options.h"
#include "cli/time_text.h"

namespace rota::cli {
namespace {

using Use = const OptionUse&;
using World = const Context&;

constexpr std::string_view kSize = "What each task needs";
constexpr std::string_view kWhere = "Where";
constexpr std::string_view kTurn = "Whose turn, and when";
constexpr std::string_view kEnd = "How it stops and starts again";
constexpr std::string_view kMany = "Many jobs at once";
constexpr std::string_view kFiles = "Files and environment";
constexpr std::string_view kAnswer = "What this command answers";

constexpr std::int64_t kTasksMax = 100'000;
constexpr std::int64_t kPriorityMax = 1'000'000'000;

Error bad(Use use, std::string_view rule) {
  return {ErrorCode::kInvalidArgument,
          "--" + std::string(use.option->name) + " '" + use.value + "': " + std::string(rule)};
}

Error named(Use use, const Error& error) {
  return {error.code, "--" + std::string(use.option->name) + ": " + error.message, error.where};
}

double seconds_of(Duration d) { return static_cast<double>(d.ns()) / 1e9; }

template <std::string api::SubmitRequest::* kField>
Status set_text(Draft& draft, Use use, World) {
  draft.request.*kField = use.value;
  return {};
}

template <std::vector<std::string> api::SubmitRequest::* kField>
Status set_list(Draft& draft, Use use, World) {
  add_to_list(draft.request.*kField, use);
  return {};
}

template <bool Draft::* kField>
Status set_flag(Draft& draft, Use, World) {
  draft.*kField = true;
  return {};
}

template <std::optional<double> api::SubmitRequest::* kField>
Status set_span(Draft& draft, Use use, World) {
  const auto span = parse_span(use.value);
  if (!span) return named(use, span.error());
  draft.request.*kField = seconds_of(*span);
  return {};
}

template <std::string api::SubmitRequest::* kField>
Status set_point(Draft& draft, Use use, World world) {
  const auto point = parse_point(use.value, world.now_seconds());
  if (!point) return named(use, point.error());
  draft.request.*kField = iso_time(*point);
  return {};
}

template <std::string api::SubmitRequest::* kField>
Status set_level(Draft& draft, Use use, World) {
  constexpr std::array<std::string_view, 6> kLevels{"none",   "node", "island",
                                                    "socket", "rack", "block"};
  if (std::find(kLevels.begin(), kLevels.end(), use.value) == kLevels.end()) {
    const std::string_view near = nearest_word(use.value, kLevels);
    return bad(use, near.empty() ? "expected node, island, socket, rack, block or none"
                                 : "did you mean " + std::string(near) + "?");
  }
  draft.request.*kField = use.value;
  return {};
}

template <std::int64_t kLow, std::int64_t kHigh, std::int64_t api::SubmitRequest::* kField>
Status set_number(Draft& draft, Use use, World) {
  const auto number = number_of(use, kLow, kHigh);
  if (!number) return number.error();
  draft.request.*kField = *number;
  return {};
}

Status set_gpus(Draft& draft, Use use, World) {
  return apply_gpus(draft, use, DeviceWish::Kind::kPlain);
}

Status set_nodes(Draft& draft, Use use, World) {
  if (use.value.find('-', 1) != std::string::npos) {
    return bad(use, "a range is not supported; give one number");
  }
  const auto number = number_of(use, 1, kTasksMax);
  if (!number) return number.error();
  draft.nodes = *number;
  return {};
}

Status set_cpus(Draft& draft, Use use, World) {
  const auto number = number_of(use, 0, 1'000'000);
  if (!number) return number.error();
  draft.cpus_per_process = *number;
  return {};
}

Status set_memory(Draft& draft, Use use, World) {
  const auto amount = parse_memory(use.value);
  if (!amount) return named(use, amount.error());
  draft.memory = {MemoryWish::Kind::kPerNode, *amount, use.source};
  return {};
}

Status set_gpu_memory(Draft& draft, Use use, World) {
  const auto amount = parse_memory(use.value);
  if (!amount) return named(use, amount.error());
  draft.request.gpu_memory_bytes = amount->value();
  return {};
}

Status set_slots(Draft& draft, Use use, World) {
  const auto number = number_of(use, 1, 1000);
  if (!number) return number.error();
  draft.devices = {DeviceWish::Kind::kSlots, MilliGpu(), *number, "", "--slots", use.source};
  return {};
}

Status set_mig(Draft& draft, Use use, World) {
  draft.devices = {DeviceWish::Kind::kMig, MilliGpu(), 0, use.value, "--mig", use.source};
  return {};
}

Status set_time(Draft& draft, Use use, World) {
  const auto limit = parse_time_limit(use.value);
  if (!limit) return named(use, limit.error());
  draft.request.time_limit_seconds.reset();
  if (limit->has_value()) draft.request.time_limit_seconds = seconds_of(**limit);
  return {};
}

Status set_min_runtime(Draft& draft, Use use, World world) {
  if (use.value == "all") {
    draft.request.protect_all = true;
    draft.request.min_runtime_seconds.reset();
    return {};
  }
  draft.request.protect_all = false;
  return set_span<&api::SubmitRequest::min_runtime_seconds>(draft, use, world);
}

Status set_free(Draft& draft, Use, World) {
  draft.request.charge = false;
  draft.request.protect_all = false;
  draft.request.min_runtime_seconds = 0;
  return {};
}

/// `any` takes back what a script says.
Status set_on(Draft& draft, Use use, World) {
  add_to_list(draft.request.on, use);
  if (use.value == "any") draft.request.on.clear();
  return {};
}

Status add_label(Draft& draft, Use use, World) {
  if (use.first) draft.request.labels.clear();
  for (const std::string_view part : split(use.value, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return bad(use, "expected KEY=VALUE");
    draft.request.labels[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return {};
}

Status set_hold(Draft& draft, Use, World) {
  draft.request.held = true;
  return {};
}

Status set_hold_infeasible(Draft& draft, Use, World) {
  draft.request.hold_infeasible = true;
  return {};
}

Status set_requeue(Draft& draft, Use, World) {
  draft.request.requeue = true;
  return {};
}

Status set_no_requeue(Draft& draft, Use, World) {
  draft.request.requeue = false;
  return {};
}

Status set_retries(Draft& draft, Use use, World) {
  const auto number = number_of(use, 0, 1000);
  if (!number) return number.error();
  draft.request.retries = *number;
  return {};
}

/// `[B:]SIGNAL[@SECONDS]`, as in sbatch; without a time 60 seconds.
Status set_warning(Draft& draft, Use use, World) {
  std::string_view text = use.value;
  if (text.starts_with("B:")) {
    text.remove_prefix(2);
    draft.warnings.emplace_back("--signal B: the signal goes to all processes of the job");
  } else if (text.starts_with("R:")) {
    text.remove_prefix(2);
  }
  double before = 60;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    const auto span = parse_span(text.substr(at + 1));
    if (!span) return named(use, span.error());
    before = seconds_of(*span);
    text = text.substr(0, at);
  }
  const auto number = parse_signal(text);
  if (!number) return named(use, number.error());
  draft.request.warn_signal = *number;
  draft.request.warn_before_seconds = before;
  return {};
}

Status set_stop_signal(Draft& draft, Use use, World) {
  const auto number = parse_signal(use.value);
  if (!number) return named(use, number.error());
  draft.request.stop_signal = *number;
  return {};
}

Status set_array(Draft& draft, Use use, World) {
  api::SubmitRequest scratch;
  if (auto status = parse_array(use.value, scratch); !status) return status;
  draft.array = use.value;
  return {};
}

Status set_max_concurrent(Draft& draft, Use use, World) {
  const auto number = number_of(use, 1, 1'000'000);
  if (!number) return number.error();
  draft.request.max_concurrent = *number;
  return {};
}

template <std::vector<std::string> Draft::* kField>
Status add_word(Draft& draft, Use use, World) {
  if (use.first) (draft.*kField).clear();
  (draft.*kField).push_back(use.value);
  return {};
}

/// `-o json` asks for a format, as with every other command; anything else is the output file.
Status set_output(Draft& draft, Use use, World) {
  constexpr std::array<std::string_view, 6> kFormats{"table", "wide", "json",
                                                     "yaml",  "csv",  "name"};
  const bool format = std::find(kFormats.begin(), kFormats.end(), use.value) != kFormats.end();
  if (format && use.source == Source::kFlag) {
    draft.format = use.value;
  } else {
    draft.request.stdout_path = use.value;
  }
  return {};
}

Status set_export(Draft& draft, Use use, World) {
  draft.export_spec = use.value;
  return {};
}

Status set_wrap(Draft& draft, Use use, World) {
  draft.wrap = use.value;
  return {};
}

Status set_json(Draft& draft, Use, World) {
  draft.format = "json";
  return {};
}

using R = api::SubmitRequest;
constexpr Takes kFlag = Takes::kNothing;
constexpr Takes kOne = Takes::kValue;

std::vector<SubmitOption> size_options() {
  return {
      {"gpus", 'G', kOne, "[TYPE:]N", kSize,
       "GPUs: 2, 0.5 (half of one), h100:2, 8/node; as in sbatch: of the job",
       kEverywhere, set_gpus},
      {"nodes", 'N', kOne, "N", kSize, "tasks that start all or none; several may share a node",
       kEverywhere, set_nodes},
      {"tasks", 0, kOne, "N", kSize, "the same as --nodes", kNative, set_nodes},
      {"min-tasks", 0, kOne, "N", kSize,
       "elastic: start with N, grow later; in scenarios only, daemons refuse it",
       kNative, set_number<1, kTasksMax, &R::min_tasks>},
      {"cpus-per-task", 'c', kOne, "N", kSize, "CPUs", kEverywhere, set_cpus},
      {"cpus", 0, kOne, "N", kSize, "the same as --cpus-per-task", kNative, set_cpus},
      {"mem", 0, kOne, "SIZE", kSize, "host memory: 64G, 512M", kEverywhere, set_memory,
       "SBATCH_MEM_PER_NODE"},
      {"gpu-mem", 0, kOne, "SIZE", kSize, "least memory of each GPU; of a fraction: its part",
       kNative, set_gpu_memory},
      {"gpu-type", 0, kOne, "TYPE,..", kSize, "GPU models, best first; any: may be mixed", kNative,
       set_list<&R::models>},
      {"slots", 0, kOne, "N", kSize, "time slices of shared GPUs instead of GPUs", kNative,
       set_slots},
      {"mig", 0, kOne, "PROFILE", kSize, "a MIG instance instead of GPUs: 1g.10gb", kNative,
       set_mig},
  };
}

std::vector<SubmitOption> place_options() {
  return {
      {"same", 0, kOne, "LEVEL", kWhere, "all tasks in one node, island, socket, rack or block",
       kNative, set_level<&R::same>},
      {"prefer", 0, kOne, "LEVEL", kWhere, "try that first, take any other place else", kNative,
       set_level<&R::prefer>},
      {"on", 0, kOne, "NAME,..", kWhere, "only these nodes or pools; any: everywhere", kNative,
       set_on},
      {"nodelist", 'w', kOne, "NODE,..", kWhere, "the same as --on", kEverywhere, set_on},
      {"exclude", 'x', kOne, "NODE,..", kWhere, "not these nodes", kEverywhere,
       set_list<&R::exclude>},
      {"label", 0, kOne, "KEY=VALUE", kWhere, "only nodes with this label", kNative, add_label},
  };
}

std::vector<SubmitOption> turn_options() {
  return {
      {"queue", 0, kOne, "NAME", kTurn, "whose share it is charged to", kNative,
       set_text<&R::queue>},
      {"class", 0, kOne, "NAME", kTurn, "bundle of defaults: debug, interactive, batch, free, ..",
       kNative, set_text<&R::job_class>},
      {"priority", 0, kOne, "N", kTurn, "order inside its queue; higher first", kEverywhere,
       set_number<-kPriorityMax, kPriorityMax, &R::priority>},
      {"time", 't', kOne, "LIMIT", kTurn, "time limit: 4h, 90m, 1-12:00:00; minutes if bare",
       kEverywhere, set_time, "SBATCH_TIMELIMIT"},
      {"min-runtime", 0, kOne, "TIME", kTurn,
       "protected from preemption for so long after each start; all: always", kNative,
       set_min_runtime},
      {"free", 0, kFlag, "", kTurn, "counts for nobody's share; gives way to any other work",
       kNative, set_free},
      {"checkpoint", 0, kOne, "TIME", kTurn, "how often the job saves its work", kNative,
       set_span<&R::checkpoint_seconds>},
      {"begin", 'b', kOne, "WHEN", kTurn, "not before: 18:00, now+2h, 2026-01-31T09:00",
       kEverywhere, set_point<&R::begin>},
      {"deadline", 0, kOne, "WHEN", kTurn, "move up in its queue as far as this needs", kEverywhere,
       set_point<&R::deadline>},
      {"after", 0, kOne, "ID,..", kTurn, "wait until these have started", kNative,
       set_list<&R::after>},
      {"afterok", 0, kOne, "ID,..", kTurn, "wait until these have succeeded", kNative,
       set_list<&R::afterok>},
      {"afterany", 0, kOne, "ID,..", kTurn, "wait until these have ended", kNative,
       set_list<&R::afterany>},
      {"hold", 'H', kFlag, "", kTurn, "wait for `rota release`", kEverywhere, set_hold},
      {"hold-infeasible", 0, kFlag, "", kTurn, "wait even if this cluster can never hold it",
       kNative, set_hold_infeasible},
  };
}

std::vector<SubmitOption> end_options() {
  return {
      {"signal", 0, kOne, "SIG[@TIME]", kEnd, "warning before the time limit: USR1@300",
       kEverywhere, set_warning},
      {"stop-signal", 0, kOne, "SIG", kEnd, "asks it to end (default TERM)", kNative,
       set_stop_signal},
      {"grace", 0, kOne, "TIME", kEnd, "between that signal and the kill", kNative,
       set_span<&R::grace_seconds>},
      {"requeue", 0, kFlag, "", kEnd, "pending again after an eviction (default)", kEverywhere,
       set_requeue},
      {"no-requeue", 0, kFlag, "", kEnd, "end instead of being requeued", kEverywhere,
       set_no_requeue},
      {"retries", 0, kOne, "N", kEnd, "start again after a failure of its own", kNative,
       set_retries},
  };
}

std::vector<SubmitOption> many_options() {
  constexpr unsigned kSubmitRota = kOnSubmit | kInRota;
  return {
      {"array", 'a', kOne, "INDICES", kMany, "1-320%40: 320 jobs, 40 at once",
       kOnSubmit | kInRota | kInSbatch, set_array, "SBATCH_ARRAY_INX"},
      {"param", 0, kOne, "NAME=V,..", kMany, "a sweep: one job for each value", kSubmitRota,
       add_word<&Draft::params>},
      {"param-file", 0, kOne, "FILE.csv", kMany, "a sweep: one job for each row", kSubmitRota,
       add_word<&Draft::param_files>},
      {"name-template", 0, kOne, "TEXT", kMany, "names of a sweep's jobs: lr{lr}-bs{bs}",
       kSubmitRota, set_text<&R::name_template>},
      {"max-concurrent", 0, kOne, "N", kMany, "how many of them may run at once", kSubmitRota,
       set_max_concurrent},
  };
}

std::vector<SubmitOption> file_options() {
  return {
      {"job-name", 'J', kOne, "TEXT", kFiles, "name shown in tables", kEverywhere,
       set_text<&R::name>},
      {"name", 0, kOne, "TEXT", kFiles, "the same as --job-name", kNative, set_text<&R::name>},
      {"output", 'o', kOne, "FILE", kFiles, "output; %j id, %A array, %a index, %x name, %N node",
       kEverywhere, set_output},
      {"error", 'e', kOne, "FILE", kFiles, "error output (default: together with the output)",
       kEverywhere, set_text<&R::stderr_path>},
      {"chdir", 'D', kOne, "DIR", kFiles, "working directory (default: this one)", kEverywhere,
       set_text<&R::workdir>},
      {"env", 0, kOne, "NAME[=VALUE]", kFiles, "a variable of the job; may be repeated", kNative,
       add_word<&Draft::env_settings>},
      {"export", 0, kOne, "LIST", kFiles, "ALL (default), NONE, NAME, NAME=VALUE, comma-separated",
       kEverywhere, set_export},
      {"wrap", 0, kOne, "COMMAND", kFiles, "run this shell command", kSlurmOnly, set_wrap},
      {"comment", 0, kOne, "TEXT", kFiles, "free text kept with the job", kEverywhere,
       set_text<&R::comment>},
  };
}

std::vector<SubmitOption> answer_options() {
  return {
      {"dry-run", 0, kFlag, "", kAnswer, "say where, when and why, and who would be preempted",
       kOnBoth, set_flag<&Draft::dry_run>},
      {"parsable", 0, kFlag, "", kAnswer, "print the bare id", kSlurmOnly,
       set_flag<&Draft::parsable>},
      {"wait", 'W', kFlag, "", kAnswer, "wait for the end; exit with the job's code", kSlurmOnly,
       set_flag<&Draft::wait>},
      {"json", 0, kFlag, "", kAnswer, "the answer as JSON (also -o json, yaml, name)", kOnSubmit,
       set_json},
  };
}

}  // namespace

std::vector<SubmitOption> rota_options() {
  std::vector<SubmitOption> all;
  for (auto part : {size_options(), place_options(), turn_options(), end_options(),
                    many_options(), file_options(), answer_options()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace rota::cli
