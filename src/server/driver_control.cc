// The driver's calls that change jobs, nodes and queues.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "server/driver.h"

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

Error admins_only(const std::string& what) {
  return {.code = ErrorCode::kDenied,
          .message = "only an administrator may " + what +
                     "; ask whoever runs the daemon, or be listed under 'admins' in rota.yaml"};
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
      target.past.push_back({JobId(ref.number), **std::move(record)});
      return target;
    }
  }
  // The members of an array follow its number.
  const Result<std::optional<store::JobRow>> first = store.job(JobId(ref.number + 1));
  const Result<std::optional<store::JobRow>> itself = store.job(JobId(ref.number));
  if (!first.ok()) return first.error();
  if (!itself.ok()) return itself.error();
  if (first->has_value() && !itself->has_value()) {
    for (std::uint64_t number = ref.number + 1;; ++number) {
      Result<std::optional<api::Job>> record = store.history(JobId(number));
      if (!record.ok()) return record.error();
      if (!record->has_value() || (*record)->array_id != target.text) break;
      if (ref.index && (*record)->array_index != *ref.index) continue;
      target.user = (*record)->user;
      target.past.push_back({JobId(number), **std::move(record)});
    }
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
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  const Result<JobVerb> verb = verb_of<JobVerb>(verb_name);
  if (!verb.ok()) return verb.error();
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
              .message = called(job) + " is " + past_tense(*verb) + " by " + caller.user});
    Result<api::Job> view = views().job(job, turn.now, engine::Engine::Detail::kBrief);
    if (view.ok()) page.jobs.push_back(*std::move(view));
  }
  if (page.jobs.empty()) return refused.ok() ? not_found(id) : refused.error();
  return page;
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
  Status refused = not_found(id);
  JobId changed;
  for (const JobId job : target->jobs) {
    const Status status = update_one(turn, job, update);
    if (!status.ok()) {
      if (!changed.valid()) refused = status;
    } else if (!changed.valid()) {
      changed = job;
    }
  }
  if (target->jobs.empty()) {
    return Error{.code = ErrorCode::kConflict, .message = "job " + target->text + " has ended"};
  }
  if (!changed.valid()) return refused.error();
  return views().job(changed, turn.now, engine::Engine::Detail::kHistory);
}

Status Driver::update_one(Turn& turn, JobId job, const api::UpdateRequest& update) {
  const Result<JobStatus> status = log_->engine().job(job);
  if (!status.ok()) return status.error();
  if (is_final(status->state)) {
    return Error{.code = ErrorCode::kConflict,
                 .message = "job " + views().job_name(job) + " has ended"};
  }
  JobSpec spec = *status->spec;
  Status changed = update_spec(update, spec);
  if (!changed.ok()) return changed;
  if (update.queue) {
    if (!log_->engine().queue(*update.queue).ok()) {
      return invalid_request("queue",
                             "there is no queue '" + *update.queue + "'; see: rota queue ls");
    }
    spec.queue = *update.queue;
  }
  if (!(spec == *status->spec)) changed = apply(turn, JobUpdated{.job = job, .spec = spec});
  if (!changed.ok()) return changed;
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

// ---- nodes and queues ----

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
  const Status status = apply(turn, NodeCommanded{node, *verb, reason});
  if (!status.ok()) return status.error();
  note_node(turn, node,
            {.kind = "node_" + verb_name,
             .cause = reason,
             .by = caller.user,
             .message = "node " + node + ": " + verb_name + " by " + caller.user +
                        (reason.empty() ? "" : " (" + reason + ")")});
  return views().node(node, options_.devices_simulated);
}

void Driver::queue_set(const Caller& caller, api::QueueRequest request,
                       Reply<api::Queue> done) {
  call<api::Queue>(std::move(done),
                   [this, caller = ranked(caller), request = std::move(request)](Turn& turn) {
                     return do_queue_set(turn, caller, request);
                   });
}

Result<api::Queue> Driver::do_queue_set(Turn& turn, const Caller& caller,
                                        const api::QueueRequest& request) {
  if (!caller.admin) return admins_only("change queues");
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  if (request.name.empty()) return invalid_request("name", "a queue needs a name");
  QueueSpec spec{.name = request.name};
  const Result<QueueStatus> known = log_->engine().queue(request.name);
  if (known.ok()) spec = known->spec;
  if (request.parent) spec.parent = *request.parent;
  if (request.weight) spec.weight = *request.weight;
  if (request.no_quota) spec.quota.reset();
  if (request.no_limit) spec.limit.reset();
  for (const auto& [from, to, field] :
       {std::tuple(&request.quota, &spec.quota, "quota"),
        std::tuple(&request.limit, &spec.limit, "limit")}) {
    if (!*from) continue;
    const Result<MilliGpu> gpus = milli_gpus_of(**from, field);
    if (!gpus.ok()) return gpus.error();
    *to = *gpus;
  }
  const Status status = apply(turn, QueueSet{spec});
  if (!status.ok()) return status.error();
  api::Event event{.time = iso_time(turn.now), .kind = "queue_set", .queue = spec.name};
  event.by = caller.user;
  event.message = "queue " + spec.name + (known.ok() ? " is changed by " : " is made by ") +
                  caller.user;
  options_.store->add_event(turn.now, event);
  turn.events.push_back(std::move(event));
  return views().queue(spec.name);
}

}  // namespace rota::server
