// Looks at a run from outside the engine and says which promise was broken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/property/stage.h"

namespace rota::property {

/// Who physically holds what of one node.
class NodeBook {
 public:
  explicit NodeBook(NodeSpec spec) : spec_(std::move(spec)) {}
  void take(JobId job, const TaskPlace& place) { held_.push_back({job, place}); }
  void release(JobId job, std::optional<std::int64_t> task);
  [[nodiscard]] bool idle() const { return held_.empty(); }
  void set_spec(NodeSpec spec) { spec_ = std::move(spec); }
  /// What is given out twice, in words; empty: nothing.
  [[nodiscard]] std::string given_twice() const;
  /// Whole GPUs that nobody holds, faulty ones included.
  [[nodiscard]] std::int64_t untouched() const;

 private:
  [[nodiscard]] std::string device_given_twice(std::int32_t device) const;
  NodeSpec spec_;
  std::vector<std::pair<JobId, TaskPlace>> held_;
};

class Watch {
 public:
  Watch(const engine::Engine& engine, const Stage& stage);

  void see(Instant now, const Event& event);      // accepted by the engine
  void see(Instant now, const Decision& decision);
  /// Everything due at this instant was told and decided.
  void settled(Instant now);
  /// An engine that carries on after a restart.
  void set_engine(const engine::Engine& engine) { engine_ = &engine; }
  /// What was broken so far; empty: nothing.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  void fail(Instant now, const std::string& text);

 private:
  struct Job {
    JobSpec spec;
    std::int64_t attempt = 0;
    bool holds = false;
    std::optional<Instant> started;
    std::optional<Instant> ordered;
    std::set<std::int64_t> tasks;
    bool preempted = false;       // told to stop for another
    bool final = false;
  };
  struct Claim {
    std::map<JobId, std::int64_t> victims;            // attempt that has to leave
    std::map<JobId, std::set<std::int64_t>> tasks;    // tasks that have to leave
    std::int64_t news = 0;                            // when it was made
  };

  void start(Instant now, const StartAttempt& order);
  void stop(Instant now, const StopAttempt& order);
  void stop_tasks(Instant now, const StopTasks& order);
  void grow(Instant now, const GrowTasks& order);
  void ended(const AttemptEnded& fact);
  void tasks_ended(const TasksEnded& fact);
  void note_claim(Instant now, JobId victim, JobId by);
  void check_claims(Instant now);
  void check_limits(Instant now, const Job& job);
  void check_verdicts(Instant now);
  void check_verdict(Instant now, const JobStatus& status, const Verdict& verdict);
  void check_throttles(Instant now);
  [[nodiscard]] std::int64_t milli_of(const Job& job, JobId id) const;
  [[nodiscard]] std::optional<bool> plain_job_fits(const JobSpec& spec) const;

  const engine::Engine* engine_;
  const Stage& stage_;
  std::map<std::string, NodeBook> books_;
  std::map<JobId, Job> jobs_;
  std::map<JobId, Claim> claims_;
  std::map<std::pair<JobId, JobId>, std::int64_t> evictions_;
  std::map<GroupId, std::int64_t> throttles_;
  std::int64_t news_ = 0;
  std::string broken_;
};

}  // namespace rota::property
