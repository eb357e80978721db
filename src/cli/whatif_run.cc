#include "cli/whatif_run.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/usage.h"
#include "cli/whatif_changes.h"
#include "cli/whatif_check.h"

namespace rota::cli {
namespace {

constexpr std::int64_t kWideMost = 8;  // GPUs

sim::Setup plain_setup(const WhatIfSource& source, sim::Rules rules) {
  sim::Setup setup;
  setup.nodes = source.nodes;
  sim::set_rules(setup, rules);
  setup.name = std::string(name_of(rules));
  return setup;
}

Result<sim::Outcome> replay_setup(Context& context, const sim::PastJobs& past,
                                  const sim::Setup& setup, const sim::Measure& measure) {
  Progress progress(context, setup.name);
  return sim::run_setup(past, setup, measure, [&](double share) {
    progress.show(static_cast<std::int64_t>(share * 1000), 1000);
  });
}

Status take_replay(Context& context, const WhatIfSource& source, const sim::Measure& measure,
                   Today& today) {
  auto outcome = replay_setup(context, source.past, today.setup, measure);
  if (!outcome) return outcome.error();
  today.replayed = std::move(*outcome);
  today.fidelity = sim::fidelity_of(today.observed, today.replayed);
  return {};
}

constexpr std::size_t kReserveAllMost = 20'000;  // jobs

/// Slurm's rules. In a long history the long passes reserve for the first job alone, since
/// reservations for all who wait would take too long.
sim::Setup slurm_setup(const WhatIfSource& source) {
  sim::Setup setup = plain_setup(source, sim::Rules::kSlurmLike);
  if (source.past.jobs.size() > kReserveAllMost) {
    setup.passes->in_long = Backfill::kEasy;
    setup.name += ",backfill=easy";
  }
  return setup;
}

/// The one that comes nearest to the observed mean wait.
Status choose_today(Context& context, const WhatIfSource& source, const sim::Measure& measure,
                    Today& today) {
  constexpr sim::Rules kTried[] = {sim::Rules::kSlurmLike, sim::Rules::kEasy, sim::Rules::kFifo,
                                   sim::Rules::kGreedy};
  std::optional<Today> best;
  std::vector<TodayTry> tried;
  for (const sim::Rules rules : kTried) {
    Today candidate;
    candidate.observed = today.observed;
    candidate.setup = rules == sim::Rules::kSlurmLike ? slurm_setup(source)
                                                      : plain_setup(source, rules);
    candidate.words = candidate.setup.name;
    if (auto status = take_replay(context, source, measure, candidate); !status) return status;
    tried.push_back({candidate.words, candidate.fidelity});
    const bool nearer = !best || std::abs(candidate.fidelity.mean) < std::abs(best->fidelity.mean);
    if (nearer) best = std::move(candidate);
  }
  today = std::move(*best);
  today.tried = std::move(tried);
  return {};
}

}  // namespace

sim::Measure measure_of(const WhatIfSource& source) {
  sim::Measure measure;
  measure.wide_milli = std::min(kWideMost, sim::largest_of(source.nodes)) * 1000;
  measure.short_class.emplace();
  return measure;
}

Result<Today> find_today(Context& context, const WhatIfSource& source, const std::string& given,
                         const sim::Measure& measure) {
  Today today;
  today.observed = sim::observed_outcome(source.past, source.nodes, measure);
  const bool told = source.past.tells_waits();
  today.given = !given.empty();
  if (!today.given && told && !source.from_slurm) {
    if (auto status = choose_today(context, source, measure, today); !status) {
      return status.error();
    }
  } else {
    today.setup = source.from_slurm ? slurm_setup(source)
                                    : plain_setup(source, sim::Rules::kEasy);
    today.words = today.given ? given : today.setup.name;
    if (today.given) {
      if (auto status = apply_policy_list("--today", given, today.setup); !status) {
        return status.error();
      }
      if (auto status = check_share_names(source.past, today.setup); !status) {
        return status.error();
      }
    }
    today.setup.name = today.words;
    if (auto status = take_replay(context, source, measure, today); !status) {
      return status.error();
    }
  }
  today.setup.name = "today";
  today.replayed.name = "today";
  return today;
}

Result<WhatIfBase> whatif_base(Context& context, const WhatIfOptions& options) {
  auto source = whatif_source(context, options.history, options.on);
  if (!source) return source.error();
  WhatIfBase base{.source = std::move(*source)};
  base.measure = measure_of(base.source);
  auto today = find_today(context, base.source, options.today, base.measure);
  if (!today) return today.error();
  base.today = std::move(*today);
  return base;
}

Result<sim::Setup> scenario_setup(const WhatIfBase& base, const std::string& policies,
                                  const std::vector<std::string>& changes) {
  sim::Setup setup = base.today.setup;
  if (!policies.empty()) {
    if (auto status = apply_policy_list("--compare", policies, setup); !status) {
      return status.error();
    }
  }
  for (const std::string& text : changes) {
    const auto change = parse_change("--change", text);
    if (!change) return change.error();
    if (auto status = apply_change(*change, setup); !status) return status.error();
  }
  if (auto status = check_share_names(base.source.past, setup); !status) return status.error();
  return setup;
}

void add_remarks(const sim::PastJobs& past, const sim::Setup& setup,
                 const std::vector<std::string>& changes, std::vector<std::string>& remarks) {
  for (std::string& remark : remarks_on(past, setup, changes)) {
    const bool is_new = std::find(remarks.begin(), remarks.end(), remark) == remarks.end();
    if (is_new) remarks.push_back(std::move(remark));
  }
}

Result<Scenario> play(Context& context, const WhatIfBase& base, sim::Setup setup) {
  constexpr int kReplaysMost = 3;
  const sim::PastJobs& told = base.source.past;
  Scenario out{.name = setup.name};
  out.setup = std::move(setup);
  for (int i = 0; i < kReplaysMost; ++i) {
    const sim::PastJobs* past = &told;
    sim::PastJobs reacted;
    if (out.demand != 1) {
      reacted = sim::with_demand(told, out.demand);
      past = &reacted;
    }
    auto outcome = replay_setup(context, *past, out.setup, base.measure);
    if (!outcome) return outcome.error();
    out.outcome = std::move(*outcome);
    if (out.setup.reaction_permille == 0 || i + 1 == kReplaysMost) break;
    const double factor =
        sim::reaction_factor(told, base.today.replayed.wait.mean, out.outcome.wait.mean,
                             out.setup.reaction_permille);
    // Half of the way, since more demand makes waits longer again.
    out.demand = i == 0 ? factor : std::sqrt(out.demand * factor);
  }
  return out;
}

}  // namespace rota::cli
