// The driver's calls that only look.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "backend/local/output_paths.h"
#include "base/text.h"
#include "report/words.h"
#include "server/driver.h"
#include "server/output_file.h"

namespace rota::server {
namespace {

constexpr std::int64_t kPageMax = 5'000;
constexpr std::int64_t kLogBytesMax = 1 << 20;

/// What can be told without building the whole view.
bool may_match(const JobQuery& query, const JobStatus& status) {
  const JobSpec& spec = *status.spec;
  if (!query.user.empty() && spec.user != query.user) return false;
  if (!query.queue.empty() && spec.queue != query.queue) return false;
  if (!query.array.empty() &&
      (!spec.group.valid() || std::to_string(spec.group.value()) != query.array)) {
    return false;
  }
  return query.states.empty() ||
         std::find(query.states.begin(), query.states.end(), name_of(status.state)) !=
             query.states.end();
}

/// "1767225600000000000:17": where the next page of a listing by end begins.
std::string end_cursor(const store::HistoryRow& row) {
  return std::to_string(row.ended.ns()) + ":" + std::to_string(row.job.value());
}

Error bad_cursor() {
  return {.code = ErrorCode::kInvalidArgument,
          .message = "the cursor is not one of ours; start again without it",
          .where = "cursor"};
}

Status check_states(const JobQuery& query) {
  for (const std::string& state : query.states) {
    if (enum_from<JobState>(state)) continue;
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "'" + state + "' is no state; one of: pending, starting, running, "
                            "stopping, done, failed, cancelled, timeout",
                 .where = "state"};
  }
  return {};
}

}  // namespace

Readings Driver::readings() const {
  return options_.readings ? options_.readings() : Readings();
}

// ---- jobs ----

void Driver::jobs(const Caller& caller, JobQuery query, Reply<api::JobPage> done) {
  call<api::JobPage>(std::move(done), [this, caller = ranked(caller), query = std::move(query)](
                                          Turn& turn) { return do_jobs(turn, caller, query); });
}

Result<Driver::JobSearch> Driver::read_search(const JobQuery& query) const {
  JobSearch search{.query = query};
  const Status states = check_states(query);
  if (!states.ok()) return states.error();
  if (!query.cursor.empty()) {
    const std::size_t colon = query.cursor.find(':');
    const Result<JobRef> ref =
        parse_job_ref(colon == std::string::npos ? query.cursor : query.cursor.substr(colon + 1));
    if (!ref.ok() || ref->number == 0 || ref->index) return bad_cursor();
    search.after = ref->number;
    if (query.newest_first) {
      const Result<std::int64_t> ended = parse_int(query.cursor.substr(0, colon));
      if (!ended.ok() || colon == std::string::npos) return bad_cursor();
      search.ended_by = Instant(*ended);
    }
  }
  if (!query.ended_after.empty()) {
    const Result<Instant> time = parse_iso_time(query.ended_after);
    if (!time.ok()) return time.error();
    search.ended_after = *time;
  }
  search.limit = static_cast<std::size_t>(std::clamp<std::int64_t>(query.limit, 1, kPageMax));
  const auto ended = [](const std::string& state) { return is_final(*enum_from<JobState>(state)); };
  const auto& asked = query.states;
  search.finals = query.all || std::any_of(asked.begin(), asked.end(), ended);
  search.live = asked.empty() || !std::all_of(asked.begin(), asked.end(), ended);
  if (query.newest_first && search.live) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = "order=newest is for ended jobs: name their states "
                            "(state=done,failed,cancelled,timeout)",
                 .where = "order"};
  }
  return search;
}

/// A filter that names what never was is a mistake and not an empty list.
Status Driver::check_filters(const JobQuery& query) {
  const engine::Engine& engine = log_->engine();
  if (!query.queue.empty() && !engine.queue(query.queue).ok()) {
    return no_such_queue(query.queue);
  }
  if (query.array.empty()) return {};
  const Result<JobRef> ref = parse_job_ref(query.array);
  if (!ref.ok()) return ref.error();
  if (!engine.group_members(GroupId(ref->number)).empty()) return {};
  const auto past = options_.store->history({.array = query.array, .limit = 1});
  if (past.ok() && !past->empty()) return {};
  return Error{.code = ErrorCode::kNotFound,
               .message = "there is no array " + query.array + "; see: rota ls --all",
               .where = "array"};
}

