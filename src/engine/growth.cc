// Elastic jobs grow task by task, in turn, only on nodes where no job that waits for room could
// ever run, within the limits and without delaying a reservation.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

bool Core::grow_elastic() {
  std::vector<JobId> growing;
  for (const JobId id : elastic) {
    const JobRec& j = *state.jobs.find(id);
    if (j.phase == Phase::kRunning && j.leaving.empty() &&
        std::ssize(j.held) < j.shape.tasks) {
      growing.push_back(id);
    }
  }
  if (growing.empty()) return false;
  NodeFlags barred(state.nodes.size(), 0);
  for (const auto& [queue, lane] : waiting.lanes()) {
    for (const auto& [key, job_class] : lane.classes) {
      // Jobs that are held back by a limit wait for no room.
      const auto* entry = job_class.jobs.next(std::nullopt, kNoLimit);
      for (; entry != nullptr; entry = job_class.jobs.next(entry->key, kNoLimit)) {
        const JobRec& waits = *state.jobs.find(JobId(entry->key.id));
        if (room_in_limits(waits, waits.tasks_min()) >= waits.tasks_min()) break;
      }
      if (entry == nullptr) continue;
      for (const NodeIndex n : requests.at(key.shape).nodes) barred[n] = 1;
    }
  }
  bool any = false;
  bool more = true;
  while (more) {
    more = false;
    for (const JobId id : growing) {
      JobRec& j = job(id);
      const std::int64_t next_rank =
          j.held.empty() ? 0 : std::max_element(j.held.begin(), j.held.end(),
                                                [](const TaskAlloc& a, const TaskAlloc& b) {
                                                  return a.rank < b.rank;
                                                })->rank + 1;
      if (std::ssize(j.held) >= j.shape.tasks || room_in_limits(j, 1) < 1) continue;
      auto task = placer.place_one_more(ledger, request(j), j.held, barred);
      if (!task) continue;
      task->rank = static_cast<std::int32_t>(next_rank);
      if (reservation && !respects(*reservation, j, {*task})) continue;
      const bool follows = future.follows(ledger);
      ledger.take(*task);
      if (follows) {
        future.take(j, *task);
        future.follow(ledger);
      }
      hold_for_limits(j, task->milli());
      const bool new_node = std::none_of(j.alloc.begin(), j.alloc.end(), [&](const TaskAlloc& t) {
        return t.node == task->node;
      });
      if (new_node) change_node(task->node, [](NodeRec& node) { ++node.running; });
      occupy(j, {*task}, 1);
      GrowTasks grow{id, j.attempts, {}};
      grow.added.tasks.push_back({task->rank, state.nodes[task->node].spec.name, task->devices,
                                  task->cpus, Bytes(task->memory)});
      decide(std::move(grow));
      j.held.push_back(*task);
      j.alloc.push_back(std::move(*task));
      plan.invalidate();
      any = more = true;
    }
  }
  return any;
}

}  // namespace rota::engine
