#include "sim/language/declare.h"

#include <array>

namespace rota::sim {

namespace {

/// Words that mean something else where a job could be named.
constexpr std::array<std::string_view, 6> kReserved{"cluster", "queue",  "node",
                                                    "user",    "drain", "quarantine"};

bool may_declare(const Reader& reader, const std::string& name, std::size_t jobs_more) {
  ParseState& state = reader.state();
  const std::int64_t column = reader.line().words[0].column;
  if (!is_name(name, Dots::kRefused)) {
    reader.error_at(column, quoted(name) + " cannot name a job: expected letters, digits, '_' and "
                                           "'-' (a '.' stands before the number of a member)");
    return false;
  }
  for (const auto word : kReserved) {
    if (name != word) continue;
    reader.error_at(column, quoted(name) + " cannot name a job: the word has a meaning of its own");
    return false;
  }
  if (state.symbols.jobs.contains(name) || state.symbols.groups.contains(name)) {
    reader.error_at(column, "job " + quoted(name) + " is declared twice");
    return false;
  }
  if (state.scenario.jobs.size() + jobs_more > kJobsMax) {
    reader.error_at(column, "more than 100000 jobs in one file");
    return false;
  }
  return true;
}

}  // namespace

std::size_t add_template(ParseState& state, JobTemplate job) {
  state.scenario.templates.push_back(std::move(job));
  return state.scenario.templates.size() - 1;
}

std::optional<std::size_t> declare_job(const Reader& reader, const std::string& name,
                                       std::size_t job_template) {
  if (!may_declare(reader, name, 1)) return std::nullopt;
  ParseState& state = reader.state();
  JobDeclaration job;
  job.id = JobId(++state.ids_given);
  job.name = name;
  job.job_template = job_template;
  const std::size_t index = state.scenario.jobs.size();
  state.symbols.jobs.emplace(name, index);
  state.scenario.jobs.push_back(std::move(job));
  return index;
}

std::optional<std::size_t> declare_group(const Reader& reader, const std::string& name,
                                         std::size_t job_template, GroupShape shape) {
  if (!may_declare(reader, name, shape.size)) return std::nullopt;
  ParseState& state = reader.state();
  GroupDeclaration group;
  group.id = GroupId(++state.ids_given);
  group.name = name;
  group.first_job = state.scenario.jobs.size();
  group.size = shape.size;
  group.throttle = shape.throttle;
  for (std::size_t i = 1; i <= shape.size; ++i) {
    JobDeclaration job;
    job.id = JobId(++state.ids_given);
    job.name = name + "." + std::to_string(i);
    job.job_template = job_template;
    job.group = group.id;
    job.group_index = static_cast<std::int64_t>(i);
    state.symbols.jobs.emplace(job.name, state.scenario.jobs.size());
    state.scenario.jobs.push_back(std::move(job));
  }
  const std::size_t index = state.scenario.groups.size();
  state.symbols.groups.emplace(name, index);
  state.scenario.groups.push_back(std::move(group));
  return index;
}

}  // namespace rota::sim
