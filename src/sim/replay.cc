#include "sim/replay.h"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace rota::sim {
namespace {

constexpr std::int64_t kForgetEvery = 64;      // finished jobs between two clean-ups of the engine
constexpr std::int64_t kProgressEvery = 2048;  // the same, between two words of progress

std::int64_t largest_node(const std::vector<NodeSpec>& nodes) {
  std::int64_t largest = 0;
  for (const NodeSpec& node : nodes) {
    largest = std::max(largest, static_cast<std::int64_t>(node.devices.size()));
  }
  return largest;
}

std::int64_t total_gpus(const std::vector<NodeSpec>& nodes) {
  std::int64_t total = 0;
  for (const NodeSpec& node : nodes) total += static_cast<std::int64_t>(node.devices.size());
  return total;
}

struct Completion {
  Instant at;
  JobId job;
  friend auto operator<=>(const Completion&, const Completion&) = default;
};

/// One run: engine, pending completions, measured times.
class Replay {
 public:
  Replay(const std::vector<ReplayJob>& jobs, const ReplayProgress& progress)
      : jobs_(jobs), progress_(progress) {
    result_.jobs = static_cast<std::int64_t>(jobs.size());
    waits_.reserve(jobs.size());
    completions_.reserve(jobs.size());
  }

  Status set_up(const std::vector<NodeSpec>& nodes, ReplayPolicy policy) {
    task_gpus_max_ = largest_node(nodes);
    gpus_ = total_gpus(nodes);
    if (gpus_ == 0) return Error{ErrorCode::kInvalidArgument, "the cluster has no GPUs"};
    Policy settings;
    settings.order = policy.order;
    settings.backfill = policy.backfill;
    settings.reclaim = Reclaim::kOff;
    settings.quarantine_after.reset();
    settings.infeasible = Infeasible::kHold;
    const Instant start = jobs_.empty() ? Instant() : jobs_.front().submitted;
    if (auto status = engine_.apply(start, PolicySet{settings}); !status) return status;
    QueueSpec queue;
    queue.name = "default";
    if (auto status = engine_.apply(start, QueueSet{queue}); !status) return status;
    for (const NodeSpec& node : nodes) {
      if (auto status = engine_.apply(start, NodeReported{node}); !status) return status;
    }
    return {};
  }

  Status run() {
    while (next_ < jobs_.size() || !ends_.empty()) {
      now_ = next_instant();
      if (auto status = finish_due(); !status) return status;
      if (auto status = submit_due(); !status) return status;
      if (auto status = schedule(); !status) return status;
    }
    return {};
  }

  ReplayResult result() {
    result_.finished = static_cast<std::int64_t>(waits_.size());
    result_.infeasible = result_.jobs - result_.finished;
    result_.wait = spread_of(waits_);
    result_.completion = spread_of(completions_);
    if (!jobs_.empty()) {
      const Duration span = std::max(last_end_, jobs_.front().submitted) - jobs_.front().submitted;
      result_.gpu_time_capacity = Int128{span.ns()} * gpus_ * kWholeGpu.value();
    }
    return result_;
  }

 private:
  Instant next_instant() const {
    if (ends_.empty()) return jobs_[next_].submitted;
    if (next_ >= jobs_.size()) return ends_.top().at;
    return std::min(jobs_[next_].submitted, ends_.top().at);
  }

  const ReplayJob& job_of(JobId id) const { return jobs_[id.value() - 1]; }

  Status finish_due() {
    while (!ends_.empty() && ends_.top().at <= now_) {
      const JobId id = ends_.top().job;
      ends_.pop();
      AttemptEnded ended;
      ended.job = id;
      ended.attempt = 1;
      if (auto status = engine_.apply(now_, ended); !status) return status;
      completions_.push_back((now_ - job_of(id).submitted).ns());
      last_end_ = now_;
      const auto finished = static_cast<std::int64_t>(completions_.size());
      if (finished % kForgetEvery == 0) engine_.forget_finished(now_);
      if (progress_ && finished % kProgressEvery == 0) progress_(finished);
    }
    return {};
  }

