// What a daemon's refusal of a submission leaves open: which dependency, how much memory.
#pragma once

#include <optional>
#include <string>

#include "api/v1/cluster.h"
#include "api/v1/job.h"
#include "api/v1/submit.h"
#include "base/result.h"
#include "cli/submit_draft.h"
#include "http/client.h"

namespace rota::cli {

/// A job among `jobs` that keeps `--afterok id` from ever being met, in words; absent: none.
[[nodiscard]] std::optional<std::string> never_met(const std::vector<api::Job>& jobs,
                                                   const std::string& id);

/// That no GPU (of the models asked for) has the memory asked for, and what the most is; absent:
/// some GPU has it.
[[nodiscard]] std::optional<std::string> too_much_gpu_memory(
    const std::vector<api::Device>& devices, const api::SubmitRequest& request);

/// The reason of a refusal where the daemon can be asked for it, with the field it is about;
/// absent: its own words say all there is.
[[nodiscard]] std::optional<Error> reason_of_refusal(http::Client& client,
                                                     const api::SubmitRequest& request);

/// An error of a submission in full: the reason of a refusal, and the place that said so.
[[nodiscard]] Error explained(http::Client& client, Error error, const Draft& draft);

}  // namespace rota::cli