/// A job that has ended earlier in this very turn is live no more, and its end is written down when
/// the turn decides: a list between the two would lack it.
void Driver::write_just_ended(Turn& turn) {
  if (!storage_problem_.empty() || !reconciled_) return;
  for (const JobId job : log_->engine().just_ended()) (void)put_history(turn, job);
}

/// Live jobs; one more than the page holds, to tell whether there is a next one. Ended ones are in
/// the history from the turn of their end on; before the back-end was asked no cycle has put them
/// there yet.
void Driver::search_engine(Instant now, const JobSearch& search,
                           std::map<JobId, api::Job>& found) const {
  const engine::Engine& engine = log_->engine();
  const bool finals = search.finals && !reconciled_;
  if (!search.live && !finals) return;
  for (const JobId id : finals ? engine.jobs() : engine.live_jobs()) {
    if (id.value() <= search.after) continue;
    if (found.size() > search.limit) return;
    const Result<JobStatus> status = engine.job(id);
    if (!status.ok() || book_.find(id) == nullptr || !may_match(search.query, *status)) continue;
    if (search.ended_after && status->ended && *status->ended <= *search.ended_after) continue;
    Result<api::Job> view = views().job(id, now, engine::Engine::Detail::kBrief);
    if (!view.ok()) continue;
    set_true_submit(*view);
    found.emplace(id, *std::move(view));
  }
}

store::HistoryQuery Driver::history_query(const JobSearch& search) {
  return {.user = search.query.user,
          .queue = search.query.queue,
          .array = search.query.array,
          .states = search.query.states,
          .ended_after = search.ended_after,
          .after_job = search.after,
          .limit = static_cast<std::int64_t>(search.limit) + 1};
}

Status Driver::search_history(const JobSearch& search, std::map<JobId, api::Job>& found) {
  Result<std::vector<store::HistoryRow>> rows = options_.store->history(history_query(search));
  if (!rows.ok()) return rows.error();
  for (store::HistoryRow& row : *rows) found.emplace(row.job, std::move(row.record));
  return {};
}

/// Ended jobs, the latest end first.
Result<api::JobPage> Driver::newest_page(const Caller& caller, const JobSearch& search) {
  store::HistoryQuery past = history_query(search);
  past.order = store::HistoryOrder::kNewestFirst;
  past.ended_by = search.ended_by;
  past.before_job = search.after;
  Result<std::vector<store::HistoryRow>> rows = options_.store->history(past);
  if (!rows.ok()) return rows.error();
  api::JobPage page;
  if (rows->size() > search.limit) {
    rows->resize(search.limit);
    page.next_cursor = end_cursor(rows->back());
  }
  for (store::HistoryRow& row : *rows) add_to_page(caller, std::move(row.record), page);
  return page;
}

void Driver::add_to_page(const Caller& caller, api::Job job, api::JobPage& page) {
  if (!owns(caller, job.user)) redact(job);
  job.history.clear();  // in the single resource only
  page.jobs.push_back(std::move(job));
}

Result<api::JobPage> Driver::do_jobs(Turn& turn, const Caller& caller, JobQuery query) {
  if (query.array.starts_with('@')) {
    const Result<Target> latest = resolve(caller, query.array);
    if (!latest.ok()) return latest.error();
    query.array = latest->text;
  }
  const Result<JobSearch> search = read_search(query);
  if (!search.ok()) return search.error();
  const Status filters = check_filters(query);
  if (!filters.ok()) return filters.error();
  write_just_ended(turn);
  if (query.newest_first) return newest_page(caller, *search);
  std::map<JobId, api::Job> found;
  search_engine(turn.now, *search, found);
  if (search->finals) {
    const Status status = search_history(*search, found);
    if (!status.ok()) return status.error();
  }
  api::JobPage page;
  std::uint64_t last = search->after;
  for (auto& [id, job] : found) {
    if (page.jobs.size() == search->limit) {
      page.next_cursor = std::to_string(last);
      break;
    }
    last = id.value();
    add_to_page(caller, std::move(job), page);
  }
  return page;
}

