// The untyped half of the client: sends one request, reads one answer, knows which may be repeated.
//
// One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/message.h"
#include "http/wire.h"

namespace rota::http {

/// What repeating a request can do.
enum class Effect {
  kReads,
  kKeyed,    // a change with an idempotency key
  kChanges,
};

struct Ask {
  Method method = Method::kGet;
  std::string target;
  std::string body = {};
  Effect effect = Effect::kReads;
};

/// "/api/v1/jobs?limit=5": adds `name=value` unless the value is empty.
class TargetBuilder {
 public:
  explicit TargetBuilder(std::string path) : text_(std::move(path)) {}
  TargetBuilder& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  char separator_ = '?';
};

class ClientCalls {
 public:
  ClientCalls(Endpoint endpoint, ClientOptions options)
      : endpoint_(std::move(endpoint)), options_(options) {}

  /// The answer of status below 400. Errors: see client.h.
  Result<Answer> exchange(const Ask& ask);

  /// A fresh connection whose answer is a stream, positioned after its header; `rest` gets what
  /// came behind it.
  Result<Wire> open_stream(const Ask& ask, std::string_view last_event_id, std::string& rest);

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] const std::string& daemon_version() const { return daemon_version_; }
  [[nodiscard]] std::string where() const;

 private:
  [[nodiscard]] std::string render(const Ask& ask, std::string_view more_headers) const;
  Result<Wire> connect() const;
  Result<Answer> once(Wire& wire, const Ask& ask);
  Result<Answer> judge(Answer answer);

  Endpoint endpoint_;
  ClientOptions options_;
  std::optional<Wire> wire_;  // idle, kept for the next call
  std::string daemon_version_;
};

}  // namespace rota::http
