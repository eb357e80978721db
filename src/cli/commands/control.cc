// cancel, hold, release, requeue, update, redo.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/redo.h"
#include "cli/time_text.h"
#include "cli/submission.h"
#include "cli/submit_draft.h"
#include "cli/usage.h"
#include "cli/views.h"
#include "report/words.h"

namespace rota::cli {
namespace {

struct Verb {
  const char* name;     // on the wire
  const char* done;     // "job 7 is cancelled"
  const char* doing;    // "job 7 is being cancelled": some jobs are not in `settled` yet
  const char* settled;  // the state that it leads to; empty: it is done at once
};

/// "80 stopping, 48 cancelled", in the order of the first ones.
std::string state_counts(const std::vector<api::Job>& jobs) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const api::Job& job : jobs) {
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& count) { return count.first == job.state; });
    if (known == counts.end()) {
      counts.emplace_back(job.state, 1);
    } else {
      ++known->second;
    }
  }
  std::string states;
  for (const auto& [state, count] : counts) {
    states += (states.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  }
  return states;
}

/// One line for a job; one for an array: "128 jobs of array 1 are on hold (80 running, 48 held)".
std::string verb_answer(const Verb& verb, const std::vector<api::Job>& jobs) {
  const std::string_view settled = verb.settled;
  const bool all_done = settled.empty() || std::all_of(jobs.begin(), jobs.end(), [&](auto& job) {
    return job.state == settled;
  });
  const std::string words = all_done ? verb.done : verb.doing;
  if (jobs.size() == 1) return "job " + jobs.front().id + " is " + words + "\n";
  const std::string states = all_done && !settled.empty() ? "" : " (" + state_counts(jobs) + ")";
  return std::to_string(jobs.size()) + " jobs of array " + jobs.front().array_id + " are " + words +
         states + "\n";
}

/// "all 6 jobs of array 14 have ended (5 done, 1 failed)": a daemon speaks of its last member.
Error of_whole_array(http::Client& client, const std::string& id, Error error) {
  if (error.code != ErrorCode::kConflict) return error;
  const auto jobs = resolve_jobs(client, id);
  if (!jobs || jobs->empty() || !names_array(id, jobs->front().id)) return error;
  const bool over = std::all_of(jobs->begin(), jobs->end(),
                                [](const api::Job& job) { return is_final_state(job.state); });
  if (!over) return error;
  const std::string& array = jobs->front().array_id;
  error.message = (jobs->size() == 1 ? "the only job" : "all " + std::to_string(jobs->size()) +
                                                            " jobs") +
                  " of array " + array + (jobs->size() == 1 ? " has ended (" : " have ended (") +
                  state_counts(*jobs) + "); to run it again: rota redo " + array;
  return error;
}

/// The ids among `jobs` that wait for a release.
std::set<std::string> held_among(const Result<std::vector<api::Job>>& jobs) {
  std::set<std::string> held;
  if (!jobs) return held;
  for (const api::Job& job : *jobs) {
    if (job.held) held.insert(job.id);
  }
  return held;
}

/// What a release did: only what was held is released.
std::string release_answer(const Verb& verb, const std::vector<api::Job>& jobs,
                           const std::set<std::string>& held) {
  std::vector<api::Job> released;
  for (const api::Job& job : jobs) {
    if (held.contains(job.id)) released.push_back(job);
  }
  if (!released.empty()) return verb_answer(verb, released);
  return jobs.size() == 1 ? "job " + jobs.front().id + " was not held\n"
                          : "no job of array " + jobs.front().array_id + " was held\n";
}

int command_jobs(Context& context, http::Client& client, const Common& common, const Verb& verb,
                 const std::vector<std::string>& ids) {
  int code = kExitOk;
  const bool releases = std::string_view(verb.name) == "release";
  const bool sentences = *common.output.format() == Format::kTable;
  std::vector<api::Job> changed;
  for (const std::string& id : ids) {
    std::set<std::string> held;
    if (releases) held = held_among(resolve_jobs(client, id));
    auto page = client.command(id, verb.name);
    if (!page) {
      const int failed =
          report_daemon_error(context, client, of_whole_array(client, id, page.error()));
      code = code == kExitOk ? failed : code;
      if (failed == kExitUnreachable) break;
      continue;
    }
    if (sentences) {
      context.out << (releases ? release_answer(verb, page->jobs, held)
                               : verb_answer(verb, page->jobs));
    }
    for (api::Job& job : page->jobs) changed.push_back(std::move(job));
  }
  const bool nothing = changed.empty() && *common.output.format() == Format::kWide;
  if (!sentences && !nothing) print_list(context, common.output, changed, job_view(context));
  return code;
}

Runner declare_verb(CLI::App& app, Context& context, Verb verb) {
  auto common = add_common(app, OutputFlags::kFormats);
  auto ids = std::make_shared<std::vector<std::string>>();
  app.add_option("ID", *ids, "jobs")->required()->type_name("");
  return [common, ids, verb, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      return command_jobs(context, client, *common, verb, *ids);
    });
  };
}

struct UpdateOptions {
  std::string name, priority, time, gpus, tasks, queue, begin, comment;
  std::vector<std::string> ids;
};

