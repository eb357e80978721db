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

/// When passes run. Without PassTimes: at every instant at which something happens.
class Calendar {
 public:
  Calendar(const std::optional<PassTimes>& times, Instant start) : times_(times), long_at_(start) {
    if (times_) short_at_ = start - std::max(times_->short_every, times_->after_event);
  }
  void note_event() { fresh_short_ = fresh_long_ = true; }
  /// The next instant after `now` at which a pass is due, while somebody waits.
  [[nodiscard]] std::optional<Instant> next(Instant now, bool goes_on) const {
    if (!times_ || (!goes_on && !fresh_short_ && !fresh_long_)) return std::nullopt;
    Instant next = short_at_ + (fresh_short_ ? std::min(times_->after_event, times_->short_every)
                                             : times_->short_every);
    if (fresh_long_) next = std::min(next, long_after(now));
    return std::max(next, now + Duration(1));
  }
  [[nodiscard]] bool short_due(Instant now) const {
    const Duration since = now - short_at_;
    return since >= times_->short_every || (fresh_short_ && since >= times_->after_event);
  }
  [[nodiscard]] bool long_due(Instant now) const {
    return fresh_long_ && now > long_at_ && (now - long_at_).ns() % times_->long_every.ns() == 0;
  }
  void note_short(Instant now) {
    short_at_ = now;
    fresh_short_ = false;
  }
  void note_long() { fresh_long_ = false; }

 private:
  /// Long passes keep their beat, counted from the start.
  [[nodiscard]] Instant long_after(Instant now) const {
    const std::int64_t every = times_->long_every.ns();
    return long_at_ + Duration(((now - long_at_).ns() / every + 1) * every);
  }
  std::optional<PassTimes> times_;
  Instant short_at_;   // of the last short pass
  Instant long_at_;    // long passes are due at whole multiples from here
  bool fresh_short_ = false;  // something happened since the last short pass
  bool fresh_long_ = false;
};

Instant start_of(const TrialPlan& plan, const TrialJobs& jobs) {
  return jobs.size() == 0 ? Instant() : std::min(jobs.submitted(0), plan.until);
}

/// What queues were owed and got, span by span.
class SpanSums {
 public:
  SpanSums(Duration length, Instant start, std::size_t queues)
      : length_(length), end_(start + length), owed_(queues), charged_(queues),
        delivered_(queues) {}
  [[nodiscard]] Instant end() const { return end_; }
  [[nodiscard]] Int128 delivered(std::size_t queue) const { return delivered_[queue]; }
  /// A queue as it stands at the end of the span.
  void add(std::size_t queue, const QueueStatus& status) {
    delivered_[queue] += std::min(status.owed - owed_[queue], status.charged - charged_[queue]);
    owed_[queue] = status.owed;
    charged_[queue] = status.charged;
  }
  void open_next() { end_ = end_ + length_; }

 private:
  Duration length_;
  Instant end_;
  std::vector<Int128> owed_;     // up to the start of the span, as the next
  std::vector<Int128> charged_;
  std::vector<Int128> delivered_;
};

class Trial {
 public:
  Trial(const TrialPlan& plan, const TrialJobs& jobs, const TrialProgress& progress)
      : plan_(plan), jobs_(jobs), progress_(progress), start_(start_of(plan, jobs)),
        now_(start_), cycle_at_(start_), calendar_(plan.passes, start_) {
    for (const Duration length : plan.spans) {
      sums_.emplace_back(length, start_, plan.queues.size());
    }
    result_.times.resize(jobs.size());
    told_.resize(jobs.size());
  }

  Status run() {
    if (auto status = set_up(); !status) return status;
    while (true) {
      const Instant next = next_instant();
      if (next == TrialPlan::kWhenAllIsOver) break;
      close_spans(next);
      if (next >= plan_.until) break;
      now_ = next;
      if (auto status = happen(); !status) return status;
      if (++instants_ % kTrialProgressEvery == 0 && progress_) progress_(share_passed());
    }
    if (plan_.until != TrialPlan::kWhenAllIsOver) {
      now_ = plan_.until;
      std::vector<Decision> decisions;
      engine_.advance(now_, decisions);
    }
    for (SpanSums& sums : sums_) add_span(sums);
    return {};
  }

