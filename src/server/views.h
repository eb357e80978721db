// From engine and job book to what people see (api/v1.h). Pure reads; threads: the engine's owner.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/v1.h"
#include "engine/engine.h"
#include "report/sentence.h"
#include "server/job_book.h"
#include "server/service.h"
#include "telemetry/driver.h"

namespace rota::server {

using Readings = std::map<std::string, std::vector<telemetry::DeviceReading>>;

/// How the processes of an attempt exited, as far as that is known.
struct Exit {
  std::optional<std::int64_t> code = {};
  std::optional<std::int64_t> signal = {};  // 0: none
};

class Views {
 public:
  Views(const engine::Engine& engine, const JobBook& book) : engine_(engine), book_(book) {}

  /// "7", or "12.3"; the plain number when the engine has forgotten it.
  [[nodiscard]] std::string job_name(JobId job) const;
  /// Error: kNotFound.
  [[nodiscard]] Result<api::Job> job(JobId job, Instant now, engine::Engine::Detail detail) const;
  [[nodiscard]] Result<api::Verdict> verdict(JobId job) const;
  [[nodiscard]] api::Verdict verdict_of(const Verdict& verdict,
                                        const report::JobFacts& facts = {}) const;
  [[nodiscard]] std::vector<api::Place> places(const Allocation& allocation) const;
  [[nodiscard]] Result<api::Node> node(const std::string& name, bool simulated) const;
  [[nodiscard]] std::vector<api::Node> nodes(bool simulated) const;
  [[nodiscard]] std::vector<api::Device> devices(const Readings& readings, bool simulated) const;
  [[nodiscard]] Result<api::Queue> queue(const std::string& name) const;
  [[nodiscard]] std::vector<api::Queue> queues() const;

 private:
  void add_record(const JobStatus& status, api::Job& out) const;
  void add_times(const JobStatus& status, Instant now, api::Job& out) const;
  void add_waiting(const JobStatus& status, api::Job& out) const;
  [[nodiscard]] Instant waiting_since(const JobStatus& status) const;
  [[nodiscard]] Exit end_exit(const JobStatus& status) const;
  [[nodiscard]] std::string end_detail(const JobStatus& status) const;
  [[nodiscard]] api::Attempt attempt(const AttemptStatus& attempt, Instant now) const;
  [[nodiscard]] api::Reason reason(const Reason& reason) const;
  [[nodiscard]] api::Device device(const NodeStatus& node, const DeviceStatus& status) const;

  const engine::Engine& engine_;
  const JobBook& book_;
};

/// "0-3,5": device indices of one task; MIG instances as "0@4".
[[nodiscard]] std::string devices_text(const TaskPlace& place);
/// "n1:0-3 n2:0-3".
[[nodiscard]] std::string allocation_text(const Allocation& allocation);
/// The command line as a shell would need it written; scripts: "job.sh ARGS", or "script ARGS"
/// where the script came without a name.
[[nodiscard]] std::string command_text(const LaunchSpec& launch, const std::string& script_name);

/// Why a job ended that only the history knows.
[[nodiscard]] api::Verdict verdict_of_record(const api::Job& job);

/// May the caller see everything of this user's jobs, and change them?
[[nodiscard]] bool owns(const Caller& caller, const std::string& user);
/// Leaves what shared tables need of another person's job.
void redact(api::Job& job);

}  // namespace rota::server
