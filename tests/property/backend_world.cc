#include "tests/property/backend_world.h"

#include <algorithm>

namespace rota::property {

void BackendWorld::start(Instant now, const StartAttempt& order) {
  Attempt attempt;
  attempt.number = order.attempt;
  attempt.places = order.allocation.tasks;
  const Instant at = now + stage_.start_delay;
  facts_[due(at)] = AttemptStarted{order.job, order.attempt};
  const Work& work = work_[order.job];
  if (work.runs) {
    attempt.own_end = due(at + *work.runs);
    AttemptEnded fact;
    fact.job = order.job;
    fact.attempt = order.attempt;
    fact.exit_code = work.exit_code;
    facts_[*attempt.own_end] = fact;
  }
  attempts_[order.job] = std::move(attempt);
}

void BackendWorld::stop(Instant now, const StopAttempt& order) {
  const auto found = attempts_.find(order.job);
  if (found == attempts_.end() || found->second.number != order.attempt) return;
  Attempt& attempt = found->second;
  const Instant at = now + order.grace + stage_.stop_delay;
  if (attempt.stop && attempt.stop->at <= at) return;
  if (attempt.stop) facts_.erase(*attempt.stop);
  attempt.stop = due(at);
  AttemptEnded fact;
  fact.job = order.job;
  fact.attempt = order.attempt;
  fact.kind = EndKind::kStopped;
  facts_[*attempt.stop] = fact;
}

void BackendWorld::stop_tasks(Instant now, const StopTasks& order) {
  facts_[due(now + order.grace + stage_.stop_delay)] =
      TasksEnded{order.job, order.attempt, order.tasks};
}

void BackendWorld::grow(const GrowTasks& order) {
  const auto found = attempts_.find(order.job);
  if (found == attempts_.end()) return;
  auto& places = found->second.places;
  places.insert(places.end(), order.added.tasks.begin(), order.added.tasks.end());
}

void BackendWorld::end(Instant now, JobId job, AttemptEnded fact) {
  Attempt& attempt = attempts_.at(job);
  if (attempt.own_end) facts_.erase(*attempt.own_end);
  if (attempt.stop) facts_.erase(*attempt.stop);
  fact.job = job;
  fact.attempt = attempt.number;
  facts_[due(now)] = fact;
}

void BackendWorld::lose_node(Instant now, const std::string& node) {
  for (auto& [job, attempt] : attempts_) {
    const bool there = std::any_of(attempt.places.begin(), attempt.places.end(),
                                   [&](const TaskPlace& place) { return place.node == node; });
    if (!there) continue;
    AttemptEnded fact;
    fact.kind = EndKind::kLost;
    fact.node = node;
    end(now, job, fact);
  }
}

bool BackendWorld::finish(Instant now, JobId job, std::int64_t exit_code) {
  if (!attempts_.contains(job)) return false;
  AttemptEnded fact;
  fact.exit_code = exit_code;
  end(now, job, fact);
  return true;
}

std::optional<Instant> BackendWorld::next_due() const {
  if (facts_.empty()) return std::nullopt;
  return facts_.begin()->first.at;
}

std::optional<Event> BackendWorld::take_due(Instant now) {
  if (facts_.empty() || facts_.begin()->first.at > now) return std::nullopt;
  Event event = facts_.begin()->second;
  facts_.erase(facts_.begin());
  if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
    const auto found = attempts_.find(ended->job);
    if (found != attempts_.end() && found->second.number == ended->attempt) {
      if (found->second.own_end) facts_.erase(*found->second.own_end);
      if (found->second.stop) facts_.erase(*found->second.stop);
      attempts_.erase(found);
    }
  }
  if (const auto* tasks = std::get_if<TasksEnded>(&event)) {
    const auto found = attempts_.find(tasks->job);
    if (found != attempts_.end()) {
      std::erase_if(found->second.places, [&](const TaskPlace& place) {
        return std::find(tasks->tasks.begin(), tasks->tasks.end(), place.task) !=
               tasks->tasks.end();
      });
    }
  }
  told_.push_back(event);
  return event;
}

std::vector<JobId> BackendWorld::running() const {
  std::vector<JobId> out;
  for (const auto& [job, attempt] : attempts_) out.push_back(job);
  return out;
}

}  // namespace rota::property
