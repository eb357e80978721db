// ls, show, why, history, wait.
#include <algorithm>
#include <limits>
#include <memory>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

constexpr std::int64_t kHistoryRows = 100;

struct ListOptions {
  bool me = false;
  bool wide = false;
  bool tree = false;
  bool watch = false;
  bool all = false;
  std::int64_t limit = 0;  // 0: none given
  std::string user;
  std::string queue;
  std::string array;
  std::string states;
  std::string since;

  /// Asks for some jobs and not for all.
  [[nodiscard]] bool is_narrow() const {
    return me || !user.empty() || !queue.empty() || !array.empty() || !states.empty() ||
           !since.empty();
  }
};

void add_filters(CLI::App& app, ListOptions& list) {
  app.add_flag("--me", list.me, "only your own jobs")->group("Which jobs");
  app.add_option("--user", list.user, "only jobs of this account")->type_name("USER")->group(
      "Which jobs");
  app.add_option("--queue", list.queue, "only jobs of this queue")->type_name("NAME")->group(
      "Which jobs");
  app.add_option("--array", list.array, "only members of this array")->type_name("ID")->group(
      "Which jobs");
  app.add_option("--state", list.states, "only jobs in these states, comma-separated")
      ->type_name("STATE,..")
      ->group("Which jobs");
}

Status check_states(const std::vector<std::string>& states) {
  constexpr std::array<std::string_view, 8> kStates{"pending", "starting", "running", "stopping",
                                                    "done", "failed", "cancelled", "timeout"};
  for (const std::string& state : states) {
    if (std::find(kStates.begin(), kStates.end(), state) != kStates.end()) continue;
    std::string message = "there is no state '" + state + "'";
    const std::string_view near = nearest_word(state, kStates);
    if (!near.empty()) message += "; did you mean '" + std::string(near) + "'?";
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  }
  return {};
}

Result<server::JobQuery> query_of(const Context& context, const ListOptions& list) {
  server::JobQuery query;
  query.user = list.me ? context.user : list.user;
  query.queue = list.queue;
  query.array = list.array;
  query.all = list.all;
  for (const std::string_view state : split(list.states, ',')) {
    if (!state.empty()) query.states.emplace_back(state);
  }
  if (auto status = check_states(query.states); !status) return status.error();
  for (const std::string& state : query.states) query.all = query.all || is_final_state(state);
  if (!list.since.empty()) {
    const auto point = parse_past(list.since, context.now_seconds());
    if (!point) return usage_error("--since: " + point.error().message);
    query.ended_after = iso_time(*point);
  }
  return query;
}

int print_jobs_once(Context& context, http::Client& client, const OutputOptions& output,
                    const ListOptions& list, const server::JobQuery& query) {
  const auto jobs = client.all_jobs(query);
  if (!jobs) return report_daemon_error(context, client, jobs.error());
  if (list.tree) {
    context.out << job_tree(context, *jobs);
    if (jobs->empty()) context.err << job_view(context).empty << "\n";
  } else {
    print_list(context, output, *jobs, job_view(context));
  }
  context.out.flush();
  return kExitOk;
}

/// The resource of each id, printed as one list in json, yaml and csv.
int show_jobs(Context& context, http::Client& client, const Common& common,
              const std::vector<std::string>& ids) {
  std::vector<api::Job> jobs;
  for (const std::string& id : ids) {
    auto found = resolve_jobs(client, id);
    if (!found) return report_daemon_error(context, client, found.error());
    for (api::Job& job : *found) jobs.push_back(std::move(job));
  }
  const Format format = *common.output.format();
  if (jobs.size() != 1 && format != Format::kTable && format != Format::kWide) {
    print_list(context, common.output, jobs, job_view(context));
    return kExitOk;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) context.out << "\n";
    print_object(context, common.output, jobs[i], jobs[i].id,
                 [&] { return job_text(context, common.output, jobs[i]); });
  }
  return kExitOk;
}

ListView<api::Verdict> verdict_view() {
  return {.key = "verdicts",
          .name = [](const api::Verdict& verdict) { return verdict.id; },
          .columns = {},
          .empty = ""};
}

