// Forgets jobs that ended long ago and that nothing refers to.
#include <algorithm>

#include "engine/core.h"

namespace rota::engine {

namespace {

/// Jobs and groups that somebody still needs to know of.
struct Needed {
  std::set<JobId> jobs;
  std::set<GroupId> groups;

  Needed(const Core& core, Instant before) {
    // Without groups and dependencies nobody refers to anybody.
    if (core.state.groups.empty() && core.dependents.empty()) return;
    for (const auto& [id, group] : core.state.groups) {
      // More members are to come.
      if (std::ssize(group.members) < group.size) groups.insert(id);
    }
    core.state.jobs.for_each([&](const JobRec& job) {
      if (job.final() && (!job.ended || *job.ended >= before)) groups.insert(job.spec.group);
      if (job.final()) return;
      groups.insert(job.spec.group);
      for (const Dependency& d : job.spec.dependencies) {
        jobs.insert(d.job);
        groups.insert(d.group);
      }
    });
  }
  [[nodiscard]] bool contains(const JobRec& job) const {
    return jobs.contains(job.id) || (job.spec.group.valid() && groups.contains(job.spec.group));
  }
};

}  // namespace

void Core::forget_finished(Instant before) {
  const Needed needed(*this, before);
  std::vector<JobId> kept;
  std::vector<JobId> old;
  std::sort(finished.begin(), finished.end());
  finished.erase(std::unique(finished.begin(), finished.end()), finished.end());
  for (const JobId id : finished) {
    const JobRec& job = *state.jobs.find(id);
    if (!job.final()) continue;  // started over
    const bool old_enough = job.ended && *job.ended < before;
    (old_enough && !needed.contains(job) ? old : kept).push_back(id);
  }
  finished = std::move(kept);
  for (const JobId id : old) {
    const GroupId group = job(id).spec.group;
    if (group.valid()) state.groups.erase(group);
    dependents.erase(id);
    state.jobs.erase(id);
  }
}

}  // namespace rota::engine
