// Runs a scenario on the engine under a virtual clock.
//
// The world around the engine is simulated exactly: an attempt runs from the instant it is ordered,
// works, ends when its work is done, keeps what its checkpoints saved, and is gone when the grace
// of a stop is over. At every instant all that falls due is applied first (ends, limits, contract
// ends, begin times, periodic submissions), then the statements in file order, then scheduling
// cycles until one changes nothing, then the expectations are checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/scenario.h"

namespace rota::sim {

struct RunOptions {
  bool trace = false;             // fill ScenarioReport::trace
  bool check_invariants = true;   // after every cycle; costs about as much as the cycle
  bool run_twice = true;          // and compare digests
};

/// An expectation that did not hold.
struct Failure {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string at;           // the instant, as written in scenarios: "10m30s"
  std::string subject;      // "J", "queue a", "cluster"
  std::string key;
  std::string expected;     // with its operator when that is not "="
  std::string actual;
  std::string explanation;  // the engine's, in sentences; may be empty

  /// `file:line:column: J: expected started=10m, but it is 20m`, then the explanation.
  [[nodiscard]] std::string text() const;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("file", self.file);
    visit("line", self.line);
    visit("column", self.column);
    visit("at", self.at);
    visit("subject", self.subject);
    visit("key", self.key);
    visit("expected", self.expected);
    visit("actual", self.actual);
    visit("explanation", self.explanation);
  }
};

struct ScenarioReport {
  std::string file;
  bool passed = false;
  std::int64_t checks = 0;                  // single `key=value` demands that were checked
  std::vector<Failure> failures;
  std::vector<Diagnostic> problems;         // statements that could not be carried out
  std::vector<std::string> broken;          // invariants, with their instant
  std::vector<std::string> trace;           // one line per event and decision, with its instant
  std::int64_t jobs = 0;                    // submitted in all
  std::int64_t cycles = 0;
  std::int64_t decisions = 0;
  std::string digest;                       // of all decisions and the last state, hexadecimal

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("file", self.file);
    visit("passed", self.passed);
    visit("checks", self.checks);
    visit("failures", self.failures);
    visit("problems", self.problems);
    visit("broken", self.broken);
    visit("trace", self.trace);
    visit("jobs", self.jobs);
    visit("cycles", self.cycles);
    visit("decisions", self.decisions);
    visit("digest", self.digest);
  }
};

/// Runs to the last `at` block. Never fails itself: what goes wrong is in the report.
/// A statement the engine refuses ends the run after its instant and is a problem; one that it does
/// not know how to do reads "not supported yet: KEY".
ScenarioReport run_scenario(const Scenario& scenario, const RunOptions& options);

/// Parses and runs. With parse errors nothing is run; they are the report's problems.
ScenarioReport run_scenario_text(std::string_view text, std::string_view file,
                                 const RunOptions& options);

/// The report for people: the verdict in one line, then each failure, problem and broken invariant.
std::string report_text(const ScenarioReport& report);

}  // namespace rota::sim