/// The members of an array by state and reason, in the order of their first ones.
Result<std::vector<VerdictGroup>> verdict_groups(http::Client& client,
                                                 const std::vector<api::Job>& members) {
  std::vector<VerdictGroup> groups;
  for (const api::Job& job : members) {
    const std::string reason = is_final_state(job.state) ? ended_in_full(job) : job.reason;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const VerdictGroup& group) {
      return group.state == job.state && group.reason == reason;
    });
    if (known != groups.end()) {
      known->ids.push_back(job.id);
      known->places.push_back(places_text(job.places));
      continue;
    }
    auto verdict = client.why(job.id);
    if (!verdict) return verdict.error();
    groups.push_back(
        {job.state, reason, {job.id}, std::move(*verdict), {places_text(job.places)}});
  }
  return groups;
}

/// What `why` has found: text for people, verdicts for programs.
enum class AnswerForm { kWords, kData };
struct Answers {
  AnswerForm form = AnswerForm::kWords;
  std::string text;
  std::vector<api::Verdict> verdicts;
};

/// An array's answer: its jobs in groups, or the verdict of each.
Status explain_array(Context& context, http::Client& client, const std::string& id,
                     Answers& answers) {
  const auto jobs = resolve_jobs(client, id);
  if (!jobs) return jobs.error();
  if (answers.form == AnswerForm::kWords) {
    const auto groups = verdict_groups(client, *jobs);
    if (!groups) return groups.error();
    answers.text += verdict_group_text(context, jobs->front().array_id, *jobs, *groups);
    return {};
  }
  for (const api::Job& job : *jobs) {
    auto verdict = client.why(job.id);
    if (!verdict) return verdict.error();
    answers.verdicts.push_back(std::move(*verdict));
  }
  return {};
}

int why_jobs(Context& context, http::Client& client, const Common& common,
             const std::vector<std::string>& ids) {
  const Format format = *common.output.format();
  const bool words = format == Format::kTable || format == Format::kWide;
  Answers answers{.form = words ? AnswerForm::kWords : AnswerForm::kData};
  for (const std::string& id : ids) {
    auto verdict = client.why(id);
    if (!verdict) return report_daemon_error(context, client, verdict.error());
    if (!answers.text.empty()) answers.text += "\n";
    // An array's number stands for all members; the daemon answers with one of them.
    if (names_array(id, verdict->id)) {
      const auto status = explain_array(context, client, id, answers);
      if (!status) return report_daemon_error(context, client, status.error());
      continue;
    }
    const std::string heading = ids.size() > 1 ? "Job " + verdict->id + ": " : "";
    if (words) answers.text += verdict_text(context, *verdict, heading);
    answers.verdicts.push_back(std::move(*verdict));
  }
  if (words) {
    context.out << answers.text;
  } else if (answers.verdicts.size() == 1) {
    const api::Verdict& only = answers.verdicts.front();
    print_object(context, common.output, only, only.id, [] { return ""; });
  } else {
    print_list(context, common.output, answers.verdicts, verdict_view());
  }
  return kExitOk;
}

int wait_jobs(Context& context, http::Client& client, const Common& common,
              const std::vector<std::string>& ids) {
  const bool table = *common.output.format() == Format::kTable;
  const auto jobs = wait_for_jobs(client, ids, [&](const api::Job& job) {
    if (!table) return;
    context.out << "job " << job.id << " " << job.state;
    const std::string how = job.state == "done" ? "" : ended_in_full(job);
    context.out << (how.empty() ? "" : ": " + how) << std::endl;
  });
  if (!jobs) return report_daemon_error(context, client, jobs.error());
  if (!table) print_list(context, common.output, *jobs, history_view(context));
  for (const api::Job& job : *jobs) {
    if (const int code = job_exit_code(job); code != kExitOk) return code;
  }
  return kExitOk;
}

