#include "server/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "server/names.h"
#include "server/wire.h"

namespace rota::server {
namespace {

constexpr std::int64_t kTasksMax = 100'000;
constexpr std::int64_t kIndexMax = 10'000'000;
constexpr std::int64_t kSignalMax = 64;
constexpr Duration kGraceMax = Duration::minutes(10);

Error invalid(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

Status check_texts(const api::SubmitRequest& request) {
  if (request.argv.empty() == request.script.empty()) {
    return invalid("argv", request.argv.empty()
                               ? "a job needs a command (argv) or a script"
                               : "a job has a command (argv) or a script, not both");
  }
  if (!request.argv.empty() && request.argv.front().empty()) {
    return invalid("argv[0]", "the command's name is empty");
  }
  for (const auto* list : {&request.argv, &request.script_args}) {
    if (std::any_of(list->begin(), list->end(), has_nul)) {
      return invalid("argv", "an argument holds a zero byte");
    }
  }
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return invalid("env", "'" + name + "' is no name of an environment variable, or its value "
                            "holds a zero byte");
    }
  }
  for (const std::string* path :
       {&request.script_name, &request.workdir, &request.stdout_path, &request.stderr_path}) {
    if (has_nul(*path)) return invalid("workdir", "a path holds a zero byte");
  }
  const Status name = check_job_name(request.name);
  return name.ok() ? check_comment(request.comment) : name;
}

Result<TopologyLevel> level_of(const std::string& word, const std::string& field) {
  if (word.empty()) return TopologyLevel::kNone;
  if (const auto level = enum_from<TopologyLevel>(word)) return *level;
  const auto names = names_of(TopologyLevel{});
  const std::string_view near = nearest_word(word, names);
  return invalid(field, field + " cannot be '" + word + "'; " +
                            (near.empty() ? "one of: node, island, socket, rack, block"
                                          : "did you mean '" + std::string(near) + "'?"));
}

/// Whole above one; a fraction below.
Result<MilliGpu> task_gpus(double gpus) {
  Result<MilliGpu> amount = milli_gpus_of(gpus, "gpus");
  if (!amount.ok()) return amount;
  if (*amount > kWholeGpu && amount->value() % kWholeGpu.value() != 0) {
    return invalid("gpus", "gpus above 1 must be whole: a part of a device is for one task alone");
  }
  return amount;
}

Status set_task(const api::SubmitRequest& request, const ClassConfig& job_class,
                TaskShape& task) {
  const int ways = (request.gpus ? 1 : 0) + (request.slots > 0 ? 1 : 0) +
                   (request.mig.empty() ? 0 : 1);
  if (ways > 1) return invalid("gpus", "a task uses GPUs, time slices or MIG: one of the three");
  if (request.slots < 0 || request.cpus < 0 || request.memory_bytes < 0 ||
      request.gpu_memory_bytes.value_or(0) < 0) {
    return invalid("cpus", "slots, cpus and memory cannot be negative");
  }
  if (request.gpus) {
    const Result<MilliGpu> gpus = task_gpus(*request.gpus);
    if (!gpus.ok()) return gpus.error();
    task.gpus = *gpus;
  } else {
    task.gpus = ways > 0 ? MilliGpu() : job_class.gpus.value_or(kWholeGpu);
  }
  task.slots = request.slots;
  task.mig = request.mig;
  if (request.gpu_memory_bytes) task.gpu_memory = Bytes(*request.gpu_memory_bytes);
  task.cpus = request.cpus;
  task.memory = Bytes(request.memory_bytes);
  return {};
}

Status set_shape(const api::SubmitRequest& request, const ClassConfig& job_class,
                 JobShape& shape) {
  const Status task = set_task(request, job_class, shape.task);
  if (!task.ok()) return task;
  if (request.tasks < 1 || request.tasks > kTasksMax) {
    return invalid("tasks", fmt::format("tasks must be between 1 and {}", kTasksMax));
  }
  if (request.min_tasks != 0) {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = "min_tasks: this back-end cannot add tasks to a running job; leave it "
                            "out and the job starts with all its tasks",
                 .where = "min_tasks"};
  }
  shape.tasks = request.tasks;
  shape.any_model = request.models == std::vector<std::string>{"any"};
  if (!shape.any_model) shape.models = request.models;
  const Result<TopologyLevel> same = level_of(request.same, "same");
  if (!same.ok()) return same.error();
  const Result<TopologyLevel> prefer = level_of(request.prefer, "prefer");
  if (!prefer.ok()) return prefer.error();
  shape.same = *same;
  shape.prefer = *prefer;
  shape.on = request.on;
  shape.exclude = request.exclude;
  shape.labels = request.labels;
  return {};
}

