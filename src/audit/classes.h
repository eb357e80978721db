// Two to four classes of jobs by behaviour, found from the history, with the policy each should
// get.
//
// Thresholds are round values. That of run time is the one that splits jobs best by how much a wait
// hurts them (the logarithm of 1 + wait / run time; of run time alone where waits are not told);
// that of size, among the longer jobs, the one that splits the GPU time of jobs best. "Best" is the
// greatest variance between two groups (Otsu 1979). Known sessions are a class of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/work.h"

namespace rota::audit {

enum class Behaviour : std::uint8_t { kShort, kSession, kUsual, kLarge };
constexpr int kBehaviours = 4;
/// The class of rota.yaml that it becomes: debug, interactive, batch, training.
[[nodiscard]] std::string_view class_name(Behaviour behaviour);

/// Times in nanoseconds, percentiles by nearest rank.
struct ProposedClass {
  Behaviour behaviour = Behaviour::kUsual;
  std::int64_t jobs = 0;
  GpuTime gpu_time = 0;
  std::int64_t run_p50 = 0;
  std::int64_t run_p95 = 0;
  std::int64_t waits = 0;       // jobs whose wait is known
  std::int64_t wait_p50 = 0;
  std::int64_t wait_p90 = 0;
  std::int64_t time_limit = 0;   // the policy: round values
  std::int64_t min_runtime = 0;
  std::optional<std::int64_t> time_limit_max;
};

struct ClassProposal {
  static constexpr std::int64_t kJobsMin = 20;  // fewer make no class
  std::int64_t jobs = 0;               // with GPUs and a run time: what the rest is about
  bool by_wait = false;                // the short ones found by how waits hurt; else by run time
  std::optional<std::int64_t> short_run_max;   // nanoseconds
  std::int64_t short_explained = 0;    // permille of the variance that this split explains
  std::optional<std::int64_t> large_above;     // thousandths of a GPU: larger ones are large
  std::optional<std::int64_t> large_run_above;  // or, where size does not tell: longer ones
  std::int64_t large_explained = 0;
  std::vector<ProposedClass> classes;  // in the order of Behaviour; fewer than 2: no proposal
};

/// O(n), 24 bytes a job.
[[nodiscard]] ClassProposal propose_classes(const Work& work, const Window& window);

/// The rule that puts a job into the class, in words: `runs at most 15m`.
[[nodiscard]] std::string rule_of(const ClassProposal& proposal, Behaviour behaviour);
/// The `classes:` part of a rota.yaml, with the default class; empty with fewer than 2 classes.
[[nodiscard]] std::string classes_yaml(const ClassProposal& proposal);

}  // namespace rota::audit
