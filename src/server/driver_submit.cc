// The driver's calls that make jobs.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "server/driver.h"

namespace rota::server {
namespace {

Error invalid_submit(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

std::string amount_text(const JobSpec& spec) {
  const TaskShape& task = spec.shape.task;
  std::string words = !task.mig.empty()   ? "MIG " + task.mig
                      : task.slots > 0    ? fmt::format("{} time slices", task.slots)
                      : task.gpus == kWholeGpu ? "1 GPU"
                                               : format_gpus(task.gpus) + " GPUs";
  if (spec.shape.tasks > 1) words += fmt::format(" for each of {} tasks", spec.shape.tasks);
  return words;
}

Error refusal(const api::Verdict& verdict) {
  std::string why;
  for (const api::Reason& reason : verdict.reasons) {
    if (why.empty()) why = reason.sentence;
  }
  return {.code = ErrorCode::kRefused,
          .message = "this cluster can never run it: " + (why.empty() ? verdict.summary : why) +
                     "; see what there is: rota nodes. To wait all the same: --hold-infeasible"};
}

}  // namespace

void Driver::submit(const Caller& caller, api::SubmitRequest request,
                    Reply<api::SubmitReply> done) {
  auto shared = std::make_shared<Reply<api::SubmitReply>>(std::move(done));
  post({.run =
            [this, shared, caller = ranked(caller), request = std::move(request)](Turn& turn) {
              auto reply = std::make_shared<Result<api::SubmitReply>>(
                  do_submit(turn, caller, request));
              turn.answers.push_back([this, shared, reply](const Status& durable) {
                if (!durable.ok()) return (*shared)(durable.error());
                // A cycle of the same turn may have started it already.
                if (reply->ok()) {
                  const auto id = parse_job_ref((*reply)->ids.front());
                  const Result<Target> target = resolve_number(*id);
                  if (target.ok() && !target->jobs.empty()) {
                    const auto status = log_->engine().job(target->jobs.front());
                    if (status.ok()) (*reply)->state = std::string(name_of(status->state));
                  }
                }
                (*shared)(std::move(*reply));
              });
            },
        .fail = [shared](const Error& error) { (*shared)(error); }});
}

void Driver::preview(const Caller& caller, api::SubmitRequest request,
                     Reply<api::Preview> done) {
  call<api::Preview>(std::move(done),
                     [this, caller = ranked(caller), request = std::move(request)](Turn& turn) {
                       return do_preview(turn, caller, request);
                     });
}

Result<std::string> Driver::pick_queue(const Caller& caller,
                                       const api::SubmitRequest& request) const {
  const engine::Engine& engine = log_->engine();
  const Config& config = options_.config;
  if (!request.queue.empty()) {
    if (engine.queue(request.queue).ok()) return request.queue;
    const std::vector<std::string> known = engine.queue_names();
    const std::string_view near = nearest_word(request.queue, known);
    return invalid_submit("queue", "there is no queue '" + request.queue + "'; " +
                                (near.empty() ? "see: rota queue ls"
                                              : "did you mean '" + std::string(near) + "'?"));
  }
  const UserConfig* user = config.find_user(caller.user);
  if (user != nullptr && !user->queue.empty()) return user->queue;
  const bool own = config.user_queues == UserQueues::kOn ||
                   (config.user_queues == UserQueues::kAuto && config.queues.empty());
  if (engine.queue(caller.user).ok() || (own && !caller.user.empty())) return caller.user;
  return std::string("default");
}

Status Driver::ensure_queue(Turn& turn, const std::string& queue) {
  if (log_->engine().queue(queue).ok()) return {};
  return apply(turn, QueueSet{{.name = queue}});
}

Result<std::optional<Dependency>> Driver::dependency(const Caller& caller, DependencyKind kind,
                                                     const std::string& id) {
  const Result<Target> found = resolve(caller, id);
  if (!found.ok()) return found.error();
  if (found->is_group && !found->jobs.empty()) {
    const Result<JobStatus> member = log_->engine().job(found->jobs.front());
    if (member.ok()) {
      return std::optional(Dependency{.kind = kind, .group = member->spec->group});
    }
  }
  if (!found->jobs.empty()) {
    return std::optional(Dependency{.kind = kind, .job = found->jobs.front()});
  }
  // It ended long ago: either met for good, or never.
  const bool all_done = std::all_of(found->past.begin(), found->past.end(),
                                    [](const auto& row) { return row.record.state == "done"; });
  if (kind != DependencyKind::kAfterOk || all_done) return std::optional<Dependency>();
  return Error{.code = ErrorCode::kRefused,
               .message = "job " + found->text + " has not succeeded, so this job could never "
                          "start; use afterany, or run it again: rota redo " + found->text};
}

Result<Translated> Driver::translate_for(Turn& turn, const Caller& caller,
                                         const api::SubmitRequest& request) {
  const Result<std::string> queue = pick_queue(caller, request);
  if (!queue.ok()) return queue.error();
  Result<Translated> job = translate(
      request, {.config = options_.config,
                .policy = log_->engine().policy(),
                .caller = caller,
                .queue = *queue,
                .dependency = [&](DependencyKind kind, const std::string& id) {
                  return dependency(caller, kind, id);
                }});
  if (!job.ok()) return job;
  const Status exists = ensure_queue(turn, *queue);
  if (!exists.ok()) return exists.error();
  return job;
}

Result<api::SubmitReply> Driver::do_submit(Turn& turn, const Caller& caller,
                                           const api::SubmitRequest& request) {
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  const std::string& key = request.idempotency_key;
  if (!key.empty()) {
    Result<std::optional<api::SubmitReply>> known = options_.store->idempotent(caller.user, key);
    if (!known.ok()) return known.error();
    if (known->has_value()) {
      api::SubmitReply reply = **known;
      reply.repeated = true;
      return reply;
    }
  }
  const ClusterStatus cluster = log_->engine().cluster();
  if (cluster.pending + cluster.running >= options_.config.pending_max) {
    return Error{.code = ErrorCode::kRefused,
                 .message = fmt::format("{} jobs wait or run already, the most this daemon takes; "
                                        "wait, or raise limits.live_jobs in rota.yaml",
                                        options_.config.pending_max)};
  }
  const Result<Translated> job = translate_for(turn, caller, request);
  if (!job.ok()) return job.error();
  const auto count = static_cast<std::int64_t>(job->members.size());
  const std::uint64_t first = options_.store->take_ids(count + (job->is_group ? 1 : 0));
  const GroupId group = job->is_group ? GroupId(first) : GroupId();
  const JobId first_job(job->is_group ? first + 1 : first);
  const Status status = submit_members(turn, *job, group, first_job);
  if (!status.ok()) return status.error();
  remember(turn, caller, request, *job, first_job);
  api::SubmitReply reply{.id = std::to_string(first), .state = "pending"};
  for (const Member& member : job->members) {
    const JobId id(first_job.value() + static_cast<std::uint64_t>(reply.ids.size()));
    reply.ids.push_back(job_text(id, group, member.spec.group_index));
  }
  reply.warnings = job->warnings;
  if (!key.empty()) options_.store->add_idempotency(caller.user, key, turn.now, reply);
  return reply;
}

/// All members or none: the others are equal to the first one.
Status Driver::submit_members(Turn& turn, const Translated& job, GroupId group, JobId first) {
  if (job.is_group) {
    const Status status =
        apply(turn, GroupSubmitted{.group = group,
                                   .size = static_cast<std::int64_t>(job.members.size()),
                                   .throttle = job.throttle});
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < job.members.size(); ++i) {
    JobSpec spec = job.members[i].spec;
    spec.group = group;
    // Before the nodes are known nobody can say what never fits.
    spec.hold_infeasible = spec.hold_infeasible || !discovered_;
    const JobId id(first.value() + i);
    Status status = apply(turn, JobSubmitted{.job = id, .spec = std::move(spec)});
    if (status.ok()) status = check_feasible(id);
    if (status.ok()) continue;
    for (std::size_t k = 0; k < i; ++k) {
      (void)apply(turn, JobCommanded{JobId(first.value() + k), JobVerb::kCancel, "rota"});
    }
    return status;
  }
  return {};
}

/// The engine ends a job at once that can never start here; the caller gets that as a refusal, and
/// the number it had is not used again.
Status Driver::check_feasible(JobId job) const {
  const Result<JobStatus> status = log_->engine().job(job);
  if (!status.ok() || !is_final(status->state)) return {};
  const Result<Verdict> verdict = log_->engine().explain(job);
  if (!verdict.ok()) return verdict.error();
  return refusal(views().verdict_of(*verdict));
}

void Driver::remember(Turn& turn, const Caller& caller, const api::SubmitRequest& request,
                      const Translated& job, JobId first) {
  store::Store& store = *options_.store;
  auto submission = std::make_shared<store::SubmissionRow>();
  submission->id = store.take_submission_id();
  submission->user = caller.user;
  submission->job_class = job.job_class;
  submission->launch = job.launch;
  submission->request = request;
  store.add_submission(*submission);
  for (std::size_t i = 0; i < job.members.size(); ++i) {
    store::JobRow row{.job = JobId(first.value() + i),
                      .submission = submission->id,
                      .name = job.members[i].name,
                      .params = job.members[i].params};
    store.add_job(row);
    book_.add({.row = std::move(row), .submission = submission});
  }
  const JobSpec& spec = job.members.front().spec;
  const std::string what = job.is_group ? fmt::format("array of {}: ", job.members.size()) : "";
  note_job(turn, first,
           {.kind = "job_submitted",
            .state = "pending",
            .message = fmt::format("{} submitted {}: {}{} in queue {}", caller.user,
                                   called(first), what, amount_text(spec), spec.queue)});
}

Result<api::Preview> Driver::do_preview(Turn& turn, const Caller& caller,
                                        const api::SubmitRequest& request) {
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  Result<Translated> job = translate_for(turn, caller, request);
  if (!job.ok()) return job.error();
  const Result<engine::Preview> preview =
      log_->engine().preview(turn.now, job->members.front().spec);
  if (!preview.ok()) return preview.error();
  const Views view = views();
  if (is_final(preview->verdict.state)) return refusal(view.verdict_of(preview->verdict));
  api::Preview out{.starts_now = preview->starts_now,
                   .estimate = iso_time(preview->estimate),
                   .places = view.places(preview->allocation)};
  for (const JobId victim : preview->victims) out.victims.push_back(view.job_name(victim));
  out.verdict = view.verdict_of(preview->verdict);
  out.warnings = job->warnings;
  return out;
}

}  // namespace rota::server
