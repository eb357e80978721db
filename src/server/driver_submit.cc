// The driver's calls that make jobs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/json.h"
#include "base/text.h"
#include "report/words.h"
#include "server/driver.h"

namespace rota::server {
namespace {

std::string amount_text(const JobSpec& spec) {
  const TaskShape& task = spec.shape.task;
  std::string words = !task.mig.empty()   ? "MIG " + task.mig
                      : task.slots > 0    ? report::counted(task.slots, "time slice")
                                          : report::gpu_words(task.gpus);
  if (spec.shape.tasks > 1) words += fmt::format(" for each of {} tasks", spec.shape.tasks);
  return words;
}

/// What the cluster's GPUs are: "h100, l4".
std::string known_models(const engine::Engine& engine) {
  std::set<std::string> models;
  for (const std::string& name : engine.node_names()) {
    const Result<NodeStatus> node = engine.node(name);
    if (!node.ok()) continue;
    for (const DeviceSpec& device : node->spec->devices) models.insert(device.model);
  }
  models.erase("");
  return join(std::vector<std::string>(models.begin(), models.end()), ", ");
}

bool any_node_is_mig(const engine::Engine& engine) {
  const std::vector<std::string> names = engine.node_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const Result<NodeStatus> node = engine.node(name);
    return node.ok() && node->spec->mig;
  });
}

/// A demand that no node could meet whatever its size: it is named before any amount. `where` is
/// the field that makes it.
struct MissingKind {
  std::string words;
  std::string where;
};
MissingKind missing_kind(const engine::Engine& engine, const JobShape& shape) {
  const std::string known = known_models(engine);
  const std::vector<std::string> there = [&] {
    std::vector<std::string> out;
    for (const std::string_view model : split(known, ',')) {
      out.emplace_back(model.starts_with(' ') ? model.substr(1) : model);
    }
    return out;
  }();
  const bool some = std::any_of(shape.models.begin(), shape.models.end(), [&](const auto& model) {
    return std::find(there.begin(), there.end(), model) != there.end();
  });
  if (!shape.models.empty() && !some) {
    return {"no node has a GPU of model " + join(shape.models, " or ") +
                (known.empty() ? "; there are none with a model" : "; there are: " + known),
            "models"};
  }
  if (!shape.task.mig.empty() && !any_node_is_mig(engine)) {
    return {"no GPU here is cut into MIG instances; ask for a part of one instead: --gpus 0.5",
            "mig"};
  }
  return {};
}

}  // namespace