  Status submit_due() {
    for (; next_ < jobs_.size() && jobs_[next_].submitted <= now_; ++next_) {
      JobSubmitted event;
      event.job = JobId(next_ + 1);
      event.spec = spec_of(jobs_[next_]);
      if (auto status = engine_.apply(now_, event); !status) return status;
    }
    return {};
  }

  JobSpec spec_of(const ReplayJob& job) {
    JobSpec spec;
    spec.time_limit = std::max(job.runtime, Duration(1));  // one of no duration ends at once
    spec.true_runtime = job.runtime;
    spec.shape.task.gpus = whole_gpus(job.gpus);
    if (job.gpus > task_gpus_max_) {
      spec.shape.task.gpus = whole_gpus(task_gpus_max_);
      spec.shape.tasks = (job.gpus + task_gpus_max_ - 1) / task_gpus_max_;
      if (spec.shape.tasks * task_gpus_max_ != job.gpus) ++result_.rounded_up;
    }
    return spec;
  }

  /// One pass. A job of no duration ends at the next instant of the loop, which is this one again.
  Status schedule() {
    const engine::CycleResult cycle = engine_.run_cycle(now_);
    ++result_.cycles;
    for (const Decision& decision : cycle.decisions) {
      const auto* start = std::get_if<StartAttempt>(&decision);
      if (start == nullptr) continue;
      if (auto status = started(*start); !status) return status;
    }
    return {};
  }

  Status started(const StartAttempt& start) {
    AttemptStarted event;
    event.job = start.job;
    event.attempt = start.attempt;
    if (auto status = engine_.apply(now_, event); !status) return status;
    const ReplayJob& job = job_of(start.job);
    MilliGpu held;
    for (const TaskPlace& place : start.allocation.tasks) {
      for (const DeviceShare& share : place.devices) held += share.gpus;
    }
    waits_.push_back((now_ - job.submitted).ns());
    result_.gpu_time_held += Int128{held.value()} * job.runtime.ns();
    ends_.push({now_ + job.runtime, start.job});
    return {};
  }

  const std::vector<ReplayJob>& jobs_;
  const ReplayProgress& progress_;
  engine::Engine engine_;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> ends_;
  std::vector<std::int64_t> waits_;
  std::vector<std::int64_t> completions_;
  ReplayResult result_;
  std::size_t next_ = 0;
  std::int64_t task_gpus_max_ = 0;
  std::int64_t gpus_ = 0;
  Instant now_;
  Instant last_end_;
};

}  // namespace

Spread spread_of(std::vector<std::int64_t>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<std::int64_t>(values.size());
  const auto rank = [&](std::int64_t percent) {
    const std::int64_t nth = std::max<std::int64_t>(1, (count * percent + 99) / 100);
    return Duration(values[static_cast<std::size_t>(nth - 1)]);
  };
  Int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  Spread spread;
  spread.mean = Duration(static_cast<std::int64_t>(sum / count));
  spread.p50 = rank(50);
  spread.p90 = rank(90);
  spread.p99 = rank(99);
  spread.max = Duration(values.back());
  return spread;
}

std::vector<NodeSpec> uniform_nodes(std::int64_t count, std::int64_t gpus) {
  std::vector<NodeSpec> nodes;
  for (std::int64_t i = 1; i <= count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.devices.resize(static_cast<std::size_t>(gpus));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<ReplayResult> replay(const std::vector<NodeSpec>& nodes, const std::vector<ReplayJob>& jobs,
                            ReplayPolicy policy, const ReplayProgress& progress) {
  const bool sorted = std::is_sorted(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
    return a.submitted < b.submitted;
  });
  if (!sorted) {
    return Error{ErrorCode::kInvalidArgument, "the jobs must be sorted by submit time"};
  }
  Replay run(jobs, progress);
  if (auto status = run.set_up(nodes, policy); !status) return status.error();
  if (auto status = run.run(); !status) return status.error();
  return run.result();
}

}  // namespace rota::sim
