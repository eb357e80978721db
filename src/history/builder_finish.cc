// What HistoryBuilder does at the end: order, in place.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "history/builder.h"

namespace rota::history {
namespace {

/// Moves values[order[i]] to i for all i. O(n), without a second copy of the values.
template <class T>
void permute(std::vector<T>& values, std::vector<std::uint32_t> order) {
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    const T first = values[start];
    std::uint32_t at = start;
    while (order[at] != start) {
      values[at] = values[order[at]];
      at = std::exchange(order[at], at);
    }
    values[at] = first;
    order[at] = at;
  }
}

/// The instant that places an attempt among those of its job; absent ones come last.
std::tuple<bool, Maybe<Instant>, Maybe<Instant>, std::uint32_t> time_key(
    const AttemptRecord& attempt) {
  const Maybe<Instant> first = attempt.queued ? attempt.queued : attempt.started;
  return {!first.has_value(), first, attempt.started, attempt.row};
}

}  // namespace

void HistoryBuilder::sort_jobs() {
  auto& jobs = history_.jobs_;
  for (const AttemptRecord& attempt : history_.attempts_) {
    Maybe<Instant>& submitted = jobs[attempt.job].submitted;
    if (attempt.queued && (!submitted || attempt.queued < submitted)) submitted = attempt.queued;
  }
  const auto before = [](const JobRecord& a, const JobRecord& b) {
    return std::tuple(!a.submitted.has_value(), a.submitted, a.row) <
           std::tuple(!b.submitted.has_value(), b.submitted, b.row);
  };
  if (std::is_sorted(jobs.begin(), jobs.end(), before)) return;
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return before(jobs[a], jobs[b]); });
  std::vector<std::uint32_t> place(jobs.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (AttemptRecord& attempt : history_.attempts_) attempt.job = place[attempt.job];
  permute(jobs, std::move(order));
}

void HistoryBuilder::gather_attempts() {
  auto& attempts = history_.attempts_;
  const auto before = [](const AttemptRecord& a, const AttemptRecord& b) {
    return a.job != b.job ? a.job < b.job : time_key(a) < time_key(b);
  };
  if (!std::is_sorted(attempts.begin(), attempts.end(), before)) {
    std::vector<std::uint32_t> order(attempts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return before(attempts[a], attempts[b]); });
    permute(attempts, std::move(order));
  }
  std::uint32_t at = 0;
  for (JobRecord& job : history_.jobs_) {
    job.first_attempt = at;
    at += job.attempt_count;
  }
}

void HistoryBuilder::conclude_jobs() {
  for (JobRecord& job : history_.jobs_) {
    const auto attempts = history_.attempts_of(job);
    job.outcome = attempts.back().outcome;
    if (job.gpus.known()) continue;
    for (const AttemptRecord& attempt : attempts) {
      if (attempt.gpus.known()) job.gpus = attempt.gpus;  // what it held is what it wanted
    }
  }
}

void HistoryBuilder::forget_waiting_groups(std::uint32_t row) {
  auto& jobs = history_.jobs_;
  const auto is_group = [&](const AttemptRecord& attempt) {
    return attempt.row <= row && !attempt.started && !has_ended(attempt.outcome) &&
           !attempt.ended &&
           history_.id_text(jobs[attempt.job].key).find("_[") != std::string::npos;
  };
  for (const AttemptRecord& attempt : history_.attempts_) {
    if (is_group(attempt)) --jobs[attempt.job].attempt_count;
  }
  std::erase_if(history_.attempts_, is_group);
  std::vector<std::uint32_t> place(jobs.size());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    place[i] = kept;
    if (jobs[i].attempt_count > 0) jobs[kept++] = jobs[i];
  }
  jobs.resize(kept);
  for (AttemptRecord& attempt : history_.attempts_) attempt.job = place[attempt.job];
}

JobHistory HistoryBuilder::finish() {
  slots_ = std::vector<std::uint32_t>();
  latest_ = std::vector<std::uint32_t>();
  previous_ = std::vector<std::uint32_t>();
  notes().rows = rows_;
  sort_jobs();
  gather_attempts();
  conclude_jobs();
  JobHistory done = std::move(history_);
  *this = HistoryBuilder();
  return done;
}

}  // namespace rota::history
