// Reads files of past jobs, whatever format they are in. This is the door for commands.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "history/csv/column_map.h"
#include "history/history.h"
#include "history/input_text.h"

namespace rota::history {

struct ReadOptions {
  std::string format;  // a name of history_formats(); empty: each file's own, seen from its start
  ColumnMap map;       // of tables; see parse_column_map
};

/// All jobs of the files in one history; `-` is standard input. A job whose attempts stand in
/// several files becomes one. Files are read one after the other, a line (or one item of a JSON
/// list) at a time; memory is that of the result plus 20 bytes a job.
/// `progress` gets bytes over all files; may be empty.
/// Errors: kInvalidArgument with file:line:column (format unknown, ambiguous or not what the file
/// holds; no job in it), kNotFound, kDenied, kUnsupported, kCorruption, kUnavailable of files.
/// Single rows that cannot be read are no error: see JobHistory::notes().
[[nodiscard]] Result<JobHistory> read_history(const std::vector<std::string>& paths,
                                              const ReadOptions& options,
                                              const ImportProgress& progress = {});

/// One input of several, and what is known of it.
struct HistorySource {
  std::string path;
  std::string name;    // for messages; empty: the path
  std::string format;  // empty: as ReadOptions say
};

/// A kept history and a fresh export of the same system that begins before the kept one ends and
/// tells all that waits and runs: what both tell is there once, as the export tells it.
struct Continued {
  JobHistory history;  // without a job when there is none in both
  std::int64_t kept_rows = 0;
  std::int64_t untold = 0;  // attempts of the kept one, not over, that the export does not tell
};
/// Errors: as read_history. `kept` may have no path: nothing is kept so far.
[[nodiscard]] Result<Continued> continue_history(const HistorySource& kept,
                                                 const HistorySource& fresh,
                                                 const ImportProgress& progress = {});

/// The same from text that is there already. `name` is for messages.
[[nodiscard]] Result<JobHistory> read_history_text(std::string text, const std::string& name,
                                                   const ReadOptions& options);

}  // namespace rota::history
