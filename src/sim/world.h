// The world a scenario plays in: attempts that work, end, fail and stop when told to.
//
// Work is counted in nanoseconds of one task. A job's work is its `runs` times its tasks and is
// done at one nanosecond a nanosecond by every running task. A checkpoint every `checkpoint` since
// the attempt's start saves what was done until then; an attempt that ends without having done all
// leaves what was saved to the next one. When the wanted number of tasks changes, the part of the
// work that is done stays the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "model/decision.h"
#include "model/event.h"

namespace rota::sim {

/// What the world must know of a job before its first attempt.
struct WorldJob {
  std::int64_t tasks = 1;
  std::optional<Duration> runs;
  std::optional<Duration> checkpoint;
};

class World {
 public:
  /// Jobs with a task on `node` fail (exit 1) that long after the task's start.
  void set_fails_after(const std::string& node, Duration after) { fails_after_[node] = after; }
  void add_job(JobId id, const WorldJob& job);
  /// Of a job that is over and never comes back.
  void forget(JobId id) { jobs_.erase(id); }
  /// A new wanted number of tasks.
  void resize(Instant now, JobId id, std::int64_t tasks);

  /// An attempt works from `now` on. Every place counts as one task.
  void start(Instant now, JobId id, std::int64_t attempt, const std::vector<TaskPlace>& places);
  void grow(Instant now, const GrowTasks& decision);
  /// Signals it; it is gone after the grace at the latest. An attempt that does not run is ignored.
  void stop(Instant now, const StopAttempt& decision);
  void stop_tasks(Instant now, const StopTasks& decision);

  /// Ends a running attempt now with this exit code; nothing when the job does not run.
  std::optional<Event> finish(Instant now, JobId id, std::int64_t exit_code);
  /// Attempts with a task on the node (or on this device of it) are lost.
  std::vector<Event> lose_node(Instant now, const std::string& node);
  std::vector<Event> lose_device(Instant now, const std::string& node, std::int32_t device);
  /// ... or fail by a fault of their own.
  std::vector<Event> fail_device_users(Instant now, const DeviceReported& report);

  [[nodiscard]] std::optional<Instant> next_due() const;
  /// What ended up to `now`, in order of time; at one instant own ends come before failures, and
  /// those before stops; ties by job number.
  std::vector<Event> take_due(Instant now);

  [[nodiscard]] bool runs(JobId id) const { return active_.contains(id); }
  /// The places an attempt holds; empty when it does not run.
  [[nodiscard]] std::vector<TaskPlace> places(JobId id) const;

 private:
  enum class Due { kOwnEnd, kFailure, kTasksStop, kStop };
  struct Job {
    WorldJob wish;
    Int128 saved = 0;            // what the next attempt starts with
  };
  struct TaskStop {
    Instant at;
    std::vector<std::int64_t> tasks;
  };
  struct Attempt {
    std::int64_t number = 0;
    Instant started;
    Instant updated;
    Int128 done = 0;
    std::vector<TaskPlace> places;
    std::map<std::int64_t, Instant> task_started;
    std::optional<Instant> stop_at;
    std::vector<TaskStop> task_stops;
    std::optional<std::tuple<Instant, Due, JobId>> due;
  };

  void update(Instant now, JobId id, Attempt& attempt);
  void schedule(JobId id, Attempt& attempt);
  [[nodiscard]] Int128 total(const Job& job) const;
  [[nodiscard]] std::optional<Instant> own_end(const Job& job, const Attempt& attempt) const;
  [[nodiscard]] std::optional<std::pair<Instant, std::string>> failure(
      const Attempt& attempt) const;
  Event end(Instant now, JobId id, AttemptEnded fact);
  Event end_due(JobId id, Instant at, Due kind);
  Event end_tasks(JobId id, Instant at);
  template <class Hit>
  std::vector<Event> end_all(Instant now, Hit&& hit, const AttemptEnded& fact);

  std::map<std::string, Duration> fails_after_;
  std::map<JobId, Job> jobs_;
  std::map<JobId, Attempt> active_;
  std::set<std::tuple<Instant, Due, JobId>> due_;
};

}  // namespace rota::sim
