#include "backend/local/environment.h"

#include <gtest/gtest.h>

#include "backend/local/order_builder.h"
#include "backend/local/output_paths.h"
#include "backend/local/shim/bytes_json.h"

namespace rota::backend {
namespace {

using Variables = std::map<std::string, std::string>;

TaskPlace place_of(std::int64_t task, const std::string& node, const std::vector<int>& devices,
                   MilliGpu each = kWholeGpu) {
  TaskPlace place;
  place.task = task;
  place.node = node;
  for (const int device : devices) place.devices.push_back({.device = device, .gpus = each});
  return place;
}

StartOrder order_of(std::vector<TaskPlace> tasks) {
  StartOrder order;
  order.job = JobId(42);
  order.attempt = 2;
  order.restart_reason = "preempted by job 50";
  order.launch.name = "train";
  order.launch.user = "ada";
  order.launch.workdir = "/home/ada/run";
  order.allocation.tasks = std::move(tasks);
  return order;
}

Variables environment(const StartOrder& order, std::size_t task = 0, std::int64_t port = 23456) {
  EnvironmentFacts facts;
  facts.uuids = {{"n1", {"GPU-a", "GPU-b", "GPU-c", "GPU-d"}}, {"n2", {"GPU-e", "GPU-f"}}};
  facts.port = port;
  facts.checkpoint_dir = "/state/checkpoints/42";
  facts.cluster_name = "lab";
  facts.home = "/home/ada";
  Variables result;
  for (const std::string& entry : task_environment(order, order.allocation.tasks[task], facts)) {
    const std::size_t equal = entry.find('=');
    EXPECT_TRUE(result.emplace(entry.substr(0, equal), entry.substr(equal + 1)).second) << entry;
  }
  return result;
}

TEST(Environment, SpeaksOfTheAllocation) {
  Variables env = environment(order_of({place_of(0, "n1", {3, 2})}));
  EXPECT_EQ(env["ROTA_JOB_ID"], "42");
  EXPECT_EQ(env["ROTA_ATTEMPT"], "2");
  EXPECT_EQ(env["ROTA_RESTART_REASON"], "preempted by job 50");
  EXPECT_EQ(env["ROTA_GPUS"], "2");
  EXPECT_EQ(env["ROTA_GPU_UUIDS"], "GPU-c,GPU-d");
  EXPECT_EQ(env["ROTA_NODELIST"], "n1");
  EXPECT_EQ(env["ROTA_NNODES"], "1");
  EXPECT_EQ(env["ROTA_NODE_RANK"], "0");
  EXPECT_EQ(env["ROTA_CHECKPOINT_DIR"], "/state/checkpoints/42");
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "2,3");
  EXPECT_EQ(env["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
  EXPECT_EQ(env["NVIDIA_VISIBLE_DEVICES"], "2,3");
  EXPECT_EQ(env["USER"], "ada");
  EXPECT_EQ(env["HOME"], "/home/ada");
  EXPECT_FALSE(env["PATH"].empty());
  EXPECT_FALSE(env.contains("SLURM_JOB_ID"));
  EXPECT_FALSE(env.contains("ROTA_ARRAY_TASK_ID"));
}

TEST(Environment, AJobWithoutDevicesSeesNone) {
  Variables env = environment(order_of({place_of(0, "n1", {})}), 0, 0);
  ASSERT_TRUE(env.contains("CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "");
  EXPECT_EQ(env["NVIDIA_VISIBLE_DEVICES"], "void");
  EXPECT_EQ(env["ROTA_GPUS"], "0");
  EXPECT_FALSE(env.contains("MASTER_PORT"));
}

TEST(Environment, AFractionIsSaid) {
  Variables env = environment(order_of({place_of(0, "n1", {1}, MilliGpu(200))}));
  EXPECT_EQ(env["ROTA_GPUS"], "0.2");
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "1");
}

TEST(Environment, TheJobsOwnVariablesStayUnlessTheySpeakOfAnotherJob) {
  StartOrder order = order_of({place_of(0, "n1", {0})});
  order.launch.env = {{"LR", "0.1"},          {"PATH", "/opt/bin"},       {"HOME", "/elsewhere"},
                      {"ROTA_JOB_ID", "7"},   {"ROTA_ARRAY_TASK_ID", "3"}, {"SLURM_JOB_ID", "9"},
                      {"SLURM_PROCID", "1"},  {"CUDA_VISIBLE_DEVICES", "0,1,2,3"},
                      {"MASTER_PORT", "1"},   {"RANK", "5"},               {"ROTA_END_TIME", "1"}};
  Variables env = environment(order, 0, 0);
  EXPECT_EQ(env["LR"], "0.1");
  EXPECT_EQ(env["PATH"], "/opt/bin");
  EXPECT_EQ(env["HOME"], "/elsewhere");
  EXPECT_EQ(env["ROTA_JOB_ID"], "42");
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "0");
  for (const char* gone : {"ROTA_ARRAY_TASK_ID", "SLURM_JOB_ID", "SLURM_PROCID", "MASTER_PORT",
                           "RANK", "ROTA_END_TIME"}) {
    EXPECT_FALSE(env.contains(gone)) << gone;
  }
}

TEST(Environment, RanksOfAGangMeet) {
  const StartOrder order = order_of({place_of(0, "n1", {0, 1}), place_of(1, "n2", {0, 1})});
  Variables first = environment(order, 0);
  Variables second = environment(order, 1);
  for (Variables* env : {&first, &second}) {
    EXPECT_EQ((*env)["MASTER_ADDR"], "127.0.0.1");
    EXPECT_EQ((*env)["MASTER_PORT"], "23456");
    EXPECT_EQ((*env)["PET_NNODES"], "2");
    EXPECT_EQ((*env)["PET_NPROC_PER_NODE"], "2");
    EXPECT_EQ((*env)["PET_RDZV_ENDPOINT"], "127.0.0.1:23456");
    EXPECT_EQ((*env)["ROTA_NODELIST"], "n1,n2");
    EXPECT_FALSE(env->contains("RANK")) << "torchrun sets it";
  }
  EXPECT_EQ(first["PET_NODE_RANK"], "0");
  EXPECT_EQ(second["PET_NODE_RANK"], "1");
  EXPECT_EQ(second["ROTA_NODE_RANK"], "1");
}

TEST(Environment, OneProcessPerDeviceIsItsOwnRank) {
  Variables env = environment(order_of({place_of(0, "n1", {2}), place_of(1, "n1", {3})}), 1);
  EXPECT_EQ(env["RANK"], "1");
  EXPECT_EQ(env["WORLD_SIZE"], "2");
  EXPECT_EQ(env["LOCAL_RANK"], "0") << "the only device it sees is number 0";
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "3");
}

TEST(Environment, ArraysAndSlurmJobs) {
  StartOrder order = order_of({place_of(0, "n1", {0}), place_of(1, "n1", {1}),
                               place_of(2, "n2", {0})});
  order.group = GroupId(40);
  order.group_index = 3;
  order.group_size = 10;
  order.launch.slurm_style = true;
  Variables env = environment(order, 1);
  EXPECT_EQ(env["ROTA_ARRAY_JOB_ID"], "40");
  EXPECT_EQ(env["ROTA_ARRAY_TASK_ID"], "3");
  EXPECT_EQ(env["ROTA_ARRAY_TASK_COUNT"], "10");
  EXPECT_EQ(env["SLURM_ARRAY_TASK_ID"], "3");
  EXPECT_EQ(env["SLURM_JOB_ID"], "42");
  EXPECT_EQ(env["SLURM_NNODES"], "2");
  EXPECT_EQ(env["SLURM_NTASKS"], "3");
  EXPECT_EQ(env["SLURM_PROCID"], "1");
  EXPECT_EQ(env["SLURM_LOCALID"], "1");
  EXPECT_EQ(env["SLURM_NODEID"], "0");
  EXPECT_EQ(env["SLURM_TASKS_PER_NODE"], "2,1");
  EXPECT_EQ(env["SLURM_JOB_GPUS"], "1");
  EXPECT_EQ(env["SLURM_GPUS_ON_NODE"], "1");
  EXPECT_EQ(env["SLURM_RESTART_COUNT"], "1");
  EXPECT_EQ(env["SLURM_SUBMIT_DIR"], "/home/ada/run");
  EXPECT_EQ(env["SLURM_CLUSTER_NAME"], "lab");
  EXPECT_EQ(environment(order, 2)["SLURM_NODEID"], "1");
  EXPECT_EQ(environment(order, 2)["SLURM_LOCALID"], "0");
}

// ---- output patterns ----

std::string expanded(const std::string& pattern) {
  LaunchSpec launch;
  launch.name = "a/b";
  launch.user = "ada";
  OutputNames names;
  names.job = JobId(42);
  names.group = GroupId(40);
  names.group_index = 3;
  names.node = "n1";
  names.task = 1;
  names.tasks = 2;
  return expand_output_pattern(pattern, launch, names);
}

TEST(OutputPatterns, EveryLetter) {
  EXPECT_EQ(expanded("%j_%A_%a_%x_%N_%t_%u_%%"), "42_40_3_a_b_n1_1_ada_%");
  EXPECT_EQ(expanded("%6j-%3a-%0t-%4x"), "000042-003-1-a_b");
  EXPECT_EQ(expanded("%999999999999j").size(), 10U);
  EXPECT_EQ(expanded("100%"), "100%");
  EXPECT_EQ(expanded("%q%5"), "%q%5");
  EXPECT_EQ(expanded(""), "");
}

TEST(OutputPatterns, PathsAreAbsoluteAndRanksApart) {
  LaunchSpec launch;
  launch.workdir = "/w";
  OutputNames names;
  names.job = JobId(5);
  names.tasks = 2;
  EXPECT_EQ(output_paths(launch, names).out, "/w/rota-5.out");
  EXPECT_EQ(output_paths(launch, names).err, "/w/rota-5.out");
  names.task = 1;
  EXPECT_EQ(output_paths(launch, names).out, "/w/rota-5.out.1");
  launch.stdout_path = "logs/%t.out";
  launch.stderr_path = "/abs/./err";
  EXPECT_EQ(output_paths(launch, names).out, "/w/logs/1.out");
  EXPECT_EQ(output_paths(launch, names).err, "/abs/err.1");
  names = {};
  names.job = JobId(5);
  names.group = GroupId(4);
  names.group_index = 1;
  EXPECT_EQ(output_paths({}, names).out, "/rota-4_1.out");
}

// ---- scripts and bytes ----

TEST(ScriptCommand, FollowsTheFirstLine) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(script_command("#!/bin/bash\necho", "/s", {"a"}), (Words{"/bin/bash", "/s", "a"}));
  EXPECT_EQ(script_command("#! /usr/bin/env -S python3 -u\r\nx", "/s", {}),
            (Words{"/usr/bin/env", "-S python3 -u", "/s"}));
  EXPECT_EQ(script_command("echo", "/s", {}), (Words{"/bin/sh", "/s"}));
  EXPECT_EQ(script_command("#!", "/s", {}), (Words{"/bin/sh", "/s"}));
  EXPECT_EQ(script_command("#!\n", "/s", {}), (Words{"/bin/sh", "/s"}));
}

TEST(BytesJson, AnyBytesComeBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& text :
       {all, std::string("plain"), std::string("\xC3\xA4"), std::string("\xED\xA0\x80"),
        std::string("\xC0\x80"), std::string("\xF4\x90\x80\x80"), std::string("\xE2\x82"),
        std::string()}) {
    const std::string dumped = shim::bytes_json(text).dump();
    EXPECT_EQ(shim::bytes_from(nlohmann::json::parse(dumped)), text);
  }
  EXPECT_TRUE(is_utf8("\xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
}

}  // namespace
}  // namespace rota::backend
