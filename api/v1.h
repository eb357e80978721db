// The HTTP schema, version 1: the one source for server, command line, web page and documents.
//
// Every resource declares its fields once (name, value, what it means); JSON codec, OpenAPI text
// and TypeScript types are made from these declarations (api/json.h, api/openapi.h).
// On the wire: times are ISO-8601 UTC strings, durations are seconds (decimal), GPUs are decimals
// (0.5 is half a device), memory is bytes. What is unknown or does not apply is left out: optional
// values, and text marked kMayLack or kTime, which is empty here then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"
#include "model/fields.h"

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

struct Reason {
  std::string code;
  std::string sentence;
  std::string resource;
  std::string within;
  std::optional<double> need;
  std::optional<double> free;
  std::optional<double> best;
  std::optional<double> missing;
  std::optional<double> freeable;
  std::optional<double> limit;
  std::string by;
  std::string until;
  bool waiting_helps = true;
  bool preemption_helps = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("code", self.code, "insufficient_free, fragmented, queue_limit, ...");
    visit("sentence", self.sentence, "the reason in words");
    visit("resource", self.resource, "gpu, gpu_memory, cpu, memory or slices", kMayLack);
    visit("within", self.within, "device, node, island, socket, rack, block or model", kMayLack);
    visit("need", self.need, "in GPUs, bytes or pieces, by resource");
    visit("free", self.free, "what is free where it could run");
    visit("best", self.best, "the most in one place");
    visit("short", self.missing, "what is missing");
    visit("freeable", self.freeable, "the most preemption could free");
    visit("limit", self.limit, "the limit that binds");
    visit("by", self.by, "the job, queue or user behind it", kMayLack);
    visit("until", self.until, "when it changes, if known", kTime);
    visit("waiting_helps", self.waiting_helps, "it can start without anybody's doing");
    visit("preemption_helps", self.preemption_helps, "preemption could help");
  }
};

struct Place {
  std::int64_t task = 0;
  std::string node;
  std::string devices;
  std::vector<std::string> uuids;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("task", self.task, "rank, from 0");
    visit("node", self.node, "where");
    visit("devices", self.devices, "device indices: 0-3, 5; MIG 0@4", kMayLack);
    visit("uuids", self.uuids, "the devices' identities");
  }
};

struct Verdict {
  std::string id;
  std::string state;
  std::string summary;
  std::vector<Reason> reasons;
  std::string estimate;
  std::int64_t ahead = 0;
  std::vector<std::string> would_help;
  std::vector<Place> places;
  std::string started;
  std::string contract_ends;
  bool protect_all = false;
  std::string limit_ends;
  std::optional<double> time_limit_seconds;
  std::string evicted_by;
  std::string evicted_cause;
  std::string end_cause;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string detail;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "the job; absent in a preview", kMayLack);
    visit("state", self.state, "its state; absent in a preview", kMayLack);
    visit("summary", self.summary, "the shortest true answer, in words");
    visit("reasons", self.reasons, "every binding reason, most telling first");
    visit("estimate", self.estimate, "expected start; absent: unknown", kTime);
    visit("ahead", self.ahead, "pending jobs that come before it");
    visit("would_help", self.would_help, "what would let it start, in words");
    visit("places", self.places, "devices of each task, while it holds some");
    visit("started", self.started, "its latest start", kTime);
    visit("contract_ends", self.contract_ends, "protected from preemption until then", kTime);
    visit("protect_all", self.protect_all, "never preempted");
    visit("limit_ends", self.limit_ends, "when its time limit ends it", kTime);
    visit("time_limit_seconds", self.time_limit_seconds, "of one attempt");
    visit("evicted_by", self.evicted_by, "who preempted it last", kMayLack);
    visit("evicted_cause", self.evicted_cause, "why it was evicted last", kMayLack);
    visit("end_cause", self.end_cause, "why it ended", kMayLack);
    visit("exit_code", self.exit_code, "of a job that ended, when its processes exited");
    visit("signal", self.signal, "that ended it; 0: none");
    visit("detail", self.detail, "more on how it ended, for people", kMayLack);
  }
};

