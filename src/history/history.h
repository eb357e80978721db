// A team's past jobs in one form, whatever system they ran under.
//
// A job is what somebody submitted; each time it ran, or waited to run, is an attempt. Values that
// the input does not tell are absent, never zero. Texts are interned (JobHistory::text).
//
// Instants are nanoseconds since the Unix epoch, or since the start of a trace that has no dates.
// Memory: 104 bytes a job and 96 an attempt, plus each distinct text once.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "history/gpu_sets.h"
#include "history/import_notes.h"
#include "history/names.h"

namespace rota::history {

/// How an attempt stands or ended. Of a job: that of its last attempt.
enum class Outcome : std::uint8_t {
  kUnknown,       // the input does not say
  kPending,       // waits when the history was taken
  kRunning,       // runs when the history was taken
  kCompleted,     // its processes ended well
  kFailed,        // its processes ended with an error
  kOutOfMemory,   // stopped for its use of memory
  kTimeLimit,     // stopped at its time limit
  kCancelled,     // by a person, while waiting or running
  kPreempted,     // stopped for another job or an owner
  kRequeued,      // stopped and put back for another cause
  kNodeFailed,    // its node was lost
  kRejected,      // refused at submit: it never waited and never ran; no failed run
};
constexpr int kOutcomes = 12;
/// `completed`, `out_of_memory`, ...
[[nodiscard]] std::string_view outcome_name(Outcome outcome);
/// The inverse of outcome_name; also the words of Slurm, Kubernetes and the public traces.
[[nodiscard]] std::optional<Outcome> outcome_from(std::string_view word);
/// Whether such an attempt is over.
[[nodiscard]] bool has_ended(Outcome outcome);

constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

/// A value of 64 bits that may be absent, in 64 bits.
template <class T>
class Maybe {
 public:
  constexpr Maybe() = default;
  constexpr Maybe(T value) : raw_(value_of(value)) {}  // NOLINT: as std::optional
  constexpr Maybe(std::optional<T> value) : raw_(value ? value_of(*value) : kAbsent) {}  // NOLINT
  [[nodiscard]] constexpr bool has_value() const { return raw_ != kAbsent; }
  explicit constexpr operator bool() const { return has_value(); }
  /// Of an absent value: the least of all.
  constexpr T operator*() const { return T(raw_); }
  [[nodiscard]] constexpr std::optional<T> optional() const {
    return has_value() ? std::optional<T>(T(raw_)) : std::nullopt;
  }
  friend constexpr auto operator<=>(Maybe, Maybe) = default;  // absent first

 private:
  static constexpr std::int64_t value_of(std::int64_t value) { return value; }
  template <class U>
  static constexpr std::int64_t value_of(U value) {
    if constexpr (requires { value.ns(); }) return value.ns();
    else return value.value();
  }
  std::int64_t raw_ = kAbsent;
};

/// A job's id in 8 bytes: a number, a number with an array index, a text, or the row of a table
/// without ids.
struct JobKey {
  std::uint64_t bits = 0;
  friend auto operator<=>(JobKey, JobKey) = default;
};

struct AttemptRecord {
  Maybe<Instant> queued;     // began to wait: the submit, or the end of the attempt before
  Maybe<Instant> eligible;   // could have started (begin time, dependency, hold over)
  Maybe<Instant> started;
  Maybe<Instant> ended;
  Maybe<Duration> run_told;      // how long it ran, where that is told apart from its times
  Maybe<Bytes> memory_used;      // the most it held on a node or in a step
  Maybe<Bytes> gpu_memory_used;  // the most on its devices
  std::uint32_t job = 0;         // its place in JobHistory::jobs()
  std::uint32_t row = 0;         // that told it, from 1, counted over all files
  Name nodes;                    // as the input writes them: `h[1-2]`, `n1,n2`
  Name reason;                   // why it waited, or more on how it ended
  GpuSetId gpus;                 // held; of one that did not start: unknown
  std::int32_t exit_code = -1;   // -1: not told
  std::uint32_t node_count = 0;  // held; 0: not told
  std::int16_t signal = 0;       // that ended it; 0: none, or not told
  std::int16_t gpu_busy_permille = -1;  // mean utilisation of its devices, 0 to 1000; -1: not told
  Outcome outcome = Outcome::kUnknown;

