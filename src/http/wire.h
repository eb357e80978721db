// The client's connection: blocking, with deadlines, over a Unix socket or loopback TCP.
//
// One thread. A signal does not break a call. SIGPIPE is never raised.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/message.h"

namespace rota::http {

struct Endpoint;

using Deadline = std::chrono::steady_clock::time_point;

/// Where a TCP endpoint points: "http://127.0.0.1:7682" or "http://[::1]:7682".
struct HostAndPort {
  std::string host;  // as it goes into the Host header, with brackets
  std::uint16_t port = 80;
};
/// Error: kInvalidArgument; only plain http to this machine's loopback is accepted, since the token
/// travels as it is.
Result<HostAndPort> parse_loopback_url(const std::string& url);

class Wire {
 public:
  /// Errors: kUnavailable (nobody answers), kDenied (may not open it), kInvalidArgument.
  static Result<Wire> connect(const Endpoint& endpoint, Deadline deadline);
  ~Wire();
  Wire(Wire&& other) noexcept;
  Wire& operator=(Wire&& other) noexcept;

  /// Errors: kUnavailable (the other side closed), kTimeout.
  Status send(std::string_view bytes, Deadline deadline);
  /// Appends what has come; 0: the other side closed. Errors: kUnavailable, kTimeout.
  Result<std::size_t> receive(std::string& into, Deadline deadline);

 private:
  explicit Wire(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

/// An answer as read: headers in lower case; the body is empty for a stream.
struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool keep_alive = false;
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

enum class BodyMode { kWhole, kStream };
/// Reads one answer; in stream mode only its header, and `rest` keeps what came behind it. Errors:
/// kTimeout; kUnavailable when the connection ended before the first byte; kUnknownResult when it
/// ended within the answer; kUnsupported when this is no HTTP.
Result<Answer> read_answer(Wire& wire, std::string& rest, BodyMode mode, Deadline deadline);

}  // namespace rota::http
