// The only place that turns reason codes into sentences. Pure: names and clocks are passed in.
//
// Amounts of a reason are in its resource's unit: gpu in milli-GPU, memory in bytes, cpu and slices
// in pieces. Without a resource they are milli-GPU, but for an array's limit, which counts members.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// What is known of a job beyond its verdict. Absent or empty: unknown, or not applicable.
struct JobFacts {
  std::string where;                        // "n1:0-3 n2:0-3", while it holds devices
  std::optional<Instant> started;
  std::optional<Instant> contract_ends;
  bool is_always_protected = false;
  std::optional<Instant> limit_ends;
  std::optional<Duration> time_limit;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string detail;                       // "cannot run 'x': No such file or directory"
};

/// The shortest true answer to "why", one sentence: the most telling reason of a waiting job, where
/// and since when one runs, how one ended.
std::string summary_sentence(const Verdict& verdict, const JobFacts& facts,
                             const Wording& wording);

/// How it was last evicted; empty: never.
std::string eviction_sentence(const Verdict& verdict, const Wording& wording);

/// How an attempt ended: "exit code 3", "signal 9", and the detail where there is one.
std::string exit_words(const JobFacts& facts);

/// The answer to "why": whole sentences, the most telling first. Covers pending jobs (reasons, its
/// place in line, its last eviction, the expected start) and finished ones (why they ended so).
std::vector<std::string> explain_sentences(const Verdict& verdict, const Wording& wording);

/// What would let the job start: "starts if 2 GPUs free up on one node". May be empty.
std::vector<std::string> help_sentences(const Verdict& verdict, const Wording& wording);

/// explain_sentences and help_sentences as one paragraph.
std::string explain_paragraph(const Verdict& verdict, const Wording& wording);

}  // namespace rota::report