Result<api::UpdateRequest> update_request(const Context& context, const UpdateOptions& options) {
  api::UpdateRequest request;
  if (!options.name.empty()) request.name = options.name;
  if (!options.queue.empty()) request.queue = options.queue;
  if (!options.comment.empty()) request.comment = options.comment;
  if (!options.priority.empty()) {
    const auto number = parse_int(options.priority);
    if (!number) {
      return usage_error("--priority '" + options.priority + "': expected a whole number");
    }
    request.priority = *number;
  }
  if (!options.tasks.empty()) {
    const auto number = parse_int(options.tasks);
    if (!number || *number < 1) {
      return usage_error("--tasks '" + options.tasks + "': expected 1 or more");
    }
    request.tasks = *number;
  }
  if (!options.gpus.empty()) {
    const auto gpus = parse_gpus(options.gpus);
    if (!gpus) return usage_error("--gpus '" + options.gpus + "': expected a number like 2 or 0.5");
    request.gpus = static_cast<double>(gpus->value()) / 1000;
  }
  if (!options.time.empty()) {
    const auto limit = parse_time_limit(options.time);
    if (!limit) return usage_error("--time: " + limit.error().message);
    if (!limit->has_value()) return usage_error("--time: a limit can be changed, not taken away");
    request.time_limit_seconds = static_cast<double>((*limit)->ns()) / 1e9;
  }
  if (!options.begin.empty()) {
    const auto point = parse_point(options.begin, context.now_seconds());
    if (!point) return usage_error("--begin: " + point.error().message);
    request.begin = iso_time(*point);
  }
  return request;
}

bool changes_nothing(const UpdateOptions& o) {
  return o.name.empty() && o.priority.empty() && o.time.empty() && o.gpus.empty() &&
         o.tasks.empty() && o.queue.empty() && o.begin.empty() && o.comment.empty();
}

/// With the instant that --begin came to, since it was written on a clock of some zone.
std::string update_answer(const Context& context, const api::Job& job,
                          const api::UpdateRequest& request) {
  std::string text = "job " + job.id + " is updated";
  if (job.members_changed) {
    text = report::counted(*job.members_changed, "job") + " of array " + job.array_id +
           (*job.members_changed == 1 ? " is updated" : " are updated");
  }
  if (request.begin) {
    text += ", not before " + iso_and_relative(*request.begin, context.now_seconds());
  }
  return text + "\n";
}

int update_jobs(Context& context, const Common& common, const UpdateOptions& options) {
  if (changes_nothing(options)) {
    return report_error(context, usage_error("nothing to change; see `rota update --help`"));
  }
  const auto request = update_request(context, options);
  if (!request) return report_error(context, request.error());
  return with_client(context, common, [&](http::Client& client) {
    for (const std::string& id : options.ids) {
      const auto job = client.update(id, *request);
      if (!job) {
        const Error error = of_whole_array(client, id, job.error());
        return report_daemon_error(context, client, in_option_words(error));
      }
      print_object(context, common.output, *job, job->id,
                   [&] { return update_answer(context, *job, *request); });
    }
    return kExitOk;
  });
}

}  // namespace

Runner declare_cancel(CLI::App& app, Context& context) {
  return declare_verb(app, context, {"cancel", "cancelled", "being cancelled", "cancelled"});
}
Runner declare_hold(CLI::App& app, Context& context) {
  return declare_verb(app, context, {"hold", "on hold", "", ""});
}
Runner declare_release(CLI::App& app, Context& context) {
  return declare_verb(app, context, {"release", "released", "", ""});
}
Runner declare_requeue(CLI::App& app, Context& context) {
  return declare_verb(app, context, {"requeue", "requeued", "being requeued", "pending"});
}

Runner declare_update(CLI::App& app, Context& context) {
  auto options = std::make_shared<UpdateOptions>();
  const auto add = [&](const char* name, std::string& field, const char* help, const char* type) {
    app.add_option(name, field, help)->type_name(type)->group("Changes");
  };
  add("-J,--name", options->name, "name shown in tables", "TEXT");
  add("--priority", options->priority, "order inside its queue; higher first", "N");
  add("-t,--time", options->time, "time limit: 4h, 1-12:00:00", "LIMIT");
  add("-G,--gpus", options->gpus, "GPUs of each task (pending jobs)", "N");
  add("-N,--tasks", options->tasks, "tasks (pending or elastic jobs)", "N");
  add("--queue", options->queue, "whose share it is charged to (pending jobs)", "NAME");
  add("--begin", options->begin, "not before (pending jobs)", "WHEN");
  add("--comment", options->comment, "free text", "TEXT");
  app.add_option("ID", options->ids, "jobs")->required()->type_name("");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, options, &context](const Parsed&) {
    return update_jobs(context, *common, *options);
  };
}

Runner declare_redo(CLI::App& app, Context& context) {
  auto id = std::make_shared<std::string>();
  auto cascade = std::make_shared<bool>(false);
  app.add_flag("--cascade", *cascade, "also the jobs that were cancelled because it failed")
      ->group("What");
  app.add_option("ID", *id, "job")->required()->type_name("");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, id, cascade, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      const auto replies = redo_job(client, *id, *cascade ? Cascade::kYes : Cascade::kNo);
      if (!replies) return report_daemon_error(context, client, replies.error());
      for (const Redone& redone : *replies) {
        print_object(context, common->output, redone.reply, redone.reply.id, [&] {
          const auto count = static_cast<std::int64_t>(redone.reply.ids.size());
          const std::string what =
              count == 1 ? "job " + redone.reply.ids.front() : "array " + redone.reply.id;
          return "submitted " + what + ", " + redone.old_id + " again" +
                 (count > 1 ? ": " + report::counted(count, "job") : "") + "\n";
        });
      }
      return kExitOk;
    });
  };
}

}  // namespace rota::cli
