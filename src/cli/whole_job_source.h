// The jobs of a history for commands that replay them.
#pragma once

#include <string>
#include <string_view>

#include "api/json.h"
#include "cli/history_options.h"
#include "history/whole_jobs.h"

namespace rota::cli {

struct WholeJobSource {
  history::WholeJobs whole;
  history::ImportNotes notes;  // of rows that were not plain
};

/// Reads the files with a progress bar on a terminal. Error: kInvalidArgument; also when no job
/// ran, with what was left out.
[[nodiscard]] Result<WholeJobSource> read_whole_jobs(Context& context,
                                                     const HistoryOptions& options);

/// Rows that were not plain, then jobs that are left out or counted as whole; empty when all were
/// plain. A line each, in sentences.
[[nodiscard]] std::string left_out_text(const WholeJobSource& source);
/// The same as fields of a document; none when all were plain.
void add_left_out(api::Json& document, const WholeJobSource& source);

}  // namespace rota::cli
