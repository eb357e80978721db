#include "audit/failures.h"

#include <algorithm>

namespace rota::audit {
namespace {

constexpr std::int64_t kEarly = 600'000'000'000;

bool is_failure(End end) { return end == End::kFailed || end == End::kOutOfMemory; }

bool is_stop(End end) {
  return end == End::kPreempted || end == End::kRequeued || end == End::kNodeFailed;
}

void count_end(const WorkRun& run, GpuTime held, Failures& out, FailureGroup& user) {
  if (is_stop(run.end)) {
    ++out.stopped;
    out.stopped_lost += held;
  }
  if (!is_failure(run.end) && run.end != End::kCompleted) return;
  ++out.ended;
  ++user.runs;
  if (!is_failure(run.end)) return;
  ++out.failed;
  ++user.failed;
  out.lost += held;
  user.lost += held;
  if (run.run <= kEarly) ++out.early;
  else out.lost_late += held;
}

}  // namespace

Failures measure_failures(const Work& work, const Window& window) {
  Failures out;
  std::vector<FailureGroup> users(work.users.size());
  for (const WorkJob& job : work.jobs) {
    std::int64_t started = 0;
    GpuTime last = 0;
    for (const WorkRun& run : work.runs_of(job)) {
      const GpuTime held = gpu_time_inside(work, run, window);
      if (held <= 0) continue;
      if (++started > 1) out.restart_cost += last;
      last = held;
      count_end(run, held, out, users[job.user]);
    }
    if (started <= 1) continue;
    ++out.jobs_restarted;
    out.restarts += started - 1;
  }
  for (std::size_t i = 1; i < users.size(); ++i) {
    users[i].name = work.users[i];
    if (users[i].failed > 0) out.by_user.push_back(users[i]);
  }
  std::sort(out.by_user.begin(), out.by_user.end(),
            [](const FailureGroup& a, const FailureGroup& b) {
              return a.lost != b.lost ? a.lost > b.lost : a.name < b.name;
            });
  return out;
}

}  // namespace rota::audit
