#include "sim/run.h"

#include <algorithm>
#include <array>

#include "base/overload.h"
#include "base/text.h"
#include "engine/engine.h"
#include "report/sentence.h"
#include "sim/field_digest.h"
#include "sim/measure.h"
#include "sim/watcher.h"
#include "sim/words.h"
#include "sim/world.h"

namespace rota::sim {

namespace {

constexpr int kCyclesMaxPerInstant = 10'000;

struct LaterSubmit {
  Instant at;
  std::size_t job = 0;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// One run of one scenario.
class Runner {
 public:
  Runner(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario), options_(options), watcher_(scenario),
        submitted_(scenario.jobs.size(), false) {
    report_.file = scenario.file;
  }

  ScenarioReport run() {
    set_stage();
    std::size_t next_block = 0;
    now_ = Instant{};
    while (report_.problems.empty()) {
      const bool has_block = next_block < scenario_.blocks.size();
      const bool at_block = has_block && scenario_.blocks[next_block].at == now_;
      process(at_block ? &scenario_.blocks[next_block] : nullptr);
      if (at_block) ++next_block;
      if (next_block >= scenario_.blocks.size()) break;
      now_ = next_instant(scenario_.blocks[next_block].at);
    }
    finish_report();
    return std::move(report_);
  }

 private:
  // ---- bookkeeping ----
  void trace(const std::string& text) {
    if (!options_.trace) return;
    std::string line = instant_words(now_);
    if (line.size() < 10) line.insert(0, 10 - line.size(), ' ');
    report_.trace.push_back(line + "  " + text);
  }
  void problem(std::int64_t line, std::int64_t column, std::string message) {
    report_.problems.push_back({scenario_.file, line, column, std::move(message)});
  }
  void broken(const std::string& text) {
    report_.broken.push_back("at " + instant_words(now_) + ": " + text);
  }

  /// A request of the file: what the engine refuses is a problem of its line.
  bool request(const Event& event, std::int64_t line, std::int64_t column) {
    trace(event_words(event, scenario_));
    const Status status = engine_.apply(now_, event);
    if (status) {
      watcher_.see(now_, event);
      return true;
    }
    constexpr std::string_view kPrefix = "not supported yet: ";
    std::string message = status.error().message;
    if (status.error().code == ErrorCode::kUnsupported && !message.starts_with(kPrefix)) {
      message.insert(0, kPrefix);
    }
    problem(line, column, std::move(message));
    return false;
  }
  /// A fact of the world: the engine must take it.
  void fact(const Event& event) {
    trace(event_words(event, scenario_));
    watcher_.see(now_, event);
    const Status status = engine_.apply(now_, event);
    if (!status) broken("the engine refuses a fact: " + status.error().message);
  }

  // ---- the stage ----
  void set_stage() {
    now_ = Instant{};
    request(PolicySet{scenario_.policy}, std::max<std::int64_t>(1, scenario_.policy_line), 1);
    const bool has_queue = std::any_of(
        scenario_.stage.begin(), scenario_.stage.end(), [](const Statement& statement) {
          return std::holds_alternative<QueueStatement>(statement.body);
        });
    QueueSpec only;
    only.name = "default";
    if (!has_queue) request(QueueSet{only}, 1, 1);
    for (const auto& [node, after] : scenario_.fails_after) world_.set_fails_after(node, after);
    for (const Statement& statement : scenario_.stage) {
      std::visit([&](const auto& body) { set(statement, body); }, statement.body);
    }
  }
  template <class Body>
  void set(const Statement& statement, const Body& body) {
    const auto line = statement.line;
    const auto column = statement.column;
    if constexpr (std::is_same_v<Body, NodeStatement>) {
      for (const auto& node : body.nodes) request(NodeReported{node}, line, column);
    } else if constexpr (std::is_same_v<Body, QueueStatement>) {
      request(QueueSet{body.queue}, line, column);
    } else if constexpr (std::is_same_v<Body, UserStatement>) {
      request(UserSet{body.user}, line, column);
    } else if constexpr (std::is_same_v<Body, UsageStatement>) {
      request(UsageRecorded{body.usage}, line, column);
    } else if constexpr (std::is_same_v<Body, RunningStatement>) {
      adopt(statement, body);
    }
  }
  void adopt(const Statement& statement, const RunningStatement& body) {
    for (const std::size_t job : body.jobs) {
      const auto allocation = watcher_.adopt(body, job);
      const JobDeclaration& declared = scenario_.jobs[job];
      if (!allocation) {
        problem(statement.line, statement.column,
                declared.name + " has no room on " + join(body.nodes, ","));
        return;
      }
      JobAdopted event{declared.id, scenario_.spec_of(job), *allocation, body.started};
      if (!request(event, statement.line, statement.column)) return;
      add_to_world(job);
      world_.start(body.started, declared.id, 1, allocation->tasks);
    }
  }
  void add_to_world(std::size_t job) {
    const JobDeclaration& declared = scenario_.jobs[job];
    const JobTemplate& wishes = scenario_.templates[declared.job_template];
    world_.add_job(declared.id,
                   {wishes.spec.shape.tasks, wishes.runs, wishes.spec.checkpoint});
    submitted_[job] = true;
    ++report_.jobs;
  }