void Driver::submit(const Caller& caller, api::SubmitRequest request,
                    Reply<api::SubmitReply> done) {
  auto shared = std::make_shared<Reply<api::SubmitReply>>(std::move(done));
  post({.run =
            [this, shared, caller = ranked(caller), request = std::move(request)](Turn& turn) {
              auto if_waits = std::make_shared<std::vector<std::string>>();
              auto reply = std::make_shared<Result<api::SubmitReply>>(
                  do_submit(turn, caller, request, *if_waits));
              turn.answers.push_back([this, shared, reply, if_waits](const Status& durable) {
                if (!durable.ok()) return (*shared)(durable.error());
                // A cycle of the same turn may have started it already.
                if (reply->ok()) {
                  const auto id = parse_job_ref((*reply)->ids.front());
                  const Result<Target> target = resolve_number(*id);
                  if (target.ok() && !target->jobs.empty()) {
                    const auto status = log_->engine().job(target->jobs.front());
                    if (status.ok()) (*reply)->state = std::string(name_of(status->state));
                  }
                  if ((*reply)->state == "pending") {
                    std::vector<std::string>& all = (*reply)->warnings;
                    all.insert(all.end(), if_waits->begin(), if_waits->end());
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

/// Nodes and pools that a job names must be there, or it could never start.
Status Driver::check_places(const api::SubmitRequest& request) const {
  if (!discovered_ || request.hold_infeasible) return {};
  std::set<std::string> nodes;
  std::set<std::string> pools;
  for (const std::string& name : log_->engine().node_names()) {
    const Result<NodeStatus> node = log_->engine().node(name);
    nodes.insert(name);
    if (node.ok()) pools.insert(node->spec->pool);
  }
  pools.erase("");
  const auto words = [](const std::set<std::string>& names) {
    return names.empty() ? std::string("none")
                         : join(std::vector<std::string>(names.begin(), names.end()), ", ");
  };
  for (const auto& [list, field] : {std::pair(&request.on, "on"), {&request.exclude, "exclude"}}) {
    for (const std::string& name : *list) {
      if (nodes.contains(name) || pools.contains(name)) continue;
      return Error{.code = ErrorCode::kNotFound,
                   .message = "there is no pool or node '" + name + "'; pools: " + words(pools) +
                              "; nodes: " + words(nodes),
                   .where = field};
    }
  }
  return {};
}

Error Driver::refusal(const api::Verdict& verdict, const JobShape& shape) const {
  const MissingKind missing = missing_kind(log_->engine(), shape);
  std::string why = missing.words.empty() ? verdict.summary : missing.words;
  for (const api::Reason& reason : verdict.reasons) {
    if (why == verdict.summary) why = reason.sentence;
  }
  return {.code = ErrorCode::kRefused,
          .message = "this cluster can never run it: " + why +
                     "; see what there is: rota nodes. To wait all the same: --hold-infeasible",
          .where = missing.where};
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
  const Status account = options_.backend->check_account(caller.user, caller.uid);
  if (!account.ok()) return account.error();
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
  const Status places = check_places(request);
  if (!places.ok()) return places.error();
  const Status exists = ensure_queue(turn, caller, *queue);
  if (!exists.ok()) return exists.error();
  return job;
}

/// The answer to the submit that had this key first, if this one asks for the same.
Result<api::SubmitReply> Driver::repeated(api::SubmitReply reply,
                                          const api::SubmitRequest& request) {
  const Result<JobRef> first = parse_job_ref(reply.ids.front());
  if (!first.ok()) return first.error();
  // Members of an array follow its number.
  const JobId job(first->index ? first->number + 1 : first->number);
  const Result<std::optional<store::JobRow>> row = options_.store->job(job);
  if (!row.ok()) return row.error();
  if (row->has_value()) {
    const auto before = options_.store->submission((*row)->submission);
    if (!before.ok()) return before.error();
    if (before->has_value() && api::to_text((*before)->request) != api::to_text(request)) {
      return Error{.code = ErrorCode::kConflict,
                   .message = "the idempotency key '" + request.idempotency_key +
                              "' belongs to job " + reply.id +
                              ", which asked for something else; give a new request a new key",
                   .where = "idempotency_key"};
    }
  }
  reply.repeated = true;
  return reply;
}

Result<api::SubmitReply> Driver::do_submit(Turn& turn, const Caller& caller,
                                           const api::SubmitRequest& request,
                                           std::vector<std::string>& warnings_if_it_waits) {
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  const std::string& key = request.idempotency_key;
  if (!key.empty()) {
    Result<std::optional<api::SubmitReply>> known = options_.store->idempotent(caller.user, key);
    if (!known.ok()) return known.error();
    if (known->has_value()) return repeated(**known, request);
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
  warnings_if_it_waits = job->warnings_if_it_waits;
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
  return refusal(views().verdict_of(*verdict), status->spec->shape);
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
  const JobShape& shape = job->members.front().spec.shape;
  if (is_final(preview->verdict.state)) {
    return refusal(view.verdict_of(preview->verdict), shape);
  }
  api::Preview out{.starts_now = preview->starts_now,
                   .estimate = iso_time(preview->estimate),
                   .places = view.places(preview->allocation)};
  for (const JobId victim : preview->victims) out.victims.push_back(view.job_name(victim));
  out.verdict = view.verdict_of(preview->verdict);
  // The job does not exist: it has no number and no state.
  out.verdict.id.clear();
  out.verdict.state.clear();
  if (out.starts_now) out.verdict.summary = "It would start at once.";
  out.warnings = job->warnings;
  if (!out.starts_now) {
    out.warnings.insert(out.warnings.end(), job->warnings_if_it_waits.begin(),
                        job->warnings_if_it_waits.end());
  }
  return out;
}

}  // namespace rota::server