void Driver::job(const Caller& caller, std::string id, Reply<api::Job> done) {
  call<api::Job>(std::move(done), [this, caller = ranked(caller), id](Turn& turn) {
    return do_job(turn, caller, id);
  });
}

/// A finished job that is requeued is submitted anew for the engine; people mean the first time.
void Driver::set_true_submit(api::Job& job) const {
  if (job.first_started.empty() || job.first_started >= job.submitted) return;
  job.submitted = job.first_started;
  const Result<std::vector<api::Event>> events = options_.store->events_after(0, job.id, "", 1);
  if (!events.ok() || events->empty() || events->front().kind != "job_submitted") return;
  const Result<Instant> submitted = parse_iso_time(events->front().time);
  const Result<Instant> started = parse_iso_time(job.first_started);
  if (!submitted.ok() || !started.ok() || *submitted > *started) return;
  job.submitted = events->front().time;
  if (job.state != "pending") job.wait_seconds = seconds_of(*started - *submitted);
}

Result<api::Job> Driver::do_job(Turn& turn, const Caller& caller, const std::string& id) {
  Result<Target> target = resolve(caller, id);
  if (!target.ok()) return target.error();
  Result<api::Job> job =
      target->jobs.empty()
          ? Result<api::Job>(target->past.front().record)
          : views().job(target->jobs.front(), turn.now, engine::Engine::Detail::kHistory);
  if (job.ok()) set_true_submit(*job);
  if (job.ok() && job->state == "pending" && job->estimate.empty()) {
    job->estimate = iso_time(log_->engine().estimate(target->jobs.front()));
  }
  if (job.ok() && !owns(caller, job->user)) redact(*job);
  return job;
}

void Driver::why(const Caller& caller, std::string id, Reply<api::Verdict> done) {
  call<api::Verdict>(std::move(done),
                     [this, caller = ranked(caller), id](Turn&) { return do_why(caller, id); });
}

Result<api::Verdict> Driver::do_why(const Caller& caller, const std::string& id) {
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  if (!target->jobs.empty()) {
    // Of an array: the first member that waits.
    for (const JobId job : target->jobs) {
      const Result<JobStatus> status = log_->engine().job(job);
      if (status.ok() && status->state == JobState::kPending) return views().verdict(job);
    }
    return views().verdict(target->jobs.front());
  }
  return verdict_of_record(target->past.front().record);
}

void Driver::request(const Caller& caller, std::string id, Reply<api::SubmitRequest> done) {
  call<api::SubmitRequest>(std::move(done), [this, caller = ranked(caller), id](Turn&) {
    return do_request(caller, id);
  });
}

Result<api::SubmitRequest> Driver::do_request(const Caller& caller, const std::string& id) {
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  const JobId job = target->jobs.empty() ? target->past.front().job : target->jobs.front();
  const Result<std::optional<store::JobRow>> row = options_.store->job(job);
  if (!row.ok()) return row.error();
  if (row->has_value()) {
    Result<std::optional<store::SubmissionRow>> submission =
        options_.store->submission((*row)->submission);
    if (!submission.ok()) return submission.error();
    if (submission->has_value()) {
      api::SubmitRequest request = std::move((*submission)->request);
      request.idempotency_key.clear();
      return request;
    }
  }
  return Error{.code = ErrorCode::kNotFound,
               .message = "the request of job " + target->text + " is no longer kept"};
}

// ---- output ----

