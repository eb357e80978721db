// The world that answers decisions: attempts start late, work, end, fail, stop after a grace and
// report each fact once (and sometimes again).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/decision.h"
#include "model/event.h"
#include "tests/property/stage.h"

namespace rota::property {

struct Work {
  std::optional<Duration> runs;   // of one attempt; absent: until told to stop
  std::int64_t exit_code = 0;
};

class BackendWorld {
 public:
  explicit BackendWorld(const Stage& stage) : stage_(stage) {}

  void add_job(JobId job, const Work& work) { work_[job] = work; }
  void start(Instant now, const StartAttempt& order);
  void stop(Instant now, const StopAttempt& order);
  void stop_tasks(Instant now, const StopTasks& order);
  void grow(const GrowTasks& order);
  /// Everything on the node is gone at once.
  void lose_node(Instant now, const std::string& node);
  /// Ends a running attempt now; false when the job does not run.
  bool finish(Instant now, JobId job, std::int64_t exit_code);

  [[nodiscard]] std::optional<Instant> next_due() const;
  /// The next fact that is due; none: nothing is.
  std::optional<Event> take_due(Instant now);
  /// Facts that were reported before, for telling them again.
  [[nodiscard]] const std::vector<Event>& told() const { return told_; }
  [[nodiscard]] std::vector<JobId> running() const;

 private:
  struct Due {
    Instant at;
    std::int64_t order = 0;  // facts of one attempt keep their order
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  struct Attempt {
    std::int64_t number = 0;
    std::vector<TaskPlace> places;
    bool started = false;
    std::optional<Due> own_end;
    std::optional<Due> stop;
  };
  Due due(Instant at) { return {at, ++count_}; }
  void end(Instant now, JobId job, AttemptEnded fact);

  const Stage& stage_;
  std::int64_t count_ = 0;
  std::map<JobId, Work> work_;
  std::map<JobId, Attempt> attempts_;
  std::map<Due, Event> facts_;
  std::vector<Event> told_;
};

}  // namespace rota::property
