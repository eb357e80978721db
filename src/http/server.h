// The daemon's two doors: a Unix socket for the people of this machine and loopback TCP for
// browsers and scripts. Both speak the HTTP API of api/v1.h and lead to one server::Service.
//
// Unix socket: the kernel says who calls (SO_PEERCRED); root and `admin_uid` are administrators.
// Loopback: every call but /healthz needs the token; who has it acts as `admin_uid`. Host and
// Origin must name this door, so that a page of another site cannot use a visitor's browser.
// Threads: one I/O thread, started by start() and joined by stop(). Answers of the service may come
// from any thread, also after stop(): those are dropped.
// Ownership: the service must outlive stop().
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/service.h"

namespace rota::http {

/// What one client may take of the daemon. Counts are connections.
struct ServerLimits {
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
  std::size_t unix_connections = 512;
  std::size_t tcp_connections = 256;
  /// Of one account at each door, whatever it has sent. Root and the daemon's own account may take
  /// three quarters of a door; those of TCP whose account is not known count as one.
  std::size_t connections_per_user = 128;
  std::chrono::milliseconds header_time{10'000};  // from the first byte to the end of the header
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds write_time{30'000};   // without any progress
  std::chrono::milliseconds idle_time{60'000};    // between two requests of a connection
  std::chrono::milliseconds answer_time{60'000};  // of the service; then 504
  std::chrono::milliseconds health_time{2'000};   // of the service for /healthz; then 503
  std::chrono::milliseconds heartbeat{15'000};    // comment line of an idle event stream
};

struct ServerOptions {
  std::string socket_path;            // empty: no Unix socket
  std::optional<std::uint16_t> port;  // on loopback; 0: any free one; absent: no TCP
  bool ipv6 = true;                   // also ::1, where the machine has it
  std::string token;                  // required with a port (http/token.h)
  std::vector<std::string> allowed_hosts;  // accepted as Host besides 127.0.0.1, localhost, [::1]
  std::int64_t admin_uid = static_cast<std::int64_t>(::getuid());
  std::string version = "0.1.0";      // shown in the Server header
  ServerLimits limits;
};

class HttpServer {
 public:
  HttpServer(server::Service& service, ServerOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Opens both doors and starts the thread. Errors: kConflict (another daemon answers there),
  /// kDenied, kInvalidArgument (path too long, no token), kUnavailable. After an error nothing is
  /// open. A socket file left by a dead daemon is replaced. Once in a lifetime.
  Status start();
  /// Closes doors and connections, removes the socket file, joins the thread. Idempotent.
  void stop();

  /// The TCP port in use; 0 when there is none.
  [[nodiscard]] std::uint16_t port() const;
  /// "http://127.0.0.1:PORT"; empty without TCP.
  [[nodiscard]] std::string url() const;
  /// Connections open now.
  [[nodiscard]] std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::http
