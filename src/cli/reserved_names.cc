#include "cli/reserved_names.h"

#include <algorithm>
#include <array>

namespace rota::cli {
namespace {

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_set_by_rota(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kBeginnings{
      "ROTA_JOB_", "ROTA_ARRAY_", "PET_", "SLURM_JOB", "SLURM_ARRAY_", "SLURM_STEP"};
  static constexpr std::array<std::string_view, 33> kNames{
      "ROTA_ATTEMPT",        "ROTA_RESTART_REASON",  "ROTA_CHECKPOINT_DIR", "ROTA_NODELIST",
      "ROTA_NNODES",         "ROTA_NODE_RANK",       "ROTA_GPUS",           "ROTA_GPU_UUIDS",
      "ROTA_END_TIME",       "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
      "NVIDIA_VISIBLE_DEVICES", "MASTER_ADDR",       "MASTER_PORT",         "RANK",
      "WORLD_SIZE",          "LOCAL_RANK",           "LOCAL_WORLD_SIZE",    "SLURM_PROCID",
      "SLURM_LOCALID",       "SLURM_NODEID",         "SLURM_NTASKS",        "SLURM_NPROCS",
      "SLURM_NNODES",        "SLURM_NODELIST",       "SLURM_GPUS_ON_NODE",
      "SLURM_RESTART_COUNT", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_ON_NODE", "SLURM_SUBMIT_DIR",
      "SLURM_CLUSTER_NAME",  "SLURM_GTIDS",          "SLURM_JOBID"};
  return contains(kNames, name) ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_of_account(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames{
      "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "IFS", "LD_LIBRARY_PATH", "LD_PRELOAD"};
  return contains(kNames, name);
}

}  // namespace rota::cli
