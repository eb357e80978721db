// The command line's way to the daemon: typed calls over the Unix socket, or over TCP with a token.
//
// Synchronous. One thread per Client. A connection is kept between calls; calls that only read (and
// submits, which carry an idempotency key) are repeated once when it turns out to be stale.
// Errors: what the daemon answered keeps its code and message; kUnavailable when nobody answers
// (nothing was done); kUnknownResult when the connection broke after a change had been sent;
// kDenied when the socket may not be opened; kUnsupported when what answers is no Rota daemon of
// this API version.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1.h"
#include "base/result.h"
#include "server/service.h"

namespace rota::http {

/// Where the daemon is: a socket path, or a URL of loopback with the token.
struct Endpoint {
  std::string socket_path;
  std::string url;    // "http://127.0.0.1:7682"; used when socket_path is empty
  std::string token;
};

struct ClientOptions {
  std::chrono::milliseconds connect_time{3'000};
  std::chrono::milliseconds answer_time{70'000};   // a little longer than the server's own limit
  std::chrono::milliseconds stream_time{45'000};   // three missed heartbeats end a stream
  std::chrono::milliseconds retry_time{30'000};    // how long a lost daemon is waited for
};

/// What a follower wants next.
enum class Follow { kGoOn, kStop };

struct FollowLog {
  server::LogQuery from;          // offset: where to begin (negative: from the end)
  bool until_final = true;        // false: only what is there now
};

struct FollowEvents {
  std::optional<std::int64_t> after_seq;  // absent: from now on
  std::string job;                        // empty: all
};

class Client {
 public:
  explicit Client(Endpoint endpoint, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Makes an idempotency key when the request has none, and repeats the call with the same key
  /// while the daemon is away (up to retry_time after a first contact).
  Result<api::SubmitReply> submit(api::SubmitRequest request);
  Result<api::Preview> preview(const api::SubmitRequest& request);

  Result<api::JobPage> jobs(const server::JobQuery& query);
  /// All pages, in one list.
  Result<std::vector<api::Job>> all_jobs(server::JobQuery query);
  Result<api::Job> job(std::string_view id);
  Result<api::Verdict> why(std::string_view id);
  Result<api::SubmitRequest> request(std::string_view id);
  /// verb: cancel, hold, release, requeue.
  Result<api::JobPage> command(std::string_view id, std::string_view verb);
  Result<api::Job> signal(std::string_view id, int signal_number);
  Result<api::Job> update(std::string_view id, const api::UpdateRequest& changes);

  /// One piece of output; `data` of the reply is plain bytes here (decoded). A positive `wait` lets
  /// the daemon wait so long for more output before it answers with none (at most 30 s).
  Result<api::LogChunk> log(std::string_view id, const server::LogQuery& query,
                            std::chrono::milliseconds wait = {});
  /// Passes each piece of output to `sink` (never empty) until the job is final and all is read,
  /// or `sink` wants no more. Goes on after a restart of the daemon. Value: the last chunk, without
  /// data. `idle` is called at least about once a second, when it is set.
  Result<api::LogChunk> follow_log(std::string_view id, FollowLog follow,
                                   const std::function<Follow(std::string_view)>& sink,
                                   const std::function<Follow()>& idle = {});

  Result<std::vector<api::Node>> nodes();
  Result<std::vector<api::Device>> devices();
  /// verb: drain, undrain, quarantine, recover.
  Result<api::Node> node_command(std::string_view node, std::string_view verb,
                                 std::string_view reason);
  Result<std::vector<api::Queue>> queues();
  Result<api::Queue> queue_set(const api::QueueRequest& request);

  Result<api::EventPage> events(const server::EventQuery& query);
  /// Streams events until `sink` wants no more (then ok). Connects again after the last event seen
  /// when the connection breaks; error kUnavailable when the daemon stays away for retry_time.
  /// `idle` is called about once a second while nothing comes, when it is set.
  Status follow_events(FollowEvents follow, const std::function<Follow(const api::Event&)>& sink,
                       const std::function<Follow()>& idle = {});

  Result<api::Server> server_info();
  Result<std::string> metrics();
  Result<std::string> openapi();

  /// Of the daemon that answered last, from its Server header; empty before the first answer.
  [[nodiscard]] const std::string& daemon_version() const;
  /// "/run/rota/rota.sock" or the URL, for messages.
  [[nodiscard]] std::string where() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::http
