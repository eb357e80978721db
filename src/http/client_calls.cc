#include "http/client_calls.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/problem.h"
#include "http/url.h"

namespace rota::http {
namespace {

Deadline from_now(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

Error unknown(const Error& cause) {
  return {.code = ErrorCode::kUnknownResult,
          .message = fmt::format("{}; it may or may not have been done: look before trying again",
                                 cause.message)};
}

}  // namespace

TargetBuilder& TargetBuilder::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += fmt::format("{}{}={}", separator_, name, encode_percent(value));
  separator_ = '&';
  return *this;
}

std::string ClientCalls::where() const {
  return endpoint_.socket_path.empty() ? endpoint_.url : endpoint_.socket_path;
}

std::string ClientCalls::render(const Ask& ask, std::string_view more_headers) const {
  std::string host = "localhost";
  if (endpoint_.socket_path.empty()) {
    const Result<HostAndPort> target = parse_loopback_url(endpoint_.url);
    if (target) host = fmt::format("{}:{}", target->host, target->port);
  }
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: rota\r\n{}",
                                method_name(ask.method), ask.target, host, more_headers);
  if (endpoint_.socket_path.empty() && !endpoint_.token.empty()) {
    out += fmt::format("Authorization: Bearer {}\r\n", endpoint_.token);
  }
  if (!ask.body.empty()) out += "Content-Type: application/json\r\n";
  if (ask.method != Method::kGet) out += fmt::format("Content-Length: {}\r\n", ask.body.size());
  return out + "\r\n" + ask.body;
}

Result<Wire> ClientCalls::connect() const {
  return Wire::connect(endpoint_, from_now(options_.connect_time));
}

Result<Answer> ClientCalls::once(Wire& wire, const Ask& ask) {
  const Deadline deadline = from_now(options_.answer_time);
  const Status sent = wire.send(render(ask, ""), deadline);
  // The daemon may have answered (413, 401) without reading all of it.
  if (!sent && sent.error().code != ErrorCode::kUnavailable) return sent.error();
  std::string rest;
  return read_answer(wire, rest, BodyMode::kWhole, deadline);
}

Result<Answer> ClientCalls::judge(Answer answer) {
  const std::string* version = answer.header("rota-api");
  if (version == nullptr) {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = fmt::format("what answers at {} is no Rota daemon; name another place "
                                        "with --socket or $ROTA_SOCKET",
                                        where())};
  }
  if (const std::string* server = answer.header("server")) {
    const std::size_t slash = server->find('/');
    if (slash != std::string::npos) daemon_version_ = server->substr(slash + 1);
  }
  if (*version != "v1") {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = fmt::format("the daemon at {} (version {}) speaks API {}, this program "
                                        "v1: use the `rota` that belongs to the daemon, or restart "
                                        "the daemon",
                                        where(), daemon_version_, *version)};
  }
  if (answer.status >= 400) return error_from(answer.status, answer.body);
  return answer;
}

Result<Answer> ClientCalls::exchange(const Ask& ask) {
  // A change without a key never goes over a kept connection: were it closed by the daemon just
  // now, nobody could tell whether the request arrived.
  if (ask.effect == Effect::kChanges) wire_.reset();
  bool lost = false;
  for (const bool kept : {true, false}) {
    if (kept && !wire_) continue;
    if (!kept) {
      Result<Wire> fresh = connect();
      if (!fresh && lost && ask.effect == Effect::kKeyed) return unknown(fresh.error());
      if (!fresh) return fresh.error();
      wire_.emplace(std::move(fresh).value());
    }
    Result<Answer> answer = once(*wire_, ask);
    if (answer) {
      if (!answer->keep_alive) wire_.reset();
      return judge(std::move(answer).value());
    }
    wire_.reset();
    lost = kept && answer.error().code == ErrorCode::kUnavailable;
    if (lost) continue;
    if (ask.effect == Effect::kReads || answer.error().code == ErrorCode::kUnsupported) {
      return answer;
    }
    return unknown(answer.error());
  }
  return Error{.code = ErrorCode::kUnavailable, .message = "no connection"};
}

Result<Wire> ClientCalls::open_stream(const Ask& ask, std::string_view last_event_id,
                                      std::string& rest) {
  Result<Wire> wire = connect();
  if (!wire) return wire;
  std::string headers = "Accept: text/event-stream\r\n";
  if (!last_event_id.empty()) headers += fmt::format("Last-Event-ID: {}\r\n", last_event_id);
  const Deadline deadline = from_now(options_.answer_time);
  if (const Status sent = wire->send(render(ask, headers), deadline); !sent) return sent.error();
  rest.clear();
  Result<Answer> answer = read_answer(*wire, rest, BodyMode::kStream, deadline);
  if (!answer) return answer.error();
  if (answer->status >= 400) {
    const std::string* length = answer->header("content-length");
    const Result<std::int64_t> size = parse_int(length == nullptr ? "0" : *length);
    while (size && static_cast<std::int64_t>(rest.size()) < *size) {
      const Result<std::size_t> count = wire->receive(rest, deadline);
      if (!count || *count == 0) break;
    }
    answer->body = rest;
  }
  const Result<Answer> judged = judge(std::move(answer).value());
  if (!judged) return judged.error();
  return wire;
}

}  // namespace rota::http
