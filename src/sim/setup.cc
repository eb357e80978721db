#include "sim/setup.h"

#include <algorithm>
#include <set>

namespace rota::sim {
namespace {

constexpr std::int64_t kShortFirst = 1'000'000;  // priority of short jobs under order=priority
constexpr Duration kLimitGuessLeast = Duration::minutes(15);
constexpr Duration kLookEvery = Duration::minutes(5);  // who is owed changes slowly
constexpr Duration kFairSpan = Duration::days(7);

std::string queue_of(const PastJobs& past, const PastJob& job) {
  const std::string& team = past.teams[job.team];
  return team.empty() ? std::string(kNoTeam) : team;
}

void order_by_submit(Policy& policy, Backfill backfill) {
  policy.order = Order::kFifo;
  policy.backfill = backfill;
}

/// Whether the setup's rules ever stop a job for another.
bool may_stop(const Setup& setup) {
  return setup.contract || std::any_of(setup.classes.begin(), setup.classes.end(),
                                       [](const NamedClass& c) { return !c.charge; });
}

bool has_own_queue(const Setup& setup) {
  return setup.short_class && setup.policy.order == Order::kFair;
}

std::int64_t weight_of(const Setup& setup, const std::string& team) {
  const auto share = setup.shares.find(team);
  return share == setup.shares.end() ? 1 : share->second.weight.value_or(1);
}

QueueSpec team_queue(const Setup& setup, const std::string& team) {
  QueueSpec queue{.name = team, .weight = weight_of(setup, team)};
  if (const auto share = setup.shares.find(team); share != setup.shares.end()) {
    queue.quota = share->second.quota;
    queue.limit = share->second.limit;
  }
  return queue;
}

/// What was told of a declared queue, over its declaration.
void override_queue(const Setup& setup, QueueSpec& queue) {
  const auto share = setup.shares.find(queue.name);
  if (share == setup.shares.end()) return;
  if (share->second.weight) queue.weight = *share->second.weight;
  if (share->second.quota) queue.quota = share->second.quota;
  if (share->second.limit) queue.limit = share->second.limit;
}

template <class Known>
std::vector<std::uint8_t> known_of(const std::vector<std::string>& names, Known&& known) {
  std::vector<std::uint8_t> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(!name.empty() && known(name) ? 1 : 0);
  return out;
}

}  // namespace

void set_rules(Setup& setup, Rules rules) {
  Policy policy;
  policy.quarantine_after.reset();
  setup.passes.reset();
  setup.contract.reset();
  setup.priorities = Priorities::kNone;
  switch (rules) {
    case Rules::kFifo: order_by_submit(policy, Backfill::kOff); break;
    case Rules::kEasy: order_by_submit(policy, Backfill::kEasy); break;
    case Rules::kConservative: order_by_submit(policy, Backfill::kConservative); break;
    case Rules::kGreedy: order_by_submit(policy, Backfill::kGreedy); break;
    case Rules::kSlurmLike:
      order_by_submit(policy, Backfill::kOff);
      // Slurm counts whole seconds: GPUs of a job that ended in one are free in the next.
      setup.passes = PassTimes{.release = Duration::seconds(1)};
      break;
    case Rules::kPriority:
      policy.order = Order::kPriority;
      setup.priorities = Priorities::kOfHistory;
      break;
    case Rules::kContracts:
      setup.contract = Duration::hours(2);
      if (!setup.checkpoint) setup.checkpoint = Duration::minutes(30);
      if (!setup.short_class) setup.short_class.emplace();
      policy.grace = Duration::seconds(30);
      policy.min_runtime_max = Duration::days(36'500);
      [[fallthrough]];
    case Rules::kTimeFair:
      policy.fairness = FairnessKind::kWindow;
      policy.fairness_span = kFairSpan;
      break;
  }
  setup.policy = policy;
}

std::int64_t gpus_of(const std::vector<NodeSpec>& nodes) {
  std::int64_t gpus = 0;
  for (const NodeSpec& node : nodes) gpus += std::ssize(node.devices);
  return gpus;
}

std::int64_t largest_of(const std::vector<NodeSpec>& nodes) {
  std::int64_t most = 0;
  for (const NodeSpec& node : nodes) most = std::max(most, std::ssize(node.devices));
  return most;
}

std::vector<bool> short_jobs(const PastJobs& past, const std::optional<ShortClass>& rule) {
  std::vector<bool> out(past.jobs.size());
  if (!rule) return out;
  std::vector<std::int64_t> latest(past.teams.size(), kUntold);
  for (std::size_t i = 0; i < past.jobs.size(); ++i) {
    const PastJob& job = past.jobs[i];
    if (job.milli > rule->milli_max || Duration(job.runtime) > rule->runtime_max) continue;
    std::int64_t& before = latest[job.team];
    out[i] = before == kUntold || job.submitted - before >= rule->apart.ns();
    before = job.submitted;
  }
  return out;
}

SetupJobs::SetupJobs(const PastJobs& past, const Setup& setup)
    : past_(past), setup_(setup), short_(short_jobs(past, setup.short_class)),
      largest_(largest_of(setup.nodes)), own_queue_(has_own_queue(setup)) {
  const auto has_model = [&](const std::string& model) {
    return std::any_of(setup.nodes.begin(), setup.nodes.end(), [&](const NodeSpec& node) {
      return !node.devices.empty() && node.devices.front().model == model;
    });
  };
  const auto has_site = [&](const std::string& site) {
    return std::any_of(setup.nodes.begin(), setup.nodes.end(),
                       [&](const NodeSpec& node) { return node.site == site; });
  };
  model_known_ = known_of(past.models, has_model);
  site_known_ = known_of(past.sites, has_site);
}

/// As it ran: on as many nodes, when its GPUs divide; on fewer or more where nodes are larger or
/// smaller than they were.
void SetupJobs::set_shape(const PastJob& past, JobShape& shape) const {
  std::int64_t gpus = past.milli;
  if (gpus > 1000) gpus = (gpus + 999) / 1000 * 1000;
  std::int64_t tasks = gpus % (std::int64_t{1000} * past.tasks) == 0 ? past.tasks : 1;
  std::int64_t each = gpus / tasks;
  if (each > largest_ * 1000 && largest_ > 0) {
    each = largest_ * 1000;
    tasks = (gpus + each - 1) / each;
  }
  shape.task.gpus = MilliGpu(each);
  shape.tasks = tasks;
  if (model_known_[past.model] != 0) shape.models = {past_.models[past.model]};
  else shape.any_model = tasks > 1;
  if (site_known_[past.home] != 0) shape.data = past_.sites[past.home];
}

void SetupJobs::set_class(const PastJob& past, JobSpec& spec) const {
  if (past.job_class == 0) return;
  const std::string& name = past_.classes[past.job_class];
  const auto found = std::find_if(setup_.classes.begin(), setup_.classes.end(),
                                  [&](const NamedClass& c) { return c.name == name; });
  if (found == setup_.classes.end()) return;
  if (found->protect_all) spec.min_runtime.reset();
  else if (found->min_runtime && spec.min_runtime) spec.min_runtime = *found->min_runtime;
  spec.charge = found->charge;
  spec.priority = found->priority;
  if (found->checkpoint) spec.checkpoint = *found->checkpoint;
}

std::int64_t SetupJobs::priority_of(std::size_t at) const {
  if (setup_.priorities == Priorities::kNone) return 0;
  if (short_[at]) return kShortFirst;
  if (setup_.priorities == Priorities::kOfHistory) return past_.jobs[at].priority;
  return weight_of(setup_, queue_of(past_, past_.jobs[at]));
}

TrialJob SetupJobs::job(std::size_t at) const {
  const PastJob& past = past_.jobs[at];
  TrialJob job;
  job.submitted = Instant(past.submitted);
  job.runtime = Duration(past.runtime);
  job.kind = short_[at] ? 1 : 0;
  JobSpec& spec = job.spec;
  spec.queue = queue_of(past_, past);
  set_shape(past, spec.shape);
  if (past.time_limit != kUntold) {
    // What ran on past its limit was allowed to.
    const std::int64_t told = std::max(past.time_limit, past.runtime);
    spec.time_limit = Duration(told / 1000 * setup_.limit_permille);
  } else if (!past.unlimited) {
    // People ask for more than they use.
    spec.time_limit = std::max(Duration(past.runtime) * 2, kLimitGuessLeast);
  }
  spec.checkpoint = setup_.checkpoint;
  spec.priority = priority_of(at);
  spec.min_runtime = setup_.contract;
  set_class(past, spec);
  if (short_[at] && own_queue_) {
    spec.queue = kShortQueue;
    if (spec.min_runtime) {
      spec.min_runtime = std::min(*spec.min_runtime, setup_.short_class->contract_max);
    }
  }
  return job;
}

TrialPlan plan_of(const PastJobs& past, const Setup& setup) {
  TrialPlan plan;
  plan.policy = setup.policy;
  plan.passes = setup.passes;
  plan.nodes = setup.nodes;
  plan.until = TrialPlan::kWhenAllIsOver;
  // Where nobody can be stopped, only a submit or an end lets somebody start.
  const bool stops = may_stop(setup);
  plan.one_cycle = !stops;
  plan.cycle_every = stops ? kLookEvery : Duration();
  const bool own = has_own_queue(setup);
  const std::string above = own ? std::string(kTeamsQueue) : std::string();
  if (own) {
    QueueSpec teams{.name = std::string(kTeamsQueue), .weight = 1000};
    const std::int64_t kept = setup.short_class->gpus_kept;
    if (kept > 0) teams.limit = whole_gpus(std::max<std::int64_t>(0, gpus_of(setup.nodes) - kept));
    plan.queues.push_back(teams);
    plan.queues.push_back({.name = std::string(kShortQueue),
                           .weight = setup.short_class->part_milli});
  }
  std::set<std::string> known;
  for (QueueSpec queue : setup.queues) {
    override_queue(setup, queue);
    if (queue.parent.empty()) queue.parent = above;
    known.insert(queue.name);
    plan.queues.push_back(std::move(queue));
  }
  std::set<std::string> teams;
  for (const PastJob& job : past.jobs) teams.insert(queue_of(past, job));
  for (const std::string& team : teams) {
    if (known.contains(team)) continue;
    QueueSpec queue = team_queue(setup, team);
    queue.parent = above;
    plan.queues.push_back(std::move(queue));
  }
  return plan;
}

}  // namespace rota::sim
