#include "sim/language/happenings.h"

#include <algorithm>

#include "base/text.h"
#include "sim/language/declare.h"
#include "sim/language/job_keys.h"

namespace rota::sim {

namespace {

/// How many jobs each name of a `submit` line stands for. Size 0: a job of its own.
struct Multiplicity {
  GroupShape shape;
  std::optional<Duration> every;
};

void read_array(const Reader& reader, Multiplicity& many) {
  const Argument& argument = *reader.find("array");
  const std::size_t percent = argument.value.find('%');
  const std::string_view text = argument.value;
  const auto size = parse_int(text.substr(0, percent));
  const auto throttle =
      percent == std::string_view::npos ? size : parse_int(text.substr(percent + 1));
  if (!size || !throttle || *size < 1 || *throttle < 1) {
    reader.error(argument, "array: " + quoted(text) +
                               " is not an array: expected MEMBERS or MEMBERS%AT_ONCE, like 25%16");
    return;
  }
  many.shape.size = static_cast<std::size_t>(*size);
  if (percent != std::string_view::npos) many.shape.throttle = *throttle;
}

void read_period(const Reader& reader, Multiplicity& many) {
  const auto every = reader.positive_duration("every");
  const auto until = reader.instant("until");
  if (!reader.has("every") || !reader.has("until")) {
    const Argument& given = *reader.find(reader.has("every") ? "every" : "until");
    reader.error_at(given.column, "every and until go together, like every=2m until=50m");
    return;
  }
  if (!every || !until) return;
  const Instant now = reader.state().at.value_or(Instant{});
  if (*until < now) {
    reader.error(*reader.find("until"), "until: expected an instant that is not before this "
                                        "block's (" + format_duration(now - Instant{}) + ")");
    return;
  }
  many.every = *every;
  many.shape.size = static_cast<std::size_t>((*until - now).ns() / every->ns()) + 1;
}

Multiplicity read_multiplicity(const Reader& reader) {
  Multiplicity many;
  const bool periodic = reader.has("every") || reader.has("until");
  if (reader.has("array") && periodic) {
    reader.error_at(reader.find("array")->column, "array and every exclude each other");
    return many;
  }
  if (reader.has("array")) read_array(reader, many);
  if (periodic) read_period(reader, many);
  return many;
}

std::optional<Targets> read_targets(const Reader& reader) {
  const auto word = reader.one_word("the name of a job");
  if (!word) return std::nullopt;
  auto resolved = resolve_jobs(*word, reader.line().number, reader.state());
  if (resolved.jobs.empty()) return std::nullopt;
  return Targets{std::move(resolved.jobs), resolved.by_group};
}

}  // namespace

std::optional<StatementBody> read_submit(const Reader& reader) {
  reader.check_keys(job_keys_and({"array", "every", "until"}));
  const auto names = reader.names("the name of a job");
  const Multiplicity many = read_multiplicity(reader);
  const std::size_t job_template = add_template(reader.state(), read_job(reader));
  SubmitStatement statement;
  statement.every = many.every;
  for (const auto& name : names) {
    if (many.shape.size == 0) {
      const auto job = declare_job(reader, name, job_template);
      if (!job) return std::nullopt;
      statement.jobs.push_back(*job);
      continue;
    }
    const auto group = declare_group(reader, name, job_template, many.shape);
    if (!group) return std::nullopt;
    statement.groups.push_back(*group);
    const GroupDeclaration& declared = reader.state().scenario.groups[*group];
    for (std::size_t i = 0; i < declared.size; ++i) {
      statement.jobs.push_back(declared.first_job + i);
    }
  }
  if (names.empty()) return std::nullopt;
  return statement;
}

namespace {

/// All replicas that the `scale` lines after the service ever ask for, the first ones included.
std::size_t replicas_in_all(const std::string& name, std::int64_t first,
                            const std::vector<Line>& lines, std::size_t position) {
  std::int64_t wanted = first;
  std::int64_t total = first;
  for (std::size_t i = position + 1; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.verb.text != "scale" || line.words.size() != 1 || line.words[0].text != name) continue;
    for (const Argument& argument : line.arguments) {
      const auto to = parse_int(argument.value);
      if (argument.key != "to" || !to || *to < 0 || *to > static_cast<std::int64_t>(kJobsMax)) {
        continue;
      }
      total += std::max<std::int64_t>(0, *to - wanted);
      wanted = *to;
    }
  }
  return static_cast<std::size_t>(total);
}

}  // namespace

std::optional<StatementBody> read_service(const Reader& reader, const std::vector<Line>& lines,
                                          std::size_t position) {
  reader.check_keys(job_keys_and({"min", "max"}));
  const auto word = reader.one_word("the name of a service");
  const auto low = reader.integer("min", {1, static_cast<std::int64_t>(kJobsMax)});
  const auto high = reader.integer("max", {1, static_cast<std::int64_t>(kJobsMax)});
  if (!reader.has("min")) reader.error_at(reader.line().end_column, "expected min=REPLICAS");
  if (high && low && *high < *low) {
    reader.error(*reader.find("max"), "max: expected at least min=" + std::to_string(*low));
  }
  const std::size_t job_template = add_template(reader.state(), read_job(reader));
  if (!word || !low) return std::nullopt;
  GroupShape shape;
  shape.size = replicas_in_all(word->text, *low, lines, position);
  const auto group = declare_group(reader, word->text, job_template, shape);
  if (!group) return std::nullopt;
  SubmitStatement statement;
  statement.groups.push_back(*group);
  ServiceSymbol service;
  service.replicas_min = *low;
  service.replicas_max = high.value_or(*low);
  const std::size_t first_job = reader.state().scenario.groups[*group].first_job;
  for (std::size_t i = 0; i < static_cast<std::size_t>(*low); ++i) {
    statement.jobs.push_back(first_job + i);
    service.live.push_back(first_job + i);
  }
  service.next = first_job + statement.jobs.size();
  reader.state().symbols.services[*group] = std::move(service);
  return statement;
}