  // ---- one instant ----
  Instant next_instant(Instant block_at) {
    Instant next = block_at;
    if (const auto due = world_.next_due()) next = std::min(next, *due);
    if (!later_.empty()) next = std::min(next, later_.front().at);
    if (const auto due = engine_.next_wakeup()) {
      if (*due <= now_) {
        broken("the engine asks to be woken at " + instant_words(*due) + ", which is past");
      } else {
        next = std::min(next, *due);
      }
    }
    return std::max(next, now_ + Duration(1));
  }

  void process(const Block* block) {
    watcher_.disturb();
    feed_due();
    fall_due();
    submit_later();
    if (block != nullptr) {
      for (const Statement& statement : block->statements) {
        std::visit([&](const auto& body) { carry_out(statement, body); }, statement.body);
      }
    }
    if (!report_.problems.empty()) return;
    cycle();
    watcher_.settle(now_);
    collect_broken();
    if (block == nullptr) return;
    if (options_.check_invariants) check_reasons();
    for (const Statement& statement : block->statements) {
      if (const auto* body = std::get_if<ExpectStatement>(&statement.body)) {
        judge(statement, body->expectation);
      }
    }
  }

  /// Facts of the world that are due. True when there were any.
  bool feed_due() {
    bool any = false;
    for (const auto& event : world_.take_due(now_)) {
      fact(event);
      any = true;
    }
    return any;
  }
  void fall_due() {
    for (int i = 0; i < kCyclesMaxPerInstant; ++i) {
      std::vector<Decision> decisions;
      engine_.advance(now_, decisions);
      execute(decisions);
      const bool facts = feed_due();
      if (decisions.empty() && !facts) return;
    }
    broken("what falls due does not settle");
  }
  void cycle() {
    for (int i = 0; i < kCyclesMaxPerInstant; ++i) {
      ++report_.cycles;
      const auto result = engine_.run_cycle(now_);
      execute(result.decisions);
      const bool facts = feed_due();
      if (options_.check_invariants) {
        for (const auto& text : engine_.check_invariants()) broken(text);
      }
      if (!result.changed && result.decisions.empty() && !facts) return;
      if (!report_.broken.empty() && i > 100) return;
    }
    broken("scheduling does not settle: every cycle changes something");
  }
  void collect_broken() {
    for (const auto& text : watcher_.take_broken()) {
      if (options_.check_invariants) broken(text);
    }
  }
  void check_reasons() {
    for (const auto id : engine_.live_jobs()) {
      const auto status = engine_.job(id);
      if (!status || status->state != JobState::kPending) continue;
      const auto verdict = engine_.explain(id);
      if (!verdict || verdict->reasons.empty()) {
        broken(scenario_.name_of_job(id) + " waits without a reason");
      }
    }
  }

  // ---- decisions ----
  void execute(const std::vector<Decision>& decisions) {
    for (const auto& decision : decisions) {
      ++report_.decisions;
      digest_.add(static_cast<std::uint64_t>(now_.ns()));
      add_fields(digest_, decision);
      trace(decision_words(decision, scenario_));
      watcher_.see(now_, decision);
      std::visit(Overload{[&](const StartAttempt& d) {
                            world_.start(now_, d.job, d.attempt, d.allocation.tasks);
                            fact(AttemptStarted{d.job, d.attempt});
                          },
                          [&](const StopAttempt& d) { world_.stop(now_, d); },
                          [&](const StopTasks& d) { world_.stop_tasks(now_, d); },
                          [&](const GrowTasks& d) { world_.grow(now_, d); },
                          [](const auto&) {}},
                 decision);
    }
  }

