// What is submitted, and the answer to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

/// What a person or program submits. Everything but a command or script has a default.
struct SubmitRequest {
  std::string name;
  std::vector<std::string> argv;
  std::string script;
  std::string script_name;
  std::vector<std::string> script_args;
  std::map<std::string, std::string> env;
  std::string workdir;
  std::string stdout_path;
  std::string stderr_path;
  bool append_output = false;
  std::string queue;
  std::string job_class;
  std::int64_t priority = 0;
  std::optional<double> gpus;
  std::int64_t slots = 0;
  std::string mig;
  std::int64_t tasks = 1;
  std::int64_t min_tasks = 0;
  std::vector<std::string> models;
  std::optional<std::int64_t> gpu_memory_bytes;
  std::int64_t cpus = 0;
  std::int64_t memory_bytes = 0;
  std::string same;
  std::string prefer;
  std::vector<std::string> on;
  std::vector<std::string> exclude;
  std::map<std::string, std::string> labels;
  std::optional<double> time_limit_seconds;
  std::optional<double> min_runtime_seconds;
  bool protect_all = false;
  std::optional<bool> charge;
  std::optional<bool> interactive;
  std::optional<double> checkpoint_seconds;
  std::string deadline;
  std::string begin;
  std::vector<std::string> after;
  std::vector<std::string> afterok;
  std::vector<std::string> afterany;
  bool held = false;
  std::optional<std::int64_t> retries;
  std::optional<bool> requeue;
  bool hold_infeasible = false;
  std::vector<std::int64_t> array;
  std::optional<std::int64_t> max_concurrent;
  std::vector<std::map<std::string, std::string>> params;
  std::string name_template;
  std::int64_t stop_signal = 15;
  std::optional<double> grace_seconds;
  std::int64_t warn_signal = 0;
  double warn_before_seconds = 0;
  bool slurm_style = false;
  std::string comment;
  std::string idempotency_key;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "name shown in tables; default: the command's or script's file name");
    visit("argv", self.argv, "the command; either this or script");
    visit("script", self.script, "whole text of a script with its #! line");
    visit("script_name", self.script_name, "the script's file name, for people", kMayLack);
    visit("script_args", self.script_args, "arguments of the script");
    visit("env", self.env, "environment variables of the job");
    visit("workdir", self.workdir, "working directory on the node");
    visit("stdout_path", self.stdout_path, "output file; %j %A %a %x %N %t are replaced");
    visit("stderr_path", self.stderr_path, "error file; empty: together with the output");
    visit("append_output", self.append_output, "keep what the files hold");
    visit("queue", self.queue, "leaf queue; empty: the user's own or default");
    visit("class", self.job_class, "named bundle of defaults: debug, interactive, free, ...");
    visit("priority", self.priority, "order inside the queue; higher first");
    visit("gpus", self.gpus, "GPUs of one task; below 1 a fraction; default 1");
    visit("slots", self.slots, "time slices of one task instead of GPUs");
    visit("mig", self.mig, "MIG profile of one task instead of GPUs");
    visit("tasks", self.tasks, "tasks that start all or none");
    visit("min_tasks", self.min_tasks, "elastic: starts with at least so many; 0: not elastic");
    visit("models", self.models, "GPU models in order of preference; [\"any\"]: may mix");
    visit("gpu_memory_bytes", self.gpu_memory_bytes,
          "least memory per GPU; of a fraction: the part taken");
    visit("cpus", self.cpus, "CPUs of one task");
    visit("memory_bytes", self.memory_bytes, "host memory of one task");
    visit("same", self.same, "all tasks in one node, island, socket, rack or block");
    visit("prefer", self.prefer, "tried first: node, island, socket, rack or block");
    visit("on", self.on, "only these nodes or pools");
    visit("exclude", self.exclude, "not these nodes");
    visit("labels", self.labels, "node labels that must match");
    visit("time_limit_seconds", self.time_limit_seconds, "limit of one attempt");
    visit("min_runtime_seconds", self.min_runtime_seconds,
          "the contract: protected from preemption for so long after each start");
    visit("protect_all", self.protect_all, "never preempted");
    visit("charge", self.charge, "false: free work, counted for nobody, first to give way");
    visit("interactive", self.interactive, "falls under the session idle rules");
    visit("checkpoint_seconds", self.checkpoint_seconds, "interval at which the job saves work");
    visit("deadline", self.deadline, "moves up in its queue only as far as this needs", kTime);
    visit("begin", self.begin, "not before", kTime);
    visit("after", self.after, "ids that must have started");
    visit("afterok", self.afterok, "ids that must have succeeded");
    visit("afterany", self.afterany, "ids that must have ended");
    visit("held", self.held, "submitted on hold");
    visit("retries", self.retries, "starts again after a failure of its own");
    visit("requeue", self.requeue, "pending again after an eviction; false: it ends");
    visit("hold_infeasible", self.hold_infeasible,
          "wait even though this cluster can never hold it");
    visit("array", self.array, "indices of an array job");
    visit("max_concurrent", self.max_concurrent, "array or sweep members that may run at once");
    visit("params", self.params, "a sweep: one member per map of variables");
    visit("name_template", self.name_template, "names of sweep members: \"lr{lr}-bs{bs}\"");
    visit("stop_signal", self.stop_signal, "signal number that asks the job to end");
    visit("grace_seconds", self.grace_seconds, "between that signal and the kill");
    visit("warn_signal", self.warn_signal, "signal before the time limit; 0: none");
    visit("warn_before_seconds", self.warn_before_seconds, "how long before the limit");
    visit("slurm_style", self.slurm_style, "SLURM_* variables are set for the job");
    visit("comment", self.comment, "free text kept with the job");
    visit("idempotency_key", self.idempotency_key, "a repeated submit with this key is one job");
  }
};

struct SubmitReply {
  std::string id;
  std::vector<std::string> ids;
  std::string state;
  bool repeated = false;
  std::vector<std::string> warnings;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "the job's or the array's number");
    visit("ids", self.ids, "all members of an array, else the one id");
    visit("state", self.state, "pending; starting or running when it started at once");
    visit("repeated", self.repeated, "the idempotency key was known: nothing new was made");
    visit("warnings", self.warnings, "what was accepted but may surprise");
  }
};

}  // namespace rota::api
