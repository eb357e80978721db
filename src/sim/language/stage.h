// The statements of the stage: node, queue, user, class, policy, usage, running.
#pragma once

#include <optional>

#include "sim/language/reader.h"

namespace rota::sim {

// Each reads one line. Nothing when it has an error, or declares something that is no statement of
// its own (class, policy).
std::optional<StatementBody> read_node(const Reader& reader);
std::optional<StatementBody> read_queue(const Reader& reader);
std::optional<StatementBody> read_user(const Reader& reader);
std::optional<StatementBody> read_class_line(const Reader& reader);
std::optional<StatementBody> read_policy(const Reader& reader);
std::optional<StatementBody> read_usage(const Reader& reader);
std::optional<StatementBody> read_running(const Reader& reader);

/// What can only be said when the whole file is known: every queue a job names exists and has no
/// queues below it.
void check_queue_uses(ParseState& state);

}  // namespace rota::sim
