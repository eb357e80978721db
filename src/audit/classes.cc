#include "audit/classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "audit/split.h"
#include "base/text.h"

namespace rota::audit {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr auto kRound = std::to_array<std::int64_t>(
    {5 * kMinute, 10 * kMinute, 15 * kMinute, 30 * kMinute, kHour, 2 * kHour, 4 * kHour, 8 * kHour,
     12 * kHour, 24 * kHour, 48 * kHour, 72 * kHour, 168 * kHour, 336 * kHour, 720 * kHour});
constexpr auto kSizesAbove = std::to_array<std::int32_t>({1000, 2000, 4000, 8000, 16000, 32000,
                                                          64000});
/// A cut is worth having with so many jobs on each side.
constexpr std::int64_t kSidePermille = 50;
constexpr std::int64_t kLargeSidePermille = 10;
constexpr std::int64_t kLargeTimePermille = 100;

struct Case {
  std::int64_t run = 0;
  std::int64_t wait = kNotTold;
  GpuTime gpu_time = 0;
  std::int32_t milli = 0;
  bool session = false;
};

std::int64_t rounded_up(std::int64_t length) {
  const auto* found = std::lower_bound(kRound.begin(), kRound.end(), length);
  return found == kRound.end() ? kRound.back() : *found;
}

/// The group of a value: 0 is at most the first bound, and so on.
template <class T, std::size_t N>
std::size_t group_of(const std::array<T, N>& bounds, std::int64_t value) {
  return static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) -
                                  bounds.begin());
}

/// One case a job: its longest run, and the wait of its first.
std::vector<Case> cases_of(const Work& work, const Window& window) {
  std::vector<Case> cases;
  cases.reserve(work.jobs.size());
  for (const WorkJob& job : work.jobs) {
    Case one{.session = job.interactive};
    for (const WorkRun& run : work.runs_of(job)) {
      if (gpu_time_inside(work, run, window) <= 0) continue;
      if (one.run == 0 && run.started != kNotTold && run.waiting_since != kNotTold) {
        one.wait = std::max<std::int64_t>(0, run.started - run.waiting_since);
      }
      one.gpu_time += run.gpu_time();
      if (run.run > one.run) one.milli = run.held_milli;
      one.run = std::max(one.run, run.run);
    }
    if (one.run > 0) cases.push_back(one);
  }
  return cases;
}

std::optional<Cut> cut_by_length(const std::vector<Case>& cases, ClassProposal& out) {
  std::array<Moments, kRound.size() + 1> by_wait{};
  std::array<Moments, kRound.size() + 1> by_length{};
  std::int64_t waits = 0;
  std::int64_t jobs = 0;
  for (const Case& one : cases) {
    if (one.session) continue;
    ++jobs;
    const std::size_t group = group_of(kRound, one.run);
    by_length[group].add(std::log2(static_cast<double>(one.run) / 1e9 + 1));
    if (one.wait == kNotTold) continue;
    ++waits;
    by_wait[group].add(std::log2(1 + static_cast<double>(one.wait) /
                                         static_cast<double>(one.run)));
  }
  if (waits * 2 >= jobs) {
    const auto cut = best_cut(by_wait, kSidePermille);
    out.by_wait = cut && cut->falls;
    if (out.by_wait) return cut;
  }
  return best_cut(by_length, kSidePermille);
}

/// Whether those above a cut hold enough GPU time to matter.
template <class IsLarge>
bool is_worth(std::span<const Case* const> rest, IsLarge is_large) {
  GpuTime all = 0;
  GpuTime large = 0;
  for (const Case* one : rest) {
    all += one->gpu_time;
    if (is_large(*one)) large += one->gpu_time;
  }
  return large * 1000 >= all * kLargeTimePermille;
}

void find_large(const std::vector<Case>& cases, ClassProposal& out) {
  std::array<Moments, kSizesAbove.size() + 1> by_size{};
  std::array<Moments, kRound.size() + 1> by_length{};
  std::vector<const Case*> rest;
  for (const Case& one : cases) {
    if (one.session || one.run <= out.short_run_max.value_or(0)) continue;
    rest.push_back(&one);
    const double weight = std::log2(1 + gpu_hours(one.gpu_time) * 3600);
    by_size[group_of(kSizesAbove, one.milli)].add(weight);
    by_length[group_of(kRound, one.run)].add(weight);
  }
  if (const auto cut = best_cut(by_size, kLargeSidePermille); cut && !cut->falls) {
    const std::int32_t above = kSizesAbove[cut->after];
    if (is_worth(rest, [&](const Case& one) { return one.milli > above; })) {
      out.large_above = above;
      out.large_explained = cut->explained;
      return;
    }
  }
  if (const auto cut = best_cut(by_length, kLargeSidePermille); cut && !cut->falls) {
    const std::int64_t above = kRound[cut->after];
    if (is_worth(rest, [&](const Case& one) { return one.run > above; })) {
      out.large_run_above = above;
      out.large_explained = cut->explained;
    }
  }
}

Behaviour behaviour_of(const ClassProposal& out, const Case& one) {
  if (one.session) return Behaviour::kSession;
  if (out.short_run_max && one.run <= *out.short_run_max) return Behaviour::kShort;
  if (out.large_above && one.milli > *out.large_above) return Behaviour::kLarge;
  if (out.large_run_above && one.run > *out.large_run_above) return Behaviour::kLarge;
  return Behaviour::kUsual;
}

