// What a what-if changes: `policy=time-fair`, `gpus=+16`, ... Each is one key and its value.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/setup.h"

namespace rota::cli {

enum class ChangeKey {
  kPolicy, kOrder, kFairness, kBackfill, kPlacement, kReclaim, kSpill,
  kGpus, kNodes, kOn,
  kContract, kGrace, kCheckpoint, kTimeLimitFactor,
  kWeights, kQuota, kLimit, kDebug, kDebugGpus, kDebugWeight,
  kMainEvery, kMainAfter, kBackfillEvery, kLaunch, kRelease, kReaction,
};
constexpr auto names_of(ChangeKey) {
  return std::array<std::string_view, 26>{
      "policy",     "order",      "fairness",      "backfill",    "placement",         "reclaim",
      "spill",      "gpus",       "nodes",         "on",          "contract",          "grace",
      "checkpoint", "time-limit-factor", "weights", "quota",      "limit",             "debug",
      "debug-gpus", "debug-weight", "main-every",  "main-after",  "backfill-every",    "launch",
      "release",    "reaction"};
}

struct Change {
  ChangeKey key = ChangeKey::kPolicy;
  std::string value;
  [[nodiscard]] std::string text() const;
};

/// Error: no `=`, or an unknown key with the nearest known one. `option` is for messages.
[[nodiscard]] Result<Change> parse_change(const std::string& option, const std::string& text);

/// Makes the change. Reads a file where the value names one (policy=FILE.yaml, on=FILE).
/// Error: what was expected, with the whole change.
[[nodiscard]] Status apply_change(const Change& change, sim::Setup& setup);

/// A policy by its name, or a rota.yaml.
[[nodiscard]] Status apply_policy(const std::string& option, const std::string& text,
                                  sim::Setup& setup);
/// `slurm-like,backfill-every=10s`: a policy and changes to it.
[[nodiscard]] Status apply_policy_list(const std::string& option, const std::string& text,
                                       sim::Setup& setup);

}  // namespace rota::cli
