#include "engine/future.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace rota::engine {

void Future::start(const Ledger& present, Instant at) {
  ledger_ = present;
  at_ = at;
  order_.clear();
  follows_ = true;
  follow(present);
}

void Future::enter(const JobRec& job, const Leaves& leaves) {
  for (const Part& part : kParts) {
    if (leaves.*part.at) order_.insert({*(leaves.*part.at), job.id, part, &job});
  }
}

void Future::remove(const JobRec& job) {
  for (const Part& part : kParts) {
    if (job.expected.*part.at) order_.erase({*(job.expected.*part.at), job.id, part, &job});
  }
}

void Future::adopt(JobRec& job, const Leaves& leaves) {
  job.expected = leaves;
  enter(job, leaves);
  for (const Part& part : kParts) {
    if (gone(leaves.*part.at)) ledger_.give(job.*part.tasks);
  }
}

void Future::join(JobRec& job, const Leaves& leaves) {
  job.expected = leaves;
  enter(job, leaves);
  if (!gone(leaves.held)) ledger_.take(job.held);
  if (!gone(leaves.leaving)) ledger_.take(job.leaving);
}

void Future::take(const JobRec& job, const TaskAlloc& task) {
  if (!gone(job.expected.held)) ledger_.take(task);
}

void Future::part(JobRec& job) {
  if (!gone(job.expected.held)) ledger_.give(job.held);
  if (!gone(job.expected.leaving)) ledger_.give(job.leaving);
  // The place held for it elsewhere is not given back yet.
  if (gone(job.expected.next)) ledger_.take(job.next_place);
  remove(job);
  job.expected = {};
}

bool Future::expect(JobRec& job, const Leaves& leaves) {
  if (job.expected == leaves) return false;
  const auto change = [this](const Tasks& tasks, bool was_gone, bool is_gone) {
    if (was_gone && !is_gone) ledger_.take(tasks);
    if (!was_gone && is_gone) ledger_.give(tasks);
  };
  const auto earlier = [](const std::optional<Instant>& was, const std::optional<Instant>& is) {
    return is && (!was || *is < *was);
  };
  change(job.held, gone(job.expected.held), gone(leaves.held));
  change(job.leaving, gone(job.expected.leaving), gone(leaves.leaving));
  change(job.next_place, gone(job.expected.next), gone(leaves.next));
  const bool sooner = earlier(job.expected.held, leaves.held) ||
                      earlier(job.expected.leaving, leaves.leaving) ||
                      earlier(job.expected.next, leaves.next);
  remove(job);
  job.expected = leaves;
  enter(job, leaves);
  return sooner;
}

void Future::move_to(Instant at) {
  if (at == at_) return;
  constexpr JobId kLast(std::numeric_limits<std::uint64_t>::max());
  const auto after = [&](Instant instant) {
    return order_.upper_bound({instant, kLast, kParts.back(), nullptr});
  };
  const auto from = after(std::min(at, at_));
  const auto to = after(std::max(at, at_));
  const bool forward = at > at_;
  at_ = at;
  for (auto entry = from; entry != to; ++entry) {
    if (forward) {
      ledger_.give(entry->tasks());
    } else {
      ledger_.take(entry->tasks());
    }
  }
}

std::optional<Instant> Future::last_leave(Instant until) const {
  constexpr JobId kLast(std::numeric_limits<std::uint64_t>::max());
  const auto after = order_.upper_bound({until, kLast, kParts.back(), nullptr});
  if (after == order_.begin()) return std::nullopt;
  return std::prev(after)->at;
}

std::optional<Instant> Future::next_leave(Instant from, Late late) const {
  if (order_.empty()) return std::nullopt;
  if (late == Late::kCountAsNow && order_.begin()->at <= from) return from;
  const auto next = order_.lower_bound({from, JobId(), kParts.front(), nullptr});
  if (next == order_.end()) return std::nullopt;
  return next->at;
}

}  // namespace rota::engine
