// Rota's own form of a history: CSV with one row an attempt, which keeps everything that a
// JobHistory holds and reads back to the same history.
//
// Columns, in this order: job, attempt (from 1), cluster, name, user, queue, pool, class,
// interactive (yes or empty), priority, gpus_wanted, cpus, memory_bytes, nodes_wanted,
// time_limit_seconds (a number, unlimited, or empty), min_runtime_seconds, submitted, eligible,
// started, ended, run_seconds (only where it is not ended - started), outcome, exit_code, signal,
// gpus_held, nodes, node_count, reason, memory_used_bytes, gpu_memory_used_bytes,
// gpu_busy_percent. Instants are UTC, `2026-03-02T10:00:00Z`; sets of GPUs are as in
// gpu_set_text. What is not told is empty. Control characters in texts become blanks.
#pragma once

#include <ostream>
#include <string_view>

#include "history/importer.h"

namespace rota::history {

void write_history_csv(const JobHistory& history, std::ostream& output);

}  // namespace rota::history
