#include "history/history.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rota::history {
namespace {

constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{
    "unknown",    "pending",   "running",   "completed", "failed",      "out_of_memory",
    "time_limit", "cancelled", "preempted", "requeued",  "node_failed", "rejected"};

struct OutcomeWord {
  std::string_view word;
  Outcome outcome;
};
/// In small letters. Slurm's long and short states, Kubernetes phases, words of public traces,
/// and the states and causes of Rota's own jobs.
constexpr auto kWords = std::to_array<OutcomeWord>({
    {"bf", Outcome::kNodeFailed},         {"boot_fail", Outcome::kNodeFailed},
    {"ca", Outcome::kCancelled},          {"canceled", Outcome::kCancelled},
    {"cd", Outcome::kCompleted},          {"cf", Outcome::kRunning},
    {"cg", Outcome::kRunning},            {"complete", Outcome::kCompleted},
    {"completing", Outcome::kRunning},    {"configuring", Outcome::kRunning},
    {"deadline", Outcome::kTimeLimit},    {"dl", Outcome::kTimeLimit},
    {"done", Outcome::kCompleted},        {"error", Outcome::kFailed},
    {"exited", Outcome::kCompleted},      {"f", Outcome::kFailed},
    {"failure", Outcome::kFailed},        {"finished", Outcome::kCompleted},
    {"killed", Outcome::kCancelled},      {"nf", Outcome::kNodeFailed},
    {"node_fail", Outcome::kNodeFailed},  {"node_failure", Outcome::kNodeFailed},
    {"oom", Outcome::kOutOfMemory},       {"oomkilled", Outcome::kOutOfMemory},
    {"pass", Outcome::kCompleted},        {"passed", Outcome::kCompleted},
    {"pd", Outcome::kPending},            {"pr", Outcome::kPreempted},
    {"queued", Outcome::kPending},        {"r", Outcome::kRunning},
    {"requeue", Outcome::kRequeued},      {"resizing", Outcome::kRunning},
    {"revoked", Outcome::kCancelled},     {"rq", Outcome::kRequeued},
    {"s", Outcome::kRunning},             {"starting", Outcome::kRunning},
    {"stopped", Outcome::kCancelled},     {"stopping", Outcome::kRunning},
    {"submitted", Outcome::kPending},     {"succeeded", Outcome::kCompleted},
    {"success", Outcome::kCompleted},     {"suspended", Outcome::kRunning},
    {"terminated", Outcome::kCancelled},  {"timed_out", Outcome::kTimeLimit},
    {"timeout", Outcome::kTimeLimit},     {"to", Outcome::kTimeLimit},
    {"waiting", Outcome::kPending},       {"refused", Outcome::kRejected},
});

// A key's two top bits say what the rest is.
constexpr std::uint64_t kArrayTag = 1ULL << 62;
constexpr std::uint64_t kTextTag = 2ULL << 62;
constexpr std::uint64_t kRowTag = 3ULL << 62;
constexpr int kIndexBits = 26;

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> outcome_from(std::string_view word) {
  std::string small(word.substr(0, 32));
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '-') c = '_';
  }
  const auto own = std::find(kOutcomeNames.begin(), kOutcomeNames.end(), small);
  if (own != kOutcomeNames.end()) return static_cast<Outcome>(own - kOutcomeNames.begin());
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const OutcomeWord& known) { return known.word == small; });
  if (found != kWords.end()) return found->outcome;
  if (small.starts_with("cancelled_by")) return Outcome::kCancelled;
  return std::nullopt;
}

bool has_ended(Outcome outcome) {
  return outcome != Outcome::kUnknown && outcome != Outcome::kPending &&
         outcome != Outcome::kRunning;
}

std::optional<Duration> AttemptRecord::run_time() const {
  if (run_told) return *run_told;
  if (!started || !ended) return std::nullopt;
  return *ended - *started;
}

std::optional<Duration> AttemptRecord::wait_time() const {
  if (!queued || !started) return std::nullopt;
  return *started - *queued;
}

void JobHistory::drop_attempts() {
  attempts_ = std::vector<AttemptRecord>();
  for (JobRecord& job : jobs_) job.first_attempt = job.attempt_count = 0;
}

GpuSetId JobHistory::gpus_of(const AttemptRecord& attempt) const {
  return attempt.gpus.known() ? attempt.gpus : jobs_[attempt.job].gpus;
}

std::string JobHistory::id_text(JobKey key) const {
  if (key.bits >= kRowTag) return "row " + std::to_string(key.bits & ~kRowTag);
  if (key.bits >= kTextTag) {
    return std::string(text(Name{static_cast<std::uint32_t>(key.bits & 0xffffffffU)}));
  }
  if (key.bits < kArrayTag) return std::to_string(key.bits);
  const std::uint64_t rest = key.bits & ~kArrayTag;
  return std::to_string(rest >> kIndexBits) + "_" +
         std::to_string(rest & ((1ULL << kIndexBits) - 1));
}

std::optional<JobHistory::Span> JobHistory::span() const {
  std::optional<Span> span;
  const auto include = [&](Maybe<Instant> at) {
    if (!at) return;
    if (!span) span = Span{*at, *at};
    span->begin = std::min(span->begin, *at);
    span->end = std::max(span->end, *at);
  };
  for (const AttemptRecord& attempt : attempts_) {
    include(attempt.queued);
    include(attempt.started);
    include(attempt.ended);
  }
  return span;
}

std::size_t JobHistory::record_bytes() const {
  return jobs_.size() * sizeof(JobRecord) + attempts_.size() * sizeof(AttemptRecord);
}

}  // namespace rota::history
