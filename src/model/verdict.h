// Why a job waits: reason codes with numbers. Sentences are made in report/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fields.h"
#include "model/job.h"

namespace rota {

enum class ReasonCode {
  kInsufficientFree,  // need is more than what is free; short = need - free
  kFragmented,        // enough is free, but not in one place; short = need - best
  kInfeasible,        // could never start here; free = the most this cluster could ever offer
  kQuotaInUse,        // owed to its queue, but protected jobs hold it
  kQueueLimit,
  kUserLimit,
  kArrayLimit,
  kDependency,
  kDependencyNever,
  kBeginTime,
  kHeld,
  kReservedFor,       // fits, but would delay `by`'s reservation
  kNoTimeLimit,       // the same, and a time limit could let it in
  kDrained,           // part of what it lacks is on draining nodes
  kUnhealthy,         // ... on failed devices or nodes
  kForeignUse,        // ... used by a process from outside
  kDataLocality,      // would fit at another site
  kBehind,            // fits, but nothing may pass `by`
};
constexpr auto names_of(ReasonCode) {
  return std::array<std::string_view, 18>{
      "insufficient_free", "fragmented",  "infeasible",       "quota_in_use", "queue_limit",
      "user_limit",        "array_limit", "dependency",       "dependency_never",
      "begin_time",        "held",        "reserved_for",     "no_time_limit", "drained",
      "unhealthy",         "foreign_use", "data_locality",    "behind"};
}

enum class ReasonResource { kGpu, kGpuMemory, kCpu, kMemory, kSlices };
constexpr auto names_of(ReasonResource) {
  return std::array<std::string_view, 5>{"gpu", "gpu_memory", "cpu", "memory", "slices"};
}
enum class ReasonScope { kNone, kDevice, kNode, kIsland, kSocket, kRack, kBlock, kModel };
constexpr auto names_of(ReasonScope) {
  return std::array<std::string_view, 8>{"none",   "device", "node",  "island",
                                         "socket", "rack",   "block", "model"};
}

/// One binding reason. Amounts are in the resource's unit: gpu in milli-GPU, memory in bytes, cpu
/// and slices in pieces. A number that does not apply is absent.
struct Reason {
  ReasonCode code = ReasonCode::kInsufficientFree;
  std::optional<ReasonResource> resource;
  ReasonScope within = ReasonScope::kNone;
  std::optional<std::int64_t> need;
  std::optional<std::int64_t> free;
  std::optional<std::int64_t> best;      // the most in one place
  std::optional<std::int64_t> missing;   // "short" on the wire
  std::optional<std::int64_t> freeable;  // the most preemption could free where it could run
  std::optional<std::int64_t> limit;
  JobId by_job;
  std::string by;       // queue or user when not a job
  std::optional<Instant> until;
  std::string detail;   // data for the sentence: "pid 4711 of eve on n1:2"
  bool waiting_helps = true;
  bool preemption_helps = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("code", self.code);
    visit("resource", self.resource);
    visit("within", self.within);
    visit("need", self.need);
    visit("free", self.free);
    visit("best", self.best);
    visit("short", self.missing);
    visit("freeable", self.freeable);
    visit("limit", self.limit);
    visit("by_job", self.by_job);
    visit("by", self.by);
    visit("until", self.until);
    visit("detail", self.detail);
    visit("waiting_helps", self.waiting_helps);
    visit("preemption_helps", self.preemption_helps);
  }
};

/// Everything known about why one job waits, or why it ended as it did.
struct Verdict {
  JobId job;
  JobState state = JobState::kPending;
  std::vector<Reason> reasons;         // never empty for a pending job; most telling first
  std::optional<Instant> estimate;     // expected start; absent: unknown
  std::int64_t ahead = 0;              // pending jobs that come before it
  JobId evicted_by;                    // the claimant of its last preemption
  std::string evicted_cause;           // StopCause name of its last eviction; empty: none
  std::string tie_rule;                // how a tie among victims was broken; empty: no tie
  std::string end_cause;               // of a finished job

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("state", self.state);
    visit("reasons", self.reasons);
    visit("estimate", self.estimate);
    visit("ahead", self.ahead);
    visit("evicted_by", self.evicted_by);
    visit("evicted_cause", self.evicted_cause);
    visit("tie_rule", self.tie_rule);
    visit("end_cause", self.end_cause);
  }
};

}  // namespace rota
