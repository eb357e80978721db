// Submitting a job again, and with it what waited for it in vain.
#pragma once

#include <string>
#include <vector>

#include "api/v1.h"
#include "base/result.h"
#include "http/client.h"

namespace rota::cli {

struct Redone {
  std::string old_id;
  api::SubmitReply reply;
};

enum class Cascade { kNo, kYes };

/// Submits the request of `id` again, without a hold. With a cascade also every job that was
/// cancelled because its dependency on a job of the chain could no longer be met; they then depend
/// on the new jobs.
/// Stops at the first error; what was submitted before stays submitted.
[[nodiscard]] Result<std::vector<Redone>> redo_job(http::Client& client, const std::string& id,
                                                   Cascade cascade);

/// The ids among `jobs` that hang below `id` in vain, parents before children.
[[nodiscard]] std::vector<std::string> cancelled_dependants(const std::vector<api::Job>& jobs,
                                                            const std::string& id);

}  // namespace rota::cli
