#include "backend/local/order_builder.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

#include "backend/local/output_paths.h"

namespace rota::backend {
namespace {

std::string home_of(std::int64_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  const uid_t who = uid >= 0 ? static_cast<uid_t>(uid) : ::geteuid();
  if (::getpwuid_r(who, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  return found->pw_dir;
}

/// The account's groups. Looked up here and not in the shim, which links no name service.
std::vector<std::int64_t> groups_of(const std::string& user, std::int64_t gid) {
  if (user.empty() || gid < 0) return {};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(user.c_str(), static_cast<gid_t>(gid), groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size())) return {};
    groups.resize(static_cast<std::size_t>(count));
  }
  return {groups.begin(), groups.begin() + count};
}

std::string name_of_attempt(const StartOrder& order) {
  return std::to_string(order.job.value()) + "." + std::to_string(order.attempt);
}

shim::TaskOrder build_task(const StartOrder& order, const TaskPlace& place,
                           const OrderContext& context, const EnvironmentFacts& facts) {
  shim::TaskOrder task;
  task.rank = place.task;
  task.node = place.node;
  task.env = task_environment(order, place, facts);
  task.workdir = order.launch.workdir.empty() ? "/" : order.launch.workdir;
  OutputNames names;
  names.job = order.job;
  names.group = order.group;
  names.group_index = order.group_index;
  names.node = place.node;
  names.task = place.task;
  names.tasks = static_cast<std::int64_t>(order.allocation.tasks.size());
  const OutputPaths paths = output_paths(order.launch, names);
  task.out = paths.out;
  task.err = paths.err;
  if (!context.cgroup_base.empty()) {
    task.cgroup = context.cgroup_base + "/" + name_of_attempt(order) + "." +
                  std::to_string(place.task);
  }
  for (const DeviceShare& share : place.devices) {
    task.devices.push_back({share.device, share.gpus.value(),
                            share.gpus < kWholeGpu || share.slots > 0 || share.mig_start >= 0});
  }
  return task;
}

}  // namespace

std::vector<std::string> script_command(const std::string& script, const std::string& path,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> command;
  if (script.starts_with("#!")) {
    std::string line = script.substr(2, script.find('\n') - 2);
    const auto trim = [](std::string& text) {
      while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.erase(0, 1);
      while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
        text.pop_back();
      }
    };
    trim(line);
    const std::size_t space = line.find_first_of(" \t");
    if (!line.empty()) command.push_back(line.substr(0, space));
    if (space != std::string::npos) {
      std::string argument = line.substr(space);  // all of it is one argument, as the kernel does
      trim(argument);
      command.push_back(argument);
    }
  }
  if (command.empty()) command.emplace_back("/bin/sh");
  command.push_back(path);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Result<shim::Order> build_order(const StartOrder& order, const OrderContext& context) {
  const LaunchSpec& launch = order.launch;
  if (launch.argv.empty() && launch.script.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "job " + std::to_string(order.job.value()) + " has no command and no script"};
  }
  if (order.allocation.tasks.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "job " + std::to_string(order.job.value()) + " was given no task"};
  }
  shim::Order built;
  built.job = order.job.value();
  built.attempt = order.attempt;
  built.append = launch.append_output || order.attempt > 1;
  built.checkpoint_dir = context.checkpoint_root + "/" + std::to_string(order.job.value());
  built.user = launch.user;
  built.uid = launch.uid;
  built.gid = launch.gid;
  if (launch.uid >= 0 && static_cast<uid_t>(launch.uid) != ::geteuid()) {
    built.groups = groups_of(launch.user, launch.gid);
  }
  built.nofile_soft = context.nofile_soft;
  if (order.time_limit) built.time_limit_ns = order.time_limit->ns();
  built.warn_signal = launch.warn_signal;
  built.warn_before_ns = launch.warn_before.ns();
  built.stop_signal = launch.stop_signal;
  built.grace_ns = launch.grace.value_or(context.grace_default).ns();
  built.leftover_grace_ns = context.leftover_grace_ns;
  built.port = context.port;
  EnvironmentFacts facts;
  facts.uuids = context.uuids;
  facts.port = context.port;
  facts.checkpoint_dir = built.checkpoint_dir;
  facts.cluster_name = context.cluster_name;
  facts.home = home_of(launch.uid);
  std::vector<std::string> command = launch.argv;
  if (command.empty()) {
    const bool own = launch.uid < 0 || static_cast<uid_t>(launch.uid) == ::geteuid();
    built.script = launch.script;
    built.script_path = own ? context.attempt_dir + "/script"
                            : context.script_dir + "/" + name_of_attempt(order);
    command = script_command(launch.script, built.script_path, launch.script_args);
  }
  for (const TaskPlace& place : order.allocation.tasks) {
    built.tasks.push_back(build_task(order, place, context, facts));
    built.tasks.back().argv = command;
  }
  return built;
}

}  // namespace rota::backend