struct Attempt {
  std::int64_t number = 0;
  std::string ordered;
  std::string started;
  std::string ended;
  std::optional<double> run_seconds;
  std::string cause;
  std::string by;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string detail;
  std::vector<std::string> nodes;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("number", self.number, "1 for the first");
    visit("ordered", self.ordered, "when it was decided", kTime);
    visit("started", self.started, "when it ran", kTime);
    visit("ended", self.ended, "when it was gone", kTime);
    visit("run_seconds", self.run_seconds, "from its start to its end, or until now");
    visit("cause", self.cause, "exited, preempted, time_limit, node_failed, ...", kMayLack);
    visit("by", self.by, "the job it made room for", kMayLack);
    visit("exit_code", self.exit_code, "of its processes; absent while it runs");
    visit("signal", self.signal, "that ended it; 0: none");
    visit("detail", self.detail, "more, for people", kMayLack);
    visit("nodes", self.nodes, "where it ran");
  }
};

struct Job {
  std::string id;
  std::string array_id;
  std::optional<std::int64_t> array_index;
  std::string name;
  std::string user;
  std::string queue;
  std::string job_class;
  std::string state;
  std::string reason;
  std::int64_t priority = 0;
  double gpus = 0;
  double gpus_total = 0;
  std::int64_t tasks = 1;
  std::int64_t tasks_running = 0;
  std::int64_t cpus = 0;
  std::int64_t memory_bytes = 0;
  std::vector<std::string> models;
  std::string submitted;
  std::string waiting_since;
  std::string started;
  std::string first_started;
  std::string ended;
  std::string estimate;
  std::optional<double> wait_seconds;
  std::optional<double> run_seconds;
  std::optional<double> time_limit_seconds;
  std::optional<double> min_runtime_seconds;
  bool protect_all = false;
  std::string contract_ends;
  std::string limit_ends;
  bool held = false;
  std::int64_t attempts = 0;
  std::int64_t evictions = 0;
  std::string evicted_by;
  std::string evicted_cause;
  double lost_seconds = 0;
  double gpu_hours = 0;
  double gpu_hours_lost = 0;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string end_cause;
  std::string detail;
  std::vector<Place> places;
  std::vector<std::string> nodes;
  std::vector<std::string> dependencies;
  std::string command;
  std::string workdir;
  std::string stdout_path;
  std::string stderr_path;
  std::string comment;
  std::vector<Attempt> history;
  std::optional<std::int64_t> members_changed;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "Rota's job number, kept through requeues; array members: 7.3");
    visit("array_id", self.array_id, "the array or sweep it belongs to", kMayLack);
    visit("array_index", self.array_index, "its index in it; absent outside an array");
    visit("name", self.name, "for people", kMayLack);
    visit("user", self.user, "who submitted it");
    visit("queue", self.queue, "the owner charged");
    visit("class", self.job_class, "named bundle of defaults", kMayLack);
    visit("state", self.state,
          "pending, starting, running, stopping, done, failed, cancelled, timeout");
    visit("reason", self.reason, "the first reason code while it waits", kMayLack);
    visit("priority", self.priority, "order inside its queue");
    visit("gpus", self.gpus, "of one task");
    visit("gpus_total", self.gpus_total, "of all tasks");
    visit("tasks", self.tasks, "tasks asked for");
    visit("tasks_running", self.tasks_running, "tasks held now");
    visit("cpus", self.cpus, "of one task");
    visit("memory_bytes", self.memory_bytes, "of one task");
    visit("models", self.models, "GPU models it accepts");
    visit("submitted", self.submitted, "when", kTime);
    visit("waiting_since", self.waiting_since,
          "of a pending job: its submit, or when it came back into the line", kTime);
    visit("started", self.started, "its latest start", kTime);
    visit("first_started", self.first_started, "its first start", kTime);
    visit("ended", self.ended, "when it became final", kTime);
    visit("estimate", self.estimate, "expected start of a pending job; absent: unknown", kTime);
    visit("wait_seconds", self.wait_seconds,
          "submit to first start; while it waits: since waiting_since");
    visit("run_seconds", self.run_seconds, "of the latest attempt");
    visit("time_limit_seconds", self.time_limit_seconds, "of one attempt");
    visit("min_runtime_seconds", self.min_runtime_seconds, "the contract");
    visit("protect_all", self.protect_all, "never preempted");
    visit("contract_ends", self.contract_ends, "protected until then", kTime);
    visit("limit_ends", self.limit_ends, "its time limit", kTime);
    visit("held", self.held, "waits for a release");
    visit("attempts", self.attempts, "starts so far");
    visit("evictions", self.evictions, "preemptions and drains; not failures");
    visit("evicted_by", self.evicted_by, "who preempted it last", kMayLack);
    visit("evicted_cause", self.evicted_cause, "why it was evicted last", kMayLack);
    visit("lost_seconds", self.lost_seconds, "work lost to evictions and failures");
    visit("gpu_hours", self.gpu_hours, "held so far");
    visit("gpu_hours_lost", self.gpu_hours_lost, "of these, lost");
    visit("exit_code", self.exit_code, "of the last attempt, when it exited");
    visit("signal", self.signal, "that ended it");
    visit("end_cause", self.end_cause, "why it ended", kMayLack);
    visit("detail", self.detail, "more on how it ended, for people", kMayLack);
    visit("places", self.places, "devices of each task");
    visit("nodes", self.nodes, "nodes of its tasks");
    visit("dependencies", self.dependencies, "afterok:5, ...");
    visit("command", self.command, "what it runs", kMayLack);
    visit("workdir", self.workdir, "where", kMayLack);
    visit("stdout_path", self.stdout_path, "output file of rank 0", kMayLack);
    visit("stderr_path", self.stderr_path, "error file of rank 0", kMayLack);
    visit("comment", self.comment, "free text", kMayLack);
    visit("history", self.history, "its attempts; in the single resource only");
    visit("members_changed", self.members_changed,
          "in the answer to a change: how many members of the array it reached");
  }
};

