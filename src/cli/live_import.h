// A history that grows with a live cluster: what Slurm's accounts tell since the last time, brought
// together with a file in Rota's own form.
//
// The file's first line, a comment, says until when it was read. It is replaced as a whole: a new
// one is written beside it, brought to the disk and renamed, so that a reader sees the old or the
// new, and an end at any instruction leaves one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/context.h"
#include "history/read.h"

namespace rota::cli {

struct SlurmImport {
  std::string into;                     // the file; made when it is not there
  std::optional<std::int64_t> since;    // seconds; absent: where the file ends, less `overlap`
  Duration overlap;                     // records may come late, and jobs change their state
  Duration first;                       // how far back without `since` and without a file
};

struct SlurmImported {
  history::JobHistory history;  // all of it; may be empty
  std::int64_t since = 0;       // sacct was asked from here on, seconds
  std::int64_t until = 0;
  std::int64_t attempts_before = 0;
  std::int64_t untold = 0;  // unfinished attempts of the file that sacct told no more
};

/// Runs `sacct -a -D -P -o ALL -S SINCE` once and brings the file up to date. The file is
/// unchanged after any error.
/// Errors: kNotFound (no sacct), kUnavailable (it failed; with what it said), kTimeout, kConflict
/// (another import writes the file), kInvalidArgument (the file is something else).
[[nodiscard]] Result<SlurmImported> import_from_slurm(Context& context,
                                                      const SlurmImport& options);

}  // namespace rota::cli
