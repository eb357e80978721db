// Decides on the header alone who calls and whether the request may go on, before any of its body
// is read.
//
// Loopback: Host must name this door with its port, Origin (when sent) as well, and every call but
// the open ones needs the token as `Authorization: Bearer`, or, to read, a session cookie.
// Unix socket: no browser can reach it but through a forwarder, so anything that a browser adds
// (Origin, Sec-Fetch-Site) is refused. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/message.h"
#include "http/sessions.h"
#include "server/service.h"

namespace rota::http {

enum class DoorKind { kUnix, kLoopback };

struct Door {
  DoorKind kind = DoorKind::kUnix;
  std::uint16_t port = 0;   // of a loopback door
  server::Caller peer = {};  // by credentials; of a loopback door: nobody
};

struct GuardOptions {
  std::string token;
  server::Caller token_owner;
  std::vector<std::string> allowed_hosts;  // "name" (any port) or "name:port"
};

class Guard {
 public:
  Guard(GuardOptions options, Sessions& sessions);

  /// The caller, or the answer that ends the request (400, 401, 403).
  std::variant<server::Caller, Response> admit(const Door& door, const Request& head,
                                               Sessions::Time now) const;
  [[nodiscard]] bool is_token(std::string_view value) const;

 private:
  [[nodiscard]] bool host_allowed(const Door& door, std::string_view host) const;
  [[nodiscard]] bool has_access(const Request& head, Sessions::Time now) const;

  GuardOptions options_;
  Sessions& sessions_;
};

}  // namespace rota::http
