// Consolidation: a larger job fits nowhere although enough GPUs are free, here and there. Small
// jobs whose contract is over move off one node, so that it can start ("drain one node").
//
// A move is a preemption that costs the mover its work since the last checkpoint and the grace, and
// not its place: room for it elsewhere is held from the signal on, and it starts there as soon as
// it is gone. Moves are made for the first blocked job alone, where nobody may lawfully be taken,
// and only if they pay: what is lost must be less than what the job would spend waiting for its
// reserved start. Whoever has moved is under contract again, so moves cannot go round in circles.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/core.h"

namespace rota::engine {

namespace {

constexpr std::size_t kMoversMax = 8;  // off one node
constexpr std::size_t kNodesTried = 32;

/// A small job that could move.
struct Mover {
  const JobRec* job = nullptr;
  Int128 lost = 0;  // GPU time, if it stopped at the end of the grace
};

/// One node that is to be drained in part.
struct Site {
  std::size_t movers = 0;  // at least so many have to leave
  Int128 lost = 0;         // by those
  NodeIndex node = kNone;
  friend auto operator<=>(const Site&, const Site&) = default;
};

using Movers = std::map<NodeIndex, std::vector<Mover>>;

bool may_move(const JobRec& job, Instant now) {
  const bool sound = job.phase == Phase::kRunning && !job.stop_ordered && job.spec.requeue &&
                     !job.spec.interactive && job.shape.min_tasks == 0 && job.held.size() == 1;
  if (!sound || job.held.front().devices.size() != 1) return false;
  const DeviceShare& share = job.held.front().devices.front();
  const auto contract = job.contract_ends();
  return share.gpus == kWholeGpu && share.slots == 0 && share.mig_start < 0 && contract &&
         *contract <= now;
}

/// What stopping the job costs, the grace included, in milli-GPU-nanoseconds.
Int128 cost_of_move(const JobRec& job, Instant now, Duration grace) {
  std::int64_t work = (now - *job.attempt_started()).ns();
  if (job.spec.checkpoint && job.spec.checkpoint->ns() > 0) work %= job.spec.checkpoint->ns();
  return (static_cast<Int128>(work) + grace.ns()) * kWholeGpu.value();
}

/// By node of the request, in the order in which they would leave: the least loss first, then the
/// last started.
Movers movers_for(const Core& core, const Request& wish) {
  Movers out;
  const Instant now = core.state.now;
  for (const auto& [group, jobs] : core.takeable_jobs.groups()) {
    jobs.for_each(now, [&](JobId id) {
      const JobRec& job = *core.state.jobs.find(id);
      if (!may_move(job, now)) return;
      const NodeIndex node = job.held.front().node;
      if (!wish.node_set.contains(node) || !core.ledger.node(node).open) return;
      out[node].push_back({&job, cost_of_move(job, now, core.state.policy.grace)});
    });
  }
  for (auto& [node, movers] : out) {
    std::sort(movers.begin(), movers.end(), [](const Mover& a, const Mover& b) {
      if (a.lost != b.lost) return a.lost < b.lost;
      const auto x = a.job->attempt_started();
      const auto y = b.job->attempt_started();
      return x != y ? x > y : a.job->id > b.job->id;
    });
    if (movers.size() > kMoversMax) movers.resize(kMoversMax);
  }
  return out;
}

/// Nodes where the movers can make room for one more task, those first where the fewest have to.
std::vector<Site> sites_of(const Core& core, const Request& wish, const Movers& movers) {
  std::vector<Site> out;
  for (const auto& [node, there] : movers) {
    const auto lacking =
        static_cast<std::size_t>(wish.whole - core.ledger.node(node).free.whole % wish.whole);
    if (lacking > there.size()) continue;
    Site site{lacking, 0, node};
    for (std::size_t i = 0; i < lacking; ++i) site.lost += there[i].lost;
    out.push_back(site);
  }
  std::sort(out.begin(), out.end());
  if (out.size() > kNodesTried) out.resize(kNodesTried);
  return out;
}

/// The claimant's place without the movers, and theirs beside it. The ledger is unchanged after.
std::optional<Moves> rearrange(Core& core, const JobRec& claimant, const Site& site,
                               const std::vector<Mover>& movers) {
  Ledger& ledger = core.ledger;
  const Ledger::Mark mark = ledger.checkpoint();
  Moves moves;
  for (std::size_t i = 0; i < site.movers; ++i) {
    const JobRec& job = *movers[i].job;
    ledger.give(job.held);
    moves.claim.victims.push_back({job.id, job.held, true, milli_of(job.held)});
  }
  auto place = core.placer.place(ledger, core.request(claimant), claimant.tasks_min());
  bool all = place.has_value();
  if (all) ledger.take(*place);
  for (std::size_t i = 0; i < site.movers && all; ++i) {
    auto there = core.placer.place(ledger, core.request(*movers[i].job), 1);
    all = there && there->front().node != site.node;
    if (!all) break;
    ledger.take(*there);
    moves.places.push_back(std::move(*there));
  }
  ledger.rollback(mark);
  if (!all) return std::nullopt;
  moves.claim.tasks = std::move(*place);
  return moves;
}

/// GPU time that the claimant would spend waiting, beyond the grace; none: it is unknown.
std::optional<Int128> waste_of_waiting(Core& core, const JobRec& claimant) {
  const auto otherwise = core.reserve(claimant);
  if (!otherwise) return std::nullopt;
  const Duration saved = otherwise->at - core.state.now - core.state.policy.grace;
  return static_cast<Int128>(claimant.task_milli * claimant.tasks_min()) * saved.ns();
}

}  // namespace

std::optional<Moves> Core::find_moves(const JobRec& claimant) {
  const Request& wish = request(claimant);
  const std::int64_t need = claimant.task_milli * claimant.tasks_min();
  // Moves free nothing in sum.
  const bool could_help = wish.kind == NeedKind::kWhole && claimant.spec.charge &&
                          claimant.shape.min_tasks == 0 && need >= 2 * kWholeGpu.value() &&
                          need <= ledger.milli_free_open();
  if (!could_help) return std::nullopt;
  const Movers movers = movers_for(*this, wish);
  std::optional<std::optional<Int128>> waste;
  for (const Site& site : sites_of(*this, wish, movers)) {
    auto moves = rearrange(*this, claimant, site, movers.at(site.node));
    if (!moves) continue;
    if (!waste) waste = waste_of_waiting(*this, claimant);
    if (!*waste || site.lost < **waste) return moves;
  }
  return std::nullopt;
}

void Core::make_moves(JobRec& claimant, Moves moves) {
  for (std::size_t i = 0; i < moves.places.size(); ++i) {
    JobRec& mover = job(moves.claim.victims[i].job);
    mover.next_place = std::move(moves.places[i]);
    ledger.take(mover.next_place);
    hold_for_limits(mover, milli_of(mover.next_place));
    moving.insert(mover.id);
  }
  make_claim(claimant, std::move(moves.claim));
}

void Core::drop_move(JobRec& job) {
  ledger.give(job.next_place);
  hold_for_limits(job, -milli_of(job.next_place));
  job.next_place.clear();
  moving.erase(job.id);
  plan.invalidate();
  reservation.reset();
}

void Core::drop_moves_to(NodeIndex node, std::int32_t device) {
  const std::set<JobId> all = moving;
  for (const JobId id : all) {
    JobRec& mover = job(id);
    const bool there = std::any_of(
        mover.next_place.begin(), mover.next_place.end(), [&](const TaskAlloc& task) {
          return task.node == node &&
                 (device == kNone || std::any_of(task.devices.begin(), task.devices.end(),
                                                 [&](const DeviceShare& share) {
                                                   return share.device == device;
                                                 }));
        });
    if (there) drop_move(mover);
  }
}

void Core::arrive(JobRec& job) {
  Tasks place = job.next_place;
  drop_move(job);
  const bool open = std::all_of(place.begin(), place.end(), [this](const TaskAlloc& task) {
    return ledger.node(task.node).open;
  });
  // A limit may be lower by now, and is kept by whoever starts.
  const bool free = job.pending() && job.gates == 0 && job.evicted_at == state.now &&
                    room_in_limits(job, 1) >= 1;
  if (free && open) order_start(job, std::move(place));
}

}  // namespace rota::engine
