// The environment of a task. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace rota::backend {

/// What the environment needs beyond the order itself.
struct EnvironmentFacts {
  std::map<std::string, std::vector<std::string>> uuids;  // of each node, in device order
  std::int64_t port = 0;        // of the rendezvous; 0: none
  std::string checkpoint_dir;
  std::string cluster_name;
  std::string home;             // of the job's user; for HOME when the job's own has none
};

/// "NAME=value", sorted by name. The job's own variables first; those that speak of the allocation
/// replace them, and such names left over from another job are dropped. ROTA_END_TIME is not in it:
/// the shim adds it when the task begins (seconds since the epoch, empty without a limit).
///
/// Always: ROTA_JOB_ID, ROTA_ATTEMPT, ROTA_RESTART_REASON (empty at first), ROTA_GPUS (how many,
/// `2` or `0.5`), ROTA_GPU_UUIDS, ROTA_NODELIST, ROTA_NNODES (tasks; each counts as a node),
/// ROTA_NODE_RANK, ROTA_CHECKPOINT_DIR, CUDA_VISIBLE_DEVICES (plain integers, empty without
/// devices), CUDA_DEVICE_ORDER, NVIDIA_VISIBLE_DEVICES.
/// With a port: MASTER_ADDR, MASTER_PORT, PET_*; RANK, WORLD_SIZE, LOCAL_* when every task of a
/// gang has one GPU. Array members: ROTA_ARRAY_*. Jobs submitted the Slurm way: SLURM_*.
std::vector<std::string> task_environment(const StartOrder& order, const TaskPlace& place,
                                          const EnvironmentFacts& facts);

}  // namespace rota::backend
