// How jobs, nodes, devices, queues and events look in tables.
#pragma once

#include <string>
#include <string_view>
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
/// How an ended job ended, in a few words: "exit code 3", "time limit, SIGTERM".
[[nodiscard]] std::string ended_text(const api::Job& job);
/// The same with the limit that was reached, or what the system said: "exit code 127 (cannot run
/// 'x': No such file or directory)".
[[nodiscard]] std::string ended_in_full(const api::Job& job);
/// GPU hours with enough digits to tell a job of a minute from nothing.
[[nodiscard]] std::string hours_text(double hours);
/// When a waiting job starts, or what that depends on; `now` in seconds since the Unix epoch.
[[nodiscard]] std::string expected_start(const api::Verdict& verdict, std::int64_t now);
/// The answer to "why", behind a heading like "Job 7: ".
[[nodiscard]] std::string verdict_text(const Context& context, const api::Verdict& verdict,
                                       std::string_view heading = {});
/// Members of an array that are in one state for one reason; `first` is the verdict of the first.
struct VerdictGroup {
  std::string state;
  std::string reason;
  std::vector<std::string> ids;
  api::Verdict first;
  std::vector<std::string> places = {};  // where each one is: "n1:0-3"; empty while it waits
};
/// The answer to "why" for an array.
[[nodiscard]] std::string verdict_group_text(const Context& context, const std::string& array,
                                             const std::vector<api::Job>& members,
                                             const std::vector<VerdictGroup>& groups);
/// One event in one line, without its line end.
[[nodiscard]] std::string event_line(const api::Event& event);

/// "n1:0-3 n2:0-3" from the places of a job.
[[nodiscard]] std::string places_text(const std::vector<api::Place>& places);
/// Jobs as a tree: what depends on what, members under their array.
[[nodiscard]] std::string job_tree(const Context& context, const std::vector<api::Job>& jobs);

[[nodiscard]] bool is_final_state(std::string_view state);

}  // namespace rota::cli
