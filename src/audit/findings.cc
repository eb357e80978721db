#include "audit/findings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "audit/words.h"
#include "base/text.h"
#include "report/words.h"

namespace rota::audit {
namespace {

/// Below this part of the held time a loss is no finding.
constexpr std::int64_t kWorthPermille = 5;

std::string length_text(std::int64_t ns) { return report::short_duration(Duration(ns)); }

class Finder {
 public:
  explicit Finder(const Audit& audit) : audit_(audit) {}

  std::vector<Finding> find() {
    idle_while_wanted();
    measured_idle();
    failed_runs();
    stopped_runs();
    limit_and_cancel();
    node_lemons();
    short_waits();
    sessions();
    over_requested();
    gpus_over_requested();
    memory_over_requested();
    part_of_a_gpu();
    shares();
    bursts();
    std::stable_sort(out_.begin(), out_.end(), [](const Finding& a, const Finding& b) {
      return a.gain.value_or(-1) > b.gain.value_or(-1);
    });
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_worth(GpuTime part) const {
    return part > 0 && part * 1000 >= audit_.ledgers.all.held * kWorthPermille;
  }
  [[nodiscard]] std::string of_held(GpuTime part) const {
    return hours_text(part) + " GPU-hours, " + percent_text(part, audit_.ledgers.all.held) +
           " of what was held";
  }
  [[nodiscard]] GpuTime line(Line which) const { return audit_.ledgers.all.line(which).gpu_time; }

  void idle_while_wanted() {
    const GpuTime idle = audit_.timeline.idle_while_wanted;
    if (!is_worth(idle)) return;
    out_.push_back(
        {.id = "idle_while_wanted",
         .figure = hours_text(idle) + " GPU-hours stood free while waiting jobs would have fitted",
         .how = "capacity less GPUs held, at each instant, as far as jobs that waited then could "
                "have taken it: smallest first, by count of GPUs",
         .confidence = audit_.capacity_given ? Confidence::kMedium : Confidence::kLow,
         .because = audit_.capacity_given
                        ? "by count only: models, memory, CPUs, node shapes, limits and nodes out "
                          "of service are not looked at"
                        : "the capacity is the most that was ever held, which may have been there "
                          "only then; and it goes by count only",
         .action = "turn backfill on or up, pack small jobs so that whole nodes stay free, check "
                   "limits per person and pools; `rota replay` shows what backfill would do",
         .gain = audit_.equivalents(idle)});
  }

  void measured_idle() {
    const GpuTime idle = line(Line::kIdle);
    if (!is_worth(idle)) return;
    const Ledger& all = audit_.ledgers.all;
    const bool most = all.measured * 2 >= all.held;
    out_.push_back({.id = "held_idle",
                    .figure = of_held(idle) + ", computed nothing",
                    .how = "GPU time times (1 - mean utilisation), of completed and running work "
                           "where utilisation is told",
                    .confidence = most ? Confidence::kMedium : Confidence::kLow,
                    .because = "utilisation is told for " + percent_text(all.measured, all.held) +
                               " of held time; a mean hides bursts, and busy is not efficient",
                    .action = "show people their own figure; look at data loading and batch size "
                              "of the largest ones; let small jobs share a GPU",
                    .gain = audit_.equivalents(idle)});
  }

  void failed_runs() {
    const Failures& failures = audit_.failures;
    if (!is_worth(failures.lost)) return;
    std::string who;
    if (!failures.by_user.empty()) {
      const FailureGroup& most = failures.by_user.front();
      who = "; " + most.name + " alone " + hours_text(most.lost);
    }
    out_.push_back(
        {.id = "failed_runs",
         .figure = of_held(failures.lost) + ", went to " + counted(failures.failed, "run") +
                   " of " + grouped(failures.ended) + " that failed (" +
                   grouped(failures.early) + " within ten minutes" + who + ")",
         .how = "GPUs times run time of runs that ended with an error or out of memory",
         .confidence = Confidence::kMedium,
         .because = "exact as booked; how much was saved by checkpoints is not told",
         .action = "checkpoints for runs that fail late (" + hours_text(failures.lost_late) +
                   " GPU-hours failed after ten minutes); a short debug run before a wide one",
         .gain = audit_.equivalents(failures.lost)});
  }

  void stopped_runs() {
    const Failures& failures = audit_.failures;
    if (failures.stopped > 0 && is_worth(failures.stopped_lost)) {
      out_.push_back({.id = "stopped_runs",
                      .figure = of_held(failures.stopped_lost) + ", in " +
                                counted(failures.stopped, "run") +
                                " preempted, requeued or lost with a node",
                      .how = "GPUs times run time of these runs",
                      .confidence = Confidence::kLow,
                      .because = "an upper bound: work that was saved before is not told",
                      .action = "give jobs a minimum runtime in which nobody stops them, and take "
                                "those first that lose least since their checkpoint",
                      .gain = audit_.equivalents(failures.stopped_lost)});
    }
    if (failures.restarts == 0) return;
    out_.push_back({.id = "restarts",
                    .figure = counted(failures.restarts, "restart") + " of " +
                              counted(failures.jobs_restarted, "job") + " repeated up to " +
                              hours_text(failures.restart_cost) + " GPU-hours",
                    .how = "GPU time of runs that were followed by another run of the same job; "
                           "it stands in the lines of how these runs ended, too",
                    .confidence = Confidence::kMedium,
                    .because = "new submits of the same work are jobs of their own and not counted",
                    .action = "retry elsewhere than on the node that failed, and not for ever"});
  }

  void limit_and_cancel() {
    if (const GpuTime time = line(Line::kTimeLimit); is_worth(time)) {
      out_.push_back({.id = "time_limit",
                      .figure = of_held(time) + ", in " +
                                counted(audit_.ledgers.all.line(Line::kTimeLimit).runs, "run") +
                                " stopped at the time limit",
                      .how = "GPUs times run time of runs that ended at their limit",
                      .confidence = Confidence::kLow,
                      .because = "an upper bound: some run into the limit by design and go on from "
                                 "a checkpoint",
                      .action = "a signal before the limit to save work; a limit that fits",
                      .gain = audit_.equivalents(time)});
    }
    if (const GpuTime time = line(Line::kCancelled); is_worth(time)) {
      out_.push_back({.id = "cancelled",
                      .figure = of_held(time) + ", in " +
                                counted(audit_.ledgers.all.line(Line::kCancelled).runs, "run") +
                                " cancelled while running",
                      .how = "GPUs times run time of cancelled runs",
                      .confidence = Confidence::kLow,
                      .because = "many are stopped because they had done enough",
                      .action = "ask the largest ones why; short debug slots for what is only "
                                "tried out",
                      .gain = audit_.equivalents(time)});
    }
  }

  void node_lemons() {
    GpuTime excess = 0;
    std::vector<std::string> names;
    bool one_person = false;
    double chance = 0;
    for (const Lemon& lemon : audit_.lemons.found) {
      excess += lemon.excess;
      one_person = one_person || lemon.users == 1;
      chance = std::max(chance, lemon.chance);
      names.push_back(lemon.node + " (" + grouped(lemon.failed) + " of " + grouped(lemon.runs) +
                      ", others " + ratio_text(lemon.others_rate) + ")");
    }
    if (names.empty()) return;
    const std::size_t more = names.size() > 5 ? names.size() - 5 : 0;
    if (more > 0) names.resize(5);
    if (more > 0) names.push_back("and " + std::to_string(more) + " more");
    out_.push_back(
        {.id = "node_lemons",
         .figure = counted(static_cast<std::int64_t>(audit_.lemons.found.size()), "node") +
                   " failed far more often than the others: " + join(names, ", "),
         .how = "upper tail of a binomial distribution with the failure rate of all other nodes, "
                "one failed run added to theirs, times the number of nodes",
         .confidence = one_person ? Confidence::kLow : Confidence::kHigh,
         .because = "the chance that no node is at fault is at most " + chance_text(chance) +
                    (one_person ? "; but on one of them all failures are one person's" : ""),
         .action = "drain them and run diagnostics before they take wide jobs",
         .gain = audit_.equivalents(excess)});
  }

  void short_waits() {
    if (audit_.classes.classes.empty()) return;
    const ProposedClass& one = audit_.classes.classes.front();
    constexpr std::int64_t kMinute = 60'000'000'000;
    if (one.behaviour != Behaviour::kShort || one.waits == 0 || one.wait_p90 <= kMinute) return;
    out_.push_back({.id = "short_jobs_wait",
                    .figure = "one in ten of the " + grouped(one.jobs) + " short jobs waited " +
                              length_text(one.wait_p90) + " and more; half of them run at most " +
                              length_text(one.run_p50),
                    .how = "waits and run times of the shortest of the proposed classes",
                    .confidence = Confidence::kHigh,
                    .because = "waits of " + grouped(one.waits) + " of them are told",
                    .action = "a class for short jobs that starts within a minute, as below; it "
                              "took " + percent_text(one.gpu_time, audit_.ledgers.all.held) +
                              " of the GPU time"});
  }

  void sessions() {
    const Sessions& sessions = audit_.sessions;
    std::string who;
    if (!sessions.by_user.empty() && !sessions.by_user.front().user.empty()) {
      who = "; most by " + sessions.by_user.front().user;
    }
    if (sessions.squatting > 0) {
      out_.push_back({.id = "squatting",
                      .figure = counted(sessions.squatting, "run") +
                                " of four hours and more kept GPUs busy below 10 % of the time: " +
                                hours_text(sessions.squatting_idle) + " GPU-hours idle" + who,
                      .how = "runs with utilisation, their length and mean utilisation",
                      .confidence = Confidence::kMedium,
                      .because = "measured; also in `held_idle`, where the run ended well or "
                                 "goes on. A mean hides a busy start",
                      .action = "an idle rule for sessions (warn, then end), and debug slots that "
                                "start within a minute, so that nobody needs to keep a GPU",
                      .gain = audit_.equivalents(sessions.squatting_idle)});
    }
    if (sessions.interactive_long_held == 0) return;
    out_.push_back({.id = "long_sessions",
                    .figure = hours_text(sessions.interactive_held) + " GPU-hours were held by " +
                              counted(sessions.interactive, "session") + ", of them " +
                              grouped(sessions.interactive_long) + " of four hours and more" +
                              (sessions.squatting > 0 ? "" : who),
                    .how = "runs known to be interactive",
                    .confidence = Confidence::kLow,
                    .because = "whether they computed is not told",
                    .action = "measure them; then an idle rule: `session_idle_warn`, "
                              "`session_idle_end`"});
  }

  void over_requested() {
    const LimitUse& limits = audit_.limits;
    if (limits.jobs == 0 || limits.used_p50 >= 800) return;
    out_.push_back(
        {.id = "time_over_requested",
         .figure = "half of the jobs that ended well used at most " +
                   permille_text(limits.used_p50) + " of their time limit; " +
                   percent_text(limits.below_tenth, limits.jobs) + " of them less than a tenth",
         .how = "run time over time limit, of " + counted(limits.jobs, "job") +
                " with a limit that ended well",
         .confidence = limits.jobs >= 30 ? Confidence::kHigh : Confidence::kLow,
         .because = limits.jobs >= 30 ? "both are told" : "few jobs",
         .action = "limits by class below; backfill plans with limits, so tighter ones let more "
                   "small jobs in and make expected starts true"});
  }

  void gpus_over_requested() {
    const GpuUse& use = audit_.over.gpus;
    if (!is_worth(use.excess)) return;
    out_.push_back(
        {.id = "gpus_over_requested",
         .figure = grouped(use.over) + " of " + counted(use.measured, "measured run") +
                   " of two and more GPUs would have filled at most half of them: " +
                   of_held(use.excess) + (use.user.empty() ? "" : "; most by " + use.user),
         .how = "GPUs held less those that the mean utilisation fills, in whole ones, times run "
                "time; of runs that ended well and took ten minutes and more",
         .confidence = use.measured * 2 >= use.runs ? Confidence::kMedium : Confidence::kLow,
         .because = "utilisation is told for " + percent_text(use.measured, use.runs) +
                    " of such runs; a mean hides peaks, memory may need the GPUs, and Slurm may "
                    "add up the GPUs of a task, which hides others",
         .action = "let the largest ones show that more GPUs make them faster; data loading first",
         .gain = audit_.equivalents(use.excess)});
  }

  void memory_over_requested() {
    const MemoryUse& use = audit_.over.memory;
    if (use.told == 0 || use.used_p50 >= 500) return;
    const bool is_well_told = use.told >= 30 && use.told * 2 >= use.runs;
    out_.push_back(
        {.id = "memory_over_requested",
         .figure = "half of the runs that ended well used at most " + permille_text(use.used_p50) +
                   " of the memory they asked for; " + percent_text(use.below_half, use.told) +
                   " of them less than half; " + gib_hours_text(use.excess) + " GiB-hours, " +
                   percent_text(use.excess, use.asked) + " of what was asked for, were not used",
         .how = "the most that a task held over what was asked for, of " +
                counted(use.told, "run") + " with GPUs on one node",
         .confidence = is_well_told ? Confidence::kMedium : Confidence::kLow,
         .because = "both are told for " + percent_text(use.told, use.runs) +
                    " of such runs; of several tasks only the largest counts, use is sampled, and "
                    "the cache of files is not in it",
         .action = "defaults of memory by GPU and class a little above the largest use: memory "
                   "that is asked for and not used keeps others from free GPUs of its node"});
  }

  void part_of_a_gpu() {
    const GpuMemoryUse& use = audit_.over.gpu_memory;
    if (!is_worth(use.small_held)) return;
    out_.push_back(
        {.id = "part_of_a_gpu",
         .figure = counted(use.small, "run") + " of one GPU used at most 10 GiB of its memory, and "
                   "a quarter of its time: " + of_held(use.small_held),
         .how = "runs of ten minutes and more that ended well, with both told",
         .confidence = Confidence::kMedium,
         .because = "measured; four of them fit one GPU with 40 GiB and more, if they may share",
         .action = "a class that takes a part of a GPU (MIG or a fraction with a memory limit)",
         .gain = audit_.equivalents(use.small_held * 3 / 4)});
  }

  void shares() {
    std::vector<std::string> under;
    std::vector<std::string> over;
    for (const TeamShare& team : audit_.teams) {
      const std::string name = team.name.empty() ? "(no team told)" : team.name;
      const GpuTime missing = team.time.owed - team.time.delivered;
      if (missing * 20 > team.time.owed) {
        under.push_back(name + " got " + percent_text(team.time.delivered, team.time.owed));
      }
      const GpuTime part = team.part_of(audit_.capacity_time());
      if (part > 0 && team.time.held > part) {
        over.push_back(name + " held " + percent_text(team.time.held, part) + " of its share");
      }
    }
    if (under.empty() || audit_.teams.size() < 2) return;
    for (auto* names : {&under, &over}) {
      if (names->size() <= 4) continue;
      const std::size_t more = names->size() - 4;
      names->resize(4);
      names->push_back("and " + std::to_string(more) + " more");
    }
    out_.push_back(
        {.id = "owed_not_delivered",
         .figure = "of what they were owed: " + join(under, ", ") +
                   (over.empty() ? "" : "; while " + join(over, ", ")),
         .how = "owed at an instant is the least of what a team wants and its part of the "
                "capacity; delivered is what it held of that",
         .confidence = audit_.shares_given && audit_.capacity_given ? Confidence::kHigh
                                                                   : Confidence::kLow,
         .because = audit_.shares_given ? audit_.capacity_given ? "shares and capacity are given"
                                                                : "the capacity is a guess"
                                        : "equal shares are an assumption; say yours: --shares",
         .action = "weights by team with lending, and contracts instead of priorities: `rota study "
                   "sharing` shows what each would get"});
  }

  void bursts() {
    const double burst = audit_.arrivals.burst();
    if (burst < 2 || audit_.arrivals.days < 3) return;
    out_.push_back(
        {.id = "bursts",
         .figure = "the busiest day asked for " + ratio_text(burst) + " times the mean of all " +
                   grouped(audit_.arrivals.days) + " days",
         .how = "GPU time of runs by the day of their submit",
         .confidence = Confidence::kHigh,
         .because = "submit times and run times are told",
         .action = "lend idle shares, keep a short queue for small jobs, and let what can wait run "
                   "off the peak; buying for the peak would stand idle"});
  }

  const Audit& audit_;
  std::vector<Finding> out_;
};

void add_over_unknowns(const OverRequests& over, std::vector<std::string>& out) {
  if (over.gpus.runs > 0 && over.gpus.measured == 0) {
    out.push_back("over-requested GPUs: not told; utilisation is missing of all " +
                  counted(over.gpus.runs, "run") + " of two and more GPUs that ended well");
  }
  if (over.memory.runs > 0 && over.memory.told == 0) {
    out.push_back("over-requested memory: not told; no run on one node has both what it asked for "
                  "and what it used (sacct: steps with MaxRSS, so no -X)" +
                  (over.memory.several_nodes > 0
                       ? "; " + counted(over.memory.several_nodes, "run") +
                             " of several nodes tell one node only"
                       : std::string()));
  }
  if (over.memory.runs > 0 && over.gpu_memory.told == 0) {
    out.emplace_back("use of GPU memory: not told (sacct: gres/gpumem in TRESUsageInMax, which "
                     "takes steps and AutoDetect=nvml)");
  }
}

}  // namespace

std::string_view confidence_word(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow: return "low";
    case Confidence::kMedium: return "medium";
    case Confidence::kHigh: break;
  }
  return "high";
}

std::vector<Finding> findings_of(const Audit& audit) { return Finder(audit).find(); }

std::vector<std::string> unknowns_of(const Audit& audit) {
  std::vector<std::string> out;
  out.emplace_back("availability: a job history does not say when nodes were out of service");
  const Ledgers& ledgers = audit.ledgers;
  if (audit.timeline.unplaced > 0) {
    out.push_back("when GPUs were held, of " + counted(audit.timeline.unplaced, "run") +
                  ": start times are missing; occupancy and shares leave them out");
  }
  if (ledgers.gpus_unknown > 0) {
    out.push_back("GPUs of " + counted(ledgers.gpus_unknown, "run") +
                  (audit.ledgers.all.held == 0
                       ? ", all of them; Slurm needs AccountingStorageTRES=gres/gpu"
                       : ": their time is in no figure"));
  }
  if (ledgers.length_unknown > 0) {
    out.push_back("how long " + counted(ledgers.length_unknown, "run") +
                  " took: end times are missing");
  }
  const WaitFigures& waits = audit.waits.all;
  if (waits.count == 0) {
    out.emplace_back("waits: no run has both a submit and a start time");
  } else if (waits.unknown > 0) {
    out.push_back("the wait of " + counted(waits.unknown, "run") +
                  ": submit or start times are missing");
  }
  if (ledgers.all.measured == 0) {
    out.emplace_back("utilisation: allocated is not busy, and this history does not say which; a "
                     "column `busy` or an export of DCGM by job would");
  } else if (ledgers.all.measured < ledgers.all.held) {
    out.push_back("utilisation of " +
                  percent_text(ledgers.all.held - ledgers.all.measured, ledgers.all.held) +
                  " of the held GPU time");
  }
  if (ledgers.all.line(Line::kUnknown).runs > 0) {
    out.push_back("how " + counted(ledgers.all.line(Line::kUnknown).runs, "run") +
                  " ended: they are in a line of their own, not among the good ones");
  }
  if (audit.lemons.nodes == 0) out.emplace_back("bad nodes: no run names its nodes and its end");
  add_over_unknowns(audit.over, out);
  if (audit.limits.jobs == 0) {
    out.emplace_back("over-requested time: no job that ended well has a time limit");
  }
  return out;
}

}  // namespace rota::audit