  // ---- statements ----
  template <class Body>
  void carry_out(const Statement& statement, const Body& body) {
    if constexpr (std::is_same_v<Body, SubmitStatement>) {
      submit(statement, body);
    } else if constexpr (std::is_same_v<Body, ScaleStatement>) {
      for (const auto job : body.added) submit_job(statement.line, statement.column, job);
      for (const auto job : body.removed) {
        command(statement, job, JobVerb::kCancel);
      }
    } else if constexpr (std::is_same_v<Body, FinishStatement>) {
      finish(statement, body);
    } else if constexpr (std::is_same_v<Body, CommandStatement>) {
      for (const auto job : body.targets.jobs) {
        if (!can_follow(statement, body.targets, job)) continue;
        if (body.targets.by_group && !is_meant(job, body.verb)) continue;
        command(statement, job, body.verb);
      }
    } else if constexpr (std::is_same_v<Body, ResizeStatement>) {
      resize(statement, body);
    } else if constexpr (std::is_same_v<Body, NodeCommandStatement>) {
      for (const auto& node : body.nodes) {
        request(NodeCommanded{node, body.verb, "scenario"}, statement.line, statement.column);
        if (body.verb != NodeVerb::kFail) continue;
        for (const auto& event : world_.lose_node(now_, node)) fact(event);
      }
    } else if constexpr (std::is_same_v<Body, DeviceStatement>) {
      for (const auto& device : body.reports) report_device(statement, device);
    } else if constexpr (std::is_same_v<Body, BusyStatement>) {
      for (const auto job : body.targets.jobs) {
        if (!can_follow(statement, body.targets, job)) continue;
        request(ActivityMeasured{scenario_.jobs[job].id, body.busy_per_mille}, statement.line,
                statement.column);
      }
    }
  }

  void submit(const Statement& statement, const SubmitStatement& body) {
    for (const auto index : body.groups) {
      const GroupDeclaration& group = scenario_.groups[index];
      GroupSubmitted event{group.id, static_cast<std::int64_t>(group.size), group.throttle};
      if (!request(event, statement.line, statement.column)) return;
    }
    for (const auto job : body.jobs) {
      const std::int64_t member = scenario_.jobs[job].group_index;
      if (body.every && member > 1) {
        later_.push_back({now_ + *body.every * (member - 1), job, statement.line,
                          statement.column});
        continue;
      }
      if (!submit_job(statement.line, statement.column, job)) return;
    }
    std::stable_sort(later_.begin(), later_.end(),
                     [](const LaterSubmit& a, const LaterSubmit& b) { return a.at < b.at; });
  }
  bool submit_job(std::int64_t line, std::int64_t column, std::size_t job) {
    // The world learns of it first: the engine may start it at once.
    add_to_world(job);
    return request(JobSubmitted{scenario_.jobs[job].id, scenario_.spec_of(job)}, line, column);
  }
  void submit_later() {
    std::size_t due = 0;
    while (due < later_.size() && later_[due].at <= now_) {
      const LaterSubmit& later = later_[due++];
      if (!submit_job(later.line, later.column, later.job)) break;
    }
    later_.erase(later_.begin(), later_.begin() + static_cast<std::ptrdiff_t>(due));
  }

