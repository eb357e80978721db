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

/// The same from text that is there already. `name` is for messages.
[[nodiscard]] Result<JobHistory> read_history_text(std::string text, const std::string& name,
                                                   const ReadOptions& options);

}  // namespace rota::history
