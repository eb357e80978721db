// The only place that turns reason codes into sentences. Pure: names and clocks are passed in.
//
// Amounts of a reason are in its resource's unit: gpu in milli-GPU, memory in bytes, cpu and slices
// in pieces. Without a resource they are milli-GPU, but for an array's limit, which counts members.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "model/verdict.h"

namespace rota::report {

/// How to call jobs and instants. Both must be set.
struct Wording {
  std::function<std::string(JobId)> job;          // "job 12", "J"
  std::function<std::string(Instant)> instant;    // "14:20", "10m30s"
};

/// An amount of a reason in words: "4 GPUs", "0.5 GPU", "24GiB", "17 CPUs", "2 slices".
std::string amount_words(const Reason& reason, std::int64_t amount);

/// One sentence for one reason, with its numbers: "needs 4 GPUs on one node, but the most free in
/// one place is 3 (12 are free in all)". No capital at its start, no full stop.
std::string reason_sentence(const Reason& reason, const Wording& wording);

/// A few words for a table cell: "4 GPUs, 2 free".
std::string reason_short(const Reason& reason, const Wording& wording);

/// The answer to "why": whole sentences, the most telling first. Covers pending jobs (reasons, its
/// place in line, its last eviction, the expected start) and finished ones (why they ended so).
std::vector<std::string> explain_sentences(const Verdict& verdict, const Wording& wording);

/// What would let the job start: "starts if 2 GPUs free up on one node". May be empty.
std::vector<std::string> help_sentences(const Verdict& verdict, const Wording& wording);

/// explain_sentences and help_sentences as one paragraph.
std::string explain_paragraph(const Verdict& verdict, const Wording& wording);

}  // namespace rota::report