struct JobPage {
  std::vector<Job> jobs;
  std::string next_cursor;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("jobs", self.jobs, "ascending by id");
    visit("next_cursor", self.next_cursor,
          "pass as cursor for the next page; absent: the last", kMayLack);
  }
};

/// Changes to a job; absent fields stay.
struct UpdateRequest {
  std::optional<std::string> name;
  std::optional<std::int64_t> priority;
  std::optional<double> time_limit_seconds;
  std::optional<double> gpus;
  std::optional<std::int64_t> tasks;
  std::optional<std::string> queue;
  std::optional<std::string> begin;
  std::optional<std::string> comment;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "name shown");
    visit("priority", self.priority, "order inside the queue");
    visit("time_limit_seconds", self.time_limit_seconds, "limit of one attempt");
    visit("gpus", self.gpus, "of one task (pending jobs)");
    visit("tasks", self.tasks, "tasks (pending or elastic jobs)");
    visit("queue", self.queue, "leaf queue (pending jobs)");
    visit("begin", self.begin, "not before (pending jobs)");
    visit("comment", self.comment, "free text");
  }
};

struct Preview {
  bool starts_now = false;
  std::string estimate;
  std::vector<Place> places;
  std::vector<std::string> victims;
  Verdict verdict;
  std::vector<std::string> warnings;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("starts_now", self.starts_now, "it would start at once");
    visit("estimate", self.estimate, "expected start; absent: unknown", kTime);
    visit("places", self.places, "where, when it would start at once");
    visit("victims", self.victims, "jobs that would be preempted for it");
    visit("verdict", self.verdict, "why it would wait, as of a job without id and state");
    visit("warnings", self.warnings, "what would be accepted but may surprise");
  }
};

struct Device {
  std::string node;
  std::int64_t index = 0;
  std::string uuid;
  std::string model;
  std::int64_t memory_bytes = 0;
  std::string state;
  std::string detail;
  double used = 0;
  std::vector<std::string> jobs;
  std::vector<std::string> users;
  std::string isolation;
  std::optional<double> busy_ratio;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  bool simulated = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("node", self.node, "its machine");
    visit("index", self.index, "in PCI order");
    visit("uuid", self.uuid, "the driver's identity", kMayLack);
    visit("model", self.model, "h100, a100, ...", kMayLack);
    visit("memory_bytes", self.memory_bytes, "in all");
    visit("state", self.state, "free, used, shared, foreign, draining, unhealthy");
    visit("detail", self.detail, "who uses it from outside, what is wrong", kMayLack);
    visit("used", self.used, "part given out, 0 to 1");
    visit("jobs", self.jobs, "that hold it");
    visit("users", self.users, "of these jobs");
    visit("isolation", self.isolation, "exclusive, mig, time_slice or advisory", kMayLack);
    visit("busy_ratio", self.busy_ratio, "measured; absent: not measurable");
    visit("memory_used_bytes", self.memory_used_bytes, "measured");
    visit("power_watts", self.power_watts, "measured");
    visit("temperature_celsius", self.temperature_celsius, "measured");
    visit("simulated", self.simulated, "not a real device");
  }
};

