#include "cli/job_end.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/views.h"

namespace rota::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLookAgain{2};  // events of other people's jobs are not shown to us

/// A daemon that has answered before and is being restarted is waited for; jobs go on meanwhile.
template <class Call>
auto patiently(const http::Client& client, const Call& call) {
  const int tries = client.daemon_version().empty() ? 0 : 20;
  for (int i = 0; i < tries; ++i) {
    auto result = call();
    if (result.ok() || result.error().code != ErrorCode::kUnavailable) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  return call();
}

/// Follows events until one of `ids` may have ended, or it is time to look again.
Status wait_for_news(http::Client& client, const std::set<std::string>& ids,
                     std::int64_t after_seq) {
  const auto begin = SteadyClock::now();
  const auto late = [&] { return SteadyClock::now() - begin > kLookAgain; };
  return client.follow_events(
      {.after_seq = after_seq, .job = {}},
      [&](const api::Event& event) {
        const bool ours = ids.contains(event.job) && is_final_state(event.state);
        return ours || late() ? http::Follow::kStop : http::Follow::kGoOn;
      },
      [&] { return late() ? http::Follow::kStop : http::Follow::kGoOn; });
}

}  // namespace

int job_exit_code(const api::Job& job) {
  if (!is_final_state(job.state) || job.state == "done") return kExitOk;
  if (job.end_cause == "preempted") return kExitPreempted;
  if (job.state == "timeout" || job.end_cause == "time_limit") return kExitTimeLimit;
  if (job.signal.value_or(0) > 0) return 128 + static_cast<int>(*job.signal);
  const std::int64_t code = job.exit_code.value_or(0);
  return code > 0 && code < 256 ? static_cast<int>(code) : kExitFailed;
}

bool names_array(std::string_view asked, std::string_view answered) {
  const std::size_t dot = answered.find('.');
  if (dot == std::string_view::npos || asked.find('.') != std::string_view::npos) return false;
  if (asked.starts_with('@')) return true;
  const auto number = parse_int(asked);
  const auto array = parse_int(answered.substr(0, dot));
  return number && array && *number == *array;
}

Result<std::vector<api::Job>> resolve_jobs(http::Client& client, const std::string& id) {
  auto job = client.job(id);
  if (!job) return job.error();
  if (!names_array(id, job->id)) return std::vector<api::Job>{std::move(*job)};
  server::JobQuery query;
  query.array = job->array_id;
  query.all = true;
  return client.all_jobs(query);
}

Result<std::vector<api::Job>> wait_for_jobs(http::Client& client,
                                            const std::vector<std::string>& ids,
                                            const std::function<void(const api::Job&)>& ended) {
  // Events after this look are news.
  auto seen = patiently(client, [&] { return client.server_info(); });
  if (!seen) return seen.error();
  std::vector<api::Job> jobs;
  for (const std::string& id : ids) {
    auto found = patiently(client, [&] { return resolve_jobs(client, id); });
    if (!found) return found.error();
    for (api::Job& job : *found) jobs.push_back(std::move(job));
  }
  for (const api::Job& job : jobs) {
    if (is_final_state(job.state)) ended(job);
  }
  while (true) {
    std::set<std::string> open;
    for (const api::Job& job : jobs) {
      if (!is_final_state(job.state)) open.insert(job.id);
    }
    if (open.empty()) return jobs;
    const std::int64_t after = seen->last_event_seq;
    const auto status = patiently(client, [&] { return wait_for_news(client, open, after); });
    if (!status) return status.error();
    seen = patiently(client, [&] { return client.server_info(); });
    if (!seen) return seen.error();
    for (api::Job& job : jobs) {
      if (is_final_state(job.state)) continue;
      auto fresh = patiently(client, [&] { return client.job(job.id); });
      if (!fresh) return fresh.error();
      job = std::move(*fresh);
      if (is_final_state(job.state)) ended(job);
    }
  }
}

}  // namespace rota::cli
