#include "server/job_book.h"

#include <algorithm>
#include <utility>

#include "server/translate.h"

namespace rota::server {

Result<JobBook> JobBook::load(store::Store& store, const engine::Engine& engine) {
  JobBook book;
  std::map<std::int64_t, std::shared_ptr<store::SubmissionRow>> submissions;
  for (const JobId id : engine.jobs()) {
    Result<std::optional<store::JobRow>> row = store.job(id);
    if (!row.ok()) return row.error();
    if (!row->has_value()) continue;
    std::shared_ptr<store::SubmissionRow>& shared = submissions[(*row)->submission];
    if (shared == nullptr) {
      Result<std::optional<store::SubmissionRow>> found = store.submission((*row)->submission);
      if (!found.ok()) return found.error();
      if (!found->has_value()) continue;
      shared = std::make_shared<store::SubmissionRow>(**std::move(found));
    }
    book.add({.row = **std::move(row), .submission = shared});
  }
  return book;
}

void JobBook::add(JobRecord record) {
  const JobId id = record.row.job;
  jobs_.insert_or_assign(id, std::move(record));
}

void JobBook::keep_only(const engine::Engine& engine) {
  const std::vector<JobId> known = engine.jobs();  // ascending
  std::erase_if(jobs_, [&](const auto& entry) {
    return !std::binary_search(known.begin(), known.end(), entry.first);
  });
}

const JobRecord* JobBook::find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobRecord* JobBook::find(JobId job) {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

namespace {

/// A member's own name, and its parameters in place of {NAME} in the command's words.
void make_own(const JobRecord& record, std::int64_t group_index, LaunchSpec& launch) {
  launch.name = record.row.name;
  if (record.row.params.empty()) return;
  for (auto* list : {&launch.argv, &launch.script_args}) {
    for (std::string& word : *list) word = fill_template(word, record.row.params, group_index);
  }
}

}  // namespace

LaunchSpec launch_of(const JobRecord& record, std::int64_t group_index) {
  LaunchSpec launch = record.submission->launch;
  for (const auto& [name, value] : record.row.params) launch.env[name] = value;
  make_own(record, group_index, launch);
  return launch;
}

LaunchSpec shown_launch(const JobRecord& record, std::int64_t group_index) {
  const LaunchSpec& whole = record.submission->launch;
  LaunchSpec launch{.argv = whole.argv,
                    .script_args = whole.script_args,
                    .workdir = whole.workdir,
                    .stdout_path = whole.stdout_path,
                    .stderr_path = whole.stderr_path,
                    .user = whole.user,
                    .comment = whole.comment};
  make_own(record, group_index, launch);
  return launch;
}

}  // namespace rota::server
