#include "sim/language/stage.h"

#include <algorithm>

#include "base/text.h"
#include "sim/language/declare.h"
#include "sim/language/job_keys.h"

namespace rota::sim {

namespace {

void read_weight(const Reader& reader, QueueSpec& queue) {
  if (const auto weight = reader.integer("weight", {0, 1'000'000})) queue.weight = *weight;
  const Argument* share = reader.find("share");
  if (share == nullptr) return;
  if (reader.has("weight")) {
    reader.error_at(share->column, "weight and share exclude each other");
    return;
  }
  std::string_view text = share->value;
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto value = parse_int(text);
  if (!percent || !value || *value < 0 || *value > 100) {
    reader.error(*share, "share: " + quoted(share->value) +
                             " is not a share: expected a whole percentage like 35%");
    return;
  }
  Symbols& symbols = reader.state().symbols;
  const auto parent = symbols.queues.find(queue.parent);
  std::int64_t& given = parent == symbols.queues.end() ? symbols.share_of_roots
                                                       : parent->second.share_of_children;
  given += *value;
  if (given > 100) {
    reader.error(*share, "share: the shares of siblings may not pass 100%; with this one they "
                         "are " + std::to_string(given) + "%");
    return;
  }
  queue.weight = *value;
}

}  // namespace

std::optional<StatementBody> read_queue(const Reader& reader) {
  reader.check_keys({"parent", "weight", "share", "quota", "limit"});
  const auto word = reader.one_word("the name of a queue");
  if (!word) return std::nullopt;
  Symbols& symbols = reader.state().symbols;
  QueueSpec queue;
  queue.name = word->text;
  if (!is_name(queue.name, Dots::kAllowed)) {
    reader.error_at(word->column, quoted(queue.name) + " cannot name a queue: expected letters, "
                                                       "digits, '_', '-' and '.'");
    return std::nullopt;
  }
  if (symbols.queues.contains(queue.name)) {
    reader.error_at(word->column, "queue " + quoted(queue.name) + " is declared twice");
    return std::nullopt;
  }
  if (const Argument* parent = reader.find("parent"); parent != nullptr) {
    const auto found = symbols.queues.find(parent->value);
    if (found == symbols.queues.end()) {
      reader.error(*parent, unknown_word("queue", parent->value, names_in(symbols.queues)));
    } else {
      queue.parent = parent->value;
      found->second.has_children = true;
    }
  }
  read_weight(reader, queue);
  queue.quota = reader.gpus("quota");
  queue.limit = reader.gpus("limit");
  symbols.queues[queue.name] = QueueSymbol{queue.parent, false, 0};
  return QueueStatement{std::move(queue)};
}

std::optional<StatementBody> read_user(const Reader& reader) {
  reader.check_keys({"limit"});
  const auto word = reader.one_word("the name of a user");
  if (!word) return std::nullopt;
  Symbols& symbols = reader.state().symbols;
  if (!is_name(word->text, Dots::kAllowed)) {
    reader.error_at(word->column, quoted(word->text) + " cannot name a user: expected letters, "
                                                       "digits, '_', '-' and '.'");
    return std::nullopt;
  }
  if (!symbols.declared_users.insert(word->text).second) {
    reader.error_at(word->column, "user " + quoted(word->text) + " is declared twice");
    return std::nullopt;
  }
  symbols.users.insert(word->text);
  return UserStatement{UserSpec{word->text, reader.gpus("limit")}};
}

std::optional<StatementBody> read_class_line(const Reader& reader) {
  reader.check_keys(job_keys());
  const auto word = reader.one_word("the name of a class");
  if (!word) return std::nullopt;
  Symbols& symbols = reader.state().symbols;
  const bool built_in = word->text == "free" || word->text == "interactive";
  if (!is_name(word->text, Dots::kAllowed)) {
    reader.error_at(word->column, quoted(word->text) + " cannot name a class: expected letters, "
                                                       "digits, '_', '-' and '.'");
  } else if (built_in || symbols.classes.contains(word->text)) {
    reader.error_at(word->column, "class " + quoted(word->text) +
                                      (built_in ? " is built in" : " is declared twice"));
  } else {
    check_class(reader);
    symbols.classes[word->text] = reader.line().arguments;
  }
  return std::nullopt;
}

std::optional<StatementBody> read_usage(const Reader& reader) {
  reader.check_keys({"gpu_hours", "at", "from", "to"});
  const auto word = reader.one_word("the name of a queue");
  if (!word) return std::nullopt;
  Symbols& symbols = reader.state().symbols;
  UsageStatement statement;
  statement.usage.queue = word->text;
  if (!symbols.queues.contains(word->text) &&
      !(symbols.queues.empty() && word->text == "default")) {
    reader.error_at(word->column, unknown_word("queue", word->text, names_in(symbols.queues)));
  }
  symbols.queue_uses.push_back({word->text, reader.line().number, word->column});
  const auto hours = reader.decimal("gpu_hours", 3);
  if (!reader.has("gpu_hours")) {
    reader.error_at(reader.line().end_column, "expected gpu_hours=NUMBER");
  }
  if (hours && *hours > 1'000'000'000'000) {
    reader.error(*reader.find("gpu_hours"), "gpu_hours: expected at most 1000000000");
  } else if (hours) {
    statement.usage.milli_gpu_seconds = *hours * 3600;
  }
  const bool span = reader.has("from") && reader.has("to") && !reader.has("at");
  const bool point = reader.has("at") && !reader.has("from") && !reader.has("to");
  if (!span && !point) {
    reader.error_at(reader.line().end_column, "expected at=INSTANT, or from=INSTANT to=INSTANT");
    return std::nullopt;
  }
  statement.usage.from = reader.instant(point ? "at" : "from").value_or(Instant{});
  statement.usage.to = reader.instant(point ? "at" : "to").value_or(Instant{});
  const Argument& last = *reader.find(point ? "at" : "to");
  if (statement.usage.to > Instant{}) {
    reader.error(last, last.key + ": expected an instant that is not after the start (0s)");
  }
  if (statement.usage.from > statement.usage.to) {
    reader.error(last, "to: expected an instant that is not before from");
  }
  return statement;
}

namespace {

/// Every device a `running` line names must be asked for, no more and no less.
void check_device_count(const Reader& reader, const JobTemplate& job,
                        const RunningStatement& statement, std::size_t job_count) {
  if (statement.devices.empty()) return;
  const JobShape& shape = job.spec.shape;
  std::int64_t per_task = 1;
  if (shape.task.slots > 0) per_task = shape.task.slots;
  if (shape.task.gpus.value() >= 1000) per_task = shape.task.gpus.value() / 1000;
  if (shape.task.gpus.value() == 0 && shape.task.slots == 0 && shape.task.mig.empty()) per_task = 0;
  const Argument& at = *reader.find("devices");
  if (job_count != 1) {
    reader.error(at, "devices: expected one job, since a device is given once");
    return;
  }
  const auto named = static_cast<std::int64_t>(statement.devices.size());
  if (named == per_task * shape.tasks) return;
  reader.error(at, "devices: " + std::to_string(named) + " named, but the job asks for " +
                       std::to_string(per_task * shape.tasks));
}

void read_running_places(const Reader& reader, RunningStatement& statement) {
  ParseState& state = reader.state();
  const Argument* on = reader.find("on");
  if (on == nullptr) {
    reader.error_at(reader.line().end_column, "expected on=NODES: where the job runs");
    return;
  }
  const auto names = expand_names(on->value);
  if (!names) {
    reader.error(*on, "on: " + names.error().message);
    return;
  }
  for (const auto& name : *names) {
    if (!state.symbols.nodes.contains(name)) {
      reader.error(*on, unknown_word("node", name, names_in(state.symbols.nodes)));
      return;
    }
    statement.nodes.push_back(name);
  }
  if (const Argument* devices = reader.find("devices"); devices != nullptr) {
    statement.devices =
        parse_devices(devices->value, devices->line, devices->value_column, state);
    for (const auto& device : statement.devices) {
      if (std::find(names->begin(), names->end(), device.node) != names->end()) continue;
      reader.error(*devices, "devices: node " + device.node + " is not among on=" + on->value);
      return;
    }
  }
}

}  // namespace

std::optional<StatementBody> read_running(const Reader& reader) {
  auto keys = job_keys_and({"devices", "started"});
  for (const auto* key : {"begin", "after", "afterok", "afterany"}) std::erase(keys, key);
  reader.check_keys(keys);
  const auto names = reader.names("the name of a job");
  RunningStatement statement;
  const std::size_t errors_before = reader.state().errors.count();
  JobTemplate job = read_job(reader);
  job.spec.shape.on.clear();
  read_running_places(reader, statement);
  statement.started = reader.instant("started").value_or(Instant{});
  if (statement.started > Instant{}) {
    reader.error(*reader.find("started"), "started: expected an instant that is not after the "
                                          "start (0s), like -13h");
  }
  check_device_count(reader, job, statement, names.size());
  const std::size_t job_template = add_template(reader.state(), std::move(job));
  for (const auto& name : names) {
    const auto index = declare_job(reader, name, job_template);
    if (!index) break;
    statement.jobs.push_back(*index);
  }
  if (reader.state().errors.count() != errors_before) return std::nullopt;
  return statement;
}

void check_queue_uses(ParseState& state) {
  const auto& queues = state.symbols.queues;
  for (const auto& use : state.symbols.queue_uses) {
    const auto found = queues.find(use.queue);
    if (found == queues.end()) {
      if (queues.empty() && use.queue == "default") continue;
      if (queues.empty()) {
        state.errors.add(use.line, use.column,
                         "unknown queue " + quoted(use.queue) + ": none is declared, so there is "
                                                                "only 'default'");
        continue;
      }
      const bool implied = use.queue == "default";
      state.errors.add(use.line, use.column,
                       implied ? "expected queue=NAME: with queues declared there is no 'default'"
                               : unknown_word("queue", use.queue, names_in(queues)));
    } else if (found->second.has_children) {
      state.errors.add(use.line, use.column,
                       "queue " + quoted(use.queue) +
                           " has queues below it; jobs belong to queues without children");
    }
  }
}

}  // namespace rota::sim
