#include "engine/engine.h"

#include <algorithm>

#include "base/digest.h"
#include "engine/core.h"

namespace rota::engine {

Engine::Engine() : impl_(std::make_unique<Impl>()) {
  impl_->state.queues.emplace_back();  // the root
}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Status Engine::apply(Instant now, const Event& event) { return impl_->apply(now, event); }

void Engine::advance(Instant now, std::vector<Decision>& out) { impl_->advance(now, out); }

CycleResult Engine::run_cycle(Instant now) { return impl_->run_cycle(now); }

std::optional<Instant> Engine::next_wakeup() const { return impl_->next_wakeup(); }

Result<Verdict> Engine::explain(JobId job) const { return impl_->explain(job); }

std::optional<Instant> Engine::estimate(JobId job) const { return impl_->estimate(job); }

Result<Preview> Engine::preview(Instant now, const JobSpec& spec) const {
  // A copy of the whole engine takes the job: what it would do is what it does there.
  auto copy = load(save());
  if (!copy) return copy.error();
  const JobId id(impl_->state.jobs.id_end() + 1);
  if (Status ok = copy->apply(now, JobSubmitted{id, spec}); !ok) return ok.error();
  const CycleResult cycle = copy->run_cycle(now);
  Preview preview;
  for (const Decision& decision : cycle.decisions) {
    if (const auto* start = std::get_if<StartAttempt>(&decision); start && start->job == id) {
      preview.starts_now = true;
      preview.allocation = start->allocation;
    }
    if (const auto* stop = std::get_if<StopAttempt>(&decision); stop && stop->by == id) {
      preview.victims.push_back(stop->job);
    }
    if (const auto* stop = std::get_if<StopTasks>(&decision); stop && stop->by == id) {
      preview.victims.push_back(stop->job);
    }
  }
  auto verdict = copy->explain(id);
  if (!verdict) return verdict.error();
  preview.verdict = std::move(*verdict);
  preview.estimate = preview.starts_now ? std::optional(now) : copy->estimate(id);
  return preview;
}

Result<JobStatus> Engine::job(JobId job, Detail detail) const {
  const JobRec* found = impl_->state.jobs.find(job);
  if (found == nullptr) {
    return Error{ErrorCode::kNotFound, "job " + std::to_string(job.value()) + " is not known", {}};
  }
  return impl_->job_status(*found, detail);
}

std::vector<JobId> Engine::jobs() const {
  std::vector<JobId> out;
  impl_->state.jobs.for_each([&out](const JobRec& job) { out.push_back(job.id); });
  return out;
}

std::vector<JobId> Engine::live_jobs() const {
  std::vector<JobId> out;
  impl_->state.jobs.for_each([&out](const JobRec& job) {
    if (!job.final()) out.push_back(job.id);
  });
  return out;
}

std::vector<JobId> Engine::just_ended() const {
  std::vector<JobId> out;
  for (const Decision& decision : impl_->queued) {
    const auto* change = std::get_if<JobChanged>(&decision);
    if (change == nullptr || !is_final(change->state)) continue;
    const JobRec* job = impl_->state.jobs.find(change->job);
    if (job != nullptr && job->final()) out.push_back(change->job);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<JobId> Engine::group_members(GroupId group) const {
  const auto found = impl_->state.groups.find(group);
  return found == impl_->state.groups.end() ? std::vector<JobId>() : found->second.members;
}

std::vector<std::string> Engine::node_names() const {
  std::vector<std::string> out;
  for (const NodeRec& node : impl_->state.nodes) {
    if (!node.removed) out.push_back(node.spec.name);
  }
  return out;
}

Result<NodeStatus> Engine::node(std::string_view name) const {
  const auto found = impl_->node_by_name.find(name);
  if (found == impl_->node_by_name.end()) {
    return Error{ErrorCode::kNotFound, "node " + std::string(name) + " is not known", {}};
  }
  return impl_->node_status(found->second);
}

std::vector<std::string> Engine::queue_names() const {
  std::vector<std::string> out;
  for (std::size_t q = 1; q < impl_->state.queues.size(); ++q) {
    out.push_back(impl_->state.queues[q].spec.name);
  }
  return out;
}

Result<QueueStatus> Engine::queue(std::string_view name) const {
  const QueueIndex index = impl_->owners.find(name);
  if (index == kNone) {
    return Error{ErrorCode::kNotFound, "queue " + std::string(name) + " is not known", {}};
  }
  if (impl_->shares_stale) impl_->divide_shares();
  const QueueRec& rec = impl_->state.queues[index];
  const Instant now = impl_->state.now;
  const Int128 passed = std::max<std::int64_t>(0, (now - rec.since).ns());
  QueueStatus out;
  out.spec = rec.spec;
  out.running = rec.running;
  out.pending = rec.pending;
  out.gpus_used = MilliGpu(rec.milli);
  out.evictions = rec.evictions;
  out.gpu_time = rec.gpu_time + passed * rec.milli;
  out.gpu_time_lost = rec.gpu_time_lost;
  out.charged = rec.charged + passed * rec.milli_charged;
  out.usage = rec.usage.used(now, impl_->state.policy);
  out.fair_share = impl_->owners.fair_share(index);
  out.demand = whole_gpus(impl_->owners.demand(index));
  out.owed = rec.owed + passed * rec.owed_rate;
  out.delivered = rec.delivered + passed * std::min(rec.milli_charged, rec.owed_rate);
  return out;
}

std::vector<std::string> Engine::user_names() const {
  std::vector<std::string> out;
  for (const UserRec& user : impl_->state.users) out.push_back(user.spec.name);
  return out;
}

Result<UserStatus> Engine::user(std::string_view name) const {
  const auto found = impl_->user_by_name.find(name);
  if (found == impl_->user_by_name.end()) {
    return Error{ErrorCode::kNotFound, "user " + std::string(name) + " is not known", {}};
  }
  const UserRec& rec = impl_->state.users[found->second];
  UserStatus out;
  out.spec = rec.spec;
  out.running = rec.running;
  out.pending = rec.pending;
  out.gpus_used = MilliGpu(rec.milli);
  out.gpu_time =
      rec.gpu_time + static_cast<Int128>((impl_->state.now - rec.since).ns()) * rec.milli;
  return out;
}

ClusterStatus Engine::cluster() const { return impl_->cluster_status(); }

const Policy& Engine::policy() const { return impl_->state.policy; }

Instant Engine::now() const { return impl_->state.now; }

void Engine::forget_finished(Instant before) { impl_->forget_finished(before); }

std::uint64_t Engine::digest() const {
  Digest digest;
  digest.add(save());
  return digest.value();
}

std::string Engine::save() const { return impl_->save(); }

Result<Engine> Engine::load(std::string_view snapshot) {
  Engine engine;
  if (Status ok = engine.impl_->load(snapshot); !ok) return ok.error();
  return engine;
}

std::vector<std::string> Engine::check_invariants() const { return impl_->check_invariants(); }

}  // namespace rota::engine
