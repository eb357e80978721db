#include "cli/whatif_source.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/offline.h"
#include "cli/usage.h"
#include "history/columns.h"

namespace rota::cli {
namespace {

using history::AttemptRecord;
using history::JobHistory;
using history::JobRecord;
using history::NameColumn;
using sim::PastJob;
using sim::PastJobs;

constexpr std::int64_t kMilliMost = 2'000'000'000;
constexpr std::int64_t kNodeGuess = 8;  // GPUs of a node that the history does not tell

bool stopped_by_system(history::Outcome outcome) {
  return outcome == history::Outcome::kPreempted || outcome == history::Outcome::kRequeued ||
         outcome == history::Outcome::kNodeFailed;
}

/// The one model of a set of whole devices; empty: none is told, or several are.
history::Name model_of(const JobHistory& history, history::GpuSetId set) {
  const auto items = history.gpus().items(set);
  return items.size() == 1 ? items.front().model : history::Name();
}

struct PastWork {
  std::int64_t runtime = 0;
  std::int64_t stopped = 0;  // attempts
  const AttemptRecord* ran = nullptr;  // the last one that ran
};

PastWork work_of_job(std::span<const AttemptRecord> attempts, std::int64_t now) {
  PastWork work;
  std::int64_t last = 0;
  for (const AttemptRecord& attempt : attempts) {
    auto run = attempt.run_time();
    if (!run && attempt.started && attempt.outcome == history::Outcome::kRunning) {
      run = Duration(std::max<std::int64_t>(0, now - (*attempt.started).ns()));
    }
    if (!run || *run <= Duration()) continue;
    work.ran = &attempt;
    last = run->ns();
    if (stopped_by_system(attempt.outcome)) ++work.stopped;
    else work.runtime += last;
  }
  if (work.runtime == 0) work.runtime = last;
  return work;
}

/// Since when the job could have started; absent: the history does not tell.
std::optional<std::int64_t> waiting_since(const JobRecord& job, const AttemptRecord& first) {
  std::optional<std::int64_t> since;
  if (job.submitted) since = (*job.submitted).ns();
  else if (first.queued) since = (*first.queued).ns();
  if (first.eligible && (!since || (*first.eligible).ns() > *since) &&
      (!first.started || first.eligible <= first.started)) {
    since = (*first.eligible).ns();
  }
  return since;
}

std::int32_t node_count_of(const JobRecord& job, const AttemptRecord& ran) {
  const std::uint32_t count = ran.node_count > 0 ? ran.node_count : job.nodes;
  return static_cast<std::int32_t>(std::clamp<std::uint32_t>(count, 1, 100'000));
}

/// A change of what is held on one node.
struct HeldChange {
  std::uint32_t node = 0;
  std::int64_t at = 0;
  std::int64_t milli = 0;
  friend auto operator<=>(const HeldChange&, const HeldChange&) = default;  // ends first
};

std::string stem_of(const std::string& name) {
  std::string stem;
  for (const char c : name) {
    if (c < '0' || c > '9') stem += c;
  }
  return stem;
}

/// What is known of the nodes that a history names.
class SeenNodes {
 public:
  explicit SeenNodes(const JobHistory& history)
      : history_(history), node_lists_(history, names_, lists_) {}

  void look() {
    for (const JobRecord& job : history_.jobs()) {
      for (const AttemptRecord& attempt : history_.attempts_of(job)) look_at(job, attempt);
    }
  }
  [[nodiscard]] bool tells_enough() const { return named_ > 0 && named_ * 2 >= ran_; }

  [[nodiscard]] std::vector<NodeSpec> nodes() {
    std::vector<std::int64_t> most = most_held();
    std::map<std::string, std::map<std::string, std::int64_t>> votes;  // by stem
    models_.resize(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (const auto& [model, count] : models_[i]) votes[stem_of(names_[i])][model] += count;
    }
    std::vector<std::pair<std::string, std::string>> kinds;  // stem and model
    std::map<std::pair<std::string, std::string>, std::int64_t> largest;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string stem = stem_of(names_[i]);
      const auto& own = models_[i].empty() ? votes[stem] : models_[i];
      kinds.emplace_back(stem, most_voted(own));
      std::int64_t& gpus = largest[kinds.back()];
      gpus = std::max(gpus, (most[i] + 999) / 1000);
    }
    std::vector<NodeSpec> out;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (largest[kinds[i]] == 0) continue;
      NodeSpec node;
      node.name = names_[i];
      node.devices.assign(static_cast<std::size_t>(largest[kinds[i]]), {kinds[i].second});
      out.push_back(std::move(node));
    }
    std::sort(out.begin(), out.end(), [](const NodeSpec& a, const NodeSpec& b) {
      return std::tuple(a.name.size(), a.name) < std::tuple(b.name.size(), b.name);
    });
    return out;
  }

 private:
  void look_at(const JobRecord& job, const AttemptRecord& attempt) {
    const auto run = attempt.run_time();
    const history::GpuSetId held = history_.gpus_of(attempt);
    if (!attempt.started || !run || *run <= Duration() || !held.known()) return;
    const std::int64_t milli =
        std::min(history_.gpus().equivalent(held).value(), kMilliMost);
    if (milli == 0) return;
    ++ran_;
    if (attempt.nodes.empty()) return;
    ++named_;
    const std::vector<std::uint32_t>& list = lists_[node_lists_.number(attempt.nodes)];
    history::Name model = model_of(history_, held);
    if (model.empty()) model = model_of(history_, job.gpus);
    const std::int64_t each = milli / std::ssize(list);
    for (const std::uint32_t node : list) {
      const std::int64_t from = (*attempt.started).ns();
      changes_.push_back({node, from, each});
      changes_.push_back({node, from + run->ns(), -each});
      if (models_.size() <= node) models_.resize(node + 1);
      if (!model.empty()) ++models_[node][std::string(history_.text(model))];
    }
  }

  std::vector<std::int64_t> most_held() {
    std::sort(changes_.begin(), changes_.end());
    std::vector<std::int64_t> most(names_.size());
    std::int64_t held = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (i == 0 || changes_[i].node != changes_[i - 1].node) held = 0;
      held += changes_[i].milli;
      most[changes_[i].node] = std::max(most[changes_[i].node], held);
    }
    return most;
  }

