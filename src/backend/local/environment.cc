#include "backend/local/environment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace rota::backend {
namespace {

using Variables = std::map<std::string, std::string>;

// Names that would speak of another job when they came with the submitter's environment.
constexpr std::array<std::string_view, 6> kOwnedPrefixes = {
    "ROTA_JOB_", "ROTA_ARRAY_", "PET_", "SLURM_JOB", "SLURM_ARRAY_", "SLURM_STEP"};
constexpr std::array<std::string_view, 22> kOwnedNames = {
    "ROTA_END_TIME",   "ROTA_RESTART_REASON", "MASTER_ADDR",      "MASTER_PORT",
    "RANK",            "WORLD_SIZE",          "LOCAL_RANK",       "LOCAL_WORLD_SIZE",
    "SLURM_PROCID",    "SLURM_LOCALID",       "SLURM_NODEID",     "SLURM_NTASKS",
    "SLURM_NPROCS",    "SLURM_NNODES",        "SLURM_NODELIST",   "SLURM_GPUS_ON_NODE",
    "SLURM_RESTART_COUNT", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_ON_NODE", "SLURM_SUBMIT_DIR",
    "SLURM_CLUSTER_NAME", "SLURM_GTIDS"};

bool is_owned(std::string_view name) {
  return std::find(kOwnedNames.begin(), kOwnedNames.end(), name) != kOwnedNames.end() ||
         std::any_of(kOwnedPrefixes.begin(), kOwnedPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> nodes_of(const Allocation& allocation) {
  std::vector<std::string> nodes;
  for (const TaskPlace& place : allocation.tasks) {
    if (std::find(nodes.begin(), nodes.end(), place.node) == nodes.end()) {
      nodes.push_back(place.node);
    }
  }
  return nodes;
}

std::vector<std::int64_t> devices_of(const TaskPlace& place) {
  std::vector<std::int64_t> devices;
  for (const DeviceShare& share : place.devices) devices.push_back(share.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

std::string join_numbers(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

MilliGpu gpus_of(const TaskPlace& place) {
  MilliGpu sum;
  for (const DeviceShare& share : place.devices) sum += share.gpus;
  return sum;
}

void set_devices(const TaskPlace& place, const EnvironmentFacts& facts, Variables& env) {
  const std::vector<std::int64_t> devices = devices_of(place);
  const std::string list = join_numbers(devices);
  env["ROTA_GPUS"] = format_gpus(gpus_of(place));
  env["CUDA_VISIBLE_DEVICES"] = list;
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  env["NVIDIA_VISIBLE_DEVICES"] = devices.empty() ? "void" : list;
  std::vector<std::string> names;
  const auto uuids = facts.uuids.find(place.node);
  for (const std::int64_t device : devices) {
    if (uuids == facts.uuids.end()) break;
    const auto index = static_cast<std::size_t>(device);
    if (index < uuids->second.size()) names.push_back(uuids->second[index]);
  }
  env["ROTA_GPU_UUIDS"] = join(names, ",");
}

void set_rendezvous(const StartOrder& order, const TaskPlace& place, const EnvironmentFacts& facts,
                    Variables& env) {
  if (facts.port == 0) return;
  const std::string address = "127.0.0.1";
  const std::string port = std::to_string(facts.port);
  const std::size_t tasks = order.allocation.tasks.size();
  const std::size_t devices = devices_of(place).size();
  env["MASTER_ADDR"] = address;
  env["MASTER_PORT"] = port;
  env["PET_NNODES"] = std::to_string(tasks);
  env["PET_NPROC_PER_NODE"] = std::to_string(std::max<std::size_t>(devices, 1));
  env["PET_NODE_RANK"] = std::to_string(place.task);
  env["PET_MASTER_ADDR"] = address;
  env["PET_MASTER_PORT"] = port;
  env["PET_RDZV_ENDPOINT"] = address + ":" + port;
  env["PET_RDZV_ID"] = std::to_string(order.job.value()) + "." + std::to_string(order.attempt);
  const bool one_each = std::all_of(order.allocation.tasks.begin(), order.allocation.tasks.end(),
                                    [](const TaskPlace& t) { return devices_of(t).size() == 1; });
  if (tasks < 2 || !one_each) return;
  // Each task sees its one device as number 0.
  env["RANK"] = std::to_string(place.task);
  env["WORLD_SIZE"] = std::to_string(tasks);
  env["LOCAL_RANK"] = "0";
  env["LOCAL_WORLD_SIZE"] = "1";
}

void set_array(const StartOrder& order, Variables& env, const std::string& prefix) {
  if (!order.group.valid()) return;
  env[prefix + "ARRAY_JOB_ID"] = std::to_string(order.group.value());
  env[prefix + "ARRAY_TASK_ID"] = std::to_string(order.group_index);
  env[prefix + "ARRAY_TASK_COUNT"] = std::to_string(order.group_size);
}

/// `2(x3)` for three nodes of two tasks each, as Slurm writes it.
std::string tasks_per_node(const Allocation& allocation) {
  std::vector<std::int64_t> counts;
  for (const std::string& node : nodes_of(allocation)) {
    counts.push_back(std::count_if(allocation.tasks.begin(), allocation.tasks.end(),
                                   [&](const TaskPlace& t) { return t.node == node; }));
  }
  std::string text;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(counts[i]);
    if (end - i > 1) text += "(x" + std::to_string(end - i) + ")";
    i = end;
  }
  return text;
}

void set_slurm(const StartOrder& order, const TaskPlace& place, const EnvironmentFacts& facts,
               Variables& env) {
  const std::vector<std::string> nodes = nodes_of(order.allocation);
  const std::string job = std::to_string(order.job.value());
  const auto node = std::find(nodes.begin(), nodes.end(), place.node);
  const auto local = std::count_if(
      order.allocation.tasks.begin(), order.allocation.tasks.end(),
      [&](const TaskPlace& t) { return t.node == place.node && t.task < place.task; });
  const std::vector<std::int64_t> devices = devices_of(place);
  const std::string count = std::to_string(nodes.size());
  const std::string tasks = std::to_string(order.allocation.tasks.size());
  env["SLURM_JOB_ID"] = job;
  env["SLURM_JOBID"] = job;
  env["SLURM_JOB_NAME"] = order.launch.name;
  env["SLURM_JOB_USER"] = order.launch.user;
  env["SLURM_JOB_NODELIST"] = join(nodes, ",");
  env["SLURM_NODELIST"] = join(nodes, ",");
  env["SLURM_NNODES"] = count;
  env["SLURM_JOB_NUM_NODES"] = count;
  env["SLURM_NTASKS"] = tasks;
  env["SLURM_NPROCS"] = tasks;
  env["SLURM_PROCID"] = std::to_string(place.task);
  env["SLURM_LOCALID"] = std::to_string(local);
  env["SLURM_NODEID"] = std::to_string(node - nodes.begin());
  env["SLURM_TASKS_PER_NODE"] = tasks_per_node(order.allocation);
  env["SLURM_SUBMIT_DIR"] = order.launch.workdir;
  env["SLURM_CLUSTER_NAME"] = facts.cluster_name;
  if (place.cpus > 0) env["SLURM_CPUS_ON_NODE"] = std::to_string(place.cpus);
  if (order.attempt > 1) env["SLURM_RESTART_COUNT"] = std::to_string(order.attempt - 1);
  if (!devices.empty()) {
    env["SLURM_GPUS_ON_NODE"] = std::to_string(devices.size());
    env["SLURM_JOB_GPUS"] = join_numbers(devices);
  }
  set_array(order, env, "SLURM_");
}

void set_account(const StartOrder& order, const EnvironmentFacts& facts, Variables& env) {
  env.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (!facts.home.empty()) env.try_emplace("HOME", facts.home);
  if (order.launch.user.empty()) return;
  env.try_emplace("USER", order.launch.user);
  env.try_emplace("LOGNAME", order.launch.user);
}

}  // namespace

std::vector<std::string> task_environment(const StartOrder& order, const TaskPlace& place,
                                          const EnvironmentFacts& facts) {
  Variables env = order.launch.env;
  std::erase_if(env, [](const auto& entry) { return is_owned(entry.first); });
  set_account(order, facts, env);
  env["ROTA_JOB_ID"] = std::to_string(order.job.value());
  env["ROTA_ATTEMPT"] = std::to_string(order.attempt);
  env["ROTA_RESTART_REASON"] = order.restart_reason;
  env["ROTA_NODELIST"] = join(nodes_of(order.allocation), ",");
  env["ROTA_NNODES"] = std::to_string(order.allocation.tasks.size());
  env["ROTA_NODE_RANK"] = std::to_string(place.task);
  env["ROTA_CHECKPOINT_DIR"] = facts.checkpoint_dir;
  set_devices(place, facts, env);
  set_rendezvous(order, place, facts, env);
  set_array(order, env, "ROTA_");
  if (order.launch.slurm_style) set_slurm(order, place, facts, env);
  std::vector<std::string> list;
  list.reserve(env.size());
  for (const auto& [name, value] : env) list.emplace_back(name).append("=").append(value);
  return list;
}

}  // namespace rota::backend
