#include "backend/local/attempt.h"

#include <algorithm>
#include <cstring>

namespace rota::backend {
namespace {

std::string signal_words(std::int64_t signal) {
  const char* name = ::sigabbrev_np(static_cast<int>(signal));
  return "killed by signal " + std::to_string(signal) +
         (name == nullptr ? std::string() : std::string(" (SIG") + name + ")");
}

std::string detail_of(const AttemptTask& task) {
  if (task.lost) return task.lost_detail;
  if (!task.status.detail.empty()) return task.status.detail;
  return task.status.signal != 0 ? signal_words(task.status.signal) : std::string();
}

/// A task that was gone before we heard of it ended before those whose end is written.
std::int64_t end_time(const AttemptTask& task) { return task.lost ? 0 : task.status.ended_ns; }

}  // namespace

bool failed_by_itself(const AttemptTask& task) {
  if (!task.gone || task.dropped) return false;
  if (task.lost) return true;
  const shim::TaskStatus& s = task.status;
  return !s.stopped && (!s.begun || s.exit_code != 0 || s.signal != 0);
}

bool Attempt::all_gone() const {
  return std::all_of(tasks.begin(), tasks.end(), [](const AttemptTask& t) { return t.gone; });
}

bool Attempt::all_begun() const {
  return std::all_of(tasks.begin(), tasks.end(), [](const AttemptTask& t) {
    return t.has_status && (t.status.begun || t.status.phase == shim::Phase::kRunning);
  });
}

std::optional<Instant> Attempt::begun_at() const {
  std::int64_t latest = 0;
  for (const AttemptTask& task : tasks) {
    if (!task.has_status || task.status.started_ns == 0) return std::nullopt;
    latest = std::max(latest, task.status.started_ns);
  }
  return tasks.empty() ? std::nullopt : std::optional(Instant(latest));
}

std::optional<Instant> Attempt::gone_at() const {
  std::int64_t latest = 0;
  for (const AttemptTask& task : tasks) {
    const std::int64_t gone = task.lost ? task.lost_ns : task.status.ended_ns;
    if (gone == 0) return std::nullopt;
    latest = std::max(latest, gone);
  }
  return tasks.empty() ? std::nullopt : std::optional(Instant(latest));
}

const AttemptTask* Attempt::first_failure() const {
  const AttemptTask* first = nullptr;
  for (const AttemptTask& task : tasks) {
    if (!failed_by_itself(task)) continue;
    if (first == nullptr || end_time(task) < end_time(*first)) first = &task;
  }
  return first;
}

std::vector<shim::Process> Attempt::leftovers() const {
  std::vector<shim::Process> all;
  for (const AttemptTask& task : tasks) {
    all.insert(all.end(), task.status.leftovers.begin(), task.status.leftovers.end());
  }
  return all;
}

AttemptEnded Attempt::compose_end() const {
  AttemptEnded result;
  result.job = job;
  result.attempt = number;
  result.at = gone_at();
  const AttemptTask* shown = first_failure();
  const bool all_dropped = std::all_of(tasks.begin(), tasks.end(),
                                       [](const AttemptTask& t) { return t.dropped; });
  const auto stopped = std::find_if(tasks.begin(), tasks.end(), [&](const AttemptTask& t) {
    return !t.lost && t.status.stopped && (all_dropped || !t.dropped);
  });
  // A failure that came before the order reached the tasks is the job's own end.
  const bool was_stopped = stop_ordered && (stopped != tasks.end() ||
                                            (shown != nullptr && shown->lost));
  if (was_stopped) {
    result.kind = EndKind::kStopped;
    if (stopped != tasks.end()) shown = &*stopped;
  } else if (shown != nullptr && shown->lost) {
    result.kind = EndKind::kLost;
  } else if (shown != nullptr && !shown->status.begun && shown->status.node_fault) {
    result.kind = EndKind::kLaunchFailed;
  } else if (shown == nullptr && stopped != tasks.end()) {
    result.kind = EndKind::kStopped;  // its shims were told to stop by someone else
    shown = &*stopped;
  }
  if (shown == nullptr) {
    if (!tasks.empty()) result.node = tasks.front().node;
    return result;
  }
  result.exit_code = shown->status.exit_code;
  result.signal = shown->status.signal;
  result.node = shown->node;
  result.detail = detail_of(*shown);
  if (tasks.size() > 1 && !was_stopped) {
    result.detail = "task " + std::to_string(shown->rank) +
                    (result.detail.empty() ? std::string() : ": " + result.detail);
  }
  return result;
}

std::vector<std::int64_t> Attempt::dropped_to_tell() const {
  std::vector<std::int64_t> ranks;
  for (const AttemptTask& task : tasks) {
    if (!task.dropped || task.drop_told) continue;
    if (!task.gone) return {};
    ranks.push_back(task.rank);
  }
  return ranks;
}

}  // namespace rota::backend
