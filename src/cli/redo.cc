#include "cli/redo.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/submission.h"

namespace rota::cli {
namespace {

bool depends_on(const api::Job& job, const std::string& id) {
  return std::any_of(job.dependencies.begin(), job.dependencies.end(), [&](const auto& text) {
    return text.substr(text.find(':') + 1) == id;
  });
}

void rename_all(std::vector<std::string>& ids, const std::map<std::string, std::string>& renamed) {
  for (std::string& id : ids) {
    const auto found = renamed.find(id);
    if (found != renamed.end()) id = found->second;
  }
}

}  // namespace

std::vector<std::string> cancelled_dependants(const std::vector<api::Job>& jobs,
                                              const std::string& id) {
  std::vector<std::string> chain{id};
  for (std::size_t at = 0; at < chain.size(); ++at) {
    for (const api::Job& job : jobs) {
      const bool in_vain = job.state == "cancelled" && job.end_cause == "dependency_never";
      const bool known = std::find(chain.begin(), chain.end(), job.id) != chain.end();
      if (in_vain && !known && depends_on(job, chain[at])) chain.push_back(job.id);
    }
  }
  chain.erase(chain.begin());
  return chain;
}

Result<std::vector<Redone>> redo_job(http::Client& client, const std::string& id,
                                     Cascade cascade) {
  const auto job = client.job(id);
  if (!job) return job.error();
  const bool is_array = !job->array_id.empty() && id.find('.') == std::string::npos;
  std::vector<std::string> chain{is_array ? job->array_id : job->id};  // "@" has a number now
  if (cascade == Cascade::kYes) {
    chain[0] = job->id;
    server::JobQuery query;
    query.all = true;
    query.user = job->user;
    const auto jobs = client.all_jobs(query);
    if (!jobs) return jobs.error();
    for (std::string& below : cancelled_dependants(*jobs, job->id)) {
      chain.push_back(std::move(below));
    }
  }
  std::vector<Redone> done;
  std::map<std::string, std::string> renamed;
  for (const std::string& old_id : chain) {
    auto request = client.request(old_id);
    if (!request) return request.error();
    request->idempotency_key = make_idempotency_key();
    request->held = false;  // it had been released before it ran
    rename_all(request->after, renamed);
    rename_all(request->afterok, renamed);
    rename_all(request->afterany, renamed);
    auto reply = client.submit(*request);
    if (!reply) return reply.error();
    renamed[old_id] = reply->id;
    done.push_back({old_id, std::move(*reply)});
  }
  return done;
}

}  // namespace rota::cli