  /// Members that a group's bare name stands for are passed over when they are not there (yet, or
  /// any more); a job named by itself must be there.
  bool can_follow(const Statement& statement, const Targets& targets, std::size_t job) {
    const JobDeclaration& declared = scenario_.jobs[job];
    const auto status = submitted_[job] ? engine_.job(declared.id)
                                        : Result<JobStatus>(Error{ErrorCode::kNotFound, ""});
    if (status && !is_final(status->state)) return true;
    if (targets.by_group) return false;
    problem(statement.line, statement.column,
            !status ? declared.name + " is not submitted yet"
                    : declared.name + " has ended (" + std::string(state_word(status->state)) +
                          ")");
    return false;
  }
  /// Of a whole group only the waiting members are held, and only held ones released.
  bool is_meant(std::size_t job, JobVerb verb) const {
    const auto status = engine_.job(scenario_.jobs[job].id);
    if (!status) return false;
    if (verb == JobVerb::kHold) return status->state == JobState::kPending;
    return verb != JobVerb::kRelease || status->held;
  }
  void command(const Statement& statement, std::size_t job, JobVerb verb) {
    request(JobCommanded{scenario_.jobs[job].id, verb, ""}, statement.line, statement.column);
  }
  void finish(const Statement& statement, const FinishStatement& body) {
    for (const auto job : body.targets.jobs) {
      const JobDeclaration& declared = scenario_.jobs[job];
      const auto event = world_.finish(now_, declared.id, body.exit_code);
      if (event) {
        fact(*event);
      } else if (!body.targets.by_group) {
        problem(statement.line, statement.column,
                declared.name + " does not run at this instant, so it cannot finish");
      }
    }
  }
  void resize(const Statement& statement, const ResizeStatement& body) {
    for (const auto job : body.targets.jobs) {
      if (!can_follow(statement, body.targets, job)) continue;
      const JobId id = scenario_.jobs[job].id;
      const auto status = engine_.job(id);
      if (!status || status->spec == nullptr) continue;
      JobSpec spec = *status->spec;
      spec.shape.tasks = body.tasks;
      if (!request(JobUpdated{id, spec}, statement.line, statement.column)) return;
      world_.resize(now_, id, body.tasks);
    }
  }
  void report_device(const Statement& statement, const DeviceReported& report) {
    if (!request(report, statement.line, statement.column)) return;
    if (report.condition != DeviceCondition::kError) return;
    const bool of_application = report.xid == 13 || report.xid == 31;
    const auto facts = of_application
                           ? world_.fail_device_users(now_, report)
                           : world_.lose_device(now_, report.node, report.device);
    for (const auto& event : facts) fact(event);
  }

  // ---- expectations ----
  void judge(const Statement& statement, const Expectation& expectation) {
    switch (expectation.subject) {
      case Subject::kCluster:
        return judge_each(statement, expectation, {"cluster"}, [&](const std::string&,
                                                                   const Check& check) {
          return measure_cluster(engine_, check);
        });
      case Subject::kQueue:
        return judge_each(statement, expectation, expectation.things,
                          [&](const std::string& queue, const Check& check) {
                            return measure_queue(engine_, queue, check);
                          });
      case Subject::kNode:
        return judge_each(statement, expectation, expectation.things,
                          [&](const std::string& node, const Check& check) {
                            return measure_node(engine_, node, check);
                          });
      case Subject::kUser:
        return judge_each(statement, expectation, expectation.things,
                          [&](const std::string& user, const Check& check) {
                            return measure_user(engine_, user, check);
                          });
      case Subject::kJob:
      case Subject::kMany: return judge_jobs(statement, expectation);
    }
  }
  template <class Measure>
  void judge_each(const Statement& statement, const Expectation& expectation,
                  const std::vector<std::string>& things, Measure&& measure) {
    for (const auto& thing : things) {
      for (const auto& check : expectation.checks) {
        ++report_.checks;
        const Measured measured = measure(thing, check);
        if (measured.holds) continue;
        constexpr std::array<std::string_view, 6> kKinds{"", "", "queue ", "node ", "user ", ""};
        const auto kind = kKinds[static_cast<std::size_t>(expectation.subject)];
        fail(statement, check, std::string(kind) + thing, measured, "");
      }
    }
  }
  void judge_jobs(const Statement& statement, const Expectation& expectation) {
    std::vector<JobId> ids;
    for (const auto job : expectation.jobs) {
      if (submitted_[job]) {
        ids.push_back(scenario_.jobs[job].id);
      } else if (!expectation.by_group) {
        problem(statement.line, statement.column,
                scenario_.jobs[job].name + " is not submitted yet");
        return;
      }
    }
    for (const auto& check : expectation.checks) {
      if (expectation.subject == Subject::kMany && is_sum_key(check.key)) {
        ++report_.checks;
        const Measured measured = measure_sum(engine_, ids, check);
        if (!measured.holds) fail(statement, check, expectation.names, measured, "");
        continue;
      }
      for (const auto id : ids) judge_job(statement, expectation, check, id);
    }
  }
  void judge_job(const Statement& statement, const Expectation& expectation, const Check& check,
                 JobId id) {
    static const std::vector<Check> kNoNumbers;
    const bool takes_numbers = check.kind == ValueKind::kReason && check.op == Operator::kEqual;
    const auto& numbers = takes_numbers ? expectation.reason_numbers : kNoNumbers;
    report_.checks += 1 + std::ssize(numbers);
    const Measured measured = measure_job(engine_, scenario_, id, check, numbers);
    if (measured.holds) return;
    Check shown = check;
    for (const auto& number : numbers) {
      shown.value += " " + number.key + std::string(name_of(number.op)) + number.value;
    }
    const auto verdict = engine_.explain(id);
    fail(statement, shown, scenario_.name_of_job(id), measured,
         verdict ? report::explain_paragraph(*verdict, wording_of(scenario_)) : "");
  }
  void fail(const Statement& statement, const Check& check, std::string subject,
            const Measured& measured, std::string explanation) {
    Failure failure;
    failure.file = scenario_.file;
    failure.line = statement.line;
    failure.column = check.column;
    failure.at = instant_words(now_);
    failure.subject = std::move(subject);
    failure.key = check.key;
    failure.expected = check.value;
    if (check.op != Operator::kEqual) {
      failure.expected.insert(0, name_of(check.op));
    }
    failure.actual = measured.actual;
    failure.explanation = std::move(explanation);
    trace("FAILED " + failure.subject + ": expected " + failure.key +
          std::string(name_of(check.op)) + check.value + ", but it is " + failure.actual);
    report_.failures.push_back(std::move(failure));
  }

