#include "sim/trial.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/engine.h"
#include "sim/world.h"

namespace rota::sim {
namespace {

constexpr int kTrialCyclesMax = 1000;
constexpr std::int64_t kTrialProgressEvery = 1024;  // instants between two words of progress
constexpr std::int64_t kTrialForgetEvery = 256;     // ends between two clean-ups of the engine

class Trial {
 public:
  Trial(const TrialPlan& plan, const std::vector<TrialJob>& jobs, const TrialProgress& progress)
      : plan_(plan), jobs_(jobs), progress_(progress) {}

  Status run() {
    if (auto status = set_up(); !status) return status;
    while (true) {
      const Instant next = next_instant();
      if (next >= plan_.until) break;
      now_ = next;
      if (auto status = happen(); !status) return status;
      if (++instants_ % kTrialProgressEvery == 0 && progress_) progress_(share_passed());
    }
    now_ = plan_.until;
    std::vector<Decision> decisions;
    engine_.advance(now_, decisions);
    return {};
  }

  TrialResult result() {
    TrialResult out = std::move(result_);
    std::vector<std::int64_t> all;
    std::vector<std::vector<std::int64_t>> by_kind;
    for (auto& [name, waits] : waits_) {
      for (const auto& [kind, wait] : waits) {
        all.push_back(wait);
        if (std::ssize(by_kind) <= kind) by_kind.resize(static_cast<std::size_t>(kind) + 1);
        by_kind[static_cast<std::size_t>(kind)].push_back(wait);
      }
    }
    out.wait = spread_of(all);
    for (auto& waits : by_kind) out.wait_of_kind.push_back(spread_of(waits));
    out.started = std::ssize(all);
    std::set<std::string> parents;
    for (const QueueSpec& queue : plan_.queues) parents.insert(queue.parent);
    for (const QueueSpec& queue : plan_.queues) {
      if (!parents.contains(queue.name)) add_queue(out, queue.name);
    }
    const ClusterStatus cluster = engine_.cluster();
    out.evictions = cluster.evictions;
    out.held = cluster.gpu_time;
    out.lost = cluster.gpu_time_lost;
    out.capacity = cluster.gpu_time_healthy;
    return out;
  }

 private:
  Status set_up() {
    start_ = now_ = jobs_.empty() ? Instant() : std::min(jobs_.front().submitted, plan_.until);
    cycle_at_ = now_;
    if (auto status = engine_.apply(now_, PolicySet{plan_.policy}); !status) return status;
    for (const QueueSpec& queue : plan_.queues) {
      if (auto status = engine_.apply(now_, QueueSet{queue}); !status) return status;
    }
    for (const NodeSpec& node : plan_.nodes) {
      if (auto status = engine_.apply(now_, NodeReported{node}); !status) return status;
    }
    return {};
  }

  [[nodiscard]] bool looks_back() const {
    return plan_.policy.order == Order::kFair &&
           plan_.policy.fairness != FairnessKind::kInstant && plan_.cycle_every > Duration();
  }

  Instant next_instant() {
    Instant next = plan_.until;
    if (next_ < jobs_.size()) next = std::min(next, jobs_[next_].submitted);
    if (const auto due = world_.next_due()) next = std::min(next, *due);
    if (const auto due = engine_.next_wakeup()) next = std::min(next, *due);
    if (looks_back() && engine_.cluster().pending > 0) {
      while (cycle_at_ <= now_) cycle_at_ = cycle_at_ + plan_.cycle_every;
      next = std::min(next, cycle_at_);
    }
    return std::max(next, instants_ == 0 ? start_ : now_ + Duration(1));
  }

  Status happen() {
    if (auto status = feed_due(); !status) return status;
    for (; next_ < jobs_.size() && jobs_[next_].submitted <= now_; ++next_) submit();
    for (int i = 0; i < kTrialCyclesMax; ++i) {
      const engine::CycleResult cycle = engine_.run_cycle(now_);
      ++result_.cycles;
      for (const Decision& decision : cycle.decisions) {
        if (auto status = carry_out(decision); !status) return status;
      }
      const bool facts = world_.next_due() && *world_.next_due() <= now_;
      if (facts) {
        if (auto status = feed_due(); !status) return status;
      }
      if (!cycle.changed && !facts) return {};
    }
    return Error{ErrorCode::kConflict, "scheduling does not settle: every cycle changes something"};
  }