  TrialResult result() {
    TrialResult out = std::move(result_);
    std::vector<std::int64_t> all;
    std::vector<std::vector<std::int64_t>> by_kind;
    std::vector<std::vector<std::int64_t>> by_queue(names_.size());
    for (std::size_t at = 0; at < next_; ++at) {
      if (out.times[at].started == TrialTimes::kNever) continue;
      const std::int64_t wait = out.times[at].started - jobs_.submitted(at).ns();
      all.push_back(wait);
      const auto kind = static_cast<std::size_t>(told_[at].kind);
      if (by_kind.size() <= kind) by_kind.resize(kind + 1);
      by_kind[kind].push_back(wait);
      by_queue[told_[at].queue].push_back(wait);
    }
    out.wait = spread_of(all);
    for (auto& waits : by_kind) out.wait_of_kind.push_back(spread_of(waits));
    out.started = std::ssize(all);
    std::set<std::string> parents;
    for (const QueueSpec& queue : plan_.queues) parents.insert(queue.parent);
    out.delivered_over.resize(sums_.size());
    for (std::size_t at = 0; at < plan_.queues.size(); ++at) {
      const std::string& name = plan_.queues[at].name;
      if (parents.contains(name)) continue;
      add_queue(out, name, by_queue);
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        out.queues.back().delivered_over.push_back(sums_[i].delivered(at));
        out.delivered_over[i] += sums_[i].delivered(at);
      }
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
    if (auto status = engine_.apply(now_, PolicySet{plan_.policy}); !status) return status;
    for (const QueueSpec& queue : plan_.queues) {
      if (auto status = engine_.apply(now_, QueueSet{queue}); !status) return status;
    }
    for (const NodeSpec& node : plan_.nodes) {
      if (auto status = engine_.apply(now_, NodeReported{node}); !status) return status;
    }
    return {};
  }

  /// Spans that end before the next instant. Nothing falls due in between.
  void close_spans(Instant next) {
    for (SpanSums& sums : sums_) {
      while (sums.end() < next && sums.end() < plan_.until) {
        std::vector<Decision> none;
        engine_.advance(std::max(sums.end(), now_), none);
        add_span(sums);
        sums.open_next();
      }
    }
  }
  void add_span(SpanSums& sums) {
    for (std::size_t at = 0; at < plan_.queues.size(); ++at) {
      if (const auto status = engine_.queue(plan_.queues[at].name)) sums.add(at, *status);
    }
  }

  [[nodiscard]] bool looks_back() const {
    return plan_.policy.order == Order::kFair &&
           plan_.policy.fairness != FairnessKind::kInstant && plan_.cycle_every > Duration();
  }

  /// False when all that is left are jobs that wait for something that never comes.
  [[nodiscard]] bool goes_on() const {
    return next_ < jobs_.size() || world_.next_due().has_value();
  }

  Instant next_instant() {
    Instant next = plan_.until;
    if (next_ < jobs_.size()) next = std::min(next, jobs_.submitted(next_));
    if (const auto due = world_.next_due()) next = std::min(next, *due);
    if (const auto due = engine_.next_wakeup()) next = std::min(next, *due);
    if (waiting_ > 0) {
      if (const auto due = calendar_.next(now_, goes_on())) next = std::min(next, *due);
    }
    if (waiting_ > 0 && looks_back() && !plan_.passes && goes_on()) {
      while (cycle_at_ <= now_) cycle_at_ = cycle_at_ + plan_.cycle_every;
      next = std::min(next, cycle_at_);
    }
    return std::max(next, instants_ == 0 ? start_ : now_ + Duration(1));
  }

  Status happen() {
    if (auto status = feed_due(); !status) return status;
    for (; next_ < jobs_.size() && jobs_.submitted(next_) <= now_; ++next_) submit();
    if (!plan_.passes) return decide();
    if (auto status = fall_due(); !status) return status;
    if (waiting_ == 0) return {};
    if (calendar_.short_due(now_)) {
      if (auto status = pass_with(Backfill::kOff); !status) return status;
      calendar_.note_short(now_);
    }
    if (!calendar_.long_due(now_)) return {};
    calendar_.note_long();
    return pass_with(plan_.passes->in_long);
  }

  /// What the engine does by itself, without deciding who starts.
  Status fall_due() {
    std::vector<Decision> decisions;
    engine_.advance(now_, decisions);
    for (const Decision& decision : decisions) {
      if (auto status = carry_out(decision); !status) return status;
    }
    return {};
  }

  Status pass_with(Backfill backfill) {
    if (engine_.policy().backfill != backfill) {
      Policy policy = plan_.policy;
      policy.backfill = backfill;
      if (auto status = engine_.apply(now_, PolicySet{policy}); !status) return status;
    }
    return decide();
  }

