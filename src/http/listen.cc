#include "http/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace rota::http {
namespace {

constexpr int kBacklog = 256;
constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Error door_error(std::string_view what, const std::string& where, int number) {
  const ErrorCode code = number == EACCES || number == EPERM        ? ErrorCode::kDenied
                         : number == EADDRINUSE || number == EEXIST ? ErrorCode::kConflict
                         : number == EAFNOSUPPORT || number == EADDRNOTAVAIL
                             ? ErrorCode::kUnsupported
                             : ErrorCode::kUnavailable;
  return {.code = code, .message = fmt::format("{} {}: {}", what, where, std::strerror(number))};
}

/// Closes on every way out until release().
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("socket path '{}' must have 1 to {} bytes; choose another "
                                        "with --socket",
                                        path, sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Status make_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ec;
  if (folder.empty() || std::filesystem::exists(folder, ec)) return {};
  std::filesystem::create_directories(folder, ec);
  if (ec) return door_error("cannot make the socket's folder", folder.string(), ec.value());
  if (::chmod(folder.c_str(), 0755) != 0) {
    return door_error("cannot open the socket's folder", folder.string(), errno);
  }
  return {};
}

/// Clears the way: a socket file at which nobody answers goes.
Status clear_way(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return Error{.code = ErrorCode::kConflict,
                 .message = fmt::format("{} exists and is no socket; move it away, or choose "
                                        "another path with --socket",
                                        path)};
  }
  const Descriptor probe(::socket(AF_UNIX, kKind, 0));
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), name, sizeof address) == 0 || errno == EAGAIN) {
    return Error{.code = ErrorCode::kConflict,
                 .message = fmt::format("another Rota daemon answers at {}; see `rota doctor`",
                                        path)};
  }
  if (errno != ECONNREFUSED && errno != ENOENT) return door_error("cannot ask at", path, errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return door_error("cannot remove the old socket", path, errno);
  }
  return {};
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

Address loopback_address(LoopbackFamily family, std::uint16_t port) {
  Address out;
  if (family == LoopbackFamily::kV4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.length = sizeof v6;
  }
  return out;
}

std::uint16_t bound_port(int descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

}  // namespace

Result<UnixDoor> open_unix_door(const std::string& path) {
  const Result<sockaddr_un> address = unix_address(path);
  if (!address) return address.error();
  if (const Status made = make_folder(path); !made) return made.error();
  if (const Status clear = clear_way(path, *address); !clear) return clear.error();
  Descriptor door(::socket(AF_UNIX, kKind, 0));
  if (door.get() < 0) return door_error("cannot make a socket for", path, errno);
  const auto* name = reinterpret_cast<const sockaddr*>(&*address);
  if (::bind(door.get(), name, sizeof *address) != 0) {
    return door_error("cannot open socket", path, errno);
  }
  struct stat info {};
  // Nobody can connect before listen(), so the mode is right from the first connection on.
  if (::lstat(path.c_str(), &info) != 0 || ::chmod(path.c_str(), 0666) != 0 ||
      ::listen(door.get(), kBacklog) != 0) {
    const int number = errno;
    ::unlink(path.c_str());
    return door_error("cannot open socket", path, number);
  }
  return UnixDoor{.descriptor = door.release(), .device = info.st_dev, .inode = info.st_ino};
}

void remove_unix_door(const std::string& path, const UnixDoor& door) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  if (info.st_dev == door.device && info.st_ino == door.inode) ::unlink(path.c_str());
}

Result<TcpDoor> open_loopback_door(LoopbackFamily family, std::uint16_t port) {
  const bool v4 = family == LoopbackFamily::kV4;
  const std::string where = fmt::format("{}:{}", v4 ? "127.0.0.1" : "[::1]", port);
  Descriptor door(::socket(v4 ? AF_INET : AF_INET6, kKind, 0));
  if (door.get() < 0) return door_error("cannot make a socket for", where, errno);
  const int on = 1;
  ::setsockopt(door.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!v4) ::setsockopt(door.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const Address address = loopback_address(family, port);
  if (::bind(door.get(), address.get(), address.length) != 0 ||
      ::listen(door.get(), kBacklog) != 0) {
    Error error = door_error("cannot listen at", where, errno);
    if (error.code == ErrorCode::kConflict) {
      error.message += "; another program has it: choose another with --listen, or --listen off";
    }
    return error;
  }
  const std::uint16_t bound = bound_port(door.get());
  return TcpDoor{.descriptor = door.release(), .port = bound};
}

}  // namespace rota::http