Status set_time_limit(const api::SubmitRequest& request, const TranslateContext& context,
                      const ClassConfig& job_class, JobSpec& spec) {
  spec.time_limit = job_class.time_limit ? job_class.time_limit
                                         : context.config.time_limit_default;
  if (request.time_limit_seconds) {
    const Result<Duration> limit = duration_of(*request.time_limit_seconds, "time_limit_seconds");
    if (!limit.ok()) return limit.error();
    if (*limit <= Duration()) return invalid("time_limit_seconds", "a time limit of 0 never runs");
    spec.time_limit = *limit;
  }
  const std::optional<Duration>& most = job_class.time_limit_max;
  if (most && (!spec.time_limit || *spec.time_limit > *most)) {
    if (!request.time_limit_seconds) {
      spec.time_limit = *most;
      return {};
    }
    return Error{.code = ErrorCode::kRefused,
                 .message = "class '" + job_class.name + "' allows at most " +
                            format_duration(*most) + "; ask for less, or leave the class out",
                 .where = "time_limit_seconds"};
  }
  return {};
}

Status set_contract(const api::SubmitRequest& request, const TranslateContext& context,
                    const ClassConfig& job_class, JobSpec& spec) {
  if (request.protect_all && request.min_runtime_seconds) {
    return invalid("protect_all", "protect_all and min_runtime_seconds exclude each other");
  }
  const bool class_protects = job_class.protect_all.value_or(false);
  if (request.protect_all || (class_protects && !request.min_runtime_seconds)) return {};
  const Duration most = context.policy.min_runtime_max;
  Duration contract = job_class.min_runtime.value_or(context.config.min_runtime_default);
  if (contract > most) contract = most;
  if (request.min_runtime_seconds) {
    const Result<Duration> asked = duration_of(*request.min_runtime_seconds, "min_runtime_seconds");
    if (!asked.ok()) return asked.error();
    if (*asked > most) {
      return Error{.code = ErrorCode::kRefused,
                   .message = "the policy allows a minimum runtime of at most " +
                              format_duration(most) + "; ask for less",
                   .where = "min_runtime_seconds"};
    }
    contract = *asked;
  }
  if (spec.time_limit && contract > *spec.time_limit) contract = *spec.time_limit;
  spec.min_runtime = contract;
  return {};
}

Status set_instants(const api::SubmitRequest& request, JobSpec& spec) {
  if (!request.deadline.empty()) {
    const Result<Instant> time = parse_iso_time(request.deadline);
    if (!time.ok()) return invalid("deadline", "deadline: " + time.error().message);
    spec.deadline = *time;
  }
  if (!request.begin.empty()) {
    const Result<Instant> time = parse_iso_time(request.begin);
    if (!time.ok()) return invalid("begin", "begin: " + time.error().message);
    spec.begin = *time;
  }
  if (request.checkpoint_seconds) {
    const Result<Duration> every = duration_of(*request.checkpoint_seconds, "checkpoint_seconds");
    if (!every.ok()) return every.error();
    if (*every <= Duration()) return invalid("checkpoint_seconds", "must be more than 0");
    spec.checkpoint = *every;
  }
  return {};
}

Status set_dependencies(const api::SubmitRequest& request, const TranslateContext& context,
                        JobSpec& spec) {
  struct Kind {
    DependencyKind kind;
    const std::vector<std::string>& ids;
  };
  for (const Kind& kind : {Kind{DependencyKind::kAfter, request.after},
                           Kind{DependencyKind::kAfterOk, request.afterok},
                           Kind{DependencyKind::kAfterAny, request.afterany}}) {
    for (const std::string& id : kind.ids) {
      Result<std::optional<Dependency>> found = context.dependency(kind.kind, id);
      if (!found.ok()) {
        Error error = found.error();
        error.where = std::string(name_of(kind.kind));
        return error;
      }
      if (found->has_value()) spec.dependencies.push_back(**found);
    }
  }
  return {};
}

Result<JobSpec> spec_of(const api::SubmitRequest& request, const TranslateContext& context,
                        const ClassConfig& job_class) {
  JobSpec spec;
  Status status = set_shape(request, job_class, spec.shape);
  if (status.ok()) status = set_time_limit(request, context, job_class, spec);
  if (status.ok()) status = set_contract(request, context, job_class, spec);
  if (status.ok()) status = set_instants(request, spec);
  if (status.ok()) status = set_dependencies(request, context, spec);
  if (!status.ok()) return status.error();
  spec.queue = context.queue;
  spec.user = context.caller.user;
  spec.priority = request.priority != 0 ? request.priority : job_class.priority.value_or(0);
  spec.charge = request.charge.value_or(job_class.charge.value_or(true));
  spec.interactive = request.interactive.value_or(job_class.interactive.value_or(false));
  if (!spec.checkpoint) spec.checkpoint = job_class.checkpoint;
  spec.held = request.held;
  spec.retries = request.retries ? request.retries : job_class.retries;
  if (spec.retries && (*spec.retries < 0 || *spec.retries > 1000)) {
    return invalid("retries", "retries must be between 0 and 1000");
  }
  spec.requeue = request.requeue.value_or(job_class.requeue.value_or(true));
  spec.hold_infeasible =
      request.hold_infeasible || context.config.policy.infeasible == Infeasible::kHold;
  return spec;
}

