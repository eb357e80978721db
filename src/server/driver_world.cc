// The driver and the world outside: asking the back-end, taking its facts about attempts, carrying
// decisions out, and telling people what happened.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text.h"
#include "report/sentence.h"
#include "report/words.h"
#include "server/driver.h"

namespace rota::server {
namespace {

constexpr Duration kBackendRetry = Duration::seconds(1);
constexpr Duration kLate = Duration::seconds(2);

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

/// "is done", "failed", "is cancelled", "reached its time limit".
std::string state_words(JobState state) {
  if (state == JobState::kFailed) return "failed";
  if (state == JobState::kTimeout) return "reached its time limit";
  return "is " + std::string(name_of(state));
}

/// ": exit code 3 after 5s"; a cause that the state says already is not said twice.
std::string end_words(const JobChanged& change, const api::Job& record) {
  std::string words;
  if (change.state == JobState::kFailed) {
    const std::string how = report::exit_words(
        {.exit_code = record.exit_code, .signal = record.signal, .detail = record.detail});
    words = ": " + (how.empty() ? change.cause : how);
  } else if (change.state == JobState::kCancelled && change.cause != "cancelled") {
    words = " (" + change.cause + ")";
  }
  if (record.run_seconds) words += " after " + report::short_duration(*record.run_seconds);
  return words;
}

}  // namespace

// ---- the back-end's knowledge ----

void Driver::ask_backend(Instant now) {
  if (now < backend_retry_at_) return;
  if (!discovered_) discover(now);
  if (!discovered_) return;
  if (reconciled_ && now < reconcile_at_ && !orders_.wants_list(now)) return;
  const Status status =
      orders_.reconcile(now, *options_.backend, log_->engine(), facts_);
  if (!status.ok()) {
    backend_problem_ = status.error().message;
    backend_retry_at_ = now + kBackendRetry;
    return;
  }
  backend_problem_.clear();
  if (!reconciled_) {
    cycle_again_ = true;
    repeat_time_limits();
  }
  reconciled_ = true;
  reconcile_at_ = now + options_.config.reconcile_interval;
}

std::optional<backend::StartOrder> Driver::start_order(const StartAttempt& start) const {
  const Result<JobStatus> status = log_->engine().job(start.job, engine::Engine::Detail::kHistory);
  const JobRecord* record = book_.find(start.job);
  if (!status.ok() || record == nullptr) return std::nullopt;
  const JobSpec& spec = *status->spec;
  backend::StartOrder order{.job = start.job,
                            .attempt = start.attempt,
                            .allocation = start.allocation,
                            .launch = launch_of(*record, spec.group_index)};
  for (const AttemptStatus& attempt : status->history) {
    if (attempt.number == start.attempt - 1) order.restart_reason = attempt.cause;
  }
  order.time_limit = spec.time_limit;
  order.group = spec.group;
  order.group_index = spec.group_index;
  if (spec.group.valid()) {
    const api::SubmitRequest& request = record->submission->request;
    order.group_size =
        static_cast<std::int64_t>(std::max(request.array.size(), request.params.size()));
  }
  return order;
}

/// What a crash kept from the back-end; it knows what is news.
void Driver::repeat_time_limits() {
  for (const JobId id : log_->engine().live_jobs()) tell_time_limit(id);
}

/// The daemon ends it in time all the same, as long as it runs: a failure is not repeated.
void Driver::tell_time_limit(JobId id) {
  const Result<JobStatus> job = log_->engine().job(id);
  if (!job.ok() || job->state != JobState::kRunning) return;
  const Status told = options_.backend->set_time_limit(id, job->attempts, job->spec->time_limit);
  if (!told.ok()) spdlog::warn("{}", told.error().message);
}

Duration Driver::grace_of(JobId job, Duration grace) const {
  const JobRecord* record = book_.find(job);
  // The engine states a grace for preemption only; a cancelled job or one past its limit gets the
  // policy's as well.
  const Duration least = std::max(grace, log_->engine().policy().grace);
  if (record == nullptr) return least;
  return record->submission->launch.grace.value_or(least);
}

// ---- facts ----

/// Puts the facts about attempts that are learned late first, by when they happened. Returns their
/// number.
std::size_t Driver::sort_late(Turn& turn) {
  const auto happened = [](const Event& fact) -> std::optional<Instant> {
    if (const auto* started = std::get_if<AttemptStarted>(&fact)) return started->at;
    if (const auto* ended = std::get_if<AttemptEnded>(&fact)) return ended->at;
    return std::nullopt;
  };
  const auto end = std::stable_partition(
      turn.facts.begin(), turn.facts.end(), [&](const Event& fact) {
        const std::optional<Instant> at = happened(fact);
        return at && turn.now - *at > kLate;
      });
  std::stable_sort(turn.facts.begin(), end, [&](const Event& a, const Event& b) {
    return *happened(a) < *happened(b);
  });
  return static_cast<std::size_t>(end - turn.facts.begin());
}

/// What happened while nobody looked counts from when it happened, as far as the engine's time
/// allows: it stands still while the daemon is down. So these come before all else of the turn.
void Driver::take_late_facts(Turn& turn) {
  const Instant now = turn.now;
  turn.late_facts = sort_late(turn);
  for (std::size_t i = 0; i < turn.late_facts; ++i) {
    const Event& fact = turn.facts[i];
    const auto* started = std::get_if<AttemptStarted>(&fact);
    const Instant at = started != nullptr ? *started->at : *std::get<AttemptEnded>(fact).at;
    turn.now = log_->clamp(at);
    take_fact(turn, fact);
  }
  turn.now = now;
}

void Driver::take_facts(Turn& turn) {
  for (std::size_t i = turn.late_facts; i < turn.facts.size(); ++i) {
    take_fact(turn, turn.facts[i]);
  }
  change_waiting_nodes(turn);
}

void Driver::take_fact(Turn& turn, const Event& fact) {
  if (const auto* started = std::get_if<AttemptStarted>(&fact)) {
    attempt_started(turn, *started);
  } else if (const auto* ended = std::get_if<AttemptEnded>(&fact)) {
    attempt_ended(turn, *ended);
  } else if (std::holds_alternative<NodeReported>(fact) ||
             std::holds_alternative<NodeCommanded>(fact) ||
             std::holds_alternative<DeviceReported>(fact)) {
    node_fact(turn, fact);
  } else if (const Status status = apply(turn, fact); !status.ok()) {
    spdlog::debug("fact not taken: {}", status.error().message);
  }
}

/// Late and repeated facts are normal: only one about an attempt that waits for it goes on.
void Driver::attempt_started(Turn& turn, const AttemptStarted& fact) {
  const Result<JobStatus> before = log_->engine().job(fact.job);
  if (!before.ok() || before->attempts != fact.attempt) return;
  if (before->state != JobState::kStarting && before->state != JobState::kStopping) return;
  const bool is_first = !before->first_started.has_value();
  const Instant submitted = before->submitted;
  if (!apply(turn, fact).ok()) return;
  orders_.started(fact.job, fact.attempt);
  const Result<JobStatus> after = log_->engine().job(fact.job);
  if (!after.ok() || after->state != JobState::kRunning) return;
  const JobRecord* record = book_.find(fact.job);
  if (is_first && record != nullptr) {
    metrics_.first_start(record->submission->job_class, turn.now - submitted);
  }
  note_job(turn, fact.job,
           {.kind = "job_started",
            .state = "running",
            .message = called(fact.job) + " runs on " + allocation_text(after->allocation)});
}

void Driver::attempt_ended(Turn& turn, const AttemptEnded& fact) {
  turn.over.emplace_back(fact.job, fact.attempt);
  // Also of an attempt that the engine has given up before, as when its node failed.
  orders_.remove(fact.job, fact.attempt);
  options_.store->remove_orders(fact.job, fact.attempt);
  const Result<JobStatus> before = log_->engine().job(fact.job);
  if (!before.ok() || before->attempts != fact.attempt || is_final(before->state) ||
      before->state == JobState::kPending) {
    return;
  }
  const Status status = apply(turn, fact);
  if (!status.ok()) {
    spdlog::warn("end of job {} not taken: {}", fact.job.value(), status.error().message);
    return;
  }
  metrics_.attempt_ended(std::string(name_of(fact.kind)));
  if (fact.kind == EndKind::kLost) {
    spdlog::warn("attempt {} of {} is lost: {}", fact.attempt, called(fact.job), fact.detail);
  }
}

// ---- decisions ----

void Driver::add_order(const store::OrderRow& row) {
  options_.store->add_order(row);
  orders_.add(row);
}

void Driver::take_decision(Turn& turn, const Decision& decision) {
  std::visit(
      Match{
          [&](const StartAttempt& start) {
            add_order({.job = start.job, .attempt = start.attempt, .decision = decision});
          },
          [&](const StopAttempt& stop) {
            add_order({.job = stop.job,
                       .attempt = stop.attempt,
                       .kind = store::OrderKind::kStop,
                       .decision = decision});
            const std::string cause(name_of(stop.cause));
            metrics_.stopped(cause);
            const bool preempted = stop.cause == StopCause::kPreempted;
            std::string words = called(stop.job) + " is told to stop (" + cause + ")";
            if (stop.by.valid()) words += " for job " + views().job_name(stop.by);
            note_job(turn, stop.job,
                     {.kind = preempted ? "job_preempted" : "job_stopping",
                      .state = "stopping",
                      .cause = cause,
                      .by = stop.by.valid() ? views().job_name(stop.by) : std::string(),
                      .message = words});
          },
          [&](const StopTasks& stop) {
            add_order({.job = stop.job,
                       .attempt = stop.attempt,
                       .kind = store::OrderKind::kStop,
                       .decision = decision});
          },
          [&](const GrowTasks& grow) {
            // Elastic jobs are refused at submit, so the engine has none to grow.
            spdlog::error("job {} cannot be grown by this back-end", grow.job.value());
          },
          [&](const JobChanged& change) { job_changed(turn, change); },
          [&](const SessionWarned& warned) {
            note_job(turn, warned.job,
                     {.kind = "session_warned",
                      .state = "running",
                      .message = called(warned.job) + " is idle and will be ended if it stays so"});
          },
          [&](const NodeChanged& change) {
            const std::string state(name_of(change.state));
            std::vector<std::string> jobs;
            for (const JobId job : change.jobs) jobs.push_back("job " + views().job_name(job));
            note_node(turn, change.node,
                      {.kind = "node_" + state,
                       .state = state,
                       .message = "node " + change.node + " is " + state +
                                  (jobs.empty() ? "" : " after failures of " + join(jobs, ", "))});
          },
      },
      decision);
}

Result<api::Job> Driver::put_history(Turn& turn, JobId job) {
  Result<api::Job> record = views().job(job, turn.now, engine::Engine::Detail::kHistory);
  if (!record.ok() || book_.find(job) == nullptr) return record;
  set_true_submit(*record);
  options_.store->put_history(job, turn.now, *record);
  return record;
}

void Driver::job_changed(Turn& turn, const JobChanged& change) {
  if (book_.find(change.job) == nullptr) return;  // refused at submit: nobody has its number
  const std::string state(name_of(change.state));
  if (!is_final(change.state)) {
    options_.store->remove_history(change.job);
    note_job(turn, change.job,
             {.kind = "job_requeued",
              .state = state,
              .cause = change.cause,
              .message = called(change.job) + " waits again (" + change.cause + ")"});
    return;
  }
  const Result<api::Job> record = put_history(turn, change.job);
  std::string words = called(change.job) + " " + state_words(change.state);
  if (record.ok()) words += end_words(change, *record);
  note_job(turn, change.job,
           {.kind = "job_finished", .state = state, .cause = change.cause, .message = words});
}

// ---- people events ----

std::string Driver::called(JobId job) const {
  const JobRecord* record = book_.find(job);
  const std::string name = record == nullptr ? std::string() : " (" + record->row.name + ")";
  return "job " + views().job_name(job) + name;
}

void Driver::note_job(Turn& turn, JobId job, Note note) {
  api::Event event{.job = views().job_name(job)};
  if (const Result<JobStatus> status = log_->engine().job(job); status.ok()) {
    event.queue = status->spec->queue;
    event.user = status->spec->user;
  }
  keep_event(turn, std::move(event), std::move(note));
}

void Driver::note_node(Turn& turn, const std::string& node, Note note) {
  keep_event(turn, api::Event{.node = node}, std::move(note));
}

/// Gives the people event its words and its time, and keeps it.
void Driver::keep_event(Turn& turn, api::Event event, Note note) {
  event.time = iso_time(turn.now);
  event.kind = std::move(note.kind);
  event.state = std::move(note.state);
  event.cause = std::move(note.cause);
  event.by = std::move(note.by);
  event.message = std::move(note.message);
  options_.store->add_event(turn.now, event);
  turn.events.push_back(std::move(event));
}

}  // namespace rota::server
