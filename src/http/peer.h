// Who is at the other end of a socket, and what this system calls them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/service.h"

namespace rota::http {

struct PeerId {
  std::int64_t uid = -1;
  std::int64_t gid = -1;
};

/// Of the process that connected (SO_PEERCRED). Empty when the kernel does not say.
std::optional<PeerId> peer_of(int socket);

/// The account whose process holds the other end of a TCP connection within this machine, from the
/// kernel's table of sockets (NETLINK_SOCK_DIAG). Good for counting; rights come from the token.
/// -1: not known.
std::int64_t loopback_uid(int socket);

/// Account names by user id, kept for a minute since the name service may be slow. One thread.
class Accounts {
 public:
  /// The number as text for an account without a name.
  std::string name_of(std::int64_t uid);

 private:
  struct Known {
    std::string name;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::int64_t, Known> known_;
};

/// Makes callers of peers: root and `admin_uid` are administrators. Those whom the policy names are
/// known to the server's driver.
server::Caller caller_of(const PeerId& peer, std::int64_t admin_uid, Accounts& accounts);

}  // namespace rota::http
