#include "http/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <fmt/format.h>

#include "base/text.h"
#include "http/client.h"

namespace rota::http {

namespace beast_http = boost::beast::http;

namespace {

constexpr std::size_t kAnswerBytesMax = 256UL * 1024 * 1024;

Error unreachable(const Endpoint& endpoint, int number) {
  const bool local = !endpoint.socket_path.empty();
  const std::string& where = local ? endpoint.socket_path : endpoint.url;
  if (number == EACCES || number == EPERM) {
    return {.code = ErrorCode::kDenied,
            .message = fmt::format("you may not connect to {}: {}; the daemon's owner must open "
                                   "its folder to you",
                                   where, std::strerror(number))};
  }
  const bool nobody = number == ENOENT || number == ECONNREFUSED || number == ENOTDIR;
  return {.code = ErrorCode::kUnavailable,
          .message = fmt::format("no Rota daemon answers at {}{}: start one with `rota serve`",
                                 where,
                                 nobody ? "" : fmt::format(" ({})", std::strerror(number)))};
}

/// Waits until the socket is ready. False: the deadline came first.
bool wait_for(int descriptor, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    pollfd entry{.fd = descriptor, .events = events, .revents = 0};
    const auto wait = std::min<std::chrono::milliseconds::rep>(left.count() + 1, 60'000);
    const int ready = ::poll(&entry, 1, static_cast<int>(wait));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
  }
}

Error broken(int number) {
  return {.code = ErrorCode::kUnavailable,
          .message = fmt::format("the connection to the daemon broke: {}", std::strerror(number))};
}

Error too_late() {
  return {.code = ErrorCode::kTimeout, .message = "the daemon did not answer in time"};
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Result<SocketAddress> socket_path_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("socket path '{}' is longer than {} bytes", path,
                                        sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  SocketAddress out;
  std::memcpy(&out.storage, &address, sizeof address);
  out.length = sizeof address;
  return out;
}

Result<SocketAddress> tcp_address(const std::string& url) {
  const Result<HostAndPort> target = parse_loopback_url(url);
  if (!target) return target.error();
  SocketAddress out;
  if (target->host == "[::1]") {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(target->port);
    v6.sin6_addr = in6addr_loopback;
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.length = sizeof v6;
    return out;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(target->port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memcpy(&out.storage, &v4, sizeof v4);
  out.length = sizeof v4;
  return out;
}

/// 0, or the error number.
int connect_to(int descriptor, const SocketAddress& address, Deadline deadline) {
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  while (::connect(descriptor, name, address.length) != 0) {
    if (errno == EINTR) continue;
    if (errno == EISCONN) return 0;
    if (errno == EAGAIN) {  // a Unix socket whose queue of callers is full
      if (std::chrono::steady_clock::now() >= deadline) return EAGAIN;
      ::poll(nullptr, 0, 20);
      continue;
    }
    if (errno != EINPROGRESS && errno != EALREADY) return errno;
    if (!wait_for(descriptor, POLLOUT, deadline)) return ETIMEDOUT;
    int number = 0;
    socklen_t length = sizeof number;
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length);
    return number;
  }
  return 0;
}

}  // namespace

Result<HostAndPort> parse_loopback_url(const std::string& url) {
  const Error bad{.code = ErrorCode::kInvalidArgument,
                  .message = fmt::format("'{}' must look like http://127.0.0.1:7682; for another "
                                         "machine forward its port with ssh -L",
                                         url)};
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return bad;
  std::string_view rest = std::string_view(url).substr(kScheme.size());
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  HostAndPort out;
  for (const std::string_view host : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!rest.starts_with(host)) continue;
    out.host = std::string(host);
    rest.remove_prefix(host.size());
    if (rest.empty()) return out;
    if (rest.front() != ':') return bad;
    const Result<std::int64_t> port = parse_int(rest.substr(1));
    if (!port || *port < 1 || *port > 65535) return bad;
    out.port = static_cast<std::uint16_t>(*port);
    return out;
  }
  return bad;
}

Result<Wire> Wire::connect(const Endpoint& endpoint, Deadline deadline) {
  const Result<SocketAddress> address = endpoint.socket_path.empty()
                                            ? tcp_address(endpoint.url)
                                            : socket_path_address(endpoint.socket_path);
  if (!address) return address.error();
  const int family = address->storage.ss_family;
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return unreachable(endpoint, errno);
  Wire wire(descriptor);
  const int number = connect_to(descriptor, *address, deadline);
  if (number != 0) return unreachable(endpoint, number);
  if (family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return wire;
}

Wire::~Wire() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
Wire::Wire(Wire&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Wire& Wire::operator=(Wire&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Status Wire::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!wait_for(descriptor_, POLLOUT, deadline)) return too_late();
    } else if (errno != EINTR) {
      return broken(errno);
    }
  }
  return {};
}

Result<std::size_t> Wire::receive(std::string& into, Deadline deadline) {
  std::array<char, 64 * 1024> buffer;  // NOLINT: filled by the kernel
  while (true) {
    const ssize_t count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (count >= 0) {
      into.append(buffer.data(), static_cast<std::size_t>(count));
      return static_cast<std::size_t>(count);
    }
    if (errno == EAGAIN) {
      if (!wait_for(descriptor_, POLLIN, deadline)) return too_late();
    } else if (errno != EINTR) {
      return broken(errno);
    }
  }
}

const std::string* Answer::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {

using Parser = beast_http::response_parser<beast_http::string_body>;

Error cut_off() {
  return {.code = ErrorCode::kUnknownResult,
          .message = "the daemon's answer broke off; look whether it was done before trying again"};
}

Answer take_answer(Parser& parser) {
  Answer out;
  auto& message = parser.get();
  out.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    std::string name(field.name_string().data(), field.name_string().size());
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    out.headers.emplace_back(std::move(name),
                             std::string(field.value().data(), field.value().size()));
  }
  out.body = std::move(message.body());
  out.keep_alive = message.keep_alive();
  return out;
}

/// Feeds what is there. Error: not HTTP.
Status feed(Parser& parser, std::string& input, BodyMode mode) {
  std::size_t used = 0;
  while (used < input.size() && !parser.is_done()) {
    if (mode == BodyMode::kStream && parser.is_header_done()) break;
    boost::system::error_code ec;
    const boost::asio::const_buffer rest(input.data() + used, input.size() - used);
    const std::size_t now = parser.put(rest, ec);
    used += now;
    if (ec == beast_http::error::need_more) break;
    if (ec) {
      return Error{.code = ErrorCode::kUnsupported,
                   .message = fmt::format("what answers there does not speak HTTP ({}); it is no "
                                          "Rota daemon",
                                          ec.message())};
    }
    if (now == 0) break;
  }
  input.erase(0, used);
  return {};
}

bool complete(const Parser& parser, BodyMode mode) {
  return parser.is_done() || (mode == BodyMode::kStream && parser.is_header_done());
}

}  // namespace

Result<Answer> read_answer(Wire& wire, std::string& rest, BodyMode mode, Deadline deadline) {
  Parser parser;
  parser.eager(mode == BodyMode::kWhole);
  parser.body_limit(kAnswerBytesMax);
  bool begun = !rest.empty();
  while (true) {
    if (const Status fed = feed(parser, rest, mode); !fed) return fed.error();
    if (complete(parser, mode)) return take_answer(parser);
    const Result<std::size_t> count = wire.receive(rest, deadline);
    if (!count && begun && count.error().code == ErrorCode::kUnavailable) return cut_off();
    if (!count) return count.error();
    if (*count == 0) {
      if (!begun) return broken(ECONNRESET);
      boost::system::error_code ec;
      parser.put_eof(ec);
      if (!ec && parser.is_done()) return take_answer(parser);
      return cut_off();
    }
    begun = true;
  }
}

}  // namespace rota::http
