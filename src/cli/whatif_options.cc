#include "cli/whatif_options.h"

#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/whatif_changes.h"
#include "sim/setup.h"

namespace rota::cli {

void add_change_option(CLI::App& app, WhatIfOptions& options, const std::string& help) {
  app.add_option("--change", options.changes, help)
      ->type_name("KEY=VALUE")
      ->check(some_text())
      ->allow_extra_args(false)
      ->group("What");
}

void add_today_options(CLI::App& app, WhatIfOptions& options) {
  app.add_option("--on", options.on,
                 "today's cluster: 64x8, flat:512 or a cluster file; else from the history")
      ->type_name("CLUSTER")
      ->check(some_text())
      ->group("Today");
  app.add_option("--today", options.today,
                 "today's policy: easy, slurm-like,backfill-every=10s; else the nearest")
      ->type_name("POLICY,..")
      ->check(some_text())
      ->group("Today");
}

Status check_words(const WhatIfOptions& options, const PolicyList& policies) {
  sim::Setup scratch;
  scratch.nodes = sim::uniform_nodes(1, 8);
  if (!options.today.empty()) {
    if (auto status = apply_policy_list("--today", options.today, scratch); !status) {
      return status;
    }
  }
  for (const std::string& text : options.changes) {
    if (const auto change = parse_change("--change", text); !change) return change.error();
  }
  if (policies.names.empty()) return {};
  for (const std::string_view policy : split(policies.names, ',')) {
    if (auto status = apply_policy(policies.option, std::string(policy), scratch); !status) {
      return status;
    }
  }
  return {};
}

}  // namespace rota::cli