Status set_signals(const api::SubmitRequest& request, LaunchSpec& launch) {
  if (request.stop_signal < 1 || request.stop_signal > kSignalMax || request.warn_signal < 0 ||
      request.warn_signal > kSignalMax) {
    return invalid("stop_signal", fmt::format("signals are numbers up to {}", kSignalMax));
  }
  launch.stop_signal = request.stop_signal;
  launch.warn_signal = request.warn_signal;
  const Result<Duration> before = duration_of(request.warn_before_seconds, "warn_before_seconds");
  if (!before.ok()) return before.error();
  launch.warn_before = *before;
  if (!request.grace_seconds) return {};
  const Result<Duration> grace = duration_of(*request.grace_seconds, "grace_seconds");
  if (!grace.ok()) return grace.error();
  if (*grace > kGraceMax) {
    return invalid("grace_seconds", "the grace between signal and kill is at most " +
                                        format_duration(kGraceMax));
  }
  launch.grace = *grace;
  return {};
}

std::string default_name(const api::SubmitRequest& request) {
  if (!request.name.empty()) return request.name;
  if (request.argv.empty() && request.script_name.empty()) return "script";
  const std::string& command =
      request.argv.empty() ? request.script_name : request.argv.front();
  return plain_job_name(command.substr(command.rfind('/') + 1));
}

Result<LaunchSpec> launch_from(const api::SubmitRequest& request,
                               const TranslateContext& context) {
  LaunchSpec launch{.name = default_name(request),
                    .argv = request.argv,
                    .script = request.script,
                    .script_args = request.script_args,
                    .env = request.env,
                    .workdir = request.workdir,
                    .stdout_path = request.stdout_path,
                    .stderr_path = request.stderr_path,
                    .append_output = request.append_output};
  launch.slurm_style = request.slurm_style;
  launch.user = context.caller.user;
  launch.uid = context.caller.uid;
  launch.gid = context.caller.gid;
  launch.comment = request.comment;
  if (!request.array.empty()) launch.array_spec = array_text(request.array, request.max_concurrent);
  const Status signals = set_signals(request, launch);
  if (!signals.ok()) return signals.error();
  if (!launch.workdir.empty() && launch.workdir.front() != '/') {
    return invalid("workdir", "workdir must be an absolute path, not '" + launch.workdir + "'");
  }
  return launch;
}

Status check_group(const api::SubmitRequest& request, const Config& config) {
  if (!request.array.empty() && !request.params.empty()) {
    return invalid("array", "a job is an array or a sweep (params), not both");
  }
  const bool is_group = !request.array.empty() || !request.params.empty();
  const std::size_t size = std::max(request.array.size(), request.params.size());
  if (size > static_cast<std::size_t>(config.array_size_max)) {
    return Error{.code = ErrorCode::kRefused,
                 .message = fmt::format("an array has at most {} members here, not {}; split it, "
                                        "or raise limits.array_size in rota.yaml",
                                        config.array_size_max, size),
                 .where = "array"};
  }
  if (request.max_concurrent && (!is_group || *request.max_concurrent < 1)) {
    return invalid("max_concurrent", is_group ? "max_concurrent must be at least 1"
                                              : "max_concurrent is for arrays and sweeps");
  }
  const std::set<std::int64_t> unique(request.array.begin(), request.array.end());
  if (unique.size() != request.array.size()) {
    return invalid("array", "an index of the array is given twice");
  }
  if (!unique.empty() && (*unique.begin() < 0 || *unique.rbegin() > kIndexMax)) {
    return invalid("array", fmt::format("array indices lie between 0 and {}", kIndexMax));
  }
  return {};
}

void add_members(const api::SubmitRequest& request, const JobSpec& spec, Translated& out) {
  const std::string& base = out.launch.name;
  for (const std::int64_t index : request.array) {
    Member member{.spec = spec, .name = base, .params = {}};
    member.spec.group_index = index;
    out.members.push_back(std::move(member));
  }
  std::int64_t number = 0;
  for (const auto& params : request.params) {
    Member member{.spec = spec, .name = base, .params = params};
    member.spec.group_index = ++number;
    if (!request.name_template.empty()) {
      member.name = plain_job_name(fill_template(request.name_template, params, number));
    }
    out.members.push_back(std::move(member));
  }
  if (out.members.empty()) out.members.push_back({.spec = spec, .name = base, .params = {}});
}

