// Deadlines: a job moves up past as few others of its queue as its expected start requires; where
// no
// place helps it keeps its own. The expected start is the one it would have if every waiting job of
// its queue, in that order, held a reservation.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

void Core::move_before(JobRec& job, std::optional<MovedBefore> place) {
  if (job.moved_before == place) return;
  const bool waits = job.pending() && job.gates == 0;
  if (waits) waiting.erase(job);
  job.moved_before = place;
  if (waits) waiting.insert(job);
  plan.invalidate();
}

std::optional<Instant> Core::expected_in_queue(const std::vector<JobId>& order, JobId target) {
  Timeline timeline(idle_ledger(), busy_intervals());
  for (const JobId id : order) {
    const JobRec& job = *state.jobs.find(id);
    const PlanQuery query{request(job), job.tasks_min(), job.spec.time_limit, state.now};
    auto slot = timeline.earliest(placer, query);
    if (id == target) return slot ? std::optional(slot->at) : std::nullopt;
    if (!slot) continue;
    std::optional<Instant> end;
    if (job.spec.time_limit) end = later(slot->at, *job.spec.time_limit);
    timeline.add({id, slot->at, end, std::move(slot->tasks)});
  }
  return std::nullopt;
}

void Core::place_deadlines() {
  constexpr std::size_t kConsidered = 256;
  for (const JobId id : with_deadline) move_before(job(id), std::nullopt);
  for (const JobId id : std::set<JobId>(with_deadline)) {
    JobRec& urgent = job(id);
    if (!urgent.pending() || urgent.gates != 0) continue;
    const auto lane = waiting.lanes().find(waiting.lane_of(urgent));
    if (lane == waiting.lanes().end()) continue;
    std::vector<JobId> order = waiting.in_order(lane->second, kConsidered);
    std::erase_if(order, [&](JobId other) { return job(other).queue != urgent.queue; });
    const auto own = std::find(order.begin(), order.end(), id);
    if (own == order.end()) continue;
    const Duration length = urgent.spec.time_limit.value_or(Duration());
    const auto in_time = [&](const std::vector<JobId>& tried) {
      const auto start = expected_in_queue(tried, id);
      return start && later(*start, length) <= *urgent.spec.deadline;
    };
    if (in_time(order)) continue;
    for (auto place = own - order.begin(); place > 0; --place) {
      std::swap(order[place], order[place - 1]);
      const JobRec& passed = job(order[place]);
      if (passed.spec.charge != urgent.spec.charge) break;
      if (!in_time(order)) continue;
      const OrderKey key = order_key(passed, state.policy.order);
      move_before(urgent, MovedBefore{key.first, key.second, key.anchor});
      break;
    }
  }
}

}  // namespace rota::engine
