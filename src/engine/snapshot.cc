// Snapshots: the state as bytes, and the indexes rebuilt from it.
#include "base/digest.h"
#include "engine/archive.h"
#include "engine/core.h"

namespace rota::engine {

namespace {
constexpr std::uint64_t kFormat = 4;
constexpr std::uint64_t kOldestFormat = 3;
// Reservations that are kept from cycle to cycle; the timeline follows from them.
void save_plan(Writer& writer, const ConservativePlan& plan) {
  writer.put(plan.valid);
  writer.put(plan.unplanned);
  writer.put(plan.last);
  writer.put(plan.entries);
}

void load_plan(Reader& reader, ConservativePlan& plan) {
  reader.get(plan.valid);
  reader.get(plan.unplanned);
  reader.get(plan.last);
  reader.get(plan.entries);
}

}  // namespace

std::string Core::save() const {
  Writer writer;
  writer.put(kFormat);
  writer.put(state);
  writer.put(state.jobs.size());
  state.jobs.for_each([&writer](const JobRec& job) { writer.put(job); });
  writer.put(queued);
  save_plan(writer, plan);
  // The last number tells damage from a snapshot.
  Digest digest;
  digest.add(writer.bytes());
  writer.put(digest.value());
  return writer.take();
}

Status Core::load(std::string_view snapshot) {
  const Error corrupt{ErrorCode::kCorruption, "the snapshot cannot be read", {}};
  constexpr std::size_t kCheckSize = 8;
  if (snapshot.size() < kCheckSize) return corrupt;
  Reader check(snapshot.substr(snapshot.size() - kCheckSize));
  snapshot.remove_suffix(kCheckSize);
  Digest digest;
  digest.add(snapshot);
  std::uint64_t stored = 0;
  check.get(stored);
  if (stored != digest.value()) return corrupt;
  Reader reader(snapshot);
  std::uint64_t format = 0;
  reader.get(format);
  if (!reader.ok() || format < kOldestFormat || format > kFormat) return corrupt;
  reader.set_format(format);
  reader.get(state);
  std::uint64_t count = 0;
  reader.get(count);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    JobRec job;
    reader.get(job);
    if (!reader.ok() || !job.id.valid() || state.jobs.find(job.id) != nullptr ||
        job.id.value() > state.jobs.id_end() + JobTable::kIdSpan) {
      return corrupt;
    }
    state.jobs.add(job.id) = std::move(job);
  }
  std::vector<Decision> saved_queued;
  reader.get(saved_queued);
  ConservativePlan saved_plan;
  load_plan(reader, saved_plan);
  if (!reader.ok() || !reader.at_end() || state.queues.empty()) return corrupt;
  rebuild();
  queued = std::move(saved_queued);
  plan = std::move(saved_plan);
  if (!plan.valid) return {};
  plan.timeline = counted_timeline();
  for (const auto& [id, entry] : plan.entries) {
    const JobRec& planned = job(id);
    std::optional<Instant> end;
    if (planned.spec.time_limit) end = later(entry.at, *planned.spec.time_limit);
    for (const auto& [node, tasks] : entry.tasks) {
      plan.timeline->take(node, entry.at, end, tasks * request(planned).whole);
    }
    plan.by_start.insert({entry.at, id});
  }
  return {};
}

/// The timers that are still to fall due.
void Core::restore_timers(const JobRec& job) {
  const auto limit = job.limit_ends();
  if (limit && (*limit > state.now || !job.ends_anyway())) limit_timers.insert({*limit, job.id});
  const auto contract = job.contract_ends();
  if (contract && *contract > state.now) contract_timers.insert({*contract, job.id});
}

void Core::forget_derived() {
  ledger = Ledger();
  empty = Ledger();
  topology = Topology();
  requests = RequestTable();
  node_by_name.clear();
  user_by_name.clear();
  limit_timers.clear();
  contract_timers.clear();
  begin_timers.clear();
  for (auto* ids :
       {&active, &infeasible, &claiming, &moving, &interactive, &elastic, &with_deadline}) {
    ids->clear();
  }
  unsettled.clear();
  owners.tree_changed();
  finished.clear();
  dependents.clear();
  group_dependents.clear();
  feasible_cache.clear();
  refusals.clear();
  nodes_leaving = 0;
  takeable_jobs.clear();
  waiting.clear();
}

void Core::restore_node(NodeIndex index) {
  const NodeRec& node = state.nodes[index];
  NodeCap cap = topology.add(node.spec);
  cap.cpus_reserved = state.policy.cpus_reserved_per_gpu * std::ssize(node.spec.devices);
  empty.add_node(cap);
  cap.open = node.open();
  ledger.add_node(std::move(cap));
  for (std::int32_t d = 0; d < std::ssize(node.devices); ++d) {
    ledger.set_out(index, d, node.devices[d].out);
  }
  node_by_name[node.spec.name] = index;
  nodes_leaving += node.leaving() ? 1 : 0;
}

void Core::restore_job(JobRec& job) {
  // Those of final jobs too: they may be started over.
  for (const Dependency& d : job.spec.dependencies) {
    if (d.job.valid()) dependents[d.job].push_back(job.id);
    if (d.group.valid()) group_dependents[d.group].push_back(job.id);
  }
  set_shape(job, job.shape);
  if (job.final()) {
    finished.push_back(job.id);
    return;
  }
  if (job.spec.deadline) with_deadline.insert(job.id);
  if (job.pending()) {
    if (job.gates == 0) waiting.insert(job);
    if ((job.gates & kGateInfeasible) != 0) infeasible.insert(job.id);
    if ((job.gates & kGateBegin) != 0) begin_timers.insert({*job.begins_at(), job.id});
    return;
  }
  active.insert(job.id);
  note_unsettled(job);
  ledger.take(job.held);
  ledger.take(job.leaving);
  ledger.take(job.next_place);
  if (!job.next_place.empty()) moving.insert(job.id);
  if (job.phase == Phase::kClaiming) {
    claiming.insert(job.id);
    return;
  }
  restore_timers(job);
  if (job.spec.interactive && job.attempt_started()) interactive.insert(job.id);
  if (job.shape.min_tasks > 0) elastic.insert(job.id);
  takeable_jobs.put(job);
}

void Core::rebuild() {
  forget_derived();
  for (NodeIndex n = 0; n < std::ssize(state.nodes); ++n) restore_node(n);
  for (UserIndex u = 0; u < std::ssize(state.users); ++u) {
    user_by_name[state.users[u].spec.name] = u;
  }
  state.jobs.for_each([this](const JobRec& known) { restore_job(job(known.id)); });
  plan.invalidate();
  reservation.reset();
  future.forget();
  blocked_by.reset();
  count_healthy();
}

}  // namespace rota::engine
