// A back-end under a virtual clock with seeded faults, for tests of whatever drives a back-end.
//
// It stands for the world outside the daemon: attempts go on while the daemon is "down". Two calls
// with the same seed, orders and instants give the same facts. Nothing happens between two calls of
// advance_to(); inside one, things happen in order of their instants, ties in order of their
// making. Threads: none; the owner serialises all calls.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/random.h"

namespace rota::backend {

/// What one attempt does. Equal scripts behave the same whatever the faults are.
struct AttemptScript {
  std::optional<Duration> runtime = Duration::seconds(10);  // absent: until it is stopped
  Duration start_delay = Duration::milliseconds(5);  // from the order to AttemptStarted
  Duration stop_delay = Duration::milliseconds(20);  // from the signal to the end; grace cuts it
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  bool launch_fails = false;   // ends as kLaunchFailed after start_delay
  std::map<int, std::int64_t> exit_on_signal = {};  // signal number -> exit code
  std::string detail = {};
};

/// Chances in thousandths, each drawn from its own stream.
struct SimulatedFaults {
  std::int64_t start_reply_lost = 0;   // start() gives kUnknownResult; half of them did start
  std::int64_t start_unavailable = 0;  // start() gives kUnavailable; nothing was done
  std::int64_t stop_reply_lost = 0;    // stop() gives kUnknownResult; half of them took effect
  std::int64_t list_unavailable = 0;
  std::int64_t fact_duplicated = 0;    // the copy comes up to late_max later
  std::int64_t fact_late = 0;          // so later facts overtake it
  Duration late_max = Duration::seconds(30);
};

struct SimulatedOptions {
  std::uint64_t seed = 1;
  std::vector<NodeSpec> nodes;
  AttemptScript script = {};           // for attempts without a script of their own
  SimulatedFaults faults = {};
};

class SimulatedBackend final : public ExecutionBackend {
 public:
  explicit SimulatedBackend(SimulatedOptions options);

  Result<std::vector<NodeSpec>> discover() override;
  Status start(const StartOrder& order) override;
  Status stop(const StopOrder& order) override;
  Status signal(JobId job, std::int64_t attempt, int signal_number) override;
  Status set_time_limit(JobId job, std::int64_t attempt, std::optional<Duration> limit) override;
  Result<std::vector<KnownAttempt>> list() override;
  void forget(JobId job, std::int64_t attempt) override;
  Facts poll() override;
  /// May be set again after a crash of the daemon.
  void on_facts(std::function<void()> wake) override;

  /// How the next attempts of `job` behave: the n-th entry is for attempt n, the last one for all
  /// further attempts. Replaces what was set before; running attempts keep theirs.
  void script(JobId job, std::vector<AttemptScript> attempts);
  void set_faults(const SimulatedFaults& faults) { options_.faults = faults; }

  /// Lets everything up to and including `now` happen. Instants never go backwards.
  void advance_to(Instant now);
  /// The next instant at which something happens by itself; none: only a call changes anything.
  [[nodiscard]] std::optional<Instant> next_event() const;

  /// The node stops: its attempts are gone, gangs lose a member and their other tasks end with it.
  /// Gives NodeCommanded{fail}, then AttemptEnded{kLost} for each. Until recover_node(), which
  /// gives NodeCommanded{recover}, starts there fail to launch and discover() shows it as down.
  void fail_node(const std::string& node);
  void recover_node(const std::string& node);
  /// Adds a device or activity fact, subject to the faults like any other.
  void report(const Event& fact);

  /// The machines have these nodes now: NodeReported for those that are new or differ.
  void set_nodes(std::vector<NodeSpec> nodes);

  /// The daemon died: facts that were made but not polled are lost; list() still tells the truth.
  void lose_facts();

  // ---- for checks ----
  struct Running {
    JobId job;
    std::int64_t attempt = 0;
    Allocation allocation;
    Instant since;
  };
  /// Attempts whose processes exist now, by job and attempt.
  [[nodiscard]] std::vector<Running> running() const;
  /// As last told by set_time_limit() or the order; absent: none, or the attempt is unknown.
  [[nodiscard]] std::optional<Duration> time_limit(JobId job, std::int64_t attempt) const;
  /// How often processes of this attempt were begun: never above 1.
  [[nodiscard]] std::int64_t launches(JobId job, std::int64_t attempt) const;
  /// Every broken promise of the daemon, in words: a device given twice, an attempt begun twice,
  /// two attempts of a job at once, a device that does not exist. Empty: none.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  using Key = std::pair<JobId, std::int64_t>;
  enum class Phase { kStarting, kRunning, kStopping, kEnded };
  enum class Step { kStarted, kEnded, kTasksEnded, kDeliver };
  struct Attempt {
    StartOrder order;
    AttemptScript script;
    Phase phase = Phase::kStarting;
    Instant since;
    std::int64_t generation = 0;  // a step of an older one is void
    bool stop_asked = false;
    std::optional<Instant> natural_end;
    AttemptEnded end;
  };
  struct Planned {
    Step step = Step::kDeliver;
    Key key;
    std::int64_t generation = 0;
    Event fact;
  };

  [[nodiscard]] AttemptScript script_for(JobId job, std::int64_t attempt) const;
  void launch(const StartOrder& order);
  void check_launch(const StartOrder& order);
  void check_devices(const StartOrder& order);
  void begin_stop(Attempt& attempt, const StopOrder& order);
  void plan_end(Attempt& attempt, Instant at, AttemptEnded end);
  void finish(Attempt& attempt, const AttemptEnded& end);
  void begin_run(Attempt& attempt);
  void drop_tasks(Attempt& attempt, const TasksEnded& ended);
  void run_step(const Planned& planned);
  void plan(Instant at, Planned planned);
  void emit(const Event& fact);
  void deliver(const Event& fact);
  static bool draw(Random& stream, std::int64_t per_mille);

  SimulatedOptions options_;
  Random start_random_;
  Random stop_random_;
  Random list_random_;
  Random fact_random_;
  Instant now_;
  std::int64_t planned_count_ = 0;
  std::map<std::pair<Instant, std::int64_t>, Planned> planned_;
  std::map<Key, Attempt> attempts_;
  std::map<Key, std::int64_t> launches_;
  std::map<JobId, std::vector<AttemptScript>> scripts_;
  std::map<std::string, bool> node_down_;
  Facts facts_;
  std::function<void()> wake_;
  std::vector<std::string> violations_;
};

}  // namespace rota::backend
