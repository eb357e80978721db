#include "http/peer.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

}  // namespace

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

server::Caller caller_of(const PeerId& peer, const AdminRule& rule, Accounts& accounts) {
  server::Caller caller{.user = accounts.name_of(peer.uid), .uid = peer.uid, .gid = peer.gid};
  caller.admin = peer.uid == 0 || peer.uid == rule.admin_uid ||
                 std::find(rule.admin_users.begin(), rule.admin_users.end(), caller.user) !=
                     rule.admin_users.end();
  return caller;
}

}  // namespace rota::http
