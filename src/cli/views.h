// How jobs, nodes, devices, queues and events look in tables.
#pragma once

#include <string>
#include <vector>

#include "api/v1.h"
#include "cli/context.h"
#include "cli/output.h"

namespace rota::cli {

[[nodiscard]] ListView<api::Job> job_view(const Context& context);
[[nodiscard]] ListView<api::Job> history_view(const Context& context);
[[nodiscard]] ListView<api::Node> node_view();
[[nodiscard]] ListView<api::Device> device_view();
[[nodiscard]] ListView<api::Queue> queue_view();

/// Everything about one job, with its attempts.
[[nodiscard]] std::string job_text(const Context& context, const OutputOptions& output,
                                   const api::Job& job);
/// The answer to "why".
[[nodiscard]] std::string verdict_text(const Context& context, const api::Verdict& verdict);
/// One event in one line, without its line end.
[[nodiscard]] std::string event_line(const api::Event& event);

/// "n1:0-3 n2:0-3" from the places of a job.
[[nodiscard]] std::string places_text(const std::vector<api::Place>& places);
/// Jobs as a tree: what depends on what, members under their array.
[[nodiscard]] std::string job_tree(const Context& context, const std::vector<api::Job>& jobs);

[[nodiscard]] bool is_final_state(std::string_view state);

}  // namespace rota::cli