  Status decide() {
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
      if (!facts && (!cycle.changed || plan_.one_cycle)) return {};
    }
    return Error{ErrorCode::kConflict, "scheduling does not settle: every cycle changes something"};
  }

  Status feed_due() {
    for (const Event& event : world_.take_due(now_)) {
      if (auto status = engine_.apply(now_, event); !status) return status;
      if (const auto* end = std::get_if<AttemptEnded>(&event)) note_end(*end);
    }
    return {};
  }

  void note_end(const AttemptEnded& end) {
    calendar_.note_event();
    TrialTimes& times = result_.times[end.job.value() - 1];
    if (end.kind == EndKind::kExited) {
      ++result_.finished;
    } else {
      const auto job = engine_.job(end.job);
      if (!job || !is_final(job->state)) {
        ++waiting_;
        return;
      }
      times.cut = job->state == JobState::kTimeout;
    }
    const Duration release = plan_.passes ? plan_.passes->release : Duration();
    times.ended = (now_ - release).ns();
    world_.forget(end.job);
    if (++over_ % kTrialForgetEvery == 0) engine_.forget_finished(now_);
  }

  void submit() {
    TrialJob job = jobs_.job(next_);
    if (job.spec.time_limit) *job.spec.time_limit += held_beside_work();
    ++result_.jobs;
    const auto [name, is_new] =
        names_.try_emplace(job.spec.queue, static_cast<std::uint32_t>(names_.size()));
    if (is_new) submitted_.push_back(0);
    told_[next_] = {name->second, job.kind};
    ++submitted_[name->second];
    const JobId id(next_ + 1);
    if (!engine_.apply(now_, JobSubmitted{id, job.spec})) {
      ++result_.refused;
      return;
    }
    ++waiting_;
    calendar_.note_event();
    world_.add_job(id, {job.spec.shape.tasks, job.runtime + held_beside_work(),
                        job.spec.checkpoint});
  }

  [[nodiscard]] Duration held_beside_work() const {
    return plan_.passes ? plan_.passes->launch + plan_.passes->release : Duration();
  }

  Status carry_out(const Decision& decision) {
    if (const auto* start = std::get_if<StartAttempt>(&decision)) {
      --waiting_;
      world_.start(now_, start->job, start->attempt, start->allocation.tasks);
      TrialTimes& times = result_.times[start->job.value() - 1];
      if (times.started == TrialTimes::kNever) times.started = now_.ns();
      ++times.attempts;
      return engine_.apply(now_, AttemptStarted{start->job, start->attempt});
    }
    if (const auto* stop = std::get_if<StopAttempt>(&decision)) world_.stop(now_, *stop);
    if (const auto* stop = std::get_if<StopTasks>(&decision)) world_.stop_tasks(now_, *stop);
    if (const auto* grow = std::get_if<GrowTasks>(&decision)) world_.grow(now_, *grow);
    return {};
  }

  void add_queue(TrialResult& out, const std::string& name,
                 std::vector<std::vector<std::int64_t>>& waits) {
    TrialQueue queue;
    queue.name = name;
    if (const auto known = names_.find(name); known != names_.end()) {
      queue.jobs = submitted_[known->second];
      queue.started = std::ssize(waits[known->second]);
      queue.wait = spread_of(waits[known->second]);
    }
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
    if (plan_.until == TrialPlan::kWhenAllIsOver) {
      return static_cast<double>(over_) / static_cast<double>(jobs_.size());
    }
    const auto whole = static_cast<double>((plan_.until - start_).ns());
    return whole <= 0 ? 1 : static_cast<double>((now_ - start_).ns()) / whole;
  }

  struct Told {
    std::uint32_t queue = 0;  // its number in names_
    std::int32_t kind = 0;
  };
  const TrialPlan& plan_;
  const TrialJobs& jobs_;
  const TrialProgress& progress_;
  engine::Engine engine_;
  World world_;
  TrialResult result_;
  std::map<std::string, std::uint32_t> names_;  // of queues
  std::vector<std::int64_t> submitted_;         // by queue
  std::vector<Told> told_;
  std::size_t next_ = 0;
  std::int64_t instants_ = 0;  // at which something happened
  std::int64_t waiting_ = 0;   // jobs
  std::int64_t over_ = 0;
  Instant start_;
  Instant now_;
  Instant cycle_at_;
  Calendar calendar_;
  std::vector<SpanSums> sums_;
};

class ListedJobs : public TrialJobs {
 public:
  explicit ListedJobs(const std::vector<TrialJob>& jobs) : jobs_(jobs) {}
  [[nodiscard]] std::size_t size() const override { return jobs_.size(); }
  [[nodiscard]] Instant submitted(std::size_t at) const override { return jobs_[at].submitted; }
  [[nodiscard]] Duration runtime(std::size_t at) const override { return jobs_[at].runtime; }
  [[nodiscard]] TrialJob job(std::size_t at) const override { return jobs_[at]; }

 private:
  const std::vector<TrialJob>& jobs_;
};

Status check_plan(const TrialPlan& plan) {
  if (!plan.passes) return {};
  const PassTimes& times = *plan.passes;
  if (times.after_event < Duration() || times.short_every <= Duration() ||
      times.long_every <= Duration() || times.launch < Duration() ||
      times.release < Duration()) {
    return Error{ErrorCode::kInvalidArgument, "the times between passes must be more than 0"};
  }
  return {};
}

}  // namespace

Result<TrialResult> run_trial(const TrialPlan& plan, const TrialJobs& jobs,
                              const TrialProgress& progress) {
  if (auto status = check_plan(plan); !status) return status.error();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0 && jobs.submitted(i) < jobs.submitted(i - 1)) {
      return Error{ErrorCode::kInvalidArgument, "the jobs must be sorted by submit time"};
    }
    if (jobs.runtime(i) <= Duration()) {
      return Error{ErrorCode::kInvalidArgument, "a job of no duration"};
    }
  }
  Trial trial(plan, jobs, progress);
  if (auto status = trial.run(); !status) return status.error();
  return trial.result();
}

Result<TrialResult> run_trial(const TrialPlan& plan, const std::vector<TrialJob>& jobs,
                              const TrialProgress& progress) {
  return run_trial(plan, ListedJobs(jobs), progress);
}

}  // namespace rota::sim
