// What the daemon offers to its doors (HTTP over the Unix socket and over loopback). The doors know
// nothing of engine, journal or back-end.
//
// Threads: every call may come from any thread; it is queued to the driver thread. `done` is called
// exactly once, on the driver thread, and must return quickly. Calls that change something answer
// only after the change is committed to the journal (group commit).
// Visibility: a caller that is no administrator sees jobs, logs and events that are its own, and of
// other people's jobs only what shared tables need (id, user, queue, state, devices): never name,
// command, environment, paths or output; and changes only its own jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/v1.h"
#include "base/result.h"

namespace rota::server {

struct Caller {
  std::string user;        // Unix account, or the token's owner
  std::int64_t uid = -1;
  std::int64_t gid = -1;
  bool admin = false;      // root, or the account the daemon runs as
};

template <class T>
using Reply = std::function<void(Result<T>)>;

struct JobQuery {
  std::string user;                  // empty: all
  std::string queue;
  std::string array;                 // members of one array
  std::vector<std::string> states;   // empty: all live ones
  bool all = false;                  // final ones too
  std::string cursor;
  std::int64_t limit = 500;          // 1 to 5,000
  std::string ended_after;           // ISO-8601; with all
  bool newest_first = false;         // by end, for ended jobs alone; else ascending by number
};

struct EventQuery {
  std::int64_t after_seq = 0;
  std::int64_t limit = 1000;
  std::string job;                   // empty: all
};

struct LogQuery {
  std::int64_t rank = 0;
  bool error_stream = false;
  std::int64_t attempt = 0;          // 0: the latest
  std::int64_t offset = 0;           // negative: from the end
  std::int64_t limit = 65536;        // up to 1 MiB
};

/// Ids are texts: "7", an array "12", a member "12.3"; "@" is the caller's last submitted job,
/// "@~1" the one before it.
class Service {
 public:
  virtual ~Service() = default;
  virtual void submit(const Caller&, api::SubmitRequest, Reply<api::SubmitReply> done) = 0;
  virtual void preview(const Caller&, api::SubmitRequest, Reply<api::Preview> done) = 0;
  virtual void jobs(const Caller&, JobQuery, Reply<api::JobPage> done) = 0;
  virtual void job(const Caller&, std::string id, Reply<api::Job> done) = 0;
  virtual void why(const Caller&, std::string id, Reply<api::Verdict> done) = 0;
  /// verb: cancel, hold, release, requeue. Of an array: all members. Returns the jobs changed.
  virtual void command(const Caller&, std::string id, std::string verb,
                       Reply<api::JobPage> done) = 0;
  virtual void update(const Caller&, std::string id, api::UpdateRequest,
                      Reply<api::Job> done) = 0;
  virtual void signal(const Caller&, std::string id, int signal_number,
                      Reply<api::Job> done) = 0;
  /// The request that made the job, for redo; only to its owner.
  virtual void request(const Caller&, std::string id, Reply<api::SubmitRequest> done) = 0;
  virtual void log(const Caller&, std::string id, LogQuery, Reply<api::LogChunk> done) = 0;
  virtual void nodes(const Caller&, Reply<std::vector<api::Node>> done) = 0;
  virtual void devices(const Caller&, Reply<std::vector<api::Device>> done) = 0;
  /// verb: drain, undrain, quarantine, recover. Administrators only.
  virtual void node_command(const Caller&, std::string node, std::string verb, std::string reason,
                            Reply<api::Node> done) = 0;
  virtual void queues(const Caller&, Reply<std::vector<api::Queue>> done) = 0;
  virtual void queue_set(const Caller&, api::QueueRequest, Reply<api::Queue> done) = 0;
  virtual void events(const Caller&, EventQuery, Reply<api::EventPage> done) = 0;
  /// Calls `fn` on the driver thread with each new event the caller may see, until unsubscribe().
  virtual std::int64_t subscribe(const Caller&, std::function<void(const api::Event&)> fn) = 0;
  virtual void unsubscribe(std::int64_t subscription) = 0;
  virtual void info(const Caller&, Reply<api::Server> done) = 0;
  /// Prometheus text format.
  virtual void metrics(Reply<std::string> done) = 0;
};

}  // namespace rota::server