  Status feed_due() {
    for (const Event& event : world_.take_due(now_)) {
      if (auto status = engine_.apply(now_, event); !status) return status;
      const auto* end = std::get_if<AttemptEnded>(&event);
      if (end == nullptr || end->kind != EndKind::kExited) continue;
      ++result_.finished;
      if (result_.finished % kTrialForgetEvery == 0) engine_.forget_finished(now_);
    }
    return {};
  }

  void submit() {
    const TrialJob& job = jobs_[next_];
    ++result_.jobs;
    ++submitted_[job.spec.queue];
    const JobId id(next_ + 1);
    if (!engine_.apply(now_, JobSubmitted{id, job.spec})) {
      ++result_.refused;
      return;
    }
    world_.add_job(id, {job.spec.shape.tasks, job.runtime, job.spec.checkpoint});
  }

  Status carry_out(const Decision& decision) {
    if (const auto* start = std::get_if<StartAttempt>(&decision)) {
      world_.start(now_, start->job, start->attempt, start->allocation.tasks);
      if (start->attempt == 1) {
        const TrialJob& job = jobs_[start->job.value() - 1];
        waits_[job.spec.queue].push_back({job.kind, (now_ - job.submitted).ns()});
      }
      return engine_.apply(now_, AttemptStarted{start->job, start->attempt});
    }
    if (const auto* stop = std::get_if<StopAttempt>(&decision)) world_.stop(now_, *stop);
    if (const auto* stop = std::get_if<StopTasks>(&decision)) world_.stop_tasks(now_, *stop);
    if (const auto* grow = std::get_if<GrowTasks>(&decision)) world_.grow(now_, *grow);
    return {};
  }

  void add_queue(TrialResult& out, const std::string& name) {
    TrialQueue queue;
    queue.name = name;
    queue.jobs = submitted_[name];
    std::vector<std::int64_t> waits;
    for (const auto& [kind, wait] : waits_[name]) waits.push_back(wait);
    queue.started = std::ssize(waits);
    queue.wait = spread_of(waits);
    if (const auto status = engine_.queue(name)) {
      queue.owed = status->owed;
      queue.delivered = status->delivered;
      queue.held = status->gpu_time;
      queue.lost = status->gpu_time_lost;
      queue.evictions = status->evictions;
    }
    out.owed += queue.owed;
    out.delivered += queue.delivered;
    out.queues.push_back(std::move(queue));
  }

  [[nodiscard]] double share_passed() const {
    const auto whole = static_cast<double>((plan_.until - start_).ns());
    return whole <= 0 ? 1 : static_cast<double>((now_ - start_).ns()) / whole;
  }

  struct Wait {
    std::int32_t kind = 0;
    std::int64_t ns = 0;
  };
  const TrialPlan& plan_;
  const std::vector<TrialJob>& jobs_;
  const TrialProgress& progress_;
  engine::Engine engine_;
  World world_;
  TrialResult result_;
  std::map<std::string, std::int64_t> submitted_;
  std::map<std::string, std::vector<Wait>> waits_;  // by queue
  std::size_t next_ = 0;
  std::int64_t instants_ = 0;  // at which something happened
  Instant start_;
  Instant now_;
  Instant cycle_at_;
};

}  // namespace

Result<TrialResult> run_trial(const TrialPlan& plan, const std::vector<TrialJob>& jobs,
                              const TrialProgress& progress) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0 && jobs[i].submitted < jobs[i - 1].submitted) {
      return Error{ErrorCode::kInvalidArgument, "the jobs must be sorted by submit time"};
    }
    if (jobs[i].runtime <= Duration()) {
      return Error{ErrorCode::kInvalidArgument, "a job of no duration"};
    }
  }
  Trial trial(plan, jobs, progress);
  if (auto status = trial.run(); !status) return status.error();
  return trial.result();
}

}  // namespace rota::sim
