#include "cli/views.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/signals.h"
#include "cli/time_text.h"
#include "report/words.h"

namespace rota::cli {
namespace {

std::string duration_or_empty(const std::optional<double>& seconds) {
  return seconds ? report::short_duration(*seconds) : "";
}

std::string reason_words(std::string code) {
  std::replace(code.begin(), code.end(), '_', ' ');
  return code;
}

/// What a table can say of a job in one cell: where it runs, why it waits, how it ended.
std::string state_detail(const Context& context, const api::Job& job) {
  if (is_final_state(job.state)) {
    if (job.state == "done") return "";
    const bool by_itself = job.end_cause == "exited" || job.end_cause.empty();
    if (!by_itself && job.end_cause != job.state) return reason_words(job.end_cause);
    if (job.signal.value_or(0) > 0) return signal_name(static_cast<int>(*job.signal));
    return by_itself && job.exit_code ? "exit " + std::to_string(*job.exit_code) : "";
  }
  if (!job.places.empty()) return places_text(job.places);
  if (!job.nodes.empty()) return join(job.nodes, " ");
  std::string text = reason_words(job.held ? "held" : job.reason);
  const auto estimate = parse_iso_time(job.estimate);
  if (estimate) text += ", " + relative_time(*estimate, context.now_seconds());
  return text;
}

std::string job_time(const api::Job& job) {
  const bool waits = job.state == "pending" || job.started.empty();
  return duration_or_empty(waits ? job.wait_seconds : job.run_seconds);
}

std::string size_text(const api::Job& job) {
  if (job.tasks <= 1) return number_text(job.gpus);
  return std::to_string(job.tasks) + "x" + number_text(job.gpus);
}

Cell plain(std::string text) { return {std::move(text), Tone::kPlain}; }

std::string limit_text(const api::Job& job) { return duration_or_empty(job.time_limit_seconds); }

std::string contract_text(const api::Job& job) {
  if (job.protect_all) return "always protected";
  return duration_or_empty(job.min_runtime_seconds);
}

std::string attempts_table(const Context& context, const OutputOptions& output,
                           const api::Job& job) {
  report::Table table({{"ATTEMPT"}, {"STARTED"}, {"RAN", Align::kRight}, {"ENDED BY"}, {"NODES"},
                       {"DETAIL"}});
  for (const api::Attempt& attempt : job.history) {
    std::string cause = reason_words(attempt.cause);
    if (!attempt.by.empty()) cause += " (job " + attempt.by + ")";
    if (attempt.signal.value_or(0) > 0) {
      cause += ", " + signal_name(static_cast<int>(*attempt.signal));
    } else if (attempt.exit_code && attempt.cause == "exited") {
      cause += ", code " + std::to_string(*attempt.exit_code);
    }
    table.add_row({plain(std::to_string(attempt.number)), plain(attempt.started),
                   plain(duration_or_empty(attempt.run_seconds)), plain(cause),
                   plain(join(attempt.nodes, " ")), plain(attempt.detail)});
  }
  return table.text(table_style(context, output));
}

template <class T>
Column<T> text_column(std::string_view title, std::string T::* field,
                      Shown shown = Shown::kAlways) {
  return {title, [field](const T& item) { return plain(item.*field); }, Align::kLeft, shown};
}

template <class T>
Column<T> count_column(std::string_view title, std::int64_t T::* field,
                       Shown shown = Shown::kAlways) {
  return {title, [field](const T& item) { return plain(std::to_string(item.*field)); },
          Align::kRight, shown};
}

template <class T>
Column<T> number_column(std::string_view title, double T::* field, Shown shown = Shown::kAlways) {
  return {title, [field](const T& item) { return plain(number_text(item.*field, 2)); },
          Align::kRight, shown};
}

template <class T>
Column<T> hours_column(std::string_view title, double T::* field, Shown shown = Shown::kAlways) {
  return {title, [field](const T& item) { return plain(hours_text(item.*field)); }, Align::kRight,
          shown};
}

template <class T>
Column<T> state_column() {
  return {"STATE", [](const T& item) { return Cell{item.state, state_tone(item.state)}; }};
}

Column<api::Job> job_column(std::string_view title, std::string (*text)(const api::Job&),
                            Align align = Align::kLeft, Shown shown = Shown::kAlways) {
  return {title, [text](const api::Job& job) { return plain(text(job)); }, align, shown};
}

Column<api::Job> time_column(const Context& context, std::string_view title,
                             std::string api::Job::* field, Shown shown) {
  return {title,
          [&context, field](const api::Job& job) {
            return plain(iso_and_relative(job.*field, context.now_seconds()));
          },
          Align::kLeft, shown};
}

/// A list of jobs: what every one begins with, then `more`.
ListView<api::Job> jobs_view(std::string_view empty, std::vector<Column<api::Job>> more) {
  ListView<api::Job> view{.key = "jobs",
                          .name = [](const api::Job& job) { return job.id; },
                          .empty = empty};
  view.columns = {
      text_column("ID", &api::Job::id),
      {"NAME", [](const api::Job& job) { return plain(job.name); }, Align::kLeft, Shown::kAlways,
       true},
      text_column("USER", &api::Job::user),
      text_column("QUEUE", &api::Job::queue),
      state_column<api::Job>(),
      job_column("GPUS", size_text, Align::kRight),
  };
  std::move(more.begin(), more.end(), std::back_inserter(view.columns));
  return view;
}

}  // namespace

std::string ended_text(const api::Job& job) {
  const bool said = job.end_cause == "exited" || job.end_cause == job.state;
  std::string text = said ? "" : reason_words(job.end_cause);
  std::string how;
  if (job.signal.value_or(0) > 0) {
    how = signal_name(static_cast<int>(*job.signal));
  } else if (job.exit_code && (said || *job.exit_code != 0)) {
    how = "exit code " + std::to_string(*job.exit_code);
  }
  if (!text.empty() && !how.empty()) text += ", ";
  return text + how;
}

std::string ended_in_full(const api::Job& job) {
  std::string text = ended_text(job);
  if (job.state == "timeout" && job.time_limit_seconds) {
    text = "its time limit of " + report::short_duration(*job.time_limit_seconds);
  }
  if (job.detail.empty()) return text;
  return text.empty() ? job.detail : text + " (" + job.detail + ")";
}

std::string hours_text(double hours) {
  const double size = hours < 0 ? -hours : hours;
  return number_text(hours, size == 0 || size >= 1 ? 2 : size >= 0.01 ? 4 : 6);
}

bool is_final_state(std::string_view state) {
  return state == "done" || state == "failed" || state == "cancelled" || state == "timeout";
}

std::string places_text(const std::vector<api::Place>& places) {
  std::vector<std::string> parts;
  parts.reserve(places.size());
  for (const api::Place& place : places) {
    parts.push_back(place.devices.empty() ? place.node : place.node + ":" + place.devices);
  }
  std::string text = join(parts, " ");
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  return text;
}

ListView<api::Job> job_view(const Context& context) {
  return jobs_view(
      "No job waits or runs. Finished ones: rota history",
      {job_column("TIME", job_time, Align::kRight),
       count_column("PRIORITY", &api::Job::priority, Shown::kWide),
       text_column("CLASS", &api::Job::job_class, Shown::kWide),
       job_column("LIMIT", limit_text, Align::kRight, Shown::kWide),
       count_column("ATTEMPTS", &api::Job::attempts, Shown::kWide),
       count_column("EVICTIONS", &api::Job::evictions, Shown::kWide),
       time_column(context, "SUBMITTED", &api::Job::submitted, Shown::kWide),
       time_column(context, "STARTED", &api::Job::started, Shown::kWide),
       {"WHERE, WHY",
        [&context](const api::Job& job) { return plain(state_detail(context, job)); }}});
}

ListView<api::Job> history_view(const Context& context) {
  const auto waited = [](const api::Job& job) { return duration_or_empty(job.wait_seconds); };
  const auto ran = [](const api::Job& job) { return duration_or_empty(job.run_seconds); };
  const auto nodes = [](const api::Job& job) { return join(job.nodes, " "); };
  return jobs_view("No job has ended yet.",
                   {job_column("WAITED", waited, Align::kRight),
                    job_column("RAN", ran, Align::kRight),
                    hours_column("GPU HOURS", &api::Job::gpu_hours, Shown::kWide),
                    hours_column("LOST", &api::Job::gpu_hours_lost, Shown::kWide),
                    count_column("ATTEMPTS", &api::Job::attempts, Shown::kWide),
                    job_column("NODES", nodes, Align::kLeft, Shown::kWide),
                    time_column(context, "ENDED", &api::Job::ended, Shown::kAlways),
                    {"HOW", [](const api::Job& job) { return plain(ended_text(job)); }}});
}

ListView<api::Node> node_view() {
  ListView<api::Node> view{.key = "nodes",
                           .name = [](const api::Node& node) { return node.name; },
                           .empty = "There is no node."};
  view.columns = {
      text_column("NODE", &api::Node::name),
      state_column<api::Node>(),
      count_column("GPUS", &api::Node::gpus),
      number_column("USED", &api::Node::gpus_used),
      number_column("FREE", &api::Node::gpus_free),
      {"MODEL",
       [](const api::Node& node) {
         return plain(join(node.models, ",") + (node.simulated ? " (simulated)" : ""));
       }},
      count_column("JOBS", &api::Node::running),
      {"CPUS FREE",
       [](const api::Node& node) {
         return plain(std::to_string(node.cpus_free) + "/" + std::to_string(node.cpus));
       },
       Align::kRight},
      {"MEMORY FREE",
       [](const api::Node& node) {
         return plain(bytes_text(node.memory_free_bytes) + "/" + bytes_text(node.memory_bytes));
       },
       Align::kRight},
      count_column("HEALTHY", &api::Node::gpus_healthy, Shown::kWide),
      text_column("POOL", &api::Node::pool, Shown::kWide),
      text_column("RACK", &api::Node::rack, Shown::kWide),
      text_column("BLOCK", &api::Node::block, Shown::kWide),
      text_column("REASON", &api::Node::reason),
  };
  return view;
}

ListView<api::Device> device_view() {
  const auto percent = [](const std::optional<double>& ratio) {
    return ratio ? number_text(*ratio * 100, 0) + "%" : std::string("-");
  };
  ListView<api::Device> view{
      .key = "devices",
      .name = [](const api::Device& d) { return d.node + ":" + std::to_string(d.index); },
      .empty = "There is no GPU."};
  view.columns = {
      text_column("NODE", &api::Device::node),
      count_column("GPU", &api::Device::index),
      {"MODEL",
       [](const api::Device& d) { return plain(d.model + (d.simulated ? " (simulated)" : "")); }},
      state_column<api::Device>(),
      number_column("USED", &api::Device::used),
      {"BUSY", [percent](const api::Device& d) { return plain(percent(d.busy_ratio)); },
       Align::kRight},
      {"MEMORY",
       [](const api::Device& d) {
         const std::string used = d.memory_used_bytes ? bytes_text(*d.memory_used_bytes) : "-";
         return plain(used + "/" + bytes_text(d.memory_bytes));
       },
       Align::kRight},
      {"JOBS", [](const api::Device& d) { return plain(join(d.jobs, ",")); }},
      {"USERS", [](const api::Device& d) { return plain(join(d.users, ",")); }},
      {"POWER",
       [](const api::Device& d) {
         return plain(d.power_watts ? number_text(*d.power_watts, 0) + "W" : "-");
       },
       Align::kRight, Shown::kWide},
      {"TEMP",
       [](const api::Device& d) {
         return plain(d.temperature_celsius ? number_text(*d.temperature_celsius, 0) + "C" : "-");
       },
       Align::kRight, Shown::kWide},
      text_column("ISOLATION", &api::Device::isolation, Shown::kWide),
      text_column("UUID", &api::Device::uuid, Shown::kWide),
      text_column("DETAIL", &api::Device::detail),
  };
  return view;
}

ListView<api::Queue> queue_view() {
  const auto optional_number = [](const std::optional<double>& value) {
    return value ? number_text(*value) : std::string("-");
  };
  ListView<api::Queue> view{.key = "queues",
                            .name = [](const api::Queue& queue) { return queue.name; },
                            .empty = "There is no queue."};
  view.columns = {
      text_column("QUEUE", &api::Queue::name),
      text_column("PARENT", &api::Queue::parent),
      count_column("WEIGHT", &api::Queue::weight),
      {"QUOTA", [=](const api::Queue& q) { return plain(optional_number(q.quota)); },
       Align::kRight},
      {"LIMIT", [=](const api::Queue& q) { return plain(optional_number(q.limit)); },
       Align::kRight},
      count_column("RUNNING", &api::Queue::running),
      count_column("PENDING", &api::Queue::pending),
      number_column("GPUS", &api::Queue::gpus_used),
      count_column("FAIR", &api::Queue::fair_share),
      hours_column("OWED H", &api::Queue::owed_gpu_hours),
      hours_column("GOT H", &api::Queue::delivered_gpu_hours),
      hours_column("USAGE H", &api::Queue::usage_gpu_hours, Shown::kWide),
      hours_column("LOST H", &api::Queue::gpu_hours_lost, Shown::kWide),
      count_column("EVICTIONS", &api::Queue::evictions, Shown::kWide),
  };
  return view;
}

std::string job_text(const Context& context, const OutputOptions& output, const api::Job& job) {
  const std::int64_t now = context.now_seconds();
  const bool waits = job.state == "pending";
  std::string state = job.state;
  if (!is_final_state(job.state) && job.held) state += ", held";
  std::string request = size_text(job) + (job.gpus > 0 && job.gpus_total <= 1 ? " GPU" : " GPUs");
  if (job.tasks > 1) request += " (" + number_text(job.gpus_total) + " in all)";
  if (!job.models.empty()) request += ", " + join(job.models, " or ");
  if (job.cpus > 0) request += ", " + report::counted(job.cpus, "CPU");
  if (job.memory_bytes > 0) request += ", " + bytes_text(job.memory_bytes) + " memory";
  std::string text = key_values({
      {"Job", job.id + (job.name.empty() ? "" : " (" + job.name + ")")},
      {"Array", job.array_id},
      {"State", state + (job.reason.empty() ? "" : ": " + reason_words(job.reason))},
      {"User", job.user},
      {"Queue", job.queue},
      {"Class", job.job_class},
      {"Priority", job.priority == 0 ? "" : std::to_string(job.priority)},
      {"Asks for", request},
      {"Runs on", is_final_state(job.state) ? "" : places_text(job.places)},
      {"Ran on", is_final_state(job.state) ? join(job.nodes, " ") : ""},
      {"Submitted", iso_and_relative(job.submitted, now)},
      {"Waits since", waits && job.attempts > 0 ? iso_and_relative(job.waiting_since, now) : ""},
      {"Expected start", iso_and_relative(job.estimate, now)},
      {waits ? "Started last" : "Started", iso_and_relative(job.started, now)},
      {"Ended", iso_and_relative(job.ended, now)},
      {"Ended by", is_final_state(job.state) ? ended_in_full(job) : ""},
      {waits ? "Waits" : "Waited", duration_or_empty(job.wait_seconds)},
      {is_final_state(job.state) ? "Ran" : "Runs", duration_or_empty(job.run_seconds)},
      {"Time limit", limit_text(job)},
      {"Contract", contract_text(job)},
      {"Protected until", iso_and_relative(job.contract_ends, now)},
      {"Waits for", is_final_state(job.state) ? "" : join(job.dependencies, ", ")},
      {"Evictions", job.evictions == 0 ? "" : std::to_string(job.evictions) + ", last: " +
                                                  reason_words(job.evicted_cause)},
      {"Preempted by", job.evicted_by.empty() ? "" : "job " + job.evicted_by},
      {"GPU hours", job.gpu_hours > 0 ? hours_text(job.gpu_hours) : ""},
      {"GPU hours lost", job.gpu_hours_lost > 0 ? hours_text(job.gpu_hours_lost) : ""},
      {"Command", job.command},
      {"Directory", job.workdir},
      {"Output", job.stdout_path},
      {"Error output", job.stderr_path == job.stdout_path ? "" : job.stderr_path},
      {"Comment", job.comment},
  });
  if (!job.history.empty()) text += "\n" + attempts_table(context, output, job);
  return text;
}

std::string expected_start(const api::Verdict& verdict, std::int64_t now) {
  if (!verdict.estimate.empty()) return iso_and_relative(verdict.estimate, now);
  const auto reason = [&verdict](std::initializer_list<std::string_view> codes) {
    return std::find_if(verdict.reasons.begin(), verdict.reasons.end(), [codes](const auto& r) {
      return std::find(codes.begin(), codes.end(), r.code) != codes.end();
    });
  };
  const auto none = verdict.reasons.end();
  const bool never = std::any_of(verdict.reasons.begin(), verdict.reasons.end(), [](const auto& r) {
    return !r.waiting_helps && r.code != "held";
  });
  if (never) return "never, as things are";
  if (reason({"held"}) != none) return "unknown (not before somebody releases it)";
  if (reason({"dependency"}) != none) return "unknown (after the jobs it waits for)";
  if (const auto begin = reason({"begin_time"}); begin != none && !begin->until.empty()) {
    return "not before " + iso_and_relative(begin->until, now);
  }
  if (reason({"queue_limit", "user_limit", "array_limit"}) != none) {
    return "unknown (when the limit allows it)";
  }
  return "unknown (it waits for a job without a time limit)";
}

std::string verdict_text(const Context& context, const api::Verdict& verdict,
                         std::string_view heading) {
  const std::int64_t now = context.now_seconds();
  std::string text = std::string(heading) + paint(context, verdict.summary, Tone::kAccent) + "\n";
  // The summary of a waiting job is its first reason.
  for (std::size_t i = 1; i < verdict.reasons.size(); ++i) {
    const api::Reason& reason = verdict.reasons[i];
    text += "  - " + (reason.sentence.empty() ? reason_words(reason.code) : reason.sentence) + "\n";
  }
  if (!verdict.evicted_by.empty()) {
    text += "Last stopped for: job " + verdict.evicted_by + "\n";
  } else if (!verdict.evicted_cause.empty()) {
    text += "Last stopped: " + reason_words(verdict.evicted_cause) + "\n";
  }
  const bool waits = verdict.state == "pending" || verdict.state.empty();  // empty: a preview
  if (waits && !verdict.reasons.empty()) {
    text += "Expected start: " + expected_start(verdict, now) + "\n";
    if (verdict.ahead > 0) text += "Ahead of it: " + report::counted(verdict.ahead, "job") + "\n";
  }
  if (!verdict.would_help.empty()) {
    text += "What would help:\n";
    for (const std::string& help : verdict.would_help) text += "  - " + help + "\n";
  }
  return text;
}

namespace {

/// "14.1 on n1:0, 14.2 on n1:1": each member's own, since no two are at one place.
std::string ids_with_places(const VerdictGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < group.ids.size(); ++i) {
    text += (i == 0 ? "" : ", ") + group.ids[i];
    if (!group.places[i].empty()) text += " on " + group.places[i];
  }
  return text;
}

}  // namespace

