#include "server/views.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "backend/local/output_paths.h"
#include "report/sentence.h"
#include "server/wire.h"

namespace rota::server {
namespace {

/// A reason's amount in the unit of the wire: GPUs are decimals there.
std::optional<double> amount(const Reason& reason, const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  const bool in_gpus = reason.resource.value_or(ReasonResource::kGpu) == ReasonResource::kGpu &&
                       reason.code != ReasonCode::kArrayLimit;
  return static_cast<double>(*value) / (in_gpus ? 1000.0 : 1.0);
}

bool plain(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./=:,+%@").find(c) != std::string_view::npos;
  });
}

std::string quoted(const std::string& word) {
  if (plain(word)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

template <class T, class Text>
std::string joined(const std::vector<T>& items, std::string_view separator, const Text& text) {
  std::string out;
  for (const T& item : items) {
    if (!out.empty()) out += separator;
    out += text(item);
  }
  return out;
}

std::string dependency_text(const Dependency& dependency, const Views& views) {
  const std::string id = dependency.group.valid() ? std::to_string(dependency.group.value())
                                                  : views.job_name(dependency.job);
  return std::string(name_of(dependency.kind)) + ":" + id;
}

api::Node node_view(const NodeStatus& status, bool simulated) {
  const NodeSpec& spec = *status.spec;
  api::Node out{.name = spec.name,
                .state = std::string(name_of(status.state)),
                .reason = status.reason,
                .gpus = static_cast<std::int64_t>(spec.devices.size()),
                .gpus_healthy = status.gpus_healthy,
                .gpus_used = gpus_of(status.gpus_used),
                .gpus_free = gpus_of(status.gpus_free)};
  std::set<std::string> models;
  for (const DeviceSpec& device : spec.devices) models.insert(device.model);
  models.erase("");
  out.models.assign(models.begin(), models.end());
  out.cpus = spec.cpus;
  out.cpus_free = status.cpus_free;
  out.memory_bytes = spec.memory.value();
  out.memory_free_bytes = status.memory_free.value();
  out.running = status.running;
  out.pool = spec.pool;
  out.site = spec.site;
  out.block = spec.block;
  out.rack = spec.rack;
  out.labels = spec.labels;
  out.simulated = simulated;
  return out;
}

void add_reading(const telemetry::DeviceReading& reading, api::Device& out) {
  if (reading.busy_per_mille) out.busy_ratio = static_cast<double>(*reading.busy_per_mille) / 1e3;
  if (reading.memory_used) out.memory_used_bytes = reading.memory_used->value();
  if (reading.power_milliwatts) {
    out.power_watts = static_cast<double>(*reading.power_milliwatts) / 1e3;
  }
  if (reading.temperature_celsius) {
    out.temperature_celsius = static_cast<double>(*reading.temperature_celsius);
  }
  if (out.detail.empty()) out.detail = reading.detail;
}

/// What is known of how the processes of an ended attempt exited. One that was killed has no exit
/// code, and one that never ran or vanished has neither.
Exit exit_of(const AttemptStatus& attempt, std::int64_t exit_code) {
  if (attempt.signal != 0) return {.signal = attempt.signal};
  if (exit_code != 0) return {.code = exit_code, .signal = 0};
  const bool ran = attempt.cause == "exited" ||
                   (attempt.started && attempt.cause != "lost" && attempt.cause != "launch_failed");
  return ran ? Exit{.code = 0, .signal = 0} : Exit();
}

std::string device_state(const NodeStatus& node, const DeviceStatus& status) {
  if (!status.healthy) return "unhealthy";
  if (status.foreign) return "foreign";
  if (status.held_pid != 0) return "draining";
  if (status.jobs.size() > 1) return "shared";
  if (!status.jobs.empty()) return status.used < kWholeGpu ? "shared" : "used";
  if (node.state == NodeState::kUp) return "free";
  return node.state == NodeState::kDraining || node.state == NodeState::kDrained ? "draining"
                                                                                  : "unhealthy";
}

std::string device_detail(const DeviceStatus& status) {
  if (!status.healthy) {
    return status.xid != 0 ? "fault xid " + std::to_string(status.xid) : "fault";
  }
  if (status.foreign) {
    return "used from outside by pid " + std::to_string(status.foreign_pid) +
           (status.foreign_user.empty() ? "" : " of " + status.foreign_user);
  }
  if (status.held_pid != 0) {
    return "pid " + std::to_string(status.held_pid) + " of an ended job still holds it";
  }
  return {};
}

}  // namespace

std::string devices_text(const TaskPlace& place) {
  std::string out;
  for (std::size_t i = 0; i < place.devices.size();) {
    const DeviceShare& first = place.devices[i];
    std::size_t end = i;
    while (first.mig_start < 0 && end + 1 < place.devices.size() &&
           place.devices[end + 1].mig_start < 0 &&
           place.devices[end + 1].device == place.devices[end].device + 1) {
      ++end;
    }
    if (!out.empty()) out += ",";
    out += std::to_string(first.device);
    if (first.mig_start >= 0) out += "@" + std::to_string(first.mig_start);
    if (end > i) out += "-" + std::to_string(place.devices[end].device);
    i = end + 1;
  }
  return out;
}

std::string allocation_text(const Allocation& allocation) {
  return joined(allocation.tasks, " ", [](const TaskPlace& place) {
    return place.devices.empty() ? place.node : place.node + ":" + devices_text(place);
  });
}

std::string command_text(const LaunchSpec& launch, const std::string& script_name) {
  const bool is_script = launch.argv.empty();
  std::string words = joined(is_script ? launch.script_args : launch.argv, " ", quoted);
  if (!is_script) return words;
  return quoted(script_name.empty() ? "script" : script_name) + (words.empty() ? "" : " " + words);
}

bool owns(const Caller& caller, const std::string& user) {
  return caller.admin || (!user.empty() && caller.user == user);
}

void redact(api::Job& job) {
  api::Job shown;
  shown.id = job.id;
  shown.array_id = job.array_id;
  shown.array_index = job.array_index;
  shown.user = job.user;
  shown.queue = job.queue;
  shown.job_class = job.job_class;
  shown.state = job.state;
  shown.reason = job.reason;
  shown.priority = job.priority;
  shown.gpus = job.gpus;
  shown.gpus_total = job.gpus_total;
  shown.tasks = job.tasks;
  shown.tasks_running = job.tasks_running;
  shown.submitted = job.submitted;
  shown.waiting_since = job.waiting_since;
  shown.started = job.started;
  shown.first_started = job.first_started;
  shown.ended = job.ended;
  shown.estimate = job.estimate;
  shown.wait_seconds = job.wait_seconds;
  shown.run_seconds = job.run_seconds;
  shown.time_limit_seconds = job.time_limit_seconds;
  shown.contract_ends = job.contract_ends;
  shown.limit_ends = job.limit_ends;
  shown.held = job.held;
  shown.places = job.places;
  shown.nodes = job.nodes;
  job = std::move(shown);
}

std::string Views::job_name(JobId job) const {
  const Result<JobStatus> status = engine_.job(job);
  if (!status.ok()) return std::to_string(job.value());
  return job_text(job, status->spec->group, status->spec->group_index);
}

std::vector<api::Place> Views::places(const Allocation& allocation) const {
  std::vector<api::Place> out;
  for (const TaskPlace& task : allocation.tasks) {
    api::Place place{.task = task.task, .node = task.node, .devices = devices_text(task)};
    const Result<NodeStatus> node = engine_.node(task.node);
    for (const DeviceShare& share : task.devices) {
      if (!node.ok()) break;
      const auto index = static_cast<std::size_t>(share.device);
      if (index < node->spec->devices.size()) {
        place.uuids.push_back(node->spec->devices[index].uuid);
      }
    }
    std::erase(place.uuids, "");
    out.push_back(std::move(place));
  }
  return out;
}

api::Attempt Views::attempt(const AttemptStatus& attempt, Instant now) const {
  api::Attempt out{.number = attempt.number,
                   .ordered = iso_time(attempt.ordered),
                   .started = iso_time(attempt.started),
                   .ended = iso_time(attempt.ended),
                   .cause = attempt.cause,
                   .by = attempt.by.valid() ? job_name(attempt.by) : std::string(),
                   .detail = attempt.detail,
                   .nodes = attempt.nodes};
  if (attempt.started) {
    const Instant end = attempt.ended.value_or(now);
    out.run_seconds = seconds_of(std::max(end, *attempt.started) - *attempt.started);
  }
  if (attempt.ended) {
    const Exit exit = exit_of(attempt, attempt.exit_code);
    out.exit_code = exit.code;
    out.signal = exit.signal;
  }
  return out;
}

void Views::add_record(const JobStatus& status, api::Job& out) const {
  const JobRecord* record = book_.find(status.id);
  if (record == nullptr) return;
  const JobSpec& spec = *status.spec;
  const LaunchSpec launch = shown_launch(*record, spec.group_index);
  out.name = launch.name;
  out.job_class = record->submission->job_class;
  out.command = command_text(launch, record->submission->request.script_name);
  out.workdir = launch.workdir;
  out.comment = launch.comment;
  const std::string node = status.allocation.tasks.empty() ? std::string()
                                                           : status.allocation.tasks.front().node;
  const backend::OutputPaths paths =
      backend::output_paths(launch, {.job = status.id,
                                     .group = spec.group,
                                     .group_index = spec.group_index,
                                     .node = node,
                                     .task = 0,
                                     .tasks = spec.shape.tasks});
  out.stdout_path = paths.out;
  out.stderr_path = paths.err;
}

void Views::add_times(const JobStatus& status, Instant now, api::Job& out) const {
  out.submitted = iso_time(status.submitted);
  out.started = iso_time(status.started);
  out.first_started = iso_time(status.first_started);
  out.ended = iso_time(status.ended);
  out.contract_ends = iso_time(status.contract_ends);
  out.limit_ends = iso_time(status.limit_ends);
  if (status.state == JobState::kPending) {
    const Instant since = waiting_since(status);
    out.waiting_since = iso_time(since);
    out.wait_seconds = seconds_of(std::max(now, since) - since);
    return;
  }
  const Instant wait_end = status.first_started.value_or(status.ended.value_or(now));
  out.wait_seconds = seconds_of(std::max(wait_end, status.submitted) - status.submitted);
  if (status.started) {
    const bool runs = status.state == JobState::kRunning || status.state == JobState::kStopping;
    const Instant end = runs ? now : status.ended.value_or(*status.started);
    if (runs || status.ended) {
      out.run_seconds = seconds_of(std::max(end, *status.started) - *status.started);
    }
  }
}

/// Of a pending job: its submit, or the end of its latest attempt.
Instant Views::waiting_since(const JobStatus& status) const {
  if (status.attempts == 0) return status.submitted;
  const Result<JobStatus> full = engine_.job(status.id, engine::Engine::Detail::kHistory);
  if (!full.ok() || full->history.empty()) return status.submitted;
  return std::max(full->history.back().ended.value_or(status.submitted), status.submitted);
}

/// Of the last attempt of a job that is over.
Exit Views::end_exit(const JobStatus& status) const {
  if (!is_final(status.state) || status.attempts == 0) return {};
  if (!status.history.empty()) return exit_of(status.history.back(), status.exit_code);
  const Result<JobStatus> full = engine_.job(status.id, engine::Engine::Detail::kHistory);
  if (!full.ok() || full->history.empty()) return {};
  return exit_of(full->history.back(), status.exit_code);
}

/// More on how the latest attempt ended, where the job ended with it.
std::string Views::end_detail(const JobStatus& status) const {
  if (!is_final(status.state) || status.state == JobState::kDone || status.attempts == 0) return {};
  if (!status.history.empty()) return status.history.back().detail;
  const Result<JobStatus> full = engine_.job(status.id, engine::Engine::Detail::kHistory);
  return full.ok() && !full->history.empty() ? full->history.back().detail : std::string();
}

void Views::add_waiting(const JobStatus& status, api::Job& out) const {
  if (status.state != JobState::kPending) return;
  const Result<Verdict> verdict = engine_.explain(status.id);
  if (!verdict.ok()) return;
  if (!verdict->reasons.empty()) out.reason = std::string(name_of(verdict->reasons.front().code));
  out.estimate = iso_time(verdict->estimate);
}

Result<api::Job> Views::job(JobId job, Instant now, engine::Engine::Detail detail) const {
  const Result<JobStatus> found = engine_.job(job, detail);
  if (!found.ok()) return found.error();
  const JobStatus& status = *found;
  const JobSpec& spec = *status.spec;
  api::Job out{.id = job_text(job, spec.group, spec.group_index)};
  if (spec.group.valid()) out.array_id = std::to_string(spec.group.value());
  if (spec.group.valid()) out.array_index = spec.group_index;
  out.user = spec.user;
  out.queue = spec.queue;
  out.state = std::string(name_of(status.state));
  out.priority = spec.priority;
  out.gpus = gpus_of(spec.shape.task.gpus);
  out.gpus_total = gpus_of(spec.shape.task.gpus * spec.shape.tasks);
  out.tasks = spec.shape.tasks;
  out.tasks_running = status.tasks_running;
  out.cpus = spec.shape.task.cpus;
  out.memory_bytes = spec.shape.task.memory.value();
  out.models = spec.shape.any_model ? std::vector<std::string>{"any"} : spec.shape.models;
  if (spec.time_limit) out.time_limit_seconds = seconds_of(*spec.time_limit);
  if (spec.min_runtime) out.min_runtime_seconds = seconds_of(*spec.min_runtime);
  out.protect_all = !spec.min_runtime.has_value();
  out.held = status.held;
  out.attempts = status.attempts;
  out.evictions = status.evictions;
  out.evicted_by = status.evicted_by.valid() ? job_name(status.evicted_by) : std::string();
  out.evicted_cause = status.evicted_cause;
  out.lost_seconds = seconds_of(status.lost);
  out.gpu_hours = gpu_hours_of(status.gpu_time);
  out.gpu_hours_lost = gpu_hours_of(status.gpu_time_lost);
  const Exit exit = end_exit(status);
  out.exit_code = exit.code;
  out.signal = exit.signal;
  out.end_cause = status.end_cause;
  out.detail = end_detail(status);
  out.places = places(status.allocation);
  for (const api::Place& place : out.places) out.nodes.push_back(place.node);
  std::sort(out.nodes.begin(), out.nodes.end());
  out.nodes.erase(std::unique(out.nodes.begin(), out.nodes.end()), out.nodes.end());
  for (const Dependency& dependency : spec.dependencies) {
    out.dependencies.push_back(dependency_text(dependency, *this));
  }
  for (const AttemptStatus& each : status.history) out.history.push_back(attempt(each, now));
  add_record(status, out);
  add_times(status, now, out);
  add_waiting(status, out);
  return out;
}

api::Reason Views::reason(const Reason& reason) const {
  const report::Wording wording{
      .job = [this](JobId id) { return "job " + job_name(id); },
      .instant = [](Instant time) { return iso_time(time); }};
  api::Reason out{.code = std::string(name_of(reason.code)),
                  .sentence = report::reason_sentence(reason, wording)};
  if (reason.resource) out.resource = std::string(name_of(*reason.resource));
  if (reason.within != ReasonScope::kNone) out.within = std::string(name_of(reason.within));
  out.need = amount(reason, reason.need);
  out.free = amount(reason, reason.free);
  out.best = amount(reason, reason.best);
  out.missing = amount(reason, reason.missing);
  out.freeable = amount(reason, reason.freeable);
  out.limit = amount(reason, reason.limit);
  out.by = reason.by_job.valid() ? job_name(reason.by_job) : reason.by;
  out.until = iso_time(reason.until);
  out.waiting_helps = reason.waiting_helps;
  out.preemption_helps = reason.preemption_helps;
  return out;
}

api::Verdict Views::verdict_of(const Verdict& verdict, const report::JobFacts& facts) const {
  const report::Wording wording{
      .job = [this](JobId id) { return "job " + job_name(id); },
      .instant = [](Instant time) { return iso_time(time); }};
  api::Verdict out{.id = verdict.job.valid() ? job_name(verdict.job) : std::string(),
                   .state = std::string(name_of(verdict.state))};
  out.summary = report::summary_sentence(verdict, facts, wording);
  for (const Reason& each : verdict.reasons) out.reasons.push_back(reason(each));
  out.estimate = iso_time(verdict.estimate);
  out.ahead = verdict.ahead;
  out.would_help = report::help_sentences(verdict, wording);
  out.started = iso_time(facts.started);
  out.contract_ends = iso_time(facts.contract_ends);
  out.protect_all = facts.is_always_protected;
  out.limit_ends = iso_time(facts.limit_ends);
  if (facts.time_limit) out.time_limit_seconds = seconds_of(*facts.time_limit);
  out.evicted_by = verdict.evicted_by.valid() ? job_name(verdict.evicted_by) : std::string();
  out.evicted_cause = verdict.evicted_cause;
  out.end_cause = verdict.end_cause;
  out.exit_code = facts.exit_code;
  out.signal = facts.signal;
  out.detail = facts.detail;
  return out;
}

Result<api::Verdict> Views::verdict(JobId job) const {
  Result<Verdict> found = engine_.explain(job);
  if (!found.ok()) return found.error();
  const Result<JobStatus> known = engine_.job(job);
  if (!known.ok()) return known.error();
  const JobStatus& status = *known;
  if (status.state == JobState::kPending && !found->estimate) {
    found->estimate = engine_.estimate(job);
  }
  const bool is_over = is_final(status.state);
  const bool waits = status.state == JobState::kPending;
  report::JobFacts facts{.is_always_protected = !status.spec->min_runtime.has_value(),
                         .time_limit = status.spec->time_limit,
                         .detail = end_detail(status)};
  if (!waits) facts.started = status.started;
  if (!waits && !is_over) {
    facts.where = allocation_text(status.allocation);
    facts.contract_ends = status.contract_ends;
    facts.limit_ends = status.limit_ends;
  }
  const Exit exit = end_exit(status);
  facts.exit_code = exit.code;
  facts.signal = exit.signal;
  api::Verdict out = verdict_of(*found, facts);
  if (!waits && !is_over) out.places = places(status.allocation);
  return out;
}

api::Verdict verdict_of_record(const api::Job& job) {
  report::JobFacts facts{.exit_code = job.exit_code, .signal = job.signal, .detail = job.detail};
  if (job.time_limit_seconds) {
    const Result<Duration> limit = duration_of(*job.time_limit_seconds, "time_limit_seconds");
    if (limit.ok()) facts.time_limit = *limit;
  }
  const Verdict verdict{.state = enum_from<JobState>(job.state).value_or(JobState::kDone),
                        .end_cause = job.end_cause};
  const report::Wording wording{
      .job = [](JobId id) { return "job " + std::to_string(id.value()); },
      .instant = [](Instant time) { return iso_time(time); }};
  api::Verdict out{.id = job.id, .state = job.state};
  out.summary = report::summary_sentence(verdict, facts, wording);
  out.started = job.started;
  out.protect_all = job.protect_all;
  out.time_limit_seconds = job.time_limit_seconds;
  out.evicted_by = job.evicted_by;
  out.evicted_cause = job.evicted_cause;
  out.end_cause = job.end_cause;
  out.exit_code = job.exit_code;
  out.signal = job.signal;
  out.detail = job.detail;
  return out;
}

Result<api::Node> Views::node(const std::string& name, bool simulated) const {
  const Result<NodeStatus> status = engine_.node(name);
  if (!status.ok()) return status.error();
  return node_view(*status, simulated);
}

std::vector<api::Node> Views::nodes(bool simulated) const {
  std::vector<api::Node> out;
  for (const std::string& name : engine_.node_names()) {
    Result<api::Node> view = node(name, simulated);
    if (view.ok()) out.push_back(*std::move(view));
  }
  return out;
}

api::Device Views::device(const NodeStatus& node, const DeviceStatus& status) const {
  api::Device out{.node = node.spec->name,
                  .index = status.index,
                  .uuid = status.spec.uuid,
                  .model = status.spec.model,
                  .memory_bytes = status.spec.memory.value(),
                  .state = device_state(node, status),
                  .detail = device_detail(status),
                  .used = gpus_of(status.used)};
  std::set<std::string> users;
  bool is_mig = false;
  bool is_sliced = false;
  for (const JobId job : status.jobs) {
    out.jobs.push_back(job_name(job));
    const Result<JobStatus> holder = engine_.job(job);
    if (!holder.ok()) continue;
    users.insert(holder->spec->user);
    is_mig = is_mig || !holder->spec->shape.task.mig.empty();
    is_sliced = is_sliced || holder->spec->shape.task.slots > 0;
  }
  out.users.assign(users.begin(), users.end());
  if (!status.jobs.empty()) {
    out.isolation = is_mig                    ? "mig"
                    : is_sliced               ? "time_slice"
                    : out.state == "shared"   ? "advisory"
                                              : "exclusive";
  }
  return out;
}

std::vector<api::Device> Views::devices(const Readings& readings, bool simulated) const {
  std::vector<api::Device> out;
  for (const std::string& name : engine_.node_names()) {
    const Result<NodeStatus> node = engine_.node(name);
    if (!node.ok()) continue;
    const auto known = readings.find(name);
    for (const DeviceStatus& status : node->devices) {
      api::Device view = device(*node, status);
      view.simulated = simulated;
      const auto index = static_cast<std::size_t>(status.index);
      if (known != readings.end() && index < known->second.size()) {
        add_reading(known->second[index], view);
      }
      out.push_back(std::move(view));
    }
  }
  return out;
}

Result<api::Queue> Views::queue(const std::string& name) const {
  const Result<QueueStatus> found = engine_.queue(name);
  if (!found.ok()) return found.error();
  const QueueStatus& status = *found;
  api::Queue out{.name = status.spec.name,
                 .parent = status.spec.parent,
                 .weight = status.spec.weight};
  if (status.spec.quota) out.quota = gpus_of(*status.spec.quota);
  if (status.spec.limit) out.limit = gpus_of(*status.spec.limit);
  out.running = status.running;
  out.pending = status.pending;
  out.gpus_used = gpus_of(status.gpus_used);
  out.fair_share = status.fair_share;
  out.usage_gpu_hours = gpu_hours_of(status.usage);
  out.gpu_hours = gpu_hours_of(status.gpu_time);
  out.gpu_hours_lost = gpu_hours_of(status.gpu_time_lost);
  out.owed_gpu_hours = gpu_hours_of(status.owed);
  out.delivered_gpu_hours = gpu_hours_of(status.delivered);
  out.evictions = status.evictions;
  return out;
}

std::vector<api::Queue> Views::queues() const {
  std::vector<api::Queue> out;
  for (const std::string& name : engine_.queue_names()) {
    Result<api::Queue> view = queue(name);
    if (view.ok()) out.push_back(*std::move(view));
  }
  return out;
}

}  // namespace rota::server
