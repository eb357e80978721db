#include "audit/audit.h"

#include <algorithm>

#include "base/text.h"

namespace rota::audit {
namespace {

/// Parts by number of owner.
struct Parts {
  std::vector<std::int64_t> weights;
  std::int64_t sum = 0;
};

Result<Parts> parts_of(const Work& work, const AuditOptions& options) {
  std::vector<std::int64_t> weights(work.owners.size(), 0);
  if (options.shares.empty()) {
    for (const WorkRun& run : work.runs) {
      if (work.wanted_of(run) > 0) weights[work.job_of(run).owner] = 1;
    }
  }
  for (const auto& [name, share] : options.shares) {
    const auto found = std::find(work.owners.begin() + 1, work.owners.end(), name);
    if (found == work.owners.end()) {
      const std::string_view near = nearest_word(name, work.owners);
      return Error{ErrorCode::kInvalidArgument,
                   "--shares: no job of a team '" + name + "'" +
                       (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?")};
    }
    weights[static_cast<std::size_t>(found - work.owners.begin())] = share;
  }
  Parts parts{.weights = std::move(weights)};
  for (const std::int64_t weight : parts.weights) parts.sum += weight;
  if (parts.sum == 0) parts.sum = 1;
  return parts;
}

std::vector<TeamShare> teams_of(const Work& work, const Audit& audit, const Parts& parts) {
  std::vector<TeamShare> teams;
  for (std::size_t i = 0; i < work.owners.size(); ++i) {
    TeamShare team{.name = work.owners[i], .part = parts.weights[i], .parts = parts.sum,
                   .time = audit.timeline.teams[i]};
    team.held = audit.ledgers.by_team[i].held;
    const GpuTime unknown = audit.ledgers.by_team[i].line(Line::kUnknown).gpu_time;
    team.end_told = team.held - unknown;
    team.lost = audit.ledgers.by_team[i].lost();
    const bool has_share = i > 0 && parts.weights[i] > 0;
    if (team.held > 0 || team.time.wanted > 0 || has_share) teams.push_back(team);
  }
  std::sort(teams.begin(), teams.end(), [](const TeamShare& a, const TeamShare& b) {
    return a.held != b.held ? a.held > b.held : a.name < b.name;
  });
  return teams;
}

void count_jobs(const Work& work, const Window& window, Audit& audit) {
  for (const WorkJob& job : work.jobs) {
    if (job.submitted != kNotTold && job.submitted > window.end) continue;
    bool counts = job.submitted == kNotTold || job.submitted >= window.begin;
    bool with_gpus = job.wanted_milli != 0;
    for (const WorkRun& run : work.runs_of(job)) {
      if (run.is_placed() && inside(window, run.started, run.run) > 0) counts = true;
      if (run.held_milli > 0) with_gpus = true;
    }
    if (!counts) continue;
    ++audit.jobs;
    audit.runs += job.run_count;
    if (job.end == End::kRejected) ++audit.jobs_rejected;
    if (!with_gpus) ++audit.jobs_without_gpus;
  }
}

}  // namespace

double Audit::equivalents(GpuTime gpu_time) const {
  if (window.length() <= 0) return 0;
  return static_cast<double>(gpu_time) / 1000 / static_cast<double>(window.length());
}

std::optional<Window> window_of(const Work& work) {
  std::optional<Window> window;
  const auto include = [&](std::int64_t at) {
    if (at == kNotTold) return;
    if (!window) window = Window{at, at};
    window->begin = std::min(window->begin, at);
    window->end = std::max(window->end, at);
  };
  for (const WorkRun& run : work.runs) {
    include(run.waiting_since);
    include(run.started);
    include(run.left);
    if (run.is_placed()) include(run.started + run.run);
  }
  for (const WorkJob& job : work.jobs) include(job.submitted);
  return window;
}

Result<Audit> audit_work(const Work& work, const Window& window, const AuditOptions& options) {
  auto parts = parts_of(work, options);
  if (!parts) return parts.error();
  Audit audit;
  audit.window = window;
  audit.capacity_given = options.capacity.has_value();
  audit.shares_given = !options.shares.empty();
  count_jobs(work, window, audit);
  audit.capacity = options.capacity.value_or(0);
  if (!audit.capacity_given) audit.capacity = peak_held(work, window);
  TimelineOptions timeline;
  if (audit.capacity > 0) {
    timeline.capacity = audit.capacity;
    timeline.parts = parts->weights;
    for (std::int64_t& part : timeline.parts) {
      part = static_cast<std::int64_t>(Int128{part} * audit.capacity / parts->sum);
    }
  }
  audit.timeline = measure_timeline(work, window, timeline);
  audit.waits = measure_waits(work, window);
  audit.ledgers = measure_ledger(work, window);
  audit.teams = teams_of(work, audit, *parts);
  audit.failures = measure_failures(work, window);
  audit.lemons = find_lemons(work, window);
  audit.limits = measure_limits(work, window);
  audit.over = measure_over_requests(work, window);
  audit.sessions = find_sessions(work, window);
  audit.arrivals = measure_arrivals(work, window);
  audit.classes = propose_classes(work, window);
  return audit;
}

}  // namespace rota::audit
