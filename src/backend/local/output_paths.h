// Where the output of a task goes. Pure; also for whoever shows the output later.
#pragma once

#include <string>

#include "base/id.h"
#include "model/launch.h"

namespace rota::backend {

/// What the patterns stand for: %j job, %A array or else job, %a index in the array, %x name, %N
/// node, %t rank, %u user, %% a percent sign. A number between % and the letter pads with zeros
/// (`%4t`), up to 10.
struct OutputNames {
  JobId job;
  GroupId group;
  std::int64_t group_index = 0;
  std::string node;
  std::int64_t task = 0;
  std::int64_t tasks = 1;
};

struct OutputPaths {
  std::string out;
  std::string err;  // equal to `out` when both streams share one file
};

/// Absolute paths (relative ones are below workdir). An empty stdout_path stands for `rota-%j.out`,
/// of array members `rota-%A_%a.out`. Ranks of a gang never share a file: where the pattern gives
/// ranks 0 and 1 the same name, rank k > 0 gets `.k` appended.
OutputPaths output_paths(const LaunchSpec& launch, const OutputNames& names);

/// One pattern; unknown letters stay as they are.
std::string expand_output_pattern(const std::string& pattern, const LaunchSpec& launch,
                                  const OutputNames& names);

}  // namespace rota::backend
