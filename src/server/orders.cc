#include "server/orders.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace rota::server {
namespace {

constexpr Duration kRetryFirst = Duration::milliseconds(500);
constexpr Duration kRetryMost = Duration::seconds(30);

bool outcome_unknown(const Error& error) {
  return error.code == ErrorCode::kUnknownResult || error.code == ErrorCode::kTimeout;
}

/// The engine waits for nothing more of this attempt.
bool is_over(const engine::Engine& engine, JobId job, std::int64_t attempt) {
  const Result<JobStatus> status = engine.job(job);
  return !status.ok() || is_final(status->state) || status->state == JobState::kPending ||
         status->attempts != attempt;
}

AttemptEnded ended(JobId job, std::int64_t attempt, EndKind kind, std::string detail) {
  return {.job = job, .attempt = attempt, .kind = kind, .detail = std::move(detail)};
}

}  // namespace

void Orders::restore(const std::vector<store::OrderRow>& rows) {
  orders_.clear();
  for (const store::OrderRow& row : rows) {
    add(row);
    orders_.at({row.job, row.attempt, row.kind}).phase =
        row.kind == store::OrderKind::kStart ? Phase::kUnknown : Phase::kToSend;
  }
}

void Orders::add(const store::OrderRow& row) {
  orders_.insert_or_assign({row.job, row.attempt, row.kind}, Order{.decision = row.decision});
}

void Orders::remove(JobId job, std::int64_t attempt) {
  std::erase_if(orders_, [&](const auto& entry) {
    return std::get<0>(entry.first) == job && std::get<1>(entry.first) <= attempt;
  });
}

void Orders::started(JobId job, std::int64_t attempt) {
  const auto found = orders_.find({job, attempt, store::OrderKind::kStart});
  if (found != orders_.end()) found->second.phase = Phase::kSent;
}

bool Orders::has_stop(JobId job, std::int64_t attempt) const {
  return orders_.contains({job, attempt, store::OrderKind::kStop});
}

void Orders::retry_later(Instant now, Order& order) {
  const std::int64_t doublings = std::min<std::int64_t>(order.tries++, 6);
  order.retry_at = now + std::min(kRetryFirst * (std::int64_t{1} << doublings), kRetryMost);
}

void Orders::send(Instant now, backend::ExecutionBackend& backend, const Lookup& lookup,
                  backend::Facts& facts) {
  for (auto& [key, order] : orders_) {
    if (order.phase != Phase::kToSend || order.retry_at > now) continue;
    if (std::get<2>(key) == store::OrderKind::kStop) {
      send_stop(now, key, order, backend, lookup);
    } else if (!has_stop(std::get<0>(key), std::get<1>(key))) {
      send_start(now, key, order, backend, lookup, facts);
    }
  }
}

void Orders::send_start(Instant now, const Key& key, Order& order,
                        backend::ExecutionBackend& backend, const Lookup& lookup,
                        backend::Facts& facts) {
  const auto& [job, attempt, kind] = key;
  const std::optional<backend::StartOrder> start =
      lookup.start(std::get<StartAttempt>(order.decision));
  if (!start) {
    order.phase = Phase::kSent;
    facts.push_back(ended(job, attempt, EndKind::kLaunchFailed, "how to run it is not known"));
    return;
  }
  const Status status = backend.start(*start);
  if (status.ok()) {
    order.phase = Phase::kSent;
  } else if (outcome_unknown(status.error())) {
    order.phase = Phase::kUnknown;
    retry_later(now, order);
  } else if (status.error().code == ErrorCode::kUnavailable) {
    retry_later(now, order);
  } else {
    order.phase = Phase::kSent;
    facts.push_back(ended(job, attempt, EndKind::kLaunchFailed, status.error().message));
  }
}

void Orders::send_stop(Instant now, const Key& key, Order& order,
                       backend::ExecutionBackend& backend, const Lookup& lookup) {
  const auto& [job, attempt, kind] = key;
  backend::StopOrder stop{.job = job, .attempt = attempt};
  if (const auto* whole = std::get_if<StopAttempt>(&order.decision)) {
    stop.cause = whole->cause;
    stop.by = whole->by;
    stop.grace = lookup.grace(job, whole->grace);
  } else if (const auto* some = std::get_if<StopTasks>(&order.decision)) {
    stop.cause = some->cause;
    stop.by = some->by;
    stop.grace = lookup.grace(job, some->grace);
    stop.tasks = some->tasks;
  }
  // A stop must come about: whatever the error, it is sent again. It is idempotent.
  if (backend.stop(stop).ok()) {
    order.phase = Phase::kSent;
  } else {
    retry_later(now, order);
  }
}

void Orders::compare(const Key& key, Order& order, const Known& known,
                     const engine::Engine& engine, backend::Facts& facts) {
  const auto& [job, attempt, kind] = key;
  const auto found = known.find({job, attempt});
  if (found != known.end() && !found->second.alive) {
    facts.push_back(found->second.end);
    return;
  }
  if (kind == store::OrderKind::kStop) {
    if (order.phase != Phase::kToSend) order = Order{.decision = order.decision};
    return;
  }
  const JobState state = engine.job(job)->state;  // not over, so it is known
  if (found != known.end()) {
    order.phase = Phase::kSent;
    if (state == JobState::kStarting) facts.push_back(AttemptStarted{job, attempt});
  } else if (order.phase == Phase::kToSend) {
    return;
  } else if (state == JobState::kRunning) {
    facts.push_back(ended(job, attempt, EndKind::kLost, "the back-end no longer knows it"));
  } else if (state == JobState::kStarting) {
    order = Order{.decision = order.decision};
  }
}

Status Orders::reconcile(Instant now, backend::ExecutionBackend& backend,
                         const engine::Engine& engine, backend::Facts& facts) {
  Result<std::vector<backend::KnownAttempt>> list = backend.list();
  if (!list.ok()) {
    for (auto& [key, order] : orders_) {
      if (order.phase == Phase::kUnknown) retry_later(now, order);
    }
    return list.error();
  }
  Known known;
  for (backend::KnownAttempt& attempt : *list) {
    known.emplace(std::pair(attempt.job, attempt.attempt), attempt);
  }
  // What the engine has given up is no order any more; if it still runs, nobody ordered it.
  std::erase_if(orders_, [&](const auto& entry) {
    return is_over(engine, std::get<0>(entry.first), std::get<1>(entry.first));
  });
  for (auto& [key, order] : orders_) compare(key, order, known, engine, facts);
  for (const auto& [key, attempt] : known) {
    const auto& [job, number] = key;
    if (orders_.contains({job, number, store::OrderKind::kStart})) continue;
    if (attempt.alive) {
      spdlog::warn("attempt {} of job {} runs, and the journal has no order for it: it is stopped",
                   number, job.value());
      (void)backend.stop({.job = job, .attempt = number, .cause = StopCause::kCancelled});
    } else {
      backend.forget(job, number);
    }
  }
  return {};
}

bool Orders::wants_list(Instant now) const {
  return std::any_of(orders_.begin(), orders_.end(), [&](const auto& entry) {
    return entry.second.phase == Phase::kUnknown && entry.second.retry_at <= now;
  });
}

std::optional<Instant> Orders::next_retry() const {
  std::optional<Instant> next;
  for (const auto& [key, order] : orders_) {
    const auto& [job, attempt, kind] = key;
    if (order.phase == Phase::kSent) continue;
    if (kind == store::OrderKind::kStart && has_stop(job, attempt)) continue;
    if (!next || order.retry_at < *next) next = order.retry_at;
  }
  return next;
}

}  // namespace rota::server
