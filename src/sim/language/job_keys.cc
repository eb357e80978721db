#include "sim/language/job_keys.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engine/mig.h"

namespace rota::sim {

namespace {

constexpr std::int64_t kMany = 1'000'000;

/// Refers to an earlier class's line as if its arguments stood on the job's own.
Line line_of_class(const std::vector<Argument>& arguments, const Line& user) {
  Line line;
  line.number = user.number;
  line.verb = Word{"class", user.verb.column};
  line.arguments = arguments;
  return line;
}

/// gpus, slots and mig exclude each other; the one on the line wins over a class's.
void read_device_wish(const Reader& reader, TaskShape& task) {
  const std::array<std::string_view, 3> ways{"gpus", "slots", "mig"};
  const Argument* first = nullptr;
  for (const auto way : ways) {
    const Argument* found = reader.find(way);
    if (found == nullptr) continue;
    if (first != nullptr) {
      reader.error_at(found->column, "a task takes whole or part GPUs, time slices or a MIG "
                                     "instance: " + quoted(first->key) + " and " +
                                         quoted(found->key) + " exclude each other");
      return;
    }
    first = found;
  }
  if (first == nullptr) return;
  task.gpus = MilliGpu(0);
  task.slots = 0;
  task.mig.clear();
  if (const auto gpus = reader.gpus("gpus")) {
    if (gpus->value() > 1000 && gpus->value() % 1000 != 0) {
      reader.error(*first, "gpus: a task takes whole GPUs or a part of one: expected a whole "
                           "number or a decimal below 1");
    }
    task.gpus = *gpus;
  }
  if (const auto slots = reader.integer("slots", {1, kMany})) task.slots = *slots;
  if (first->key == "mig") {
    if (!engine::is_mig_name(first->value)) {
      reader.error(*first, "mig: " + quoted(first->value) +
                               " is not a MIG profile: expected 1g, 2g, 3g, 4g or 7g with its "
                               "memory, like 1g.10gb");
      return;
    }
    task.mig = first->value;
  }
}

void read_task(const Reader& reader, TaskShape& task) {
  read_device_wish(reader, task);
  if (const auto n = reader.integer("distinct_devices", {1, kMany})) task.distinct_devices = *n;
  if (const auto memory = reader.bytes("gpu_memory")) task.gpu_memory = *memory;
  if (const auto cpus = reader.integer("cpus", {0, kMany})) task.cpus = *cpus;
  if (const auto memory = reader.bytes("memory")) task.memory = *memory;
  if (task.distinct_devices > 0 && task.slots < task.distinct_devices) {
    const Argument* at = reader.find("distinct_devices");
    if (at == nullptr) at = reader.find("slots");
    if (at != nullptr) {
      reader.error(*at, "distinct_devices: " + std::to_string(task.distinct_devices) +
                            " devices need at least as many time slices; the task takes slots=" +
                            std::to_string(task.slots));
    }
  }
}

std::vector<std::string> read_places(const Reader& reader, std::string_view key) {
  const Argument* argument = reader.find(key);
  if (argument == nullptr) return {};
  auto names = expand_names(argument->value);
  if (!names) {
    reader.error(*argument, argument->key + ": " + names.error().message);
    return {};
  }
  const Symbols& symbols = reader.state().symbols;
  for (const auto& name : *names) {
    if (symbols.nodes.contains(name) || symbols.pools.contains(name)) continue;
    auto known = names_in(symbols.nodes);
    for (const auto& pool : symbols.pools) known.push_back(pool);
    reader.error(*argument, unknown_word("node or pool", name, known));
    return {};
  }
  return std::move(names).value();
}

void read_models(const Reader& reader, JobShape& shape) {
  const Argument* argument = reader.find("model");
  if (argument == nullptr) return;
  shape.models.clear();
  shape.any_model = argument->value == "any";
  if (shape.any_model) return;
  for (const auto model : split(argument->value, '|')) {
    if (!is_name(model, Dots::kAllowed) || model == "any") {
      reader.error(*argument, "model: " + quoted(model) + " is not the name of a model: expected "
                                                          "names like h100 or a100|h100, or any");
      return;
    }
    if (std::find(shape.models.begin(), shape.models.end(), model) != shape.models.end()) {
      reader.error(*argument, "model: " + quoted(model) + " is named twice");
      return;
    }
    shape.models.emplace_back(model);
  }
}

std::optional<std::string> read_site(const Reader& reader, std::string_view key) {
  auto site = reader.name(key);
  if (!site || reader.state().symbols.sites.contains(*site)) return site;
  reader.error(*reader.find(key), unknown_word("site", *site,
                                               names_in(reader.state().symbols.sites)));
  return std::nullopt;
}

void read_shape(const Reader& reader, JobShape& shape) {
  read_task(reader, shape.task);
  if (const auto tasks = reader.integer("tasks", {1, kMany})) shape.tasks = *tasks;
  if (const auto tasks = reader.integer("min_tasks", {1, kMany})) shape.min_tasks = *tasks;
  if (shape.min_tasks > shape.tasks) {
    const Argument* at = reader.find("min_tasks");
    if (at == nullptr) at = reader.find("tasks");
    if (at != nullptr) {
      reader.error(*at, "min_tasks: " + std::to_string(shape.min_tasks) +
                            " is more than tasks=" + std::to_string(shape.tasks));
    }
  }
  read_models(reader, shape);
  if (const auto level = reader.choice<TopologyLevel>("same")) shape.same = *level;
  if (const Argument* prefer = reader.find("prefer"); prefer != nullptr) {
    auto words = Reader::words_of<TopologyLevel>();
    words.erase(words.begin());  // `none` is no preference
    const auto index = reader.choice_index("prefer", words);
    if (index) shape.prefer = static_cast<TopologyLevel>(*index + 1);
  }
  if (reader.has("on")) shape.on = read_places(reader, "on");
  if (reader.has("exclude")) shape.exclude = read_places(reader, "exclude");
  if (auto site = read_site(reader, "site")) shape.site = *site;
  if (auto data = read_site(reader, "data")) shape.data = *data;
  for (const Argument& argument : reader.line().arguments) {
    if (!argument.key.starts_with("label.")) continue;
    shape.labels[argument.key.substr(6)] = argument.value;
  }
}

void read_dependencies(const Reader& reader, JobSpec& spec) {
  for (const auto key : {DependencyKind::kAfter, DependencyKind::kAfterOk,
                         DependencyKind::kAfterAny}) {
    const Argument* argument = reader.find(name_of(key));
    if (argument == nullptr) continue;
    const auto names = expand_names(argument->value);
    if (!names) {
      reader.error(*argument, argument->key + ": " + names.error().message);
      continue;
    }
    ParseState& state = reader.state();
    for (const auto& name : *names) {
      Dependency dependency;
      dependency.kind = key;
      if (const auto group = state.symbols.groups.find(name);
          group != state.symbols.groups.end()) {
        dependency.group = state.scenario.groups[group->second].id;
      } else {
        const auto jobs = resolve_jobs(Word{name, argument->value_column}, argument->line, state);
        if (jobs.jobs.empty()) break;
        dependency.job = state.scenario.jobs[jobs.jobs[0]].id;
      }
      spec.dependencies.push_back(dependency);
    }
  }
}

void read_times(const Reader& reader, JobTemplate& job) {
  JobSpec& spec = job.spec;
  if (const auto time = reader.positive_duration("time")) spec.time_limit = *time;
  if (const auto runs = reader.positive_duration("runs")) job.runs = *runs;
  if (const Argument* contract = reader.find("min_runtime"); contract != nullptr) {
    spec.min_runtime = contract->value == "all" ? std::nullopt : reader.duration("min_runtime");
  }
  if (const auto interval = reader.positive_duration("checkpoint")) spec.checkpoint = *interval;
  if (const auto deadline = reader.instant("deadline")) spec.deadline = *deadline;
  if (const auto begin = reader.instant("begin")) spec.begin = *begin;
}

void read_owner(const Reader& reader, JobSpec& spec) {
  ParseState& state = reader.state();
  if (const auto queue = reader.name("queue")) {
    spec.queue = *queue;
    const Argument& at = *reader.find("queue");
    state.symbols.queue_uses.push_back({*queue, at.line, at.value_column});
  }
  if (const auto user = reader.name("user")) {
    spec.user = *user;
    state.symbols.users.insert(*user);
  }
  if (const auto priority = reader.integer("priority", {-1'000'000'000, 1'000'000'000})) {
    spec.priority = *priority;
  }
  if (const auto charge = reader.choice_index("charge", {"no", "yes"})) spec.charge = *charge == 1;
}

void read_keys(const Reader& reader, JobTemplate& job);

void read_class(const Reader& reader, JobTemplate& job) {
  const Argument* argument = reader.find("class");
  if (argument == nullptr) return;
  const Symbols& symbols = reader.state().symbols;
  if (argument->value == "free") {
    job.spec.min_runtime = Duration{};
    job.spec.charge = false;
    return;
  }
  if (argument->value == "interactive") {
    job.spec.interactive = true;
    return;
  }
  const auto found = symbols.classes.find(argument->value);
  if (found == symbols.classes.end()) {
    auto known = names_in(symbols.classes);
    known.insert(known.end(), {"free", "interactive"});
    reader.error(*argument, unknown_word("class", argument->value, known));
    return;
  }
  const Line line = line_of_class(found->second, reader.line());
  read_keys(Reader(line, reader.state()), job);
}

/// A class is read first, so that the line's own keys win.
void read_keys(const Reader& reader, JobTemplate& job) {
  read_class(reader, job);
  read_owner(reader, job.spec);
  read_shape(reader, job.spec.shape);
  read_times(reader, job);
  read_dependencies(reader, job.spec);
}

}  // namespace

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> kKeys{
      "queue",       "user",     "class",      "priority", "gpus",       "slots",
      "mig",         "tasks",    "min_tasks",  "model",    "gpu_memory", "cpus",
      "memory",      "distinct_devices",       "same",     "prefer",     "on",
      "exclude",     "time",     "runs",       "min_runtime",            "charge",
      "checkpoint",  "deadline", "begin",      "after",    "afterok",    "afterany",
      "site",        "data",     "label.KEY"};
  return kKeys;
}

std::vector<std::string> job_keys_and(const std::vector<std::string>& more) {
  auto keys = job_keys();
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

JobTemplate read_job(const Reader& reader) {
  JobTemplate job;
  read_keys(reader, job);
  if (!job.runs) job.runs = job.spec.time_limit;
  if (job.spec.queue == "default") {
    const Line& line = reader.line();
    reader.state().symbols.queue_uses.push_back({"default", line.number, line.verb.column});
  }
  return job;
}

void check_class(const Reader& reader) {
  JobTemplate job;
  read_keys(reader, job);
}

}  // namespace rota::sim
