// What executes the engine's decisions. Narrow on purpose: discover, start, signal, stop, list, and
// facts about what happened. Every back-end passes the same conformance suite.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/launch.h"

namespace rota::backend {

/// Everything needed to start one attempt; self-contained, so a restarted daemon can repeat it.
struct StartOrder {
  JobId job;
  std::int64_t attempt = 0;
  Allocation allocation;
  LaunchSpec launch;
  std::string restart_reason;          // why the attempt before ended; empty for the first
  std::optional<Duration> time_limit;  // for ROTA_END_TIME and the warning signal
  GroupId group;
  std::int64_t group_index = 0;
  std::int64_t group_size = 0;
};

struct StopOrder {
  JobId job;
  std::int64_t attempt = 0;
  StopCause cause = StopCause::kCancelled;
  JobId by;
  Duration grace;
  std::vector<std::int64_t> tasks;     // empty: all
};

/// An attempt the back-end knows of, for re-adoption after a restart.
struct KnownAttempt {
  JobId job;
  std::int64_t attempt = 0;
  bool alive = false;
  AttemptEnded end;                    // when not alive
  std::vector<std::int64_t> pids;      // for people
};

/// Facts in the order they happened; only fact events (AttemptStarted, AttemptEnded, TasksEnded,
/// NodeReported, NodeCommanded{fail,recover}, DeviceReported, ActivityMeasured).
using Facts = std::vector<Event>;

class ExecutionBackend {
 public:
  virtual ~ExecutionBackend() = default;

  /// The nodes and devices as they are now. Error: kUnavailable.
  virtual Result<std::vector<NodeSpec>> discover() = 0;
  /// Idempotent by (job, attempt): a repeat of a known attempt is ok and starts nothing. Returns
  /// quickly; the outcome comes as a fact. kUnknownResult: ask list().
  virtual Status start(const StartOrder& order) = 0;
  /// Idempotent. Unknown attempts are ok: the fact AttemptEnded{kStopped} follows in any case.
  virtual Status stop(const StopOrder& order) = 0;
  virtual Status signal(JobId job, std::int64_t attempt, int signal_number) = 0;
  /// The time limit is another one now (absent: none). Only for back-ends that end an attempt by
  /// themselves when nobody is there to order it. Idempotent; unknown attempts are ok.
  virtual Status set_time_limit(JobId job, std::int64_t attempt, std::optional<Duration> limit) {
    (void)job, (void)attempt, (void)limit;
    return {};
  }
  /// Whether attempts can run as this account here. Error: kDenied, in words for its owner.
  [[nodiscard]] virtual Status check_account(const std::string& user, std::int64_t uid) const {
    (void)user, (void)uid;
    return {};
  }
  /// The highest job number of which anything is left here, if only a folder. 0: none.
  virtual std::uint64_t highest_job() { return 0; }
  /// All attempts not yet acknowledged by forget(). Error: kUnavailable.
  virtual Result<std::vector<KnownAttempt>> list() = 0;
  /// The caller has made this attempt's end durable; the back-end may clean up.
  virtual void forget(JobId job, std::int64_t attempt) = 0;
  /// Facts since the last call. Never blocks.
  virtual Facts poll() = 0;
  /// `wake` is called from any thread when poll() has something new. Set before start(); once a
  /// second call returns, the one before is called no more.
  virtual void on_facts(std::function<void()> wake) = 0;
};

}  // namespace rota::backend
