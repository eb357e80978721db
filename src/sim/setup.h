// A setup: the cluster and the rules that past jobs are replayed under. A plain value that changes
// are made to; run_setup() in what_if.h plays it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/fields.h"
#include "model/policy.h"
#include "model/queue.h"
#include "sim/past_jobs.h"
#include "sim/trial.h"

namespace rota::sim {

/// Policies by name.
enum class Rules {
  kFifo,          // in order of submit; nobody passes the first that cannot start
  kEasy,          // in order of submit; later jobs may start if they do not delay the first
  kConservative,  // the same, and nobody before them
  kGreedy,        // whatever fits starts, in order of submit
  kPriority,      // by priority, EASY back-fill
  kTimeFair,      // who had least of its share in 7 days comes first; nobody is stopped
  kContracts,     // the same; after its minimum runtime a job may be stopped for who is owed
  kSlurmLike,     // in order, in passes at times of their own: see PassTimes
};
constexpr auto names_of(Rules) {
  return std::array<std::string_view, 8>{"fifo",     "easy",      "conservative", "greedy",
                                         "priority", "time-fair", "contracts",    "slurm-like"};
}

/// Short jobs of few GPUs that somebody waits for. Under `order=fair` they share a queue of their
/// own; under `order=priority` they come first; elsewhere they are only counted apart.
struct ShortClass {
  std::string name = "debug";
  std::int64_t milli_max = 1000;
  Duration runtime_max = Duration::minutes(15);
  Duration apart = Duration::minutes(5);  // from the team's one before, else it is a sweep's
  std::int64_t part_milli = 50;  // weight of its queue, in thousandths of all other weights
  std::int64_t gpus_kept = 0;    // that nobody else may hold (order=fair)
  Duration contract_max = Duration::minutes(15);

  friend bool operator==(const ShortClass&, const ShortClass&) = default;
};

/// A class of a configuration; jobs are of it whose history names it.
struct NamedClass {
  std::string name;
  std::optional<Duration> min_runtime;
  bool protect_all = false;
  bool charge = true;
  std::int64_t priority = 0;
  std::optional<Duration> checkpoint;
};

struct Share {
  std::optional<std::int64_t> weight;
  std::optional<MilliGpu> quota;
  std::optional<MilliGpu> limit;
};

enum class Priorities { kNone, kOfHistory, kOfWeights };

struct Setup {
  std::string name;
  Policy policy;
  std::optional<PassTimes> passes;
  std::vector<NodeSpec> nodes;
  std::vector<QueueSpec> queues;            // declared; teams without one get one of weight 1
  std::map<std::string, Share> shares;      // by team
  Priorities priorities = Priorities::kNone;
  std::optional<Duration> contract;         // minimum runtime; absent: never preempted
  std::optional<Duration> checkpoint;       // absent: stopped work is done again from the start
  std::optional<ShortClass> short_class;
  std::vector<NamedClass> classes;
  std::int64_t limit_permille = 1000;       // time limits are as told, times this
  std::int64_t reaction_permille = 0;       // see react()
};

/// Sets policy, passes, contract, checkpoint and priorities; leaves nodes, queues, shares and
/// classes as they are.
void set_rules(Setup& setup, Rules rules);

[[nodiscard]] std::int64_t gpus_of(const std::vector<NodeSpec>& nodes);
/// The most GPUs of one node.
[[nodiscard]] std::int64_t largest_of(const std::vector<NodeSpec>& nodes);

/// The queue of a team without a name.
constexpr std::string_view kNoTeam = "default";
/// Above the queues of teams, and beside them, when short jobs have a queue of their own.
constexpr std::string_view kTeamsQueue = "(teams)";
constexpr std::string_view kShortQueue = "(short)";

/// Which jobs are of the setup's short class.
[[nodiscard]] std::vector<bool> short_jobs(const PastJobs& past,
                                           const std::optional<ShortClass>& rule);

/// The jobs as a trial takes them. `past` and `setup` must outlive it.
class SetupJobs : public TrialJobs {
 public:
  SetupJobs(const PastJobs& past, const Setup& setup);
  [[nodiscard]] std::size_t size() const override { return past_.jobs.size(); }
  [[nodiscard]] Instant submitted(std::size_t at) const override {
    return Instant(past_.jobs[at].submitted);
  }
  [[nodiscard]] Duration runtime(std::size_t at) const override {
    return Duration(past_.jobs[at].runtime);
  }
  [[nodiscard]] TrialJob job(std::size_t at) const override;

 private:
  void set_shape(const PastJob& past, JobShape& shape) const;
  void set_class(const PastJob& past, JobSpec& spec) const;
  [[nodiscard]] std::int64_t priority_of(std::size_t at) const;

  const PastJobs& past_;
  const Setup& setup_;
  std::vector<bool> short_;
  std::int64_t largest_ = 0;
  bool own_queue_ = false;             // short jobs have one
  std::vector<std::uint8_t> model_known_;  // by model: the cluster has it
  std::vector<std::uint8_t> site_known_;
};

/// The plan of a trial: policy, nodes and the queues of all teams in `past`.
[[nodiscard]] TrialPlan plan_of(const PastJobs& past, const Setup& setup);

}  // namespace rota::sim
