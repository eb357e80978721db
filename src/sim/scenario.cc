#include "sim/scenario.h"

#include <array>

#include "base/text.h"
#include "sim/language/expectations.h"
#include "sim/language/happenings.h"
#include "sim/language/stage.h"

namespace rota::sim {

std::string Diagnostic::text() const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

JobSpec Scenario::spec_of(std::size_t job) const {
  const JobDeclaration& declared = jobs[job];
  JobSpec spec = templates[declared.job_template].spec;
  spec.group = declared.group;
  spec.group_index = declared.group_index;
  return spec;
}

std::string Scenario::name_of_job(JobId id) const {
  // Jobs stand by id, but groups take numbers in between.
  std::size_t low = 0;
  std::size_t high = jobs.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (jobs[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < jobs.size() && jobs[low].id == id) return jobs[low].name;
  return "job " + std::to_string(id.value());
}

namespace {

constexpr std::size_t kTextMax = 10'000'000;

constexpr std::array<std::string_view, 7> kStageVerbs{"node",  "queue",  "user",   "class",
                                                      "policy", "usage", "running"};
constexpr std::array<std::string_view, 19> kBlockVerbs{
    "submit",       "service",  "scale",      "finish",      "cancel",
    "hold",         "release",  "resize",     "fail_node",   "recover_node",
    "drain",        "undrain",  "quarantine", "gpu_error",   "recover_gpu",
    "foreign",      "foreign_gone", "busy",   "expect"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  for (const auto known : words) {
    if (known == word) return true;
  }
  return false;
}

std::optional<StatementBody> read_stage(const Reader& reader) {
  const std::string& verb = reader.line().verb.text;
  if (verb == "node") return read_node(reader);
  if (verb == "queue") return read_queue(reader);
  if (verb == "user") return read_user(reader);
  if (verb == "class") return read_class_line(reader);
  if (verb == "policy") return read_policy(reader);
  if (verb == "usage") return read_usage(reader);
  return read_running(reader);
}

std::optional<StatementBody> read_happening(const Reader& reader, const std::vector<Line>& lines,
                                            std::size_t position) {
  const std::string& verb = reader.line().verb.text;
  if (verb == "submit") return read_submit(reader);
  if (verb == "service") return read_service(reader, lines, position);
  if (verb == "scale") return read_scale(reader);
  if (verb == "finish") return read_finish(reader);
  if (verb == "cancel") return read_command(reader, JobVerb::kCancel);
  if (verb == "hold") return read_command(reader, JobVerb::kHold);
  if (verb == "release") return read_command(reader, JobVerb::kRelease);
  if (verb == "resize") return read_resize(reader);
  if (verb == "fail_node") return read_node_command(reader, NodeVerb::kFail);
  if (verb == "recover_node") return read_node_command(reader, NodeVerb::kRecover);
  if (verb == "drain") return read_node_command(reader, NodeVerb::kDrain);
  if (verb == "undrain") return read_node_command(reader, NodeVerb::kUndrain);
  if (verb == "quarantine") return read_node_command(reader, NodeVerb::kQuarantine);
  if (verb == "gpu_error") return read_device(reader, DeviceCondition::kError);
  if (verb == "recover_gpu") return read_device(reader, DeviceCondition::kHealthy);
  if (verb == "foreign") return read_device(reader, DeviceCondition::kForeign);
  if (verb == "foreign_gone") return read_device(reader, DeviceCondition::kForeignGone);
  if (verb == "busy") return read_busy(reader);
  return read_expect(reader);
}

class Parser {
 public:
  explicit Parser(std::string_view file) : state_(file) {}

  ParsedScenario run(std::string_view text) {
    if (text.size() > kTextMax) {
      state_.errors.add(1, 1, "a file of more than 10000000 characters");
      return finish();
    }
    LexedFile lexed = lex(text, state_.errors);
    state_.scenario.prose = std::move(lexed.prose);
    for (std::size_t i = 0; i < lexed.lines.size() && !state_.errors.full(); ++i) {
      read_line(lexed.lines, i);
    }
    check_queue_uses(state_);
    if (lexed.lines.empty() && state_.errors.count() == 0) {
      state_.errors.add(1, 1, "the file has no statement: expected a node and an 'at' block");
    }
    return finish();
  }

 private:
  ParsedScenario finish() {
    ParsedScenario parsed;
    parsed.errors = state_.errors.take();
    parsed.scenario = std::move(state_.scenario);
    return parsed;
  }

  void read_line(const std::vector<Line>& lines, std::size_t position) {
    const Line& line = lines[position];
    const Reader reader(line, state_);
    const std::string& verb = line.verb.text;
    if (verb == "at") return read_at(reader);
    const bool of_stage = is_one_of(verb, kStageVerbs);
    if (!of_stage && !is_one_of(verb, kBlockVerbs)) {
      std::vector<std::string> known{"at"};
      known.insert(known.end(), kStageVerbs.begin(), kStageVerbs.end());
      known.insert(known.end(), kBlockVerbs.begin(), kBlockVerbs.end());
      return reader.error_at(line.verb.column, unknown_word("verb", verb, known));
    }
    if (of_stage && state_.at) {
      return reader.error_at(line.verb.column, quoted(verb) + " belongs to the stage: it stands "
                                                              "before the first 'at'");
    }
    if (!of_stage && !state_.at && !after_bad_at_) {
      return reader.error_at(line.verb.column,
                             quoted(verb) + " belongs to a block: expected 'at INSTANT' before it");
    }
    if (of_stage) return keep(state_.scenario.stage, line, read_stage(reader));
    if (verb == "expect") {
      block_expects_ = true;
    } else if (block_expects_) {
      reader.error_at(line.verb.column, "in a block first what happens, then what must be true: " +
                                            quoted(verb) + " stands before every 'expect'");
    }
    auto body = read_happening(reader, lines, position);
    if (!state_.scenario.blocks.empty()) {
      keep(state_.scenario.blocks.back().statements, line, std::move(body));
    }
  }

  void keep(std::vector<Statement>& statements, const Line& line,
            std::optional<StatementBody> body) {
    if (body) statements.push_back({line.number, line.verb.column, std::move(*body)});
  }

  void read_at(const Reader& reader) {
    reader.check_keys({});
    block_expects_ = false;
    after_bad_at_ = true;
    const auto word = reader.one_word("an instant");
    if (!word) return;
    const auto instant = parse_duration(word->text);
    if (!instant) return reader.error_at(word->column, "at: " + instant.error().message);
    if (*instant < Duration{} || *instant > Duration::days(36'500)) {
      return reader.error_at(word->column, "at: expected an instant from 0s to 36500d");
    }
    const Instant at(instant->ns());
    if (state_.at && at <= *state_.at) {
      return reader.error_at(word->column,
                             "at: blocks stand in time order, each instant once: expected an "
                             "instant after " + format_duration(*state_.at - Instant{}));
    }
    state_.at = at;
    state_.scenario.blocks.push_back(Block{at, {}});
  }

  ParseState state_;
  bool block_expects_ = false;
  bool after_bad_at_ = false;  // an `at` was there, though malformed: its block is still read
};

}  // namespace

ParsedScenario parse_scenario(std::string_view text, std::string_view file) {
  return Parser(file).run(text);
}

Result<Scenario> scenario_from(std::string_view text, std::string_view file) {
  auto parsed = parse_scenario(text, file);
  if (parsed.ok()) return std::move(parsed.scenario);
  std::vector<std::string> lines;
  for (const auto& error : parsed.errors) lines.push_back(error.text());
  return Error{ErrorCode::kInvalidArgument, join(lines, "\n"), std::string(file)};
}

}  // namespace rota::sim