std::optional<StatementBody> read_scale(const Reader& reader) {
  reader.check_keys({"to"});
  const auto word = reader.one_word("the name of a service");
  if (!word) return std::nullopt;
  Symbols& symbols = reader.state().symbols;
  std::vector<std::string> known;
  for (const auto& [group, service] : symbols.services) {
    known.push_back(reader.state().scenario.groups[group].name);
  }
  const auto found = symbols.groups.find(word->text);
  if (found == symbols.groups.end() || !symbols.services.contains(found->second)) {
    reader.error_at(word->column, unknown_word("service", word->text, known));
    return std::nullopt;
  }
  ServiceSymbol& service = symbols.services[found->second];
  const auto to = reader.integer("to", {service.replicas_min, service.replicas_max});
  if (!reader.has("to")) reader.error_at(reader.line().end_column, "expected to=REPLICAS");
  if (!to) return std::nullopt;
  ScaleStatement statement;
  statement.group = found->second;
  const GroupDeclaration& group = reader.state().scenario.groups[found->second];
  while (static_cast<std::int64_t>(service.live.size()) < *to) {
    if (service.next >= group.first_job + group.size) return std::nullopt;
    statement.added.push_back(service.next);
    service.live.push_back(service.next++);
  }
  while (static_cast<std::int64_t>(service.live.size()) > *to) {
    statement.removed.push_back(service.live.back());
    service.live.pop_back();
  }
  return statement;
}

std::optional<StatementBody> read_finish(const Reader& reader) {
  reader.check_keys({"exit"});
  auto targets = read_targets(reader);
  const auto exit_code = reader.integer("exit", {0, 255});
  if (!targets) return std::nullopt;
  return FinishStatement{std::move(*targets), exit_code.value_or(0)};
}

std::optional<StatementBody> read_command(const Reader& reader, JobVerb verb) {
  reader.check_keys({});
  auto targets = read_targets(reader);
  if (!targets) return std::nullopt;
  return CommandStatement{std::move(*targets), verb};
}

std::optional<StatementBody> read_resize(const Reader& reader) {
  reader.check_keys({"tasks"});
  auto targets = read_targets(reader);
  const auto tasks = reader.integer("tasks", {1, 1'000'000});
  if (!reader.has("tasks")) reader.error_at(reader.line().end_column, "expected tasks=NUMBER");
  if (!targets || !tasks) return std::nullopt;
  return ResizeStatement{std::move(*targets), *tasks};
}

std::optional<StatementBody> read_node_command(const Reader& reader, NodeVerb verb) {
  reader.check_keys({});
  auto nodes = reader.node_names();
  if (nodes.empty()) return std::nullopt;
  return NodeCommandStatement{std::move(nodes), verb};
}

std::optional<StatementBody> read_device(const Reader& reader, DeviceCondition condition) {
  if (condition == DeviceCondition::kError) {
    reader.check_keys({"xid"});
  } else if (condition == DeviceCondition::kForeign) {
    reader.check_keys({"memory", "pid", "user"});
  } else {
    reader.check_keys({});
  }
  const auto word = reader.one_word("a device, like n1:3");
  if (!word) return std::nullopt;
  const auto devices =
      parse_devices(word->text, reader.line().number, word->column, reader.state());
  DeviceReported report;
  report.condition = condition;
  if (condition == DeviceCondition::kError) {
    constexpr std::int64_t kFallenOffTheBus = 79;
    report.xid = reader.integer("xid", {1, 1'000'000}).value_or(kFallenOffTheBus);
  }
  report.memory = reader.bytes("memory").value_or(Bytes{});
  report.pid = reader.integer("pid", {1, 4'194'304}).value_or(0);
  report.user = reader.name("user").value_or("");
  DeviceStatement statement;
  for (const auto& device : devices) {
    if (device.mig_start >= 0) {
      reader.error_at(word->column, "expected whole devices, like n1:3");
      return std::nullopt;
    }
    report.node = device.node;
    report.device = device.device;
    statement.reports.push_back(report);
  }
  if (statement.reports.empty()) return std::nullopt;
  return statement;
}

std::optional<StatementBody> read_busy(const Reader& reader) {
  reader.check_keys({"ratio"});
  auto targets = read_targets(reader);
  const auto ratio = reader.decimal("ratio", 3);
  if (!reader.has("ratio")) reader.error_at(reader.line().end_column, "expected ratio=0.2");
  if (ratio && *ratio > 1000) {
    reader.error(*reader.find("ratio"), "ratio: expected a number from 0 to 1");
    return std::nullopt;
  }
  if (!targets || !ratio) return std::nullopt;
  return BusyStatement{std::move(*targets), *ratio};
}

}  // namespace rota::sim
