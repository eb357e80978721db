// ls, show, why, history, wait.
#include <chrono>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/job_end.h"
#include "cli/time_text.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery{2};

struct ListOptions {
  bool me = false;
  bool wide = false;
  bool tree = false;
  bool watch = false;
  bool all = false;
  std::string user;
  std::string queue;
  std::string array;
  std::string states;
  std::string since;
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
    const auto span = parse_duration(list.since);
    const auto point = span ? Result<std::int64_t>(context.now_seconds() - span->whole_seconds())
                            : parse_point(list.since, context.now_seconds());
    if (!point) return point.error();
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
  } else {
    print_list(context, output, *jobs, job_view(context));
  }
  context.out.flush();
  return kExitOk;
}

/// Repeats `once` until it fails. A terminal shows one page that is drawn anew.
int repeat(Context& context, const std::function<int()>& once) {
  while (true) {
    if (context.out_is_terminal) context.out << "\033[H\033[2J";
    if (const int code = once(); code != kExitOk) return code;
    if (!context.out.good()) return kExitOk;
    std::this_thread::sleep_for(kWatchEvery);
  }
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

int why_jobs(Context& context, http::Client& client, const Common& common,
             const std::vector<std::string>& ids) {
  bool first = true;
  for (const std::string& id : ids) {
    const auto verdict = client.why(id);
    if (!verdict) return report_daemon_error(context, client, verdict.error());
    if (!first) context.out << "\n";
    first = false;
    print_object(context, common.output, *verdict, verdict->id,
                 [&] { return verdict_text(context, *verdict); });
  }
  return kExitOk;
}

int wait_jobs(Context& context, http::Client& client, const Common& common,
              const std::vector<std::string>& ids) {
  const bool table = *common.output.format() == Format::kTable;
  const auto jobs = wait_for_jobs(client, ids, [&](const api::Job& job) {
    if (!table) return;
    context.out << "job " << job.id << " " << job.state;
    if (const int code = job_exit_code(job); code != 0) context.out << " (" << code << ")";
    context.out << std::endl;
  });
  if (!jobs) return report_daemon_error(context, client, jobs.error());
  if (!table) print_list(context, common.output, *jobs, history_view(context));
  for (const api::Job& job : *jobs) {
    if (const int code = job_exit_code(job); code != kExitOk) return code;
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
  app.add_flag("--watch", list->watch, "look again every two seconds")->group("Output");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, list, &context](const Parsed&) {
    if (list->wide) common->output.format_text = "wide";
    const auto query = query_of(context, *list);
    if (!query) return report_error(context, query.error());
    return with_client(context, *common, [&](http::Client& client) {
      const auto once = [&] {
        return print_jobs_once(context, client, common->output, *list, *query);
      };
      return list->watch ? repeat(context, once) : once();
    });
  };
}

Runner declare_history(CLI::App& app, Context& context) {
  auto list = std::make_shared<ListOptions>();
  add_filters(app, *list);
  app.add_option("--since", list->since, "ended in the last 2d, or after 2026-01-31T09:00")
      ->type_name("WHEN")
      ->group("Which jobs");
  app.add_flag("-w,--wide", list->wide, "the same as -o wide")->group("Output");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, list, &context](const Parsed&) {
    if (list->wide) common->output.format_text = "wide";
    if (list->states.empty()) list->states = "done,failed,cancelled,timeout";
    const auto query = query_of(context, *list);
    if (!query) return report_error(context, query.error());
    return with_client(context, *common, [&](http::Client& client) {
      const auto jobs = client.all_jobs(*query);
      if (!jobs) return report_daemon_error(context, client, jobs.error());
      print_list(context, common->output, *jobs, history_view(context));
      return kExitOk;
    });
  };
}

Runner declare_show(CLI::App& app, Context& context) { return with_ids(app, context, show_jobs); }
Runner declare_why(CLI::App& app, Context& context) { return with_ids(app, context, why_jobs); }
Runner declare_wait(CLI::App& app, Context& context) { return with_ids(app, context, wait_jobs); }

}  // namespace rota::cli
