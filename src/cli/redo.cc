#include "cli/redo.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/job_end.h"
#include "cli/submission.h"

namespace rota::cli {
namespace {

bool depends_on(const api::Job& job, const std::string& id) {
  return std::any_of(job.dependencies.begin(), job.dependencies.end(), [&](const auto& text) {
    return text.substr(text.find(':') + 1) == id;
  });
}

/// `text` with each `mark` replaced, but for one behind the character `guard`.
void put_for(std::string& text, std::string_view mark, const std::string& value, char guard) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
    if (at > 0 && text[at - 1] == guard) {
      at += mark.size();
      continue;
    }
    text.replace(at, mark.size(), value);
    at += value.size();
  }
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
      const std::string& name = job.array_id.empty() ? job.id : job.array_id;
      const bool in_vain = job.state == "cancelled" && job.end_cause == "dependency_never";
      const bool known = std::find(chain.begin(), chain.end(), name) != chain.end();
      if (in_vain && !known && depends_on(job, chain[at])) chain.push_back(name);
    }
  }
  chain.erase(chain.begin());
  return chain;
}

void keep_member(api::SubmitRequest& request, std::int64_t index, const std::string& name) {
  request.max_concurrent.reset();
  if (!request.array.empty()) request.array = {index};
  const std::int64_t at = index - 1;  // members of a sweep count from 1
  if (at < 0 || at >= static_cast<std::int64_t>(request.params.size())) return;
  // Alone it would be the first: what speaks of its index says so now.
  request.params = {request.params[static_cast<std::size_t>(at)]};
  if (!request.name_template.empty()) request.name = name;
  request.name_template.clear();
  const std::string number = std::to_string(index);
  for (auto* list : {&request.argv, &request.script_args}) {
    for (std::string& word : *list) put_for(word, "{index}", number, '$');
  }
  for (auto* path : {&request.stdout_path, &request.stderr_path}) {
    put_for(*path, "%a", number, '%');
  }
}

Result<std::vector<Redone>> redo_job(http::Client& client, const std::string& id,
                                     Cascade cascade) {
  const auto job = client.job(id);
  if (!job) return job.error();
  const bool is_array = names_array(id, job->id);
  std::vector<std::string> chain{is_array ? job->array_id : job->id};  // "@" has a number now
  if (cascade == Cascade::kYes) {
    server::JobQuery query;
    query.all = true;
    query.user = job->user;
    const auto jobs = client.all_jobs(query);
    if (!jobs) return jobs.error();
    for (std::string& below : cancelled_dependants(*jobs, chain[0])) {
      chain.push_back(std::move(below));
    }
  }
  std::vector<Redone> done;
  std::map<std::string, std::string> renamed;
  for (const std::string& old_id : chain) {
    auto request = client.request(old_id);
    if (!request) return request.error();
    if (old_id == job->id && job->array_index) keep_member(*request, *job->array_index, job->name);
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