Result<const ClassConfig*> class_of(const api::SubmitRequest& request, const Config& config) {
  const std::string& name = request.job_class.empty() ? config.default_class : request.job_class;
  if (const ClassConfig* found = config.find_class(name)) return found;
  std::vector<std::string> known;
  for (const ClassConfig& each : config.classes) known.push_back(each.name);
  const std::string_view near = nearest_word(name, known);
  return invalid("class", "there is no class '" + name + "'; " +
                              (near.empty() ? "known: " + join(known, ", ")
                                            : "did you mean '" + std::string(near) + "'?"));
}

void add_warnings(const JobSpec& spec, const Config& config, Translated& out) {
  if (!spec.time_limit && config.policy.backfill != Backfill::kOff) {
    out.warnings_if_it_waits.push_back("no time limit: the job cannot start early in gaps that "
                                       "others leave; say how long it may take with --time");
  }
}

}  // namespace

Result<Translated> translate(const api::SubmitRequest& request, const TranslateContext& context) {
  Status status = check_texts(request);
  if (status.ok()) status = check_group(request, context.config);
  if (!status.ok()) return status.error();
  const Result<const ClassConfig*> job_class = class_of(request, context.config);
  if (!job_class.ok()) return job_class.error();
  Result<JobSpec> spec = spec_of(request, context, **job_class);
  if (!spec.ok()) return spec.error();
  Result<LaunchSpec> launch = launch_from(request, context);
  if (!launch.ok()) return launch.error();
  Translated out;
  out.launch = *std::move(launch);
  out.job_class = (*job_class)->name;
  out.is_group = !request.array.empty() || !request.params.empty();
  out.throttle = request.max_concurrent;
  add_members(request, *spec, out);
  add_warnings(*spec, context.config, out);
  return out;
}

Status update_spec(const api::UpdateRequest& update, JobSpec& spec) {
  if (update.name) {
    const Status name = check_job_name(*update.name);
    if (!name.ok()) return name;
  }
  if (update.comment) {
    const Status comment = check_comment(*update.comment);
    if (!comment.ok()) return comment;
  }
  if (update.priority) spec.priority = *update.priority;
  if (update.time_limit_seconds) {
    const Result<Duration> limit = duration_of(*update.time_limit_seconds, "time_limit_seconds");
    if (!limit.ok()) return limit.error();
    if (*limit <= Duration()) return invalid("time_limit_seconds", "a time limit of 0 never runs");
    spec.time_limit = *limit;
    if (spec.min_runtime && *spec.min_runtime > *limit) spec.min_runtime = *limit;
  }
  if (update.gpus) {
    const Result<MilliGpu> gpus = task_gpus(*update.gpus);
    if (!gpus.ok()) return gpus.error();
    spec.shape.task.gpus = *gpus;
    spec.shape.task.slots = 0;
    spec.shape.task.mig.clear();
  }
  if (update.tasks) {
    if (*update.tasks < 1 || *update.tasks > kTasksMax) {
      return invalid("tasks", fmt::format("tasks must be between 1 and {}", kTasksMax));
    }
    spec.shape.tasks = *update.tasks;
  }
  if (update.begin) {
    spec.begin.reset();
    if (!update.begin->empty()) {
      const Result<Instant> time = parse_iso_time(*update.begin);
      if (!time.ok()) return invalid("begin", "begin: " + time.error().message);
      spec.begin = *time;
    }
  }
  return {};
}

std::string array_text(const std::vector<std::int64_t>& indices,
                       const std::optional<std::int64_t>& throttle) {
  std::string out;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i;
    while (end + 1 < indices.size() && indices[end + 1] == indices[end] + 1) ++end;
    out += (out.empty() ? "" : ",") + std::to_string(indices[i]);
    if (end > i) out += "-" + std::to_string(indices[end]);
    i = end + 1;
  }
  if (throttle) out += "%" + std::to_string(*throttle);
  return out;
}

std::string fill_template(const std::string& text,
                          const std::map<std::string, std::string>& params, std::int64_t index) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    // ${name} is the shell's own, and stays.
    const bool is_shells = at > 0 && text[at - 1] == '$';
    const bool opens = text[at] == '{' && !is_shells;
    const std::size_t end = opens ? text.find('}', at) : std::string::npos;
    const std::string key =
        end == std::string::npos ? std::string() : text.substr(at + 1, end - at - 1);
    const auto found = params.find(key);
    if (found != params.end()) {
      out += found->second;
    } else if (key == "index") {
      out += std::to_string(index);
    } else {
      out += text[at++];
      continue;
    }
    at = end + 1;
  }
  return out;
}

}  // namespace rota::server
