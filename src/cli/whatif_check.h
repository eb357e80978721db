// What a setup says that the history gives no meaning to: names of nobody, rules without effect.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/past_jobs.h"
#include "sim/setup.h"

namespace rota::cli {

/// Weights, quotas and limits are of teams of the history, or of queues that the setup declares.
/// Error: the first other name, with the nearest one.
[[nodiscard]] Status check_share_names(const sim::PastJobs& past, const sim::Setup& setup);

/// What a reader may take for an effect of `setup` and is none, a sentence each without its stop:
/// declared queues and classes of no job, teams without a declared queue, and of `changes` those
/// about stopped jobs under an order that stops nobody.
[[nodiscard]] std::vector<std::string> remarks_on(const sim::PastJobs& past,
                                                  const sim::Setup& setup,
                                                  const std::vector<std::string>& changes);

}  // namespace rota::cli
