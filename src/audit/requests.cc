#include "audit/requests.h"

#include <algorithm>

namespace rota::audit {
namespace {

constexpr std::int64_t kDay = 24LL * 3'600'000'000'000;

std::int64_t day_of(std::int64_t at) { return at >= 0 ? at / kDay : (at - kDay + 1) / kDay; }

std::vector<SessionGroup> sorted(std::vector<SessionGroup> groups, const Work& work) {
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].user = work.users[i];
  std::erase_if(groups, [](const SessionGroup& group) { return group.runs == 0; });
  std::sort(groups.begin(), groups.end(), [](const SessionGroup& a, const SessionGroup& b) {
    return a.held != b.held ? a.held > b.held : a.user < b.user;
  });
  return groups;
}

}  // namespace

LimitUse measure_limits(const Work& work, const Window& window) {
  LimitUse out;
  std::vector<std::int64_t> used;
  for (const WorkJob& job : work.jobs) {
    if (job.run_count == 0) continue;
    const WorkRun& run = work.runs_of(job).back();
    if (run.end != End::kCompleted || run.held_milli <= 0 || run.run == kNotTold) continue;
    if (gpu_time_inside(work, run, window) <= 0) continue;
    if (job.time_limit <= 0) {  // kNotTold is below 0
      ++out.without_limit;
      continue;
    }
    ++out.jobs;
    const auto permille = static_cast<std::int64_t>(Int128{run.run} * 1000 / job.time_limit);
    used.push_back(permille);
    if (permille < 500) ++out.below_half;
    if (permille < 100) ++out.below_tenth;
    out.asked += GpuTime{run.held_milli} * job.time_limit;
    out.used += run.gpu_time();
  }
  if (used.empty()) return out;
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>((used.size() - 1) / 2);
  std::nth_element(used.begin(), middle, used.end());
  out.used_p50 = *middle;
  return out;
}

Sessions find_sessions(const Work& work, const Window& window) {
  Sessions out;
  std::vector<SessionGroup> squatting(work.users.size());
  std::vector<SessionGroup> interactive(work.users.size());
  for (const WorkRun& run : work.runs) {
    const GpuTime held = gpu_time_inside(work, run, window);
    if (held <= 0) continue;
    const WorkJob& job = work.job_of(run);
    const bool measured = run.busy_permille >= 0;
    const bool is_long = run.run >= Sessions::kLong;
    if (measured) ++out.measured;
    if (job.interactive) {
      ++out.interactive;
      out.interactive_held += held;
    }
    if (measured && is_long && run.busy_permille < Sessions::kBusyMin) {
      const GpuTime idle = held - held * run.busy_permille / 1000;
      ++out.squatting;
      out.squatting_held += held;
      out.squatting_idle += idle;
      SessionGroup& group = squatting[job.user];
      ++group.runs;
      group.held += held;
      group.idle += idle;
    }
    if (!job.interactive || !is_long) continue;
    ++out.interactive_long;
    SessionGroup& group = interactive[job.user];
    ++group.runs;
    group.held += held;
    if (!measured) out.interactive_long_held += held;
  }
  out.by_user = sorted(out.squatting > 0 ? std::move(squatting) : std::move(interactive), work);
  return out;
}

double Arrivals::burst() const {
  if (all <= 0 || days <= 0) return 0;
  return static_cast<double>(day_max) * static_cast<double>(days) / static_cast<double>(all);
}

Arrivals measure_arrivals(const Work& work, const Window& window) {
  Arrivals out;
  const std::int64_t first = day_of(window.begin);
  constexpr std::int64_t kDaysMax = 200'000;
  const std::int64_t days = day_of(window.end) - first + 1;
  if (days > kDaysMax) return out;
  std::vector<GpuTime> by_day(static_cast<std::size_t>(days), 0);
  for (const WorkJob& job : work.jobs) {
    if (job.submitted == kNotTold) continue;
    if (job.submitted < window.begin || job.submitted > window.end) continue;
    out.days = days;
    for (const WorkRun& run : work.runs_of(job)) {
      if (!run.has_gpu_time()) continue;
      by_day[static_cast<std::size_t>(day_of(job.submitted) - first)] += run.gpu_time();
      out.all += run.gpu_time();
    }
  }
  for (std::size_t i = 0; i < by_day.size(); ++i) {
    if (by_day[i] <= out.day_max) continue;
    out.day_max = by_day[i];
    out.day_max_at = (first + static_cast<std::int64_t>(i)) * kDay;
  }
  return out;
}

}  // namespace rota::audit
