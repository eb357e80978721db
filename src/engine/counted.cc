// backfill=conservative in its counted form: a job keeps its reservation from cycle to cycle, since
// nothing but an unforeseen end or a new rule can change it. Jobs are planned in order, on one node
// only as far as one of them could start now; a job starts when its reservation falls due.
#include <algorithm>

#include "base/check.h"
#include "engine/core.h"

namespace rota::engine {

namespace {

bool has_limits(const State& state) {
  return std::any_of(state.queues.begin(), state.queues.end(),
                     [](const QueueRec& q) { return q.spec.limit.has_value(); }) ||
         std::any_of(state.users.begin(), state.users.end(),
                     [](const UserRec& u) { return u.spec.limit.has_value(); });
}

bool all_charged(const Waiting& waiting) {
  for (const auto& [queue, lane] : waiting.lanes()) {
    for (const auto& [key, job_class] : lane.classes) {
      if (!key.charge) return false;
    }
  }
  return true;
}

class CountedPlan {
 public:
  explicit CountedPlan(Core& core) : core_(core), plan_(core.plan), now_(core.state.now) {}

  bool run() {
    if (!plan_.valid || overdue() || arrival_before_the_planned()) {
      plan_.invalidate();
      plan_.timeline = core_.counted_timeline();
      plan_.valid = true;
    }
    plan_.timeline->trim(now_);
    for (const auto& [queue, lane] : core_.waiting.lanes()) plan_while_it_matters(lane);
    return start_due();
  }

 private:
  [[nodiscard]] bool overdue() const {
    return !plan_.by_start.empty() && plan_.by_start.begin()->first < now_;
  }
  /// The reservations behind a new job in line would have to be made anew.
  bool arrival_before_the_planned() {
    const std::set<JobId> arrivals = std::move(plan_.unplanned);
    plan_.unplanned.clear();
    return plan_.last && std::any_of(arrivals.begin(), arrivals.end(), [this](JobId id) {
      const JobRec& job = core_.job(id);
      return job.pending() && job.gates == 0 &&
             order_key(job, core_.state.policy.order) < *plan_.last;
    });
  }
  /// Plans job after job in order. On one node a reservation made later is the same, so those
  /// behind the last that could start now can wait. Between nodes the choice would follow who runs
  /// by then.
  void plan_while_it_matters(const Lane& lane) {
    const bool several_nodes = core_.state.nodes.size() > 1;
    bool changed = true;
    std::vector<const JobClass*> fit;
    while (true) {
      if (changed && !several_nodes) fit = classes_that_fit_now(lane);
      const bool matters =
          several_nodes || std::any_of(fit.begin(), fit.end(), [this](const JobClass* c) {
            return c->jobs.next(plan_.last, kNoLimit) != nullptr;
          });
      if (!matters) return;
      const OrderedJobs::Entry* next = nullptr;
      for (const auto& [key, job_class] : lane.classes) {
        const auto* entry = job_class.jobs.next(plan_.last, kNoLimit);
        if (entry != nullptr && (next == nullptr || entry->key < next->key)) next = entry;
      }
      if (next == nullptr) return;
      const JobRec& job = core_.job(JobId(next->key.id));
      plan_job(job);
      const auto planned = plan_.entries.find(job.id);
      changed = planned != plan_.entries.end() && planned->second.at <= now_;
    }
  }
  [[nodiscard]] std::vector<const JobClass*> classes_that_fit_now(const Lane& lane) const {
    std::vector<const JobClass*> out;
    for (const auto& [key, job_class] : lane.classes) {
      const Request& wish = core_.requests.at(key.shape);
      if (plan_.timeline->tasks_at(now_, wish) >= wish.shape.tasks) out.push_back(&job_class);
    }
    return out;
  }
  void plan_job(const JobRec& job) {
    const Request& wish = core_.request(job);
    plan_.last = order_key(job, core_.state.policy.order);
    const auto found =
        plan_.timeline->earliest({wish, job.shape.tasks, job.spec.time_limit, now_});
    if (!found) return;
    std::optional<Instant> end;
    if (job.spec.time_limit) end = later(found->at, *job.spec.time_limit);
    for (const auto& [node, tasks] : found->tasks) {
      plan_.timeline->take(node, found->at, end, tasks * wish.whole);
    }
    plan_.by_start.insert({found->at, job.id});
    plan_.entries[job.id] = {*plan_.last, found->at, found->tasks};
  }
  bool start_due() {
    bool any = false;
    while (!plan_.by_start.empty() && plan_.by_start.begin()->first <= now_) {
      const JobId id = plan_.by_start.begin()->second;
      JobRec& job = core_.job(id);
      auto tasks = devices_for(job, plan_.entries.at(id));
      if (!tasks) {
        // Somebody who should have left is still there.
        plan_.invalidate();
        return any;
      }
      plan_.by_start.erase(plan_.by_start.begin());
      plan_.entries.erase(id);
      core_.order_start(job, std::move(*tasks));
      any = true;
    }
    return any;
  }
  std::optional<Tasks> devices_for(const JobRec& job, const ConservativePlan::Entry& entry) {
    const Request& wish = core_.request(job);
    const Ledger::Mark mark = core_.ledger.checkpoint();
    std::optional<Tasks> out(std::in_place);
    for (const auto& [node, count] : entry.tasks) {
      for (std::int64_t i = 0; i < count && out; ++i) {
        auto task = core_.placer.fit_on_node(core_.ledger, wish, node, kNone, nullptr);
        if (!task || !core_.ledger.node(node).open) {
          out.reset();
          break;
        }
        task->rank = static_cast<std::int32_t>(out->size());
        core_.ledger.take(*task);
        out->push_back(std::move(*task));
      }
      if (!out) break;
    }
    core_.ledger.rollback(mark);
    return out;
  }

  Core& core_;
  ConservativePlan& plan_;
  Instant now_;
};

}  // namespace

CountTimeline Core::counted_timeline() const {
  const Ledger idle = idle_ledger();
  std::vector<std::int64_t> free;
  for (const NodeCap& node : idle.nodes()) free.push_back(node.open ? node.free.whole : 0);
  CountTimeline timeline(free);
  for (const Busy& busy : busy_intervals()) {
    for (const TaskAlloc& task : busy.tasks) {
      if (!ledger.node(task.node).open) continue;
      timeline.take(task.node, state.now, busy.to, std::ssize(task.devices));
    }
  }
  return timeline;
}

std::optional<bool> Core::run_counted_plan() {
  const bool applies = state.policy.order != Order::kFair && requests.all_plain() &&
                       !any_preemptible() && !waiting.any_throttled() && !has_limits(state) &&
                       all_charged(waiting);
  if (!applies) {
    plan.invalidate();
    return std::nullopt;
  }
  CountedPlan counted(*this);
  return counted.run();
}

}  // namespace rota::engine
