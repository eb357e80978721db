#include "cli/whatif_check.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/usage.h"
#include "report/words.h"
#include "server/config.h"

namespace rota::cli {
namespace {

using Names = std::set<std::string>;
constexpr std::size_t kShownMost = 8;

/// Names of a column that jobs have; `none` stands for an empty one.
Names names_of_jobs(const sim::PastJobs& past, const std::vector<std::string>& names,
                    std::uint32_t sim::PastJob::* column, std::string_view none) {
  std::vector<bool> used(names.size());
  for (const sim::PastJob& job : past.jobs) used[job.*column] = true;
  Names out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (used[i]) out.insert(names[i].empty() ? std::string(none) : names[i]);
  }
  return out;
}

Names teams_of(const sim::PastJobs& past) {
  return names_of_jobs(past, past.teams, &sim::PastJob::team, sim::kNoTeam);
}

/// Declared queues that jobs can be in: those above others hold none.
Names leaf_queues(const sim::Setup& setup) {
  Names out;
  for (const QueueSpec& queue : setup.queues) out.insert(queue.name);
  for (const QueueSpec& queue : setup.queues) out.erase(queue.parent);
  return out;
}

std::vector<std::string> missing_in(const Names& names, const Names& known) {
  std::vector<std::string> out;
  std::set_difference(names.begin(), names.end(), known.begin(), known.end(),
                      std::back_inserter(out));
  return out;
}

std::string shown(std::vector<std::string> names) {
  const std::size_t all = names.size();
  if (all > kShownMost) names.resize(kShownMost);
  return join(names, ", ") + (all > kShownMost ? ", ..." : "");
}

void remark_on_queues(const Names& teams, const sim::Setup& setup,
                      std::vector<std::string>& remarks) {
  if (setup.queues.empty()) return;
  const Names queues = leaf_queues(setup);
  const std::vector<std::string> idle = missing_in(queues, teams);
  if (!idle.empty()) {
    remarks.push_back(report::counted(std::ssize(idle), "queue") + " of " +
                      std::to_string(queues.size()) + " in the configuration " +
                      (idle.size() == 1 ? "is" : "are") + " of no team of the history: " +
                      shown(idle));
  }
  const std::vector<std::string> undeclared = missing_in(teams, queues);
  if (!undeclared.empty()) {
    remarks.push_back(report::counted(std::ssize(undeclared), "team") + " of " +
                      std::to_string(teams.size()) + " in the history " +
                      (undeclared.size() == 1 ? "has" : "have") +
                      " no queue in the configuration, and one of weight 1 here: " +
                      shown(undeclared));
  }
}

/// Those that every configuration has are left out: nobody wrote them down.
void remark_on_classes(const sim::PastJobs& past, const sim::Setup& setup,
                       std::vector<std::string>& remarks) {
  Names declared;
  for (const sim::NamedClass& one : setup.classes) declared.insert(one.name);
  for (const server::ClassConfig& one : server::product_classes()) declared.erase(one.name);
  const std::vector<std::string> idle = missing_in(
      declared, names_of_jobs(past, past.classes, &sim::PastJob::job_class, {}));
  if (idle.empty()) return;
  remarks.push_back(report::counted(std::ssize(idle), "class", "classes") + " of " +
                    std::to_string(declared.size()) +
                    " in the configuration: no job of the history is of " + shown(idle));
}

bool is_about_stops(const std::string& change) {
  return change.starts_with("contract=") || change.starts_with("checkpoint=") ||
         change.starts_with("grace=");
}

}  // namespace

Status check_share_names(const sim::PastJobs& past, const sim::Setup& setup) {
  if (setup.shares.empty()) return {};
  Names known = teams_of(past);
  for (const QueueSpec& queue : setup.queues) known.insert(queue.name);
  for (const auto& [name, share] : setup.shares) {
    if (known.contains(name)) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string_view near = nearest_word(name, names);
    return usage_error("weights, quota or limit of '" + name + "': no job of a team of that name; "
                       "there are " + shown(names) +
                       (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
  }
  return {};
}

std::vector<std::string> remarks_on(const sim::PastJobs& past, const sim::Setup& setup,
                                    const std::vector<std::string>& changes) {
  std::vector<std::string> remarks;
  remark_on_queues(teams_of(past), setup, remarks);
  remark_on_classes(past, setup, remarks);
  const Order order = setup.policy.order;
  if (order == Order::kFair || order == Order::kPriority) return remarks;
  std::vector<std::string> idle;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(idle), is_about_stops);
  if (!idle.empty()) {
    remarks.push_back(join(idle, ", ") + " changes nothing: this policy stops no job for another; "
                      "put policy=contracts before it");
  }
  return remarks;
}

}  // namespace rota::cli