std::string verdict_group_text(const Context& context, const std::string& array,
                               const std::vector<api::Job>& members,
                               const std::vector<VerdictGroup>& groups) {
  std::string text = "Array " + array + ": " +
                     report::counted(static_cast<std::int64_t>(members.size()), "job") + "\n";
  for (const VerdictGroup& group : groups) {
    const auto count = static_cast<std::int64_t>(group.ids.size());
    if (count > 1 && !group.places.empty() && !group.places.front().empty()) {
      text += std::to_string(count) + " " + group.state + ": " + ids_with_places(group) + "\n";
      continue;
    }
    constexpr std::size_t kShown = 4;
    std::string ids;
    for (std::size_t i = 0; i < std::min(group.ids.size(), kShown); ++i) {
      ids += (i == 0 ? "" : ", ") + group.ids[i];
    }
    if (group.ids.size() > kShown) ids += ", ..., " + group.ids.back();
    const std::string head = std::to_string(count) + " " + group.state + " (" + ids + "): ";
    text += verdict_text(context, group.first, head);
  }
  return text;
}

std::string event_line(const api::Event& event) {
  if (!event.message.empty()) return event.time + "  " + event.message;
  std::string text = event.time + "  " + event.kind;
  const std::pair<std::string_view, const std::string*> parts[] = {
      {"job", &event.job},   {"node", &event.node},   {"queue", &event.queue},
      {"user", &event.user}, {"state", &event.state}, {"cause", &event.cause},
      {"by", &event.by}};
  for (const auto& [name, value] : parts) {
    if (!value->empty()) text += " " + std::string(name) + "=" + *value;
  }
  return text;
}

