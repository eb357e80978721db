// The files by which the daemon and a shim talk, and their form (JSON).
//
//   <state>/notify                              FIFO; shims write "job attempt task word\n"
//   <state>/attempts/<job>.<attempt>/order.json  written once by the daemon; byte k is locked by
//                                               task k's shim as long as it lives
//   .../task<k>.claimed.json                    written by the shim before it begins the task,
//   .../task<k>.running.json                    once the command runs,
//   .../task<k>.ended.json                      and, atomically, when nothing of it is left
//   .../task<k>.stop.json                       written by the daemon, then SIGUSR1 to the shim
//   .../limit.json                              the time limit, once it is another than ordered;
//                                               then SIGUSR1 to the shims
//
// Everything here is inline, so that the shim links no library of its own. A file of another
// version or half a file reads as absent.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/local/shim/bytes_json.h"

namespace rota::backend::shim {

constexpr int kVersion = 1;

/// Part of one device as the daemon counts it; the shim does not look at it.
struct Share {
  std::int64_t device = 0;
  std::int64_t milli_gpus = 0;
  bool shared = false;  // other tasks may use the device too
};

struct TaskOrder {
  std::int64_t rank = 0;
  std::string node;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string workdir;
  std::string out;
  std::string err;
  std::string cgroup;            // to be made; empty: none
  std::vector<Share> devices;
};

struct Order {
  std::uint64_t job = 0;
  std::int64_t attempt = 0;
  std::vector<TaskOrder> tasks;
  bool append = false;
  std::string script;            // text; written to script_path when there is any
  std::string script_path;
  std::string checkpoint_dir;
  std::string user;
  std::int64_t uid = -1;         // -1: the daemon's own
  std::int64_t gid = -1;
  std::vector<std::int64_t> groups;  // of another account; looked up by the daemon
  std::int64_t nofile_soft = -1;  // limit on open files to go back to; -1: as it is
  std::optional<std::int64_t> time_limit_ns;
  std::int64_t warn_signal = 0;
  std::int64_t warn_before_ns = 0;
  std::int64_t stop_signal = 15;
  std::int64_t grace_ns = 0;         // when something else than the daemon stops the shim
  std::int64_t leftover_grace_ns = 0;  // for what outlives the main process
  std::int64_t port = 0;         // handed out to the gang; 0: none
};

struct Process {
  std::int64_t pid = 0;
  std::int64_t start = 0;        // start time in clock ticks since boot, from /proc
};

/// kStarting is written before the fork: from then on the task is never begun again.
enum class Phase { kStarting, kRunning, kEnded };
/// Each phase has a file of its own: replacing a file costs a wait for the disk, making one does
/// not.
inline const char* file_of(Phase phase) {
  constexpr const char* kFiles[] = {"claimed", "running", "ended"};
  return kFiles[static_cast<int>(phase)];
}

struct TaskStatus {
  Phase phase = Phase::kStarting;
  std::string boot;              // boot id of the machine
  Process shim;
  Process main;
  std::int64_t started_ns = 0;   // since the epoch
  std::int64_t ended_ns = 0;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  bool stopped = false;          // ended after a stop was asked for
  bool forced = false;           // the grace was over and it had to be killed
  bool begun = false;            // the command itself ran
  bool node_fault = false;       // it did not, and that is no fault of the job
  std::string detail;
  std::vector<Process> leftovers;  // could not be killed
};

struct StopRequest {
  std::int64_t signal = 15;
  std::int64_t grace_ns = 0;
  bool by_gang = false;  // another task of the gang failed; nobody ordered it
};

/// Absent: the attempt may run as long as it likes.
struct TimeLimit {
  std::optional<std::int64_t> ns;
};

// ---- file names, relative to the attempt's folder ----
inline std::string order_file() { return "order.json"; }
inline std::string limit_file() { return "limit.json"; }
inline std::string task_file(std::int64_t task, const char* what) {
  return "task" + std::to_string(task) + "." + what + ".json";
}

// ---- JSON ----
inline nlohmann::json to_json(const Process& p) { return {{"pid", p.pid}, {"start", p.start}}; }

inline Process process_from(const nlohmann::json& j) {
  return {j.at("pid").get<std::int64_t>(), j.at("start").get<std::int64_t>()};
}

inline nlohmann::json to_json(const TaskOrder& task) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Share& share : task.devices) {
    devices.push_back({share.device, share.milli_gpus, share.shared});
  }
  return {{"rank", task.rank},
          {"node", bytes_json(task.node)},
          {"argv", bytes_json(task.argv)},
          {"env", bytes_json(task.env)},
          {"workdir", bytes_json(task.workdir)},
          {"out", bytes_json(task.out)},
          {"err", bytes_json(task.err)},
          {"cgroup", bytes_json(task.cgroup)},
          {"devices", std::move(devices)}};
}

inline TaskOrder task_order_from(const nlohmann::json& j) {
  TaskOrder task;
  task.rank = j.at("rank").get<std::int64_t>();
  task.node = bytes_from(j.at("node"));
  task.argv = bytes_list_from(j.at("argv"));
  task.env = bytes_list_from(j.at("env"));
  task.workdir = bytes_from(j.at("workdir"));
  task.out = bytes_from(j.at("out"));
  task.err = bytes_from(j.at("err"));
  task.cgroup = bytes_from(j.at("cgroup"));
  for (const nlohmann::json& share : j.at("devices")) {
    task.devices.push_back({share.at(0).get<std::int64_t>(), share.at(1).get<std::int64_t>(),
                            share.at(2).get<bool>()});
  }
  return task;
}

