#include "http/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace rota::http {
namespace {

constexpr std::chrono::seconds kNameLife{60};
constexpr std::size_t kNamesMax = 4096;

std::string look_up(std::int64_t uid) {
  std::array<char, 16 * 1024> buffer{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  const int failed = ::getpwuid_r(static_cast<uid_t>(uid), &entry, buffer.data(), buffer.size(),
                                  &found);
  if (failed != 0 || found == nullptr) return std::to_string(uid);
  return entry.pw_name;
}

bool fill_address(const sockaddr_storage& address, __be32 (&words)[4], __be16& port) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    words[0] = v4.sin_addr.s_addr;
    port = v4.sin_port;
    return true;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  std::memcpy(&words, &v6.sin6_addr, sizeof words);
  port = v6.sin6_port;
  return address.ss_family == AF_INET6;
}

std::int64_t uid_in(const char* reply, std::size_t size) {
  nlmsghdr header{};
  inet_diag_msg found{};
  if (size < NLMSG_LENGTH(sizeof found)) return -1;
  std::memcpy(&header, reply, sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return -1;
  std::memcpy(&found, reply + NLMSG_HDRLEN, sizeof found);
  // Without an inode no process holds it any more.
  return found.idiag_inode == 0 ? -1 : static_cast<std::int64_t>(found.idiag_uid);
}

/// Asks for the one socket that sends from `from` to `to`.
std::int64_t ask_for_uid(const sockaddr_storage& from, const sockaddr_storage& to) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } ask{};
  ask.header.nlmsg_len = sizeof ask;
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST;
  ask.body.sdiag_family = static_cast<__u8>(from.ss_family);
  ask.body.sdiag_protocol = IPPROTO_TCP;
  ask.body.idiag_states = ~0U;
  ask.body.id.idiag_cookie[0] = ask.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (!fill_address(from, ask.body.id.idiag_src, ask.body.id.idiag_sport) ||
      !fill_address(to, ask.body.id.idiag_dst, ask.body.id.idiag_dport)) {
    return -1;
  }
  const int kernel = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                              NETLINK_SOCK_DIAG);
  if (kernel < 0) return -1;
  std::array<char, 4096> reply{};
  // The kernel answers within the call.
  const bool sent = ::send(kernel, &ask, sizeof ask, 0) == static_cast<ssize_t>(sizeof ask);
  const ssize_t size = sent ? ::recv(kernel, reply.data(), reply.size(), 0) : -1;
  ::close(kernel);
  return size < 0 ? -1 : uid_in(reply.data(), static_cast<std::size_t>(size));
}

}  // namespace

std::int64_t loopback_uid(int socket) {
  sockaddr_storage ours{};
  sockaddr_storage theirs{};
  socklen_t length = sizeof ours;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&ours), &length) != 0) return -1;
  length = sizeof theirs;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&theirs), &length) != 0) return -1;
  return ask_for_uid(theirs, ours);
}

std::optional<PeerId> peer_of(int socket) {
  struct ucred credentials {};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  if (length != sizeof credentials || credentials.uid == static_cast<uid_t>(-1)) return {};
  return PeerId{.uid = static_cast<std::int64_t>(credentials.uid),
                .gid = static_cast<std::int64_t>(credentials.gid)};
}

std::string Accounts::name_of(std::int64_t uid) {
  const auto now = std::chrono::steady_clock::now();
  const auto found = known_.find(uid);
  if (found != known_.end() && found->second.until > now) return found->second.name;
  if (known_.size() >= kNamesMax) known_.clear();
  std::string name = look_up(uid);
  known_[uid] = {.name = name, .until = now + kNameLife};
  return name;
}

server::Caller caller_of(const PeerId& peer, std::int64_t admin_uid, Accounts& accounts) {
  server::Caller caller{.user = accounts.name_of(peer.uid), .uid = peer.uid, .gid = peer.gid};
  caller.admin = peer.uid == 0 || peer.uid == admin_uid;
  return caller;
}

}  // namespace rota::http
