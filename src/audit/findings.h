// What a lead can act on: each finding with its figure, how it came about, how sure it is, what to
// do, and what that may bring in GPU-equivalents (average GPUs over the window).
//
// A gain is an upper bound: gains of different findings overlap and do not add up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit.h"

namespace rota::audit {

enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };
[[nodiscard]] std::string_view confidence_word(Confidence confidence);

struct Finding {
  std::string id;          // permanent word: `failed_runs`, `node_lemons`, ...
  std::string figure;      // one sentence with the number
  std::string how;         // how it was computed
  Confidence confidence = Confidence::kHigh;
  std::string because;     // why the confidence is what it is
  std::string action;      // what to do
  std::optional<double> gain;  // GPU-equivalents, at most; absent: none that can be told
};

/// Greatest gain first, those without one last, ties in a fixed order. Only what the source shows.
[[nodiscard]] std::vector<Finding> findings_of(const Audit& audit);

/// What the source cannot tell, and which column would: one sentence each.
[[nodiscard]] std::vector<std::string> unknowns_of(const Audit& audit);

}  // namespace rota::audit