namespace {

/// The job or array that `job` hangs under in the tree; empty: a root.
std::string tree_parent(const api::Job& job, const std::set<std::string>& known) {
  for (const std::string& dependency : job.dependencies) {
    const std::string id = dependency.substr(dependency.find(':') + 1);
    if (id != job.id && known.contains(id)) return id;
  }
  if (!job.array_id.empty() && job.array_id != job.id) return job.array_id;
  return {};
}

struct Tree {
  std::map<std::string, const api::Job*> jobs;
  std::map<std::string, std::vector<std::string>> children;

  void print(const Context& context, const std::string& id, const std::string& indent, bool last,
             bool root, std::string& out) const {
    out += root ? "" : indent + (last ? "└─ " : "├─ ");
    const auto found = jobs.find(id);
    if (found == jobs.end()) {
      out += id + "  array\n";
    } else {
      const api::Job& job = *found->second;
      out += job.id + "  " + job.name + "  " + paint(context, job.state, state_tone(job.state));
      const std::string detail = state_detail(context, job);
      out += (detail.empty() ? "" : "  " + detail) + "\n";
    }
    const auto below = children.find(id);
    if (below == children.end()) return;
    const std::string deeper = root ? "" : indent + (last ? "   " : "│  ");
    for (std::size_t i = 0; i < below->second.size(); ++i) {
      print(context, below->second[i], deeper, i + 1 == below->second.size(), false, out);
    }
  }
};

}  // namespace

std::string job_tree(const Context& context, const std::vector<api::Job>& jobs) {
  Tree tree;
  std::set<std::string> known;
  for (const api::Job& job : jobs) {
    tree.jobs[job.id] = &job;
    known.insert(job.id);
    if (!job.array_id.empty()) known.insert(job.array_id);
  }
  std::vector<std::string> roots;
  std::set<std::string> placed;
  for (const api::Job& job : jobs) {
    const std::string parent = tree_parent(job, known);
    if (parent.empty()) {
      roots.push_back(job.id);
    } else {
      tree.children[parent].push_back(job.id);
      if (!tree.jobs.contains(parent) && placed.insert(parent).second) roots.push_back(parent);
    }
  }
  std::string out;
  for (const std::string& root : roots) tree.print(context, root, "", true, true, out);
  return out;
}

}  // namespace rota::cli
