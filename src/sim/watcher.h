// Watches a run from outside the engine and notices broken promises: devices given twice, gangs
// partly started, limits passed, protected jobs preempted, preemptions that do not pay, a pair of
// claims that keep evicting each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/decision.h"
#include "model/event.h"
#include "sim/device_book.h"
#include "sim/scenario.h"

namespace rota::sim {

class Watcher {
 public:
  explicit Watcher(const Scenario& scenario) : scenario_(scenario) {}

  /// Places for a job that runs at the start; nothing when the nodes have no room.
  std::optional<Allocation> adopt(const RunningStatement& statement, std::size_t job);

  void see(Instant now, const Event& event);
  void see(Instant now, const Decision& decision);
  /// Something that is no consequence of the engine's own decisions happened.
  void disturb();
  /// The instant is settled: claims that are due must have started.
  void settle(Instant now);

  /// What was broken since the last call, in words.
  std::vector<std::string> take_broken() { return std::exchange(broken_, {}); }

 private:
  struct Job {
    JobSpec spec;
    std::int64_t attempt = 0;
    std::optional<Instant> started;
    std::vector<TaskPlace> places;
    std::set<std::int64_t> leaving;  // tasks told to make room: limits count them as gone
    bool ended_for_good = false;
  };
  struct Claim {
    Instant since;
    Instant due;
    std::int64_t disturbances = 0;
    JobId victim;
  };

  void start(Instant now, const StartAttempt& decision);
  enum class Scope { kJob, kTasks };
  void claim(Instant now, JobId victim, JobId by, Duration grace, Scope scope);
  void check_contract(Instant now, JobId victim, StopCause cause);
  void hold(JobId id, const std::vector<TaskPlace>& places);
  void let_go(Job& job, const std::vector<TaskPlace>& places);
  /// Adds to what the job's user and queues hold.
  void count(const Job& job, std::int64_t milli);
  void count_out(JobId id, const std::vector<std::int64_t>* tasks);
  void check_limits(JobId id);
  [[nodiscard]] std::string name(JobId id) const { return scenario_.name_of_job(id); }

  const Scenario& scenario_;
  DeviceBook book_;
  std::map<JobId, Job> jobs_;
  std::map<std::string, QueueSpec> queues_;
  std::map<std::string, UserSpec> users_;
  std::map<std::string, std::int64_t> held_by_queue_;  // milli-GPU, with the queues below
  std::map<std::string, std::int64_t> held_by_user_;
  std::map<JobId, Claim> claims_;                      // by claimant
  std::map<std::pair<JobId, JobId>, std::int64_t> evictions_;  // pair -> disturbances then
  std::int64_t disturbances_ = 0;
  std::vector<std::string> broken_;
};

}  // namespace rota::sim
