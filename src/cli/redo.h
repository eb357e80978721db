// Submitting a job again, and with it what waited for it in vain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/v1/job.h"
#include "api/v1/submit.h"
#include "base/result.h"
#include "http/client.h"

namespace rota::cli {

struct Redone {
  std::string old_id;
  api::SubmitReply reply;
};

enum class Cascade { kNo, kYes };

/// Submits the request of `id` again, without a hold; of a member of an array its part alone, as an
/// array of one with the same index and parameters. With a cascade also every job that was
/// cancelled because its dependency on a job of the chain could no longer be met; they then depend
/// on the new jobs.
/// Stops at the first error; what was submitted before stays submitted.
[[nodiscard]] Result<std::vector<Redone>> redo_job(http::Client& client, const std::string& id,
                                                   Cascade cascade);

/// What of the request of an array or sweep makes the member with this index and name.
void keep_member(api::SubmitRequest& request, std::int64_t index, const std::string& name);

/// The ids among `jobs` that hang below `id` in vain, parents before children; of an array its
/// number, once.
[[nodiscard]] std::vector<std::string> cancelled_dependants(const std::vector<api::Job>& jobs,
                                                            const std::string& id);

}  // namespace rota::cli
