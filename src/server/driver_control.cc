// The driver's calls that change jobs and nodes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "server/driver.h"
#include "server/names.h"

namespace rota::server {
namespace {

Error invalid_request(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

Error not_found(const std::string& id) {
  return {.code = ErrorCode::kNotFound,
          .message = "there is no job " + id + "; see: rota ls --all"};
}

template <NamedEnum E>
Result<E> verb_of(const std::string& word) {
  if (const std::optional<E> verb = enum_from<E>(word)) return *verb;
  std::vector<std::string> known;
  for (const std::string_view name : names_of(E{})) known.emplace_back(name);
  const std::string_view near = nearest_word(word, known);
  return invalid_request("verb", "'" + word + "' cannot be done; " +
                             (near.empty() ? "one of: " + join(known, ", ")
                                           : "did you mean '" + std::string(near) + "'?"));
}

/// The engine's rule on changes, with what the daemon itself can change at any time.
Error changed_in_words(Error error, JobState state) {
  const bool runs = state == JobState::kRunning || state == JobState::kStarting;
  if (error.code == ErrorCode::kConflict && runs) {
    error.message = "of a running job only priority, time limit, name and comment can change";
  }
  return error;
}

std::string past_tense(JobVerb verb) {
  switch (verb) {
    case JobVerb::kCancel: return "cancelled";
    case JobVerb::kHold: return "held";
    case JobVerb::kRelease: return "released";
    case JobVerb::kRequeue: return "requeued";
  }
  return {};
}

/// "job 7 (train) is cancelled by ana"; of one that runs: "is to be cancelled", since its end is
/// told when it comes.
std::string command_words(const std::string& job, JobVerb verb, JobState before,
                          const std::string& user) {
  const bool holds = before != JobState::kPending && !is_final(before);
  const bool later = holds && (verb == JobVerb::kCancel || verb == JobVerb::kRequeue);
  return job + (later ? " is to be " : " is ") + past_tense(verb) + " by " + user;
}

}  // namespace

// ---- ids ----

/// Jobs the engine has forgotten: the history has them.
Result<Driver::Target> Driver::resolve_past(const JobRef& ref) {
  store::Store& store = *options_.store;
  Target target;
  target.text = std::to_string(ref.number);
  if (!ref.index) {
    Result<std::optional<api::Job>> record = store.history(JobId(ref.number));
    if (!record.ok()) return record.error();
    if (record->has_value()) {
      target.text = (*record)->id;
      target.user = (*record)->user;
      target.past.push_back({.job = JobId(ref.number), .record = **std::move(record)});
      return target;
    }
  }
  Result<std::vector<store::HistoryRow>> members =
      store.history({.array = target.text, .limit = std::numeric_limits<std::int64_t>::max()});
  if (!members.ok()) return members.error();
  for (store::HistoryRow& row : *members) {
    if (ref.index && row.record.array_index != *ref.index) continue;
    target.user = row.record.user;
    target.past.push_back(std::move(row));
  }
  target.is_group = !ref.index.has_value();
  if (ref.index) target.text += "." + std::to_string(*ref.index);
  if (target.past.empty()) return not_found(target.text);
  return target;
}

Result<Driver::Target> Driver::resolve_number(const JobRef& ref) {
  const engine::Engine& engine = log_->engine();
  Target target;
  const auto take = [&](JobId id) {
    const Result<JobStatus> status = engine.job(id);
    if (!status.ok() || book_.find(id) == nullptr) return;
    target.jobs.push_back(id);
    target.user = status->spec->user;
  };
  if (!ref.index) take(JobId(ref.number));
  if (target.jobs.empty()) {
    for (const JobId member : engine.group_members(GroupId(ref.number))) {
      const Result<JobStatus> status = engine.job(member);
      if (status.ok() && (!ref.index || status->spec->group_index == *ref.index)) take(member);
    }
    target.is_group = !ref.index.has_value();
  }
  if (target.jobs.empty()) return resolve_past(ref);
  target.text = target.is_group ? std::to_string(ref.number)
                                : views().job_name(target.jobs.front());
  return target;
}

Result<Driver::Target> Driver::resolve(const Caller& caller, const std::string& id) {
  Result<JobRef> ref = parse_job_ref(id);
  if (!ref.ok()) return ref.error();
  if (ref->number != 0) return resolve_number(*ref);
  const Result<std::optional<store::JobRow>> recent =
      options_.store->recent_job(caller.user, ref->back);
  if (!recent.ok()) return recent.error();
  if (!recent->has_value()) {
    return Error{.code = ErrorCode::kNotFound,
                 .message = "'" + id + "': " + caller.user + " has not submitted so many jobs"};
  }
  ref->number = (*recent)->job.value();
  Result<Target> target = resolve_number(*ref);
  if (!target.ok()) return target;
  // The first member stands for its array.
  const std::size_t dot = target->text.find('.');
  if (dot == std::string::npos) return target;
  const Result<JobRef> array = parse_job_ref(target->text.substr(0, dot));
  return array.ok() ? resolve_number(*array) : target;
}

Result<Driver::Target> Driver::resolve_own(const Caller& caller, const std::string& id) {
  Result<Target> target = resolve(caller, id);
  if (target.ok() && !owns(caller, target->user)) {
    return Error{.code = ErrorCode::kDenied,
                 .message = "job " + target->text + " belongs to " + target->user +
                            "; only its owner or an administrator may do this"};
  }
  return target;
}

// ---- jobs ----

void Driver::command(const Caller& caller, std::string id, std::string verb,
                     Reply<api::JobPage> done) {
  call<api::JobPage>(std::move(done), [this, caller = ranked(caller), id, verb](Turn& turn) {
    return do_command(turn, caller, id, verb);
  });
}

Result<api::JobPage> Driver::do_command(Turn& turn, const Caller& caller, const std::string& id,
                                        const std::string& verb_name) {
  const Result<JobVerb> verb = verb_of<JobVerb>(verb_name);
  if (!verb.ok()) return verb.error();
  const Status writable = can_write();
  if (!writable.ok() && *verb == JobVerb::kCancel) {
    return stop_unwritten(turn, caller, id, writable.error());
  }
  if (!writable.ok()) return writable.error();
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  if (target->jobs.empty()) {
    return Error{.code = ErrorCode::kConflict,
                 .message = "job " + target->text + " has ended (" +
                            target->past.front().record.state +
                            "); to run it again: rota redo " + target->text};
  }
  api::JobPage page;
  Status refused;
  for (const JobId job : target->jobs) {
    const Result<JobStatus> status = log_->engine().job(job);
    const bool over = status.ok() && is_final(status->state);
    if (over && *verb != JobVerb::kRequeue) {
      refused = Error{.code = ErrorCode::kConflict,
                      .message = "job " + views().job_name(job) + " has ended (" +
                                 std::string(name_of(status->state)) + ")"};
      continue;
    }
    const Status applied = apply(turn, JobCommanded{job, *verb, caller.user});
    if (!applied.ok()) {
      refused = applied;
      continue;
    }
    note_job(turn, job,
             {.kind = "job_" + past_tense(*verb),
              .by = caller.user,
              .message = command_words(called(job), *verb, status->state, caller.user)});
    Result<api::Job> view = views().job(job, turn.now, engine::Engine::Detail::kBrief);
    if (view.ok()) page.jobs.push_back(*std::move(view));
  }
  if (page.jobs.empty()) return refused.ok() ? not_found(target->text) : refused.error();
  return page;
}

/// A full disk must not keep people from ending what runs. The order is written down when that is
/// possible again; until then the answer says what cannot be promised.
Error Driver::stop_unwritten(Turn& turn, const Caller& caller, const std::string& id,
                             const Error& refused) {
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  std::vector<std::string> stopped;
  for (const JobId job : target->jobs) {
    const Result<JobStatus> status = log_->engine().job(job);
    const bool runs = status.ok() && (status->state == JobState::kStarting ||
                                      status->state == JobState::kRunning ||
                                      status->state == JobState::kStopping);
    if (!runs) continue;
    const Status sent = options_.backend->stop({.job = job,
                                                .attempt = status->attempts,
                                                .cause = StopCause::kCancelled,
                                                .grace = grace_of(job, Duration())});
    if (!sent.ok()) continue;
    stopped.push_back(views().job_name(job));
    unwritten_cancels_.push_back({job, caller.user, turn.now});
  }
  if (stopped.empty()) return refused;
  return Error{.code = ErrorCode::kUnavailable,
               .message = fmt::format(
                   "{} {} told to stop, but this cannot be written down yet: {}; {}. Were the "
                   "daemon to end before, the job would be begun again",
                   (stopped.size() == 1 ? "job " : "jobs ") + join(stopped, ", "),
                   stopped.size() == 1 ? "is" : "are", storage_problem_, storage_remedy())};
}

/// Before anything else that is learned now: the ends that follow are those of cancelled jobs.
void Driver::write_cancels(Turn& turn) {
  const Instant now = turn.now;
  for (const UnwrittenCancel& cancel : unwritten_cancels_) {
    turn.now = log_->clamp(cancel.at);
    if (!apply(turn, JobCommanded{cancel.job, JobVerb::kCancel, cancel.user}).ok()) continue;
    note_job(turn, cancel.job,
             {.kind = "job_cancelled",
              .by = cancel.user,
              .message = called(cancel.job) + " is cancelled by " + cancel.user});
  }
  turn.now = now;
}

void Driver::update(const Caller& caller, std::string id, api::UpdateRequest request,
                    Reply<api::Job> done) {
  call<api::Job>(std::move(done), [this, caller = ranked(caller), id, request = std::move(request)](
                                      Turn& turn) { return do_update(turn, caller, id, request); });
}

Result<api::Job> Driver::do_update(Turn& turn, const Caller& caller, const std::string& id,
                                   const api::UpdateRequest& update) {
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  if (target->jobs.empty()) {
    return Error{.code = ErrorCode::kConflict, .message = "job " + target->text + " has ended"};
  }
  const Status feasible = check_update(turn, caller, *target, update);
  if (!feasible.ok()) return feasible.error();
  Status refused = not_found(target->text);
  JobId changed;
  std::int64_t count = 0;
  for (const JobId job : target->jobs) {
    const Status status = update_one(turn, caller, job, update);
    if (!status.ok()) {
      if (!changed.valid()) refused = status;
      continue;
    }
    ++count;
    if (!changed.valid()) changed = job;
  }
  if (!changed.valid()) return refused.error();
  Result<api::Job> view = views().job(changed, turn.now, engine::Engine::Detail::kHistory);
  if (view.ok() && target->is_group) view->members_changed = count;
  return view;
}

Result<JobSpec> Driver::updated_spec(const Caller& caller, JobId job,
                                     const api::UpdateRequest& update) const {
  const Result<JobStatus> status = log_->engine().job(job);
  if (!status.ok()) return status.error();
  if (is_final(status->state)) {
    return Error{.code = ErrorCode::kConflict,
                 .message = "job " + views().job_name(job) + " has ended"};
  }
  JobSpec spec = *status->spec;
  const Status changed = update_spec(update, spec);
  if (!changed.ok()) return changed.error();
  if (update.queue) {
    const Status queue = check_queue(caller, *update.queue);
    if (!queue.ok()) return queue.error();
    spec.queue = *update.queue;
  }
  return spec;
}

/// A size that this cluster can never hold is refused as at submit; members of an array are alike,
/// so the first that waits stands for all. A job that was to wait all the same may go on to.
Status Driver::check_update(Turn& turn, const Caller& caller, const Target& target,
                            const api::UpdateRequest& update) const {
  if ((!update.gpus && !update.tasks) || !discovered_) return {};
  for (const JobId job : target.jobs) {
    const Result<JobStatus> status = log_->engine().job(job);
    const JobRecord* record = book_.find(job);
    if (!status.ok() || status->state != JobState::kPending || record == nullptr) continue;
    if (record->submission->request.hold_infeasible ||
        options_.config.policy.infeasible == Infeasible::kHold) {
      return {};
    }
    Result<JobSpec> spec = updated_spec(caller, job, update);
    if (!spec.ok()) return {};  // said by the change itself
    spec->hold_infeasible = false;
    spec->group = GroupId();
    spec->dependencies.clear();
    const Result<engine::Preview> preview = log_->engine().preview(turn.now, *spec);
    if (!preview.ok() || !is_final(preview->verdict.state)) return {};
    return refusal(views().verdict_of(preview->verdict), spec->shape);
  }
  return {};
}

Status Driver::update_one(Turn& turn, const Caller& caller, JobId job,
                          const api::UpdateRequest& update) {
  const Result<JobSpec> spec = updated_spec(caller, job, update);
  if (!spec.ok()) return spec.error();
  const Result<JobStatus> status = log_->engine().job(job);
  const bool new_limit = spec->time_limit != status->spec->time_limit;
  if (!(*spec == *status->spec)) {
    const Status changed = apply(turn, JobUpdated{.job = job, .spec = *spec});
    if (!changed.ok()) return changed_in_words(changed.error(), status->state);
  }
  if (new_limit) turn.limits.push_back(job);
  JobRecord* record = book_.find(job);
  if (record != nullptr && update.name) {
    record->row.name = *update.name;
    options_.store->set_job_name(job, *update.name);
  }
  if (record != nullptr && update.comment) {
    record->submission->launch.comment = *update.comment;
    options_.store->set_launch(record->submission->id, record->submission->launch);
  }
  note_job(turn, job, {.kind = "job_updated", .message = called(job) + " is changed"});
  return {};
}

void Driver::signal(const Caller& caller, std::string id, int signal_number,
                    Reply<api::Job> done) {
  call<api::Job>(std::move(done), [this, caller = ranked(caller), id, signal_number](Turn& turn) {
    return do_signal(turn, caller, id, signal_number);
  });
}

Result<api::Job> Driver::do_signal(Turn& turn, const Caller& caller, const std::string& id,
                                   int signal_number) {
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  if (signal_number < 1 || signal_number > 64) {
    return invalid_request("signal", "a signal is a number between 1 and 64");
  }
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  Status last = Error{.code = ErrorCode::kConflict,
                      .message = "job " + target->text + " is not running; see: rota show " +
                                 target->text};
  JobId signalled;
  for (const JobId job : target->jobs) {
    const Result<JobStatus> status = log_->engine().job(job);
    if (!status.ok() ||
        (status->state != JobState::kRunning && status->state != JobState::kStopping)) {
      continue;
    }
    last = options_.backend->signal(job, status->attempts, signal_number);
    if (!last.ok()) continue;
    signalled = signalled.valid() ? signalled : job;
    note_job(turn, job,
             {.kind = "job_signalled",
              .by = caller.user,
              .message = fmt::format("{} gets signal {} from {}", called(job), signal_number,
                                     caller.user)});
  }
  if (!signalled.valid()) return last.error();
  return views().job(signalled, turn.now, engine::Engine::Detail::kHistory);
}

// ---- nodes ----

void Driver::node_command(const Caller& caller, std::string node, std::string verb,
                          std::string reason, Reply<api::Node> done) {
  call<api::Node>(std::move(done), [this, caller = ranked(caller), node, verb, reason](Turn& turn) {
    return do_node_command(turn, caller, node, verb, reason);
  });
}

Result<api::Node> Driver::do_node_command(Turn& turn, const Caller& caller,
                                          const std::string& node, const std::string& verb_name,
                                          const std::string& reason) {
  if (!caller.admin) return admins_only(verb_name + " a node");
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  if (!is_plain_text(reason)) {
    return invalid_request("reason", "a reason is one line without control characters");
  }
  const Result<NodeVerb> verb = verb_of<NodeVerb>(verb_name);
  if (!verb.ok()) return verb.error();
  if (*verb == NodeVerb::kFail || *verb == NodeVerb::kRemove) {
    return invalid_request("verb", "'" + verb_name + "' is found out by the back-end; use drain or "
                           "quarantine");
  }
  if (!log_->engine().node(node).ok()) {
    const std::vector<std::string> known = log_->engine().node_names();
    const std::string_view near = nearest_word(node, known);
    return Error{.code = ErrorCode::kNotFound,
                 .message = "there is no node '" + node + "'; " +
                            (near.empty() ? "see: rota nodes"
                                          : "did you mean '" + std::string(near) + "'?")};
  }
  // A second drain without a reason keeps the first one's.
  const Result<NodeStatus> before = log_->engine().node(node);
  const bool stays_out = before.ok() && before->state != NodeState::kUp &&
                         (*verb == NodeVerb::kDrain || *verb == NodeVerb::kQuarantine);
  const std::string why = reason.empty() && stays_out ? before->reason : reason;
  const Status status = apply(turn, NodeCommanded{node, *verb, why});
  if (!status.ok()) return status.error();
  note_node(turn, node,
            {.kind = "node_" + verb_name,
             .cause = reason,
             .by = caller.user,
             .message = "node " + node + ": " + verb_name + " by " + caller.user +
                        (reason.empty() ? "" : " (" + reason + ")")});
  return views().node(node, options_.devices_simulated);
}

}  // namespace rota::server