inline nlohmann::json to_json(const Order& order) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const TaskOrder& task : order.tasks) tasks.push_back(to_json(task));
  nlohmann::json j = {{"version", kVersion},
                      {"job", order.job},
                      {"attempt", order.attempt},
                      {"tasks", std::move(tasks)},
                      {"append", order.append},
                      {"script", bytes_json(order.script)},
                      {"script_path", bytes_json(order.script_path)},
                      {"checkpoint_dir", bytes_json(order.checkpoint_dir)},
                      {"user", bytes_json(order.user)},
                      {"uid", order.uid},
                      {"gid", order.gid},
                      {"groups", order.groups},
                      {"nofile_soft", order.nofile_soft},
                      {"warn_signal", order.warn_signal},
                      {"warn_before_ns", order.warn_before_ns},
                      {"stop_signal", order.stop_signal},
                      {"grace_ns", order.grace_ns},
                      {"leftover_grace_ns", order.leftover_grace_ns},
                      {"port", order.port}};
  if (order.time_limit_ns) j["time_limit_ns"] = *order.time_limit_ns;
  return j;
}

/// Throws nlohmann::json::exception when a field is missing or of the wrong type.
inline Order order_from(const nlohmann::json& j) {
  Order order;
  if (j.at("version").get<int>() != kVersion) throw_version();
  order.job = j.at("job").get<std::uint64_t>();
  order.attempt = j.at("attempt").get<std::int64_t>();
  for (const nlohmann::json& task : j.at("tasks")) order.tasks.push_back(task_order_from(task));
  order.append = j.at("append").get<bool>();
  order.script = bytes_from(j.at("script"));
  order.script_path = bytes_from(j.at("script_path"));
  order.checkpoint_dir = bytes_from(j.at("checkpoint_dir"));
  order.user = bytes_from(j.at("user"));
  order.uid = j.at("uid").get<std::int64_t>();
  order.gid = j.at("gid").get<std::int64_t>();
  if (j.contains("groups")) order.groups = j["groups"].get<std::vector<std::int64_t>>();
  order.nofile_soft = j.at("nofile_soft").get<std::int64_t>();
  if (j.contains("time_limit_ns")) order.time_limit_ns = j["time_limit_ns"].get<std::int64_t>();
  order.warn_signal = j.at("warn_signal").get<std::int64_t>();
  order.warn_before_ns = j.at("warn_before_ns").get<std::int64_t>();
  order.stop_signal = j.at("stop_signal").get<std::int64_t>();
  order.grace_ns = j.at("grace_ns").get<std::int64_t>();
  order.leftover_grace_ns = j.at("leftover_grace_ns").get<std::int64_t>();
  order.port = j.at("port").get<std::int64_t>();
  return order;
}

inline nlohmann::json to_json(const TaskStatus& s) {
  constexpr const char* kPhases[] = {"starting", "running", "ended"};
  nlohmann::json leftovers = nlohmann::json::array();
  for (const Process& p : s.leftovers) leftovers.push_back(to_json(p));
  return {{"version", kVersion},
          {"phase", kPhases[static_cast<int>(s.phase)]},
          {"boot", s.boot},
          {"shim", to_json(s.shim)},
          {"main", to_json(s.main)},
          {"started_ns", s.started_ns},
          {"ended_ns", s.ended_ns},
          {"exit_code", s.exit_code},
          {"signal", s.signal},
          {"stopped", s.stopped},
          {"forced", s.forced},
          {"begun", s.begun},
          {"node_fault", s.node_fault},
          {"detail", bytes_json(s.detail)},
          {"leftovers", std::move(leftovers)}};
}

/// Throws as order_from().
inline TaskStatus status_from(const nlohmann::json& j) {
  TaskStatus s;
  if (j.at("version").get<int>() != kVersion) throw_version();
  const std::string phase = j.at("phase").get<std::string>();
  s.phase = phase == "ended"     ? Phase::kEnded
            : phase == "running" ? Phase::kRunning
                                 : Phase::kStarting;
  s.boot = j.at("boot").get<std::string>();
  s.shim = process_from(j.at("shim"));
  s.main = process_from(j.at("main"));
  s.started_ns = j.at("started_ns").get<std::int64_t>();
  s.ended_ns = j.at("ended_ns").get<std::int64_t>();
  s.exit_code = j.at("exit_code").get<std::int64_t>();
  s.signal = j.at("signal").get<std::int64_t>();
  s.stopped = j.at("stopped").get<bool>();
  s.forced = j.at("forced").get<bool>();
  s.begun = j.at("begun").get<bool>();
  s.node_fault = j.at("node_fault").get<bool>();
  s.detail = bytes_from(j.at("detail"));
  for (const nlohmann::json& p : j.at("leftovers")) s.leftovers.push_back(process_from(p));
  return s;
}

inline nlohmann::json to_json(const TimeLimit& limit) {
  nlohmann::json j = {{"version", kVersion}};
  if (limit.ns) j["time_limit_ns"] = *limit.ns;
  return j;
}

/// Throws as order_from().
inline TimeLimit limit_from(const nlohmann::json& j) {
  if (j.at("version").get<int>() != kVersion) throw_version();
  TimeLimit limit;
  if (j.contains("time_limit_ns")) limit.ns = j["time_limit_ns"].get<std::int64_t>();
  return limit;
}

inline nlohmann::json to_json(const StopRequest& stop) {
  return {{"version", kVersion},
          {"signal", stop.signal},
          {"grace_ns", stop.grace_ns},
          {"by_gang", stop.by_gang}};
}

/// Throws as order_from().
inline StopRequest stop_from(const nlohmann::json& j) {
  if (j.at("version").get<int>() != kVersion) throw_version();
  return {j.at("signal").get<std::int64_t>(), j.at("grace_ns").get<std::int64_t>(),
          j.at("by_gang").get<bool>()};
}

}  // namespace rota::backend::shim
