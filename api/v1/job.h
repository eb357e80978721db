// Jobs with their attempts and output, and what can be asked of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"
#include "api/v1/place.h"

namespace rota::api {

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

struct SignalRequest {
  std::int64_t signal = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("signal", self.signal, "number of the signal, 1 to 64");
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

}  // namespace rota::api
