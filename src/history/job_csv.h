// Reads past jobs from a CSV file, one row at a time: when each was submitted, how long it ran, on
// how many GPUs, whose it was.
//
// The first line names the columns. Known names, in any order (others are passed over):
//   submit time  timestamp, submit_time, submitted     `2017-10-09 07:01:55` (UTC) or a number
//   run time     duration, runtime, run_seconds        a decimal number
//   GPUs         num_gpus, num_gpu, gpus               a whole number, 0 to 1,000,000
//   team         cluster, team, queue, account         optional
// Numbers of time are seconds, or milliseconds where the caller says so. Fields may stand in double
// quotes. Errors: kInvalidArgument with file:line:column. Memory: one line at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "history/csv_lines.h"
#include "history/words.h"

namespace rota::history {

struct HistoryJob {
  std::int64_t row = 0;  // its place in the file, from 1
  Instant submitted;     // since the Unix epoch, or as numbered in the file
  Duration runtime;
  std::int64_t gpus = 0;
  std::string team;      // empty: the file has no such column
};

class JobCsvReader {
 public:
  /// `input` must outlive the reader; `file` is for messages.
  JobCsvReader(std::istream& input, std::string file, TimeUnit unit);

  /// The next job; absent at the end of the file. After an error the reader is at its end.
  [[nodiscard]] Result<std::optional<HistoryJob>> next();
  /// Bytes read so far, for progress.
  [[nodiscard]] std::int64_t bytes_read() const { return lines_.bytes_read(); }

 private:
  enum class Role { kSubmitted, kRuntime, kGpus, kTeam };
  static constexpr int kRoles = 4;

  [[nodiscard]] Status read_header();
  [[nodiscard]] Result<HistoryJob> job_of(const std::vector<CsvField>& fields) const;
  [[nodiscard]] Result<std::int64_t> time_of(const CsvField& field, std::string_view what) const;

  CsvLines lines_;
  TimeUnit unit_;
  std::int64_t row_ = 0;
  bool header_read_ = false;
  bool failed_ = false;
  int column_of_[kRoles] = {-1, -1, -1, -1};  // by Role
};

/// All jobs of the file by submit time, ties by row.
[[nodiscard]] Result<std::vector<HistoryJob>> read_job_csv(std::istream& input,
                                                           const std::string& file,
                                                           TimeUnit unit);

}  // namespace rota::history
