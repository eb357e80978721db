// From what a person asks for (api::SubmitRequest) to what the engine and the back-end need: class
// and product defaults, arrays, sweeps, names, limits on what may be asked.
//
// Pure apart from the look-ups passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/v1/job.h"
#include "api/v1/submit.h"
#include "base/result.h"
#include "model/job.h"
#include "model/launch.h"
#include "server/config.h"
#include "server/service.h"

namespace rota::server {

struct TranslateContext {
  const Config& config;
  const Policy& policy;    // in force now
  const Caller& caller;
  std::string queue;       // the leaf queue it goes to
  /// The job or array a dependency names; nothing when it is met for good already.
  std::function<Result<std::optional<Dependency>>(DependencyKind, const std::string&)> dependency;
};

struct Member {
  JobSpec spec;            // group is set by the caller, group_index here
  std::string name;
  std::map<std::string, std::string> params;
};

struct Translated {
  std::vector<Member> members;            // one, or all of an array or sweep
  bool is_group = false;
  std::optional<std::int64_t> throttle;
  LaunchSpec launch;
  std::string job_class;
  std::vector<std::string> warnings;
  std::vector<std::string> warnings_if_it_waits;  // of no concern to a job that starts at once
};

/// Error: kInvalidArgument with the field in `where`, kRefused (a class's rule), kUnsupported.
[[nodiscard]] Result<Translated> translate(const api::SubmitRequest& request,
                                           const TranslateContext& context);

/// Folds the changes into a job's spec. Errors as translate(). Name, comment and queue are the
/// caller's business.
Status update_spec(const api::UpdateRequest& update, JobSpec& spec);

/// "0-3,7%2": how an array is written.
[[nodiscard]] std::string array_text(const std::vector<std::int64_t>& indices,
                                     const std::optional<std::int64_t>& throttle);

/// Replaces {NAME} and {index} in a template; unknown names stay, and so does ${NAME}, which is the
/// shell's.
[[nodiscard]] std::string fill_template(const std::string& text,
                                        const std::map<std::string, std::string>& params,
                                        std::int64_t index);

}  // namespace rota::server
