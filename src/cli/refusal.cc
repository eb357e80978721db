#include "cli/refusal.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/job_end.h"
#include "cli/output.h"
#include "cli/submission.h"
#include "cli/views.h"

namespace rota::cli {

std::optional<std::string> never_met(const std::vector<api::Job>& jobs, const std::string& id) {
  const auto failed = std::find_if(jobs.begin(), jobs.end(), [](const api::Job& job) {
    return is_final_state(job.state) && job.state != "done";
  });
  if (failed == jobs.end()) return std::nullopt;
  const std::string how = ended_text(*failed);
  return "this can never be met: job " + failed->id + " has not succeeded (" + failed->state +
         (how.empty() ? "" : ", " + how) + "); run it again: rota redo " + failed->id +
         ", or wait for its end alone: --afterany " + id;
}

std::optional<std::string> too_much_gpu_memory(const std::vector<api::Device>& devices,
                                               const api::SubmitRequest& request) {
  if (!request.gpu_memory_bytes || devices.empty()) return std::nullopt;
  const auto& models = request.models;
  const bool any = models.empty() || std::find(models.begin(), models.end(), "any") != models.end();
  std::int64_t most = 0;
  for (const api::Device& device : devices) {
    const bool meant = any || std::find(models.begin(), models.end(), device.model) != models.end();
    if (meant) most = std::max(most, device.memory_bytes);
  }
  if (most == 0 || *request.gpu_memory_bytes <= most) return std::nullopt;
  return "no GPU here" + (any ? std::string() : " of model " + join(models, " or ")) + " has " +
         bytes_text(*request.gpu_memory_bytes) + " of memory; the most is " + bytes_text(most);
}

std::optional<Error> reason_of_refusal(http::Client& client, const api::SubmitRequest& request) {
  for (const std::string& id : request.afterok) {
    const auto jobs = resolve_jobs(client, id);
    if (!jobs) continue;
    if (auto words = never_met(*jobs, id)) {
      return Error{ErrorCode::kRefused, std::move(*words), "afterok"};
    }
  }
  if (!request.gpu_memory_bytes) return std::nullopt;
  const auto devices = client.devices();
  if (!devices) return std::nullopt;
  auto words = too_much_gpu_memory(*devices, request);
  if (!words) return std::nullopt;
  return Error{ErrorCode::kRefused,
               "this cluster can never run it: " + *words +
                   ". To wait all the same: --hold-infeasible",
               "gpu_memory_bytes"};
}

Error explained(http::Client& client, Error error, const Draft& draft) {
  if (error.code == ErrorCode::kRefused) {
    if (auto reason = reason_of_refusal(client, draft.request)) error = std::move(*reason);
  }
  return with_place(std::move(error), draft);
}

}  // namespace rota::cli
