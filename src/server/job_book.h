// What the server knows of a job beside the engine: how to run it, what was asked for, its name and
// class. Kept for every job the engine knows; the store holds the rest.
//
// Threads: one owner.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "store/store.h"

namespace rota::server {

struct JobRecord {
  store::JobRow row;
  std::shared_ptr<store::SubmissionRow> submission;  // shared by the members of an array
};

class JobBook {
 public:
  /// Records of all jobs the engine knows. Error: of the store.
  static Result<JobBook> load(store::Store& store, const engine::Engine& engine);

  void add(JobRecord record);
  /// Drops what the engine has forgotten.
  void keep_only(const engine::Engine& engine);
  /// Null: not known here.
  [[nodiscard]] const JobRecord* find(JobId job) const;
  [[nodiscard]] JobRecord* find(JobId job);

 private:
  std::map<JobId, JobRecord> jobs_;
};

/// The launch of one job: the submission's with the member's own name and, in a sweep, its
/// parameters as environment variables and in place of {NAME} in the command's words.
[[nodiscard]] LaunchSpec launch_of(const JobRecord& record, std::int64_t group_index);
/// What of it is shown to people: names, words and paths, without environment and script.
[[nodiscard]] LaunchSpec shown_launch(const JobRecord& record, std::int64_t group_index);

}  // namespace rota::server