  /// As told, else from its start to its end; absent when neither is known.
  [[nodiscard]] std::optional<Duration> run_time() const;
  /// From queued to its start; absent unless both are known.
  [[nodiscard]] std::optional<Duration> wait_time() const;
};

enum class TimeLimit : std::uint8_t { kNotTold, kNone, kSet };

struct JobRecord {
  JobKey key;
  Maybe<Instant> submitted;      // of its first attempt
  Maybe<Duration> time_limit;    // with limit_kind kSet
  Maybe<Duration> min_runtime;   // its contract
  Maybe<Bytes> memory;           // asked for, in all
  Maybe<std::int64_t> priority;  // in the units of the system it ran under
  Name name;
  Name user;
  Name queue;      // owner: account, team, virtual cluster, namespace or local queue
  Name pool;       // Slurm partition, node pool, resource flavor
  Name job_class;  // hint: QOS, priority class, type of work
  Name cluster;    // of several
  GpuSetId gpus;   // asked for
  std::int32_t cpus_milli = -1;       // asked for, in thousandths; -1: not told
  std::uint32_t nodes = 0;            // asked for; 0: not told
  std::uint32_t first_attempt = 0;    // its place in JobHistory::attempts()
  std::uint32_t attempt_count = 0;    // at least 1
  std::uint32_t row = 0;              // of the input, from 1
  Outcome outcome = Outcome::kUnknown;  // of its last attempt
  TimeLimit limit_kind = TimeLimit::kNotTold;
  bool interactive = false;           // known to be somebody's session
};

/// Jobs by submit time, those without one last, ties by row. Attempts stand together by job, in
/// the order of their times. Made by HistoryBuilder; does not change afterwards.
class JobHistory {
 public:
  JobHistory() = default;
  JobHistory(JobHistory&&) = default;
  JobHistory& operator=(JobHistory&&) = default;

  [[nodiscard]] std::span<const JobRecord> jobs() const { return jobs_; }
  [[nodiscard]] std::span<const AttemptRecord> attempts() const { return attempts_; }
  [[nodiscard]] std::span<const AttemptRecord> attempts_of(const JobRecord& job) const {
    return std::span(attempts_).subspan(job.first_attempt, job.attempt_count);
  }
  [[nodiscard]] std::string_view text(Name name) const { return names_.text(name); }
  [[nodiscard]] const NameTable& names() const { return names_; }
  [[nodiscard]] const GpuSets& gpus() const { return gpus_; }
  /// Gives the memory of the attempts back. Jobs name none then.
  void drop_attempts();
  /// What the attempt held; of one that never started what its job asked for.
  [[nodiscard]] GpuSetId gpus_of(const AttemptRecord& attempt) const;
  /// `148`, `148_3`, `ml/train-0`.
  [[nodiscard]] std::string id_text(JobKey key) const;
  /// Where it came from, and which rows were not plain.
  [[nodiscard]] const ImportNotes& notes() const { return notes_; }

  /// From the first to the last instant told; absent when there is none.
  struct Span {
    Instant begin;
    Instant end;
  };
  [[nodiscard]] std::optional<Span> span() const;
  /// Bytes of jobs and attempts, without texts.
  [[nodiscard]] std::size_t record_bytes() const;

 private:
  friend class HistoryBuilder;
  std::vector<JobRecord> jobs_;
  std::vector<AttemptRecord> attempts_;
  NameTable names_;
  GpuSets gpus_;
  ImportNotes notes_;
};

}  // namespace rota::history