Result<Driver::OutputPlace> Driver::find_output(Turn& turn, const Caller& caller,
                                                const std::string& id, const LogQuery& query) {
  const Result<Target> target = resolve_own(caller, id);
  if (!target.ok()) return target.error();
  const JobId number = target->jobs.empty() ? target->past.front().job : target->jobs.front();
  const Result<api::Job> job =
      target->jobs.empty() ? Result<api::Job>(target->past.front().record)
                           : views().job(number, turn.now, engine::Engine::Detail::kBrief);
  if (!job.ok()) return job.error();
  const auto missing = [](std::string message) {
    return Error{.code = ErrorCode::kNotFound, .message = std::move(message)};
  };
  if (query.rank < 0 || query.rank >= job->tasks) {
    return missing("job " + job->id + " has ranks 0 to " + std::to_string(job->tasks - 1));
  }
  if (query.attempt > job->attempts) {
    return missing("job " + job->id + " has had " +
                   report::counted(job->attempts, "attempt"));
  }
  const Result<std::optional<store::JobRow>> row = options_.store->job(number);
  if (!row.ok()) return row.error();
  if (!row->has_value()) return missing("the output of job " + job->id + " is not known");
  Result<std::optional<store::SubmissionRow>> submission =
      options_.store->submission((*row)->submission);
  if (!submission.ok()) return submission.error();
  if (!submission->has_value()) return missing("the output of job " + job->id + " is not known");
  const JobRecord record{.row = **row,
                         .submission = std::make_shared<store::SubmissionRow>(**submission)};
  const LaunchSpec launch = shown_launch(record, job->array_index.value_or(0));
  backend::OutputNames names{.job = number};
  if (!job->array_id.empty()) names.group = GroupId(parse_job_ref(job->array_id)->number);
  names.group_index = job->array_index.value_or(0);
  names.task = query.rank;
  names.tasks = job->tasks;
  for (const api::Place& place : job->places) {
    if (place.task == query.rank) names.node = place.node;
  }
  const backend::OutputPaths paths = backend::output_paths(launch, names);
  return OutputPlace{.path = query.error_stream ? paths.err : paths.out,
                     .owner = {.uid = (*submission)->launch.uid,
                               .gid = (*submission)->launch.gid,
                               .user = (*submission)->launch.user},
                     .state = job->state,
                     .is_final = is_final(*enum_from<JobState>(job->state))};
}

void Driver::log(const Caller& caller, std::string id, LogQuery query,
                 Reply<api::LogChunk> done) {
  auto shared = std::make_shared<Reply<api::LogChunk>>(std::move(done));
  const auto fail = [shared](const Error& error) { (*shared)(error); };
  post({.run =
            [this, shared, fail, caller = ranked(caller), id, query](Turn& turn) {
              const Result<OutputPlace> place = find_output(turn, caller, id, query);
              if (!place.ok()) {
                turn.answers.push_back(
                    [fail, error = place.error()](const Status&) { fail(error); });
                return;
              }
              // The disk may hang: it is asked elsewhere, and the answer comes in a later turn.
              auto work = [this, shared, fail, query, place = *place] {
                auto chunk = std::make_shared<Result<api::LogChunk>>(read_chunk(place, query));
                post({.run =
                          [shared, chunk](Turn& later) {
                            later.answers.push_back(
                                [shared, chunk](const Status&) { (*shared)(std::move(*chunk)); });
                          },
                      .fail = fail});
              };
              if (options_.run_blocking) {
                options_.run_blocking(std::move(work));
              } else {
                work();
              }
            },
        .fail = fail});
}

Result<api::LogChunk> Driver::read_chunk(const OutputPlace& place, const LogQuery& query) {
  const OutputRange range{.offset = query.offset,
                          .limit = std::clamp<std::int64_t>(query.limit, 1, kLogBytesMax)};
  api::LogChunk chunk{.path = place.path, .offset = std::max<std::int64_t>(0, query.offset)};
  chunk.state = place.state;
  const Result<OutputPiece> piece = read_output(place.path, place.owner, range);
  if (!piece.ok()) {
    // Before its first line a job has no file yet.
    if (piece.error().code == ErrorCode::kNotFound && !place.is_final) return chunk;
    return piece.error();
  }
  chunk.offset = piece->offset;
  chunk.size = piece->size;
  chunk.data = base64(piece->data);
  const auto end = piece->offset + static_cast<std::int64_t>(piece->data.size());
  chunk.final = place.is_final && end >= piece->size;
  return chunk;
}