/// Nearest rank; `values` is reordered.
std::int64_t percentile(std::vector<std::int64_t>& values, std::int64_t percent) {
  if (values.empty()) return 0;
  const auto rank = (static_cast<std::int64_t>(values.size()) * percent + 99) / 100;
  const auto at = values.begin() + std::max<std::int64_t>(rank - 1, 0);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void set_policy(const ClassProposal& out, ProposedClass& one) {
  const std::int64_t usual = rounded_up(one.run_p50);
  one.time_limit = rounded_up(one.run_p95);
  switch (one.behaviour) {
    case Behaviour::kShort:
      one.time_limit = *out.short_run_max;
      one.time_limit_max = one.time_limit;
      one.min_runtime = one.time_limit;
      break;
    case Behaviour::kSession:
      one.time_limit = std::min(one.time_limit, 8 * kHour);
      one.min_runtime = std::min(usual, kHour);
      break;
    case Behaviour::kUsual: one.min_runtime = std::clamp(usual, 15 * kMinute, 2 * kHour); break;
    case Behaviour::kLarge: one.min_runtime = std::clamp(usual, kHour, 8 * kHour); break;
  }
  one.min_runtime = std::min(one.min_runtime, one.time_limit);
}

std::string percent(GpuTime part, GpuTime whole) {
  if (part * 200 < whole) return "<1 %";
  return std::to_string(static_cast<std::int64_t>((part * 200 + whole) / (whole * 2))) + " %";
}

}  // namespace

std::string_view class_name(Behaviour behaviour) {
  constexpr std::array<std::string_view, kBehaviours> kNames{"debug", "interactive", "batch",
                                                             "training"};
  return kNames[static_cast<std::size_t>(behaviour)];
}

ClassProposal propose_classes(const Work& work, const Window& window) {
  ClassProposal out;
  const std::vector<Case> cases = cases_of(work, window);
  out.jobs = std::ssize(cases);
  if (out.jobs < ClassProposal::kJobsMin) return out;
  if (const auto cut = cut_by_length(cases, out)) {
    out.short_run_max = kRound[cut->after];
    out.short_explained = cut->explained;
  }
  find_large(cases, out);
  for (int i = 0; i < kBehaviours; ++i) {
    ProposedClass one{.behaviour = static_cast<Behaviour>(i)};
    std::vector<std::int64_t> runs;
    std::vector<std::int64_t> waits;
    for (const Case& each : cases) {
      if (behaviour_of(out, each) != one.behaviour) continue;
      one.gpu_time += each.gpu_time;
      runs.push_back(each.run);
      if (each.wait != kNotTold) waits.push_back(each.wait);
    }
    if (runs.empty()) continue;
    one.jobs = std::ssize(runs);
    one.run_p50 = percentile(runs, 50);
    one.run_p95 = percentile(runs, 95);
    one.waits = std::ssize(waits);
    one.wait_p50 = percentile(waits, 50);
    one.wait_p90 = percentile(waits, 90);
    set_policy(out, one);
    out.classes.push_back(one);
  }
  return out;
}

std::string rule_of(const ClassProposal& proposal, Behaviour behaviour) {
  const auto length = [](std::int64_t ns) { return format_duration(Duration(ns)); };
  const std::string longer =
      proposal.short_run_max ? "runs longer than " + length(*proposal.short_run_max) : "";
  switch (behaviour) {
    case Behaviour::kShort: return "runs at most " + length(proposal.short_run_max.value_or(0));
    case Behaviour::kSession: return "somebody's session";
    case Behaviour::kUsual: break;
    case Behaviour::kLarge: break;
  }
  const bool large = behaviour == Behaviour::kLarge;
  std::string size;
  if (proposal.large_above) {
    size = (large ? "more than " : "at most ") + format_gpus(MilliGpu(*proposal.large_above)) +
           (proposal.large_above == 1000 ? " GPU" : " GPUs");
  } else if (proposal.large_run_above) {
    if (large) return "runs longer than " + length(*proposal.large_run_above);
    size = "at most " + length(*proposal.large_run_above);
  }
  if (size.empty()) return longer.empty() ? "all others" : longer;
  return longer.empty() ? (size.starts_with("at most ") && !proposal.large_above ? "runs " : "") +
                              size
                        : longer + ", " + size;
}

std::string classes_yaml(const ClassProposal& proposal) {
  if (proposal.classes.size() < 2) return {};
  GpuTime whole = 0;
  for (const ProposedClass& one : proposal.classes) whole += one.gpu_time;
  std::string text = "classes:\n";
  const auto line = [&](std::string_view key, const std::string& value) {
    text += "    " + std::string(key) + ": " + value + "\n";
  };
  const auto length = [](std::int64_t ns) { return format_duration(Duration(ns)); };
  for (const ProposedClass& one : proposal.classes) {
    text += "  " + std::string(class_name(one.behaviour)) + ":\n";
    line("help", "\"" + rule_of(proposal, one.behaviour) + ": " +
                     percent(one.jobs, proposal.jobs) + " of jobs, " +
                     percent(one.gpu_time, whole) + " of GPU time\"");
    line("time_limit", length(one.time_limit));
    if (one.time_limit_max) line("time_limit_max", length(*one.time_limit_max));
    line("min_runtime", length(one.min_runtime));
    if (one.behaviour == Behaviour::kSession) line("interactive", "on");
    if (one.behaviour == Behaviour::kLarge) line("requeue", "on");
  }
  const bool usual = std::any_of(
      proposal.classes.begin(), proposal.classes.end(),
      [](const ProposedClass& one) { return one.behaviour == Behaviour::kUsual; });
  text += "default_class: " +
          std::string(class_name(usual ? Behaviour::kUsual : proposal.classes.back().behaviour)) +
          "\n";
  return text;
}

}  // namespace rota::audit
