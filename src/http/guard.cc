#include "http/guard.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "http/problem.h"
#include "http/token.h"

namespace rota::http {
namespace {

constexpr std::array<std::string_view, 3> kLoopbackNames = {"127.0.0.1", "localhost", "[::1]"};
// Calls that need no token: is it alive, and the trade of the token for a cookie.
constexpr std::array<std::string_view, 2> kOpenPaths = {"/healthz", "/api/v1/session"};

std::string lower_host(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct HostPort {
  std::string name;
  std::string port;
};

HostPort split_host(std::string_view text) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        (bracket == std::string_view::npos || colon > bracket);
  if (!has_port) return {lower_host(text), ""};
  return {lower_host(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

Response refuse(int status, std::string message) {
  Response response =
      problem(status, {.code = ErrorCode::kDenied, .message = std::move(message)});
  response.close = true;
  return response;
}

bool is_open(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  return std::find(kOpenPaths.begin(), kOpenPaths.end(), path) != kOpenPaths.end();
}

/// Case-insensitive scheme, then one space or more.
std::string_view bearer(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (lower_host(header.substr(0, kScheme.size())) != kScheme) return {};
  header.remove_prefix(kScheme.size());
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  return header;
}

}  // namespace

Guard::Guard(GuardOptions options, Sessions& sessions)
    : options_(std::move(options)), sessions_(sessions) {}

bool Guard::is_token(std::string_view value) const {
  return !options_.token.empty() && equal_secret(options_.token, value);
}

bool Guard::host_allowed(const Door& door, std::string_view host) const {
  const HostPort given = split_host(host);
  const bool ours = std::find(kLoopbackNames.begin(), kLoopbackNames.end(), given.name) !=
                    kLoopbackNames.end();
  if (door.kind == DoorKind::kUnix) return ours || given.name == "rota";
  if (ours && given.port == (door.port == 80 ? "" : std::to_string(door.port))) return true;
  return std::any_of(options_.allowed_hosts.begin(), options_.allowed_hosts.end(),
                     [&](const std::string& allowed) {
                       const HostPort known = split_host(allowed);
                       return known.name == given.name &&
                              (known.port.empty() || known.port == given.port);
                     });
}

bool Guard::has_access(const Request& head, Sessions::Time now) const {
  const std::string* authorization = head.header("authorization");
  if (authorization != nullptr) return is_token(bearer(*authorization));
  const bool reads = head.method == Method::kGet || head.method == Method::kHead;
  const std::string* cookie = head.header("cookie");
  if (cookie == nullptr || !reads) return false;
  return sessions_.valid(cookie_value(*cookie, Sessions::kCookie), now);
}

std::variant<server::Caller, Response> Guard::admit(const Door& door, const Request& head,
                                                    Sessions::Time now) const {
  const std::string* host = head.header("host");
  if (host == nullptr || !host_allowed(door, *host)) {
    return refuse(403, fmt::format("Host '{}' does not name this daemon; use {}",
                                   host == nullptr ? "" : *host,
                                   door.kind == DoorKind::kUnix
                                       ? std::string("http://localhost/")
                                       : fmt::format("http://127.0.0.1:{}/", door.port)));
  }
  const std::string* origin = head.header("origin");
  if (door.kind == DoorKind::kUnix) {
    if (origin != nullptr || head.header("sec-fetch-site") != nullptr) {
      return refuse(403, "the Unix socket takes no requests of browsers; use the loopback port "
                         "with its token (see `rota doctor`)");
    }
    return door.peer;
  }
  constexpr std::string_view kScheme = "http://";
  if (origin != nullptr && (!origin->starts_with(kScheme) ||
                            !host_allowed(door, std::string_view(*origin).substr(7)))) {
    return refuse(403, fmt::format("Origin '{}' is another site", *origin));
  }
  if (has_access(head, now)) return options_.token_owner;
  if (is_open(head.target)) return server::Caller{};
  Response response = refuse(401, "this call needs `Authorization: Bearer TOKEN`; the token lies "
                                  "in the daemon's state folder, readable by its owner only");
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"rota\"");
  return response;
}

}  // namespace rota::http