// ---- cluster ----

void Driver::nodes(const Caller&, Reply<std::vector<api::Node>> done) {
  call<std::vector<api::Node>>(std::move(done), [this](Turn&) {
    return Result(views().nodes(options_.devices_simulated));
  });
}

void Driver::devices(const Caller&, Reply<std::vector<api::Device>> done) {
  call<std::vector<api::Device>>(std::move(done), [this](Turn&) {
    return Result(views().devices(readings(), options_.devices_simulated));
  });
}

void Driver::queues(const Caller&, Reply<std::vector<api::Queue>> done) {
  call<std::vector<api::Queue>>(std::move(done), [this](Turn&) {
    return Result(views().queues());
  });
}

// ---- events ----

void Driver::events(const Caller& caller, EventQuery query, Reply<api::EventPage> done) {
  call<api::EventPage>(std::move(done), [this, caller = ranked(caller), query = std::move(query)](
                                            Turn&) { return do_events(caller, query); });
}

Result<api::EventPage> Driver::do_events(const Caller& caller, const EventQuery& query) {
  std::string job = query.job;
  if (!job.empty()) {
    const Result<Target> target = resolve_own(caller, job);
    if (!target.ok()) return target.error();
    job = target->text;
  }
  Result<std::vector<api::Event>> events = options_.store->events_after(
      std::max<std::int64_t>(0, query.after_seq), job, caller.admin ? "" : caller.user,
      std::clamp<std::int64_t>(query.limit, 1, kPageMax));
  if (!events.ok()) return events.error();
  return api::EventPage{.events = *std::move(events),
                        .last_seq = options_.store->last_event_seq()};
}

std::int64_t Driver::subscribe(const Caller& caller, std::function<void(const api::Event&)> fn) {
  const std::lock_guard lock(subscriptions_mutex_);
  subscriptions_.emplace(++last_subscription_, Subscription{ranked(caller), std::move(fn)});
  return last_subscription_;
}

void Driver::unsubscribe(std::int64_t subscription) {
  const std::lock_guard lock(subscriptions_mutex_);
  subscriptions_.erase(subscription);
}

// ---- the server itself ----

api::Server Driver::do_info() const {
  const ClusterStatus cluster = log_->engine().cluster();
  const Pulse now = pulse();
  api::Server out{.version = options_.version,
                  .backend = options_.backend_name,
                  .devices = options_.devices_name,
                  .simulated = options_.devices_simulated,
                  .healthy = now.problems.empty(),
                  .problems = now.problems,
                  .started = iso_time(started_),
                  .state_directory = options_.store->directory()};
  {
    const std::lock_guard lock(pulse_mutex_);
    out.url = url_;
  }
  out.cycles = static_cast<std::int64_t>(metrics_.cycles());
  out.last_cycle_seconds = metrics_.last_cycle_seconds();
  out.last_event_seq = options_.store->last_event_seq();
  out.jobs_pending = cluster.pending;
  out.jobs_running = cluster.running;
  out.gpus_total = static_cast<double>(cluster.gpus_healthy);
  out.gpus_used = gpus_of(cluster.gpus_used);
  return out;
}

void Driver::info(const Caller&, Reply<api::Server> done) {
  call<api::Server>(std::move(done), [this](Turn&) { return Result(do_info()); });
}

void Driver::metrics(Reply<std::string> done) {
  call<std::string>(std::move(done), [this](Turn&) {
    return Result(metrics_.text(log_->engine(), book_,
                                views().devices(readings(), options_.devices_simulated),
                                {.healthy = pulse().problems.empty(),
                                 .last_event_seq = options_.store->last_event_seq(),
                                 .orders = orders_.size(),
                                 .version = options_.version}));
  });
}

}  // namespace rota::server
