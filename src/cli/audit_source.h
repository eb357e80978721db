// Past jobs as the audit measures them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/work.h"
#include "history/history.h"

namespace rota::cli {

/// Memory: 48 bytes a job, 48 a run, 20 a run whose use of memory is told; no text but names of
/// teams, people, classes and nodes.
/// Attempts that run longer than the history are taken until its end. O(n).
[[nodiscard]] audit::Work work_of(const history::JobHistory& history);
/// The same; gives the history's memory back on the way.
[[nodiscard]] audit::Work work_of(history::JobHistory&& history);

/// `team-1f0a93c2`: 8 hexadecimal digits of a digest of the name, the same in every run. It hides
/// names from a reader, but not from one who tries all the names that he knows.
[[nodiscard]] std::string hashed_name(std::string_view kind, std::string_view name);
/// Replaces teams, users and nodes by hashed names. Classes stay.
void hash_names(audit::Work& work);

}  // namespace rota::cli