  static std::string most_voted(const std::map<std::string, std::int64_t>& votes) {
    std::string best;
    std::int64_t most = 0;
    for (const auto& [model, count] : votes) {
      if (count > most) {
        best = model;
        most = count;
      }
    }
    return best;
  }

  const JobHistory& history_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::uint32_t>> lists_{{}};
  history::NodeLists node_lists_;
  std::vector<HeldChange> changes_;
  std::vector<std::map<std::string, std::int64_t>> models_;  // of jobs, by node
  std::int64_t ran_ = 0;
  std::int64_t named_ = 0;
};

bool written_by_slurm(const history::ImportNotes& notes) {
  return std::any_of(notes.formats.begin(), notes.formats.end(), [](const std::string& format) {
    return format.starts_with("sacct") || format.starts_with("jobcomp");
  });
}

}  // namespace

sim::PastJobs past_jobs_of(const JobHistory& history, LeftOut& left_out,
                           std::int64_t& stopped_attempts) {
  PastJobs past;
  past.jobs.reserve(history.jobs().size());
  NameColumn teams(history, past.teams);
  NameColumn classes(history, past.classes);
  NameColumn models(history, past.models);
  NameColumn sites(history, past.sites);
  const auto span = history.span();
  const std::int64_t now = span ? span->end.ns() : 0;
  for (const JobRecord& job : history.jobs()) {
    const auto attempts = history.attempts_of(job);
    const PastWork work = work_of_job(attempts, now);
    if (work.runtime <= 0) {
      ++left_out.never_ran;
      continue;
    }
    history::GpuSetId gpus = history.gpus_of(*work.ran);
    if (!gpus.known()) gpus = job.gpus;
    const std::int64_t milli = std::min(history.gpus().equivalent(gpus).value(), kMilliMost);
    if (milli <= 0) {
      ++left_out.no_gpu;
      continue;
    }
    const AttemptRecord& first = attempts.front();
    const auto since = waiting_since(job, first);
    if (!since && !first.started) {
      ++left_out.no_time;
      continue;
    }
    PastJob out{.runtime = work.runtime};
    out.submitted = since ? *since : (*first.started).ns();
    // Who is submitted at its start for want of a time tells no wait.
    if (since && first.started && (*first.started).ns() >= *since) {
      out.started = (*first.started).ns();
    }
    if (work.ran->ended) out.ended = (*work.ran->ended).ns();
    else if (out.started != sim::kUntold) out.ended = out.started + out.runtime;
    if (job.limit_kind == history::TimeLimit::kSet && *job.time_limit > Duration()) {
      out.time_limit = (*job.time_limit).ns();
    }
    out.unlimited = job.limit_kind == history::TimeLimit::kNone;
    if (job.priority) out.priority = std::clamp<std::int64_t>(*job.priority, 0, 1'000'000'000);
    out.milli = static_cast<std::int32_t>(milli);
    out.tasks = node_count_of(job, *work.ran);
    out.team = teams.number(job.queue.empty() ? job.user : job.queue);
    out.job_class = classes.number(job.job_class);
    out.model = models.number(model_of(history, job.gpus));
    out.home = sites.number(job.cluster);
    stopped_attempts += work.stopped;
    past.jobs.push_back(out);
  }
  const auto sooner = [](const PastJob& a, const PastJob& b) { return a.submitted < b.submitted; };
  // Most histories are in order; sorting takes half as much memory again.
  if (!std::is_sorted(past.jobs.begin(), past.jobs.end(), sooner)) {
    std::stable_sort(past.jobs.begin(), past.jobs.end(), sooner);
  }
  return past;
}

std::vector<NodeSpec> nodes_named_in(const JobHistory& history) {
  SeenNodes seen(history);
  seen.look();
  if (!seen.tells_enough()) return {};
  return seen.nodes();
}

std::vector<NodeSpec> nodes_for_most_held(const PastJobs& past) {
  std::vector<HeldChange> changes;
  for (const PastJob& job : past.jobs) {
    const std::int64_t from = job.tells_wait() ? job.started : job.submitted;
    changes.push_back({job.model, from, job.milli});
    changes.push_back({job.model, from + job.runtime, -std::int64_t{job.milli}});
  }
  std::sort(changes.begin(), changes.end());
  std::map<std::uint32_t, std::int64_t> most;
  std::int64_t held = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i == 0 || changes[i].node != changes[i - 1].node) held = 0;
    held += changes[i].milli;
    most[changes[i].node] = std::max(most[changes[i].node], held);
  }
  std::vector<NodeSpec> out;
  for (const auto& [model, milli] : most) {
    const std::int64_t count = (milli + kNodeGuess * 1000 - 1) / (kNodeGuess * 1000);
    for (std::int64_t i = 0; i < count; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(out.size() + 1);
      node.devices.assign(kNodeGuess, {past.models[model]});
      out.push_back(std::move(node));
    }
  }
  return out;
}

