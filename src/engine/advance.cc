// What falls due by itself: begin times, time limits, contract ends on leaving nodes, idle
// sessions.
#include "engine/core.h"

namespace rota::engine {

void Core::advance(Instant now, std::vector<Decision>& out) {
  fall_due(now);
  out.insert(out.end(), std::make_move_iterator(queued.begin()),
             std::make_move_iterator(queued.end()));
  queued.clear();
}

void Core::fall_due(Instant now) {
  move_to(now);
  state_changes();
  while (!begin_timers.empty() && begin_timers.begin()->first <= state.now) {
    const JobId id = begin_timers.begin()->second;
    begin_timers.erase(begin_timers.begin());
    set_gate(job(id), kGateBegin, false);
  }
  advance_limits();
  while (!contract_timers.empty() && contract_timers.begin()->first <= state.now) {
    contract_timers.erase(contract_timers.begin());
  }
  if (nodes_leaving > 0) advance_drains();
  if (!interactive.empty()) advance_sessions();
}

void Core::advance_limits() {
  while (!limit_timers.empty() && limit_timers.begin()->first <= state.now) {
    JobRec& due = job(limit_timers.begin()->second);
    limit_timers.erase(limit_timers.begin());
    if (!due.ends_anyway()) order_stop(due, StopCause::kTimeLimit, JobId(), Duration());
  }
}

void Core::advance_drains() {
  for (NodeIndex n = 0; n < static_cast<NodeIndex>(state.nodes.size()); ++n) {
    const NodeRec& node = state.nodes[n];
    if (!node.leaving() || !node.up()) continue;
    drop_moves_to(n, kNone);
    for (const JobId id : jobs_on(n, kNone)) {
      JobRec& there = job(id);
      if (there.phase == Phase::kClaiming) {
        drop_claim(there);
        continue;
      }
      const auto contract = there.contract_ends();
      if (there.phase != Phase::kRunning || !contract || *contract > state.now) continue;
      order_stop(there, node.drain ? StopCause::kDrain : StopCause::kQuarantine, JobId(),
                 state.policy.grace);
    }
  }
}

void Core::advance_sessions() {
  const Policy& policy = state.policy;
  if (!policy.session_idle_warn && !policy.session_idle_end) return;
  const std::set<JobId> sessions = interactive;
  for (const JobId id : sessions) {
    JobRec& session = job(id);
    if (session.phase != Phase::kRunning || !session.idle_since) continue;
    const Instant idle_from = std::max(*session.idle_since, *session.attempt_started());
    const Duration idle = state.now - idle_from;
    if (policy.session_idle_end && idle >= *policy.session_idle_end) {
      order_stop(session, StopCause::kSessionIdle, JobId(), Duration());
    } else if (policy.session_idle_warn && idle >= *policy.session_idle_warn &&
               !session.warned_at) {
      session.warned_at = state.now;
      decide(SessionWarned{id});
    }
  }
}

std::optional<Instant> Core::next_wakeup() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) {
    if (at > state.now && (!next || at < *next)) next = at;
  };
  for (const TimerSet* timers : {&limit_timers, &contract_timers, &begin_timers}) {
    if (!timers->empty()) consider(std::max(timers->begin()->first, state.now + Duration(1)));
  }
  if (plan.valid && !plan.by_start.empty()) consider(plan.by_start.begin()->first);
  for (const JobId id : interactive) {
    const JobRec& session = *state.jobs.find(id);
    const auto from = session.attempt_started();
    if (!session.idle_since || !from) continue;
    const Instant idle_from = std::max(*session.idle_since, *from);
    if (state.policy.session_idle_warn && !session.warned_at) {
      consider(later(idle_from, *state.policy.session_idle_warn));
    }
    if (state.policy.session_idle_end) consider(later(idle_from, *state.policy.session_idle_end));
  }
  return next;
}

}  // namespace rota::engine
