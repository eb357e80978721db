// Node and task lists in the form of Alibaba's openb GPU cluster (cluster-trace-gpu-v2023).
//
//   nodes  sn, cpu_milli, memory_mib, gpu, model
//   tasks  name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec
//
// Other columns are passed over. gpu_spec names the models a task accepts, between bars; empty:
// any. CPUs are counted in thousandths on both sides, so `cpus` of the values below is 1,000 for
// one CPU. The lists know no GPU memory; every device counts 16 GiB, of which a part of a GPU takes
// its part.
// Errors: kInvalidArgument with file:line:column.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"

namespace rota::history {

struct ListedTask {
  std::string name;
  JobShape shape;
};

[[nodiscard]] Result<std::vector<NodeSpec>> read_openb_nodes(std::istream& input,
                                                             const std::string& file);
[[nodiscard]] Result<std::vector<ListedTask>> read_openb_tasks(std::istream& input,
                                                               const std::string& file);

}  // namespace rota::history