  void finish_report() {
    digest_.add(engine_.digest());
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t value = digest_.value();
    report_.digest.assign(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) report_.digest[i] = kDigits[value & 15];
    report_.passed =
        report_.failures.empty() && report_.problems.empty() && report_.broken.empty();
  }

  const Scenario& scenario_;
  RunOptions options_;
  engine::Engine engine_;
  World world_;
  Watcher watcher_;
  std::vector<bool> submitted_;
  std::vector<LaterSubmit> later_;   // by instant, then as submitted
  Instant now_;
  Digest digest_;
  ScenarioReport report_;
};

}  // namespace

std::string Failure::text() const {
  const bool has_operator = !expected.empty() && (expected[0] == '<' || expected[0] == '>' ||
                                                  expected[0] == '!' || expected[0] == '~');
  std::string text = file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": at " +
                     at + " " + subject + ": expected " + key + (has_operator ? "" : "=") +
                     expected + ", but it is " + actual;
  if (!explanation.empty()) text += "\n    " + explanation;
  return text;
}

ScenarioReport run_scenario(const Scenario& scenario, const RunOptions& options) {
  ScenarioReport report = Runner(scenario, options).run();
  if (!options.run_twice) return report;
  const RunOptions again{.trace = false, .check_invariants = false, .run_twice = false};
  const ScenarioReport second = Runner(scenario, again).run();
  if (second.digest != report.digest) {
    report.broken.push_back("two runs of the same file differ: digests " + report.digest + " and " +
                            second.digest);
    report.passed = false;
  }
  return report;
}

ScenarioReport run_scenario_text(std::string_view text, std::string_view file,
                                 const RunOptions& options) {
  auto parsed = parse_scenario(text, file);
  if (parsed.ok()) return run_scenario(parsed.scenario, options);
  ScenarioReport report;
  report.file = file;
  report.problems = std::move(parsed.errors);
  return report;
}

std::string report_text(const ScenarioReport& report) {
  std::string text = report.file + ": ";
  if (report.passed) {
    text += "passed, " + std::to_string(report.checks) + " checks\n";
  } else if (report.checks == 0 && !report.problems.empty()) {
    text += "not run\n";
  } else {
    text += std::to_string(report.failures.size()) + " of " + std::to_string(report.checks) +
            " checks failed\n";
  }
  for (const auto& problem : report.problems) text += problem.text() + "\n";
  for (const auto& failure : report.failures) text += failure.text() + "\n";
  for (const auto& broken : report.broken) text += report.file + ": broken: " + broken + "\n";
  return text;
}

}  // namespace rota::sim
