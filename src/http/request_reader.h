// Reads HTTP/1.1 requests out of bytes, one after another, without a socket.
//
// Memory is bounded by the two limits, also for chunked bodies and endless chunk headers. Not
// thread-safe. Any bytes may be fed: malformed ones end in kFailed, never in a crash.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/message.h"

namespace rota::http {

struct ReaderLimits {
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
};

class RequestReader {
 public:
  enum class Step {
    kMore,    // more bytes are needed
    kHead,    // the header is complete: head() may be judged before the body is read; feed again
    kDone,    // the request is complete: take() it
    kFailed,  // problem() says why; the connection cannot be used any more
  };

  explicit RequestReader(ReaderLimits limits);
  ~RequestReader();

  /// Removes from `input` what it has used.
  Step feed(std::string& input);
  /// Header and target; valid from kHead on.
  [[nodiscard]] const Request& head() const;
  /// The client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const;
  /// A request has begun but is not complete.
  [[nodiscard]] bool in_request() const;
  [[nodiscard]] bool in_body() const;
  /// The complete request; the reader begins anew.
  Request take();
  [[nodiscard]] Response problem() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::http