/// The latest ends unless all are asked for, or the question is narrow by itself; newest last.
int print_history(Context& context, http::Client& client, const Common& common,
                  const ListOptions& list, server::JobQuery query) {
  const bool bounded = !list.all && (list.limit > 0 || (list.since.empty() && list.array.empty()));
  const std::size_t most = !bounded          ? std::numeric_limits<std::size_t>::max()
                           : list.limit == 0 ? kHistoryRows
                                             : static_cast<std::size_t>(list.limit);
  query.newest_first = true;
  std::vector<api::Job> jobs;
  bool more = true;
  while (more && jobs.size() < most) {
    query.limit = static_cast<std::int64_t>(std::min<std::size_t>(most - jobs.size(), 1000));
    auto page = client.jobs(query);
    if (!page) return report_daemon_error(context, client, page.error());
    for (api::Job& job : page->jobs) jobs.push_back(std::move(job));
    more = !page->next_cursor.empty();
    query.cursor = page->next_cursor;
  }
  std::reverse(jobs.begin(), jobs.end());
  ListView<api::Job> view = history_view(context);
  if (list.is_narrow()) view.empty = "No job that has ended matches.";
  print_list(context, common.output, jobs, view);
  context.out.flush();
  if (more) {
    const std::string shown =
        jobs.size() == 1 ? "one is" : std::to_string(jobs.size()) + " are";
    context.err << "The latest " << shown << " shown; more: --limit N, --since WHEN, --all\n";
  }
  return kExitOk;
}

/// Declares `ID...` and gives a runner that connects and calls `work` with the ids.
Runner with_ids(CLI::App& app, Context& context,
                int (*work)(Context&, http::Client&, const Common&,
                            const std::vector<std::string>&)) {
  auto common = add_common(app, OutputFlags::kFormats);
  auto ids = std::make_shared<std::vector<std::string>>();
  app.add_option("ID", *ids, "jobs")->required()->type_name("");
  return [common, ids, work, &context](const Parsed&) {
    return with_client(context, *common,
                       [&](http::Client& client) { return work(context, client, *common, *ids); });
  };
}

}  // namespace

Runner declare_ls(CLI::App& app, Context& context) {
  auto list = std::make_shared<ListOptions>();
  add_filters(app, *list);
  app.add_flag("--all", list->all, "ended jobs too")->group("Which jobs");
  app.add_flag("-w,--wide", list->wide, "the same as -o wide")->group("Output");
  app.add_flag("--tree", list->tree, "what depends on what")->group("Output");
  app.add_flag("--watch", list->watch,
               "look again every two seconds; with -o json a line each time")
      ->group("Output");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, list, &context](const Parsed&) {
    if (list->wide) common->output.format_text = "wide";
    const auto query = query_of(context, *list);
    if (!query) return report_error(context, query.error());
    const auto format = common->output.format();
    if (list->tree && format && *format != Format::kTable) {
      return report_error(context, usage_error("--tree is a picture for people, and has no other "
                                               "form; -o json lists the dependencies of each job"));
    }
    return with_client(context, *common, [&](http::Client& client) {
      const auto once = [&] {
        return print_jobs_once(context, client, common->output, *list, *query);
      };
      return list->watch ? watch(context, common->output, once) : once();
    });
  };
}

Runner declare_history(CLI::App& app, Context& context) {
  auto list = std::make_shared<ListOptions>();
  add_filters(app, *list);
  app.add_option("--since", list->since, "ended since then: 2d, yesterday, 2026-01-31T09:00")
      ->type_name("WHEN")
      ->group("Which jobs");
  app.add_option("--limit", list->limit, "the latest N (default 100; none with --since, --array)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}).description(""))
      ->group("Which jobs");
  app.add_flag("--all", list->all, "all that are kept")->group("Which jobs");
  app.add_flag("-w,--wide", list->wide, "the same as -o wide")->group("Output");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, list, &context](const Parsed&) {
    if (list->wide) common->output.format_text = "wide";
    auto query = query_of(context, *list);
    if (!query) return report_error(context, query.error());
    query->all = true;
    if (query->states.empty()) query->states = {"done", "failed", "cancelled", "timeout"};
    const auto& states = query->states;
    if (!std::all_of(states.begin(), states.end(), is_final_state)) {
      return report_error(context, usage_error("history is of jobs that have ended (done, failed, "
                                               "cancelled, timeout); for others: rota ls"));
    }
    return with_client(context, *common, [&](http::Client& client) {
      return print_history(context, client, *common, *list, *query);
    });
  };
}

Runner declare_show(CLI::App& app, Context& context) { return with_ids(app, context, show_jobs); }
Runner declare_why(CLI::App& app, Context& context) { return with_ids(app, context, why_jobs); }
Runner declare_wait(CLI::App& app, Context& context) { return with_ids(app, context, wait_jobs); }

}  // namespace rota::cli