struct Node {
  std::string name;
  std::string state;
  std::string reason;
  std::int64_t gpus = 0;
  std::int64_t gpus_healthy = 0;
  double gpus_used = 0;
  double gpus_free = 0;
  std::vector<std::string> models;
  std::int64_t cpus = 0;
  std::int64_t cpus_free = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_free_bytes = 0;
  std::int64_t running = 0;
  std::string pool;
  std::string site;
  std::string block;
  std::string rack;
  std::map<std::string, std::string> labels;
  bool simulated = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the machine");
    visit("state", self.state, "up, draining, drained, quarantined, down, future");
    visit("reason", self.reason, "why it is not up", kMayLack);
    visit("gpus", self.gpus, "devices in all");
    visit("gpus_healthy", self.gpus_healthy, "of these healthy");
    visit("gpus_used", self.gpus_used, "given out");
    visit("gpus_free", self.gpus_free, "that could be given out now");
    visit("models", self.models, "GPU models");
    visit("cpus", self.cpus, "in all");
    visit("cpus_free", self.cpus_free, "not given out");
    visit("memory_bytes", self.memory_bytes, "in all");
    visit("memory_free_bytes", self.memory_free_bytes, "not given out");
    visit("running", self.running, "jobs with a task here");
    visit("pool", self.pool, "named set of nodes", kMayLack);
    visit("site", self.site, "topology", kMayLack);
    visit("block", self.block, "topology", kMayLack);
    visit("rack", self.rack, "topology", kMayLack);
    visit("labels", self.labels, "for placement");
    visit("simulated", self.simulated, "not a real machine");
  }
};

struct Queue {
  std::string name;
  std::string parent;
  std::int64_t weight = 1;
  std::optional<double> quota;
  std::optional<double> limit;
  std::int64_t running = 0;
  std::int64_t pending = 0;
  double gpus_used = 0;
  std::int64_t fair_share = 0;
  double usage_gpu_hours = 0;
  double gpu_hours = 0;
  double gpu_hours_lost = 0;
  double owed_gpu_hours = 0;
  double delivered_gpu_hours = 0;
  std::int64_t evictions = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the owner");
    visit("parent", self.parent, "the queue above; absent: the root", kMayLack);
    visit("weight", self.weight, "part of the parent's GPU time");
    visit("quota", self.quota, "GPUs guaranteed now");
    visit("limit", self.limit, "hard cap in GPUs");
    visit("running", self.running, "jobs");
    visit("pending", self.pending, "jobs");
    visit("gpus_used", self.gpus_used, "held now");
    visit("fair_share", self.fair_share, "GPUs it may hold by weight and demand");
    visit("usage_gpu_hours", self.usage_gpu_hours, "what fairness counts now");
    visit("gpu_hours", self.gpu_hours, "held since the start");
    visit("gpu_hours_lost", self.gpu_hours_lost, "of these, lost");
    visit("owed_gpu_hours", self.owed_gpu_hours, "entitled to and demanded");
    visit("delivered_gpu_hours", self.delivered_gpu_hours, "of these, got");
    visit("evictions", self.evictions, "of its jobs");
  }
};

/// `rota queue set`: creates or changes; absent fields stay (new queues: weight 1).
struct QueueRequest {
  std::string name;
  std::optional<std::string> parent;
  std::optional<std::int64_t> weight;
  std::optional<double> quota;
  std::optional<double> limit;
  bool no_quota = false;
  bool no_limit = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "the owner");
    visit("parent", self.parent, "the queue above, for a new queue");
    visit("weight", self.weight, "part of the parent's GPU time; 0: only leftovers");
    visit("quota", self.quota, "GPUs guaranteed now");
    visit("limit", self.limit, "hard cap in GPUs");
    visit("no_quota", self.no_quota, "removes the quota");
    visit("no_limit", self.no_limit, "removes the limit");
  }
};

