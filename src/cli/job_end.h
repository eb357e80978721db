// Exit codes of ended jobs, and waiting for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1/job.h"
#include "base/result.h"
#include "http/client.h"

namespace rota::cli {

/// The job's own code; 128+n for signal n, 124 at its time limit, 75 when it was preempted and not
/// requeued, 1 when it never ran. Of a job that is not final: 0.
[[nodiscard]] int job_exit_code(const api::Job& job);

/// Whether `asked` means a whole array, of which a daemon answers with the member `answered`: its
/// number, or `@` after an array. A member's own number and `12.3` mean that member.
[[nodiscard]] bool names_array(std::string_view asked, std::string_view answered);

/// The job, or all members of the array of that number. Error: kNotFound.
[[nodiscard]] Result<std::vector<api::Job>> resolve_jobs(http::Client& client,
                                                         const std::string& id);

/// Waits until every job named by `ids` is final; `ended` hears of each end once. Survives a
/// restart of the daemon. Value: the jobs, in the order of `ids`.
[[nodiscard]] Result<std::vector<api::Job>> wait_for_jobs(
    http::Client& client, const std::vector<std::string>& ids,
    const std::function<void(const api::Job&)>& ended);

}  // namespace rota::cli
