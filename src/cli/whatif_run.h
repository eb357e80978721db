// The steps that `rota whatif` and `rota capacity` share: today's policy and how well its replay
// reproduces what was observed, and scenarios played beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "cli/whatif_options.h"
#include "cli/whatif_source.h"
#include "sim/setup.h"
#include "sim/what_if.h"

namespace rota::cli {

/// A policy that was tried as today's.
struct TodayTry {
  std::string name;
  sim::Fidelity fidelity;
};

struct Today {
  sim::Setup setup;
  std::string words;             // `slurm-like,backfill-every=10s`
  bool given = false;            // by --today; else chosen
  std::vector<TodayTry> tried;   // where it was chosen by its fidelity
  sim::Outcome observed;
  sim::Outcome replayed;
  sim::Fidelity fidelity;
};

/// What counts as wide: a whole node of today's, at most 8 GPUs.
[[nodiscard]] sim::Measure measure_of(const WhatIfSource& source);

/// `given` is --today: a policy and changes to it, or empty: among a few policies the one whose
/// replay comes nearest to the observed mean wait; EASY where no waits are told.
[[nodiscard]] Result<Today> find_today(Context& context, const WhatIfSource& source,
                                       const std::string& given, const sim::Measure& measure);

/// What every scenario is played beside.
struct WhatIfBase {
  WhatIfSource source;           // without its jobs, when it is shown
  sim::Measure measure;
  Today today;
};

/// Reads the history and finds today's cluster and policy.
[[nodiscard]] Result<WhatIfBase> whatif_base(Context& context, const WhatIfOptions& options);

struct Scenario {
  std::string name;
  sim::Setup setup;
  sim::Outcome outcome;
  double demand = 1;             // GPU time submitted, against the history
};

/// Plays a setup. With a reaction, again under the demand that the new waits bring, until it
/// settles (at most three replays).
[[nodiscard]] Result<Scenario> play(Context& context, const WhatIfBase& base, sim::Setup setup);

/// Setup of a scenario: today's, `policies` over it (a list as --today's; empty: none), then the
/// changes one after the other. Error: as theirs, or a share of somebody who has no job in `past`.
[[nodiscard]] Result<sim::Setup> scenario_setup(const WhatIfBase& base,
                                                const std::string& policies,
                                                const std::vector<std::string>& changes);

/// Adds what is to be remarked on a setup, once however often it is.
void add_remarks(const sim::PastJobs& past, const sim::Setup& setup,
                 const std::vector<std::string>& changes, std::vector<std::string>& remarks);

}  // namespace rota::cli
