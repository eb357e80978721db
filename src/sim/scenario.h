// A scenario file as data: what the cluster is, what happens over time, what must be true.
//
// parse_scenario() reads the whole language and resolves every name, so that a Scenario that was
// returned names only things that exist, in an order that makes sense. It knows nothing of the
// engine: what the engine cannot do is found when the scenario is run (sim/run.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/cluster.h"
#include "model/event.h"
#include "model/job.h"
#include "model/policy.h"
#include "model/queue.h"
#include "sim/expectation.h"

namespace rota::sim {

/// One error of a scenario file. Lines and columns count from 1.
struct Diagnostic {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string message;

  /// `file:line:column: message`
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("file", self.file);
    visit("line", self.line);
    visit("column", self.column);
    visit("message", self.message);
  }
};

/// What one `submit`, `service` or `running` line asks for; shared by all its jobs. `spec` has no
/// group and no group index: those belong to the job.
struct JobTemplate {
  JobSpec spec;
  std::optional<Duration> runs;   // work with all tasks; absent: until `finish`
};

/// A job of the scenario. Its id is its place in the file, so "declared last" is the greatest id.
struct JobDeclaration {
  JobId id;
  std::string name;               // "J", "A.7"
  std::size_t job_template = 0;   // index into Scenario::templates
  GroupId group;                  // none: a job of its own
  std::int64_t group_index = 0;   // from 1
};

/// An array, a periodic job or a service. Members are consecutive in Scenario::jobs.
struct GroupDeclaration {
  GroupId id;
  std::string name;
  std::size_t first_job = 0;
  std::size_t size = 0;           // of a service: all replicas the file ever asks for
  std::optional<std::int64_t> throttle;
};

/// One device that a `running` line names.
struct DeviceName {
  std::string node;
  std::int32_t device = 0;
  std::int32_t mig_start = -1;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

struct NodeStatement {
  std::vector<NodeSpec> nodes;
  std::optional<Duration> fails_after;
};
struct QueueStatement {
  QueueSpec queue;
};
struct UserStatement {
  UserSpec user;
};
struct UsageStatement {
  UsageRecorded usage;
};
/// Each job stands on the first of `nodes` with room, or on exactly `devices` when given.
struct RunningStatement {
  std::vector<std::size_t> jobs;
  std::vector<std::string> nodes;
  std::vector<DeviceName> devices;
  Instant started;
};
/// Submits jobs now, or (periodic) later: `every` apart when set.
struct SubmitStatement {
  std::vector<std::size_t> groups;  // declared before the jobs
  std::vector<std::size_t> jobs;
  std::optional<Duration> every;    // the k-th member of each group comes (k-1) times this later
};
/// A service gets more replicas, or loses its newest.
struct ScaleStatement {
  std::size_t group = 0;
  std::vector<std::size_t> added;
  std::vector<std::size_t> removed;
};
/// The jobs named by NAMES. `by_group`: a group's bare name stood for all of them, so members that
/// cannot follow (pending ones of `finish`) are passed over.
struct Targets {
  std::vector<std::size_t> jobs;
  bool by_group = false;
};
struct FinishStatement {
  Targets targets;
  std::int64_t exit_code = 0;
};
struct CommandStatement {
  Targets targets;
  JobVerb verb = JobVerb::kCancel;
};
struct ResizeStatement {
  Targets targets;
  std::int64_t tasks = 0;
};
struct NodeCommandStatement {
  std::vector<std::string> nodes;
  NodeVerb verb = NodeVerb::kDrain;
};
struct DeviceStatement {
  std::vector<DeviceReported> reports;
};
struct BusyStatement {
  Targets targets;
  std::int64_t busy_per_mille = 0;
};
struct ExpectStatement {
  Expectation expectation;
};

using StatementBody =
    std::variant<NodeStatement, QueueStatement, UserStatement, UsageStatement, RunningStatement,
                 SubmitStatement, ScaleStatement, FinishStatement, CommandStatement,
                 ResizeStatement, NodeCommandStatement, DeviceStatement, BusyStatement,
                 ExpectStatement>;

struct Statement {
  std::int64_t line = 0;
  std::int64_t column = 0;
  StatementBody body;
};

/// What happens, and what must be true, at one instant.
struct Block {
  Instant at;
  std::vector<Statement> statements;
};

struct Scenario {
  std::string file;
  std::string prose;                  // the leading comment block, one line per line
  Policy policy;
  std::int64_t policy_line = 0;       // of the first `policy` statement; 0: none
  std::vector<Statement> stage;
  std::vector<Block> blocks;          // in time order
  std::vector<JobTemplate> templates;
  std::vector<JobDeclaration> jobs;   // by id
  std::vector<GroupDeclaration> groups;
  std::map<std::string, Duration> fails_after;  // by node

  /// The complete wishes of a job, with its group.
  [[nodiscard]] JobSpec spec_of(std::size_t job) const;
  /// The name of a job of this scenario; "job N" for any other.
  [[nodiscard]] std::string name_of_job(JobId id) const;
};

/// What parsing gave. With errors the scenario must not be run.
struct ParsedScenario {
  Scenario scenario;
  std::vector<Diagnostic> errors;     // in file order
  [[nodiscard]] bool ok() const { return errors.empty(); }
};

/// Limits of one file: 100,000 jobs, 100,000 nodes and 10,000,000 characters; more is an error.
ParsedScenario parse_scenario(std::string_view text, std::string_view file);

/// All errors as one message, one per line; kInvalidArgument.
Result<Scenario> scenario_from(std::string_view text, std::string_view file);

}  // namespace rota::sim