Result<WhatIfSource> whatif_source(Context& context, const HistoryOptions& options,
                                   const std::string& on) {
  WhatIfSource source;
  if (!on.empty()) {
    auto nodes = cluster_of(on);
    if (!nodes) return nodes.error();
    source.nodes = std::move(*nodes);
  }
  const auto history = read_history(context, options);
  if (!history) return history.error();
  source.files = source_words(history->notes());
  source.rows_skipped = history->notes().count_of(history::RowFate::kSkipped);
  source.from_slurm = written_by_slurm(history->notes());
  source.past = past_jobs_of(*history, source.left_out, source.stopped_attempts);
  if (source.past.jobs.empty()) {
    return usage_error("the history holds no job that ran on a GPU and tells when; `rota import` "
                       "shows what it holds");
  }
  for (const PastJob& job : source.past.jobs) {
    source.limits_guessed += job.time_limit == sim::kUntold && !job.unlimited ? 1 : 0;
  }
  if (!on.empty()) return source;
  source.nodes = nodes_named_in(*history);
  source.cluster_from = ClusterFrom::kNodesOfHistory;
  if (source.nodes.empty()) {
    source.nodes = nodes_for_most_held(source.past);
    source.cluster_from = ClusterFrom::kMostHeld;
  }
  return source;
}

}  // namespace rota::cli
