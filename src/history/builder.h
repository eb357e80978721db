// Takes rows from importers and makes a JobHistory: attempts of one job are brought together, rows
// that cannot be right are counted, texts are interned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"

namespace rota::history {

/// One attempt as a row tells it. Views need to live until add() returns.
struct JobRow {
  std::string_view id;  // empty: the row is a job of its own
  std::string_view name;
  std::string_view user;
  std::string_view queue;
  std::string_view pool;
  std::string_view job_class;
  std::string_view cluster;
  std::string_view nodes;
  std::string_view reason;
  std::optional<Instant> submitted;  // of this attempt: when it began to wait
  std::optional<Instant> eligible;
  std::optional<Instant> started;
  std::optional<Instant> ended;
  std::optional<Duration> run_told;  // only where it is not end - start
  std::optional<Duration> time_limit;
  std::optional<Duration> min_runtime;
  std::optional<Bytes> memory;
  std::optional<Bytes> memory_used;
  std::optional<Bytes> gpu_memory_used;
  std::optional<std::int64_t> priority;
  std::optional<std::int64_t> cpus_milli;
  std::optional<std::int64_t> nodes_wanted;
  std::optional<std::int64_t> node_count;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::optional<std::int64_t> gpu_busy_permille;
  GpuSetId gpus_wanted;
  GpuSetId gpus_held;
  Outcome outcome = Outcome::kUnknown;
  TimeLimit limit_kind = TimeLimit::kNotTold;
  bool interactive = false;
};

/// A place in the input, for notes: file and line, or file and item.
struct RowPlace {
  std::string_view file;
  std::int64_t line = 0;
  std::int64_t column = 0;  // 0: the whole line
  std::int64_t item = 0;    // of a list without lines, from 1
};
[[nodiscard]] std::string place_text(const RowPlace& place);

class HistoryBuilder {
 public:
  HistoryBuilder();

  [[nodiscard]] NameTable& names() { return history_.names_; }
  [[nodiscard]] GpuSets& gpus() { return history_.gpus_; }
  [[nodiscard]] ImportNotes& notes() { return history_.notes_; }
  [[nodiscard]] std::size_t job_count() const { return history_.jobs_.size(); }

  /// Makes room for about so many attempts, so that growing needs no second copy of them. Taken
  /// once, at most 4,000,000; only what is used becomes resident.
  void expect(std::int64_t attempts);

  /// Adds an attempt. A row that is wrong in itself (ends before its start) or is there already is
  /// counted in the notes and skipped; one that lacks something is kept and counted. O(1).
  void add(const JobRow& row, const RowPlace& place);
  /// The attempt that was added last, to complete it from a row behind it (a step); null before
  /// the first.
  [[nodiscard]] AttemptRecord* last_attempt();
  /// The attempt of the job of that id that a row told last, new or known already; null when there
  /// is none.
  [[nodiscard]] AttemptRecord* latest_attempt_of(std::string_view id, std::string_view cluster);

  /// Counts a row under `kind` with its place; `detail` is what stands there.
  void count(RowFate fate, std::string_view kind, const RowPlace& place,
             std::string_view detail = {});

  /// Rows so far.
  [[nodiscard]] std::uint32_t row_count() const { return rows_; }
  /// For a history that was read up to `row` and then read anew from a system that tells all that
  /// waits: rows of several waiting tasks (`148_[1-3]`) up to there that were not told again are
  /// forgotten, since their tasks now have rows of their own. Before finish(). O(n).
  void forget_waiting_groups(std::uint32_t row);

  /// Sorts and hands over; the builder is empty afterwards. O(n log n), in place.
  [[nodiscard]] JobHistory finish();

 private:
  [[nodiscard]] JobKey key_of(std::string_view id);
  [[nodiscard]] std::uint32_t* slot_of(JobKey key, Name cluster);
  [[nodiscard]] bool is_sound(JobRow& row, const RowPlace& place);
  enum class Known { kNew, kSame, kLess };  // less was told before
  [[nodiscard]] Known compare(std::uint32_t job, const AttemptRecord& attempt,
                              const RowPlace& place, std::string_view id);
  void fill_job(JobRecord& job, const JobRow& row);
  [[nodiscard]] AttemptRecord attempt_from(const JobRow& row);
  void grow_slots();
  void sort_jobs();
  void gather_attempts();
  void conclude_jobs();

  JobHistory history_;
  std::vector<std::uint32_t> slots_;  // places of jobs by key and cluster, plus 1; 0: free
  std::vector<std::uint32_t> latest_;  // the latest attempt of each job, while building
  std::vector<std::uint32_t> previous_;  // of each attempt the one before of its job
  std::uint32_t rows_ = 0;
  std::uint32_t told_last_ = 0xffffffffU;  // the attempt of the row before
  bool is_expecting_ = false;
};

}  // namespace rota::history
