#include "backend/local/port_pool.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "backend/local/shim/system.h"

namespace rota::backend {
namespace {

constexpr int kSpan = 8000;
constexpr int kLowest = 2000;
constexpr int kTorchDefault = 29500;  // what launchers take that were told nothing

bool can_bind(int family, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // no such protocol here
  if (family == AF_INET6) {
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  }
  const bool good = ::bind(fd, address, size) == 0 || errno == EADDRNOTAVAIL;
  ::close(fd);
  return good;
}

/// Without SO_REUSEADDR, so that a port whose last connections still linger does not count as free.
bool is_free(int port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  return can_bind(AF_INET, reinterpret_cast<const sockaddr*>(&v4), sizeof v4) &&
         can_bind(AF_INET6, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

}  // namespace

PortPool::PortPool() {
  std::string text;
  shim::read_file("/proc/sys/net/ipv4/ip_local_port_range", text);
  const auto range = shim::numbers_in(text);
  const int first = range.size() == 2 ? static_cast<int>(range[0]) : 32768;
  const int last = range.size() == 2 ? static_cast<int>(range[1]) : 60999;
  if (first - kLowest >= 1000) {
    high_ = first - 1;
    low_ = std::max(kLowest, first - kSpan);
  } else {
    low_ = std::min(last + 1, 65535);
    high_ = 65535;
  }
  // Two daemons of one machine should not try the same ports in the same order.
  next_ = low_ + static_cast<int>(::getpid()) * 61 % (high_ - low_ + 1);
}

PortPool::PortPool(int low, int high) : low_(low), high_(high), next_(low) {}

int PortPool::acquire() {
  for (int tried = 0; tried <= high_ - low_; ++tried) {
    const int port = next_;
    next_ = next_ == high_ ? low_ : next_ + 1;
    if (port == kTorchDefault || taken_.contains(port) || !is_free(port)) continue;
    taken_.insert(port);
    return port;
  }
  return 0;
}

void PortPool::adopt(int port) {
  if (port != 0) taken_.insert(port);
}

void PortPool::release(int port) { taken_.erase(port); }

}  // namespace rota::backend