/// One line of the event stream. `job` events are shown to their owner and to administrators only.
struct Event {
  std::int64_t seq = 0;
  std::string time;
  std::string kind;
  std::string job;
  std::string node;
  std::string queue;
  std::string user;
  std::string state;
  std::string cause;
  std::string by;
  std::string message;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("seq", self.seq, "position; pass as Last-Event-ID to go on after it");
    visit("time", self.time, "when", kTime);
    visit("kind", self.kind, "job_submitted, job_started, job_preempted, node_drained, ...");
    visit("job", self.job, "the job it is about", kMayLack);
    visit("node", self.node, "the node it is about", kMayLack);
    visit("queue", self.queue, "the queue it is about", kMayLack);
    visit("user", self.user, "the job's owner, or who asked", kMayLack);
    visit("state", self.state, "the state after it", kMayLack);
    visit("cause", self.cause, "why", kMayLack);
    visit("by", self.by, "the job or person behind it", kMayLack);
    visit("message", self.message, "the event in words");
  }
};

struct EventPage {
  std::vector<Event> events;
  std::int64_t last_seq = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("events", self.events, "ascending by seq");
    visit("last_seq", self.last_seq, "the newest event there is");
  }
};

struct LogChunk {
  std::string path;
  std::int64_t offset = 0;
  std::string data;
  std::int64_t size = 0;
  bool final = false;
  std::string state;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "the file");
    visit("offset", self.offset, "of data in the file");
    visit("data", self.data, "bytes, base64");
    visit("size", self.size, "of the file now");
    visit("final", self.final, "the job is final and this chunk reaches the end");
    visit("state", self.state, "of the job", kMayLack);
  }
};

struct Server {
  std::string version;
  std::string backend;
  std::string devices;
  bool simulated = false;
  bool healthy = true;
  std::vector<std::string> problems;
  std::string started;
  std::string state_directory;
  std::string url;
  std::int64_t cycles = 0;
  double last_cycle_seconds = 0;
  std::int64_t last_event_seq = 0;
  std::int64_t jobs_pending = 0;
  std::int64_t jobs_running = 0;
  double gpus_total = 0;
  double gpus_used = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("version", self.version, "of the daemon");
    visit("backend", self.backend, "local, simulated");
    visit("devices", self.devices, "the device driver");
    visit("simulated", self.simulated, "the devices are not real");
    visit("healthy", self.healthy, "cycles advance and storage works");
    visit("problems", self.problems, "what is wrong, in words");
    visit("started", self.started, "when the daemon started", kTime);
    visit("state_directory", self.state_directory, "journal, logs, token", kMayLack);
    visit("url", self.url, "of the HTTP API", kMayLack);
    visit("cycles", self.cycles, "scheduling cycles so far");
    visit("last_cycle_seconds", self.last_cycle_seconds, "duration of the last one");
    visit("last_event_seq", self.last_event_seq, "newest event");
    visit("jobs_pending", self.jobs_pending, "now");
    visit("jobs_running", self.jobs_running, "now");
    visit("gpus_total", self.gpus_total, "healthy devices");
    visit("gpus_used", self.gpus_used, "given out");
  }
};

struct NodeList {
  std::vector<Node> nodes;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("nodes", self.nodes, "in the order of the cluster");
  }
};

struct DeviceList {
  std::vector<Device> devices;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("devices", self.devices, "by node, then index");
  }
};

struct QueueList {
  std::vector<Queue> queues;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("queues", self.queues, "parents before their children");
  }
};

struct NodeCommandRequest {
  std::string reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("reason", self.reason, "why, shown with the node");
  }
};

struct SignalRequest {
  std::int64_t signal = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("signal", self.signal, "number of the signal, 1 to 64");
  }
};

struct SessionRequest {
  std::string token;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("token", self.token, "the daemon's token; the answer sets a cookie for reading");
  }
};

/// RFC 9457 (problem+json).
struct Problem {
  std::string type;
  std::string title;
  std::int64_t status = 0;
  std::string detail;
  std::string code;
  std::string field;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("type", self.type, "about:blank#code");
    visit("title", self.title, "the kind of problem");
    visit("status", self.status, "HTTP status");
    visit("detail", self.detail, "the thing, the rule, the next command");
    visit("code", self.code, "invalid_argument, not_found, conflict, refused, denied, ...");
    visit("field", self.field, "the part of the request it is about", kMayLack);
  }
};

}  // namespace rota::api
