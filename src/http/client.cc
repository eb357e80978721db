#include "http/client.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "api/json.h"
#include "base/text.h"
#include "http/base64.h"
#include "http/client_calls.h"
#include "http/sse_parser.h"
#include "http/token.h"
#include "http/url.h"

namespace rota::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryPause{200};
constexpr std::chrono::milliseconds kIdleStep{1000};
constexpr std::int64_t kWaitSeconds = 10;
constexpr std::int64_t kPageJobs = 1000;

std::string job_target(std::string_view id, std::string_view tail = {}) {
  return fmt::format("/api/v1/jobs/{}{}", encode_percent(id), tail);
}

/// The connection broke or nobody answered: worth asking again.
bool is_lost(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknownResult ||
         error.code == ErrorCode::kTimeout;
}

/// How long a daemon that was there is waited for. Each success begins anew.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds time) : time_(time) { renew(); }
  void renew() { end_ = Clock::now() + time_; }
  /// Sleeps a little; false: the patience is over.
  [[nodiscard]] bool wait() const {
    if (Clock::now() >= end_) return false;
    std::this_thread::sleep_for(kRetryPause);
    return true;
  }

 private:
  std::chrono::milliseconds time_;
  Clock::time_point end_;
};

}  // namespace

class Client::Impl {
 public:
  Impl(Endpoint endpoint, ClientOptions options) : calls(std::move(endpoint), options) {}

  template <class T>
  Result<T> decode(const Result<Answer>& answer) {
    if (!answer) return answer.error();
    Result<T> value = api::from_text<T>(answer->body);
    if (value) return value;
    return Error{.code = ErrorCode::kUnsupported,
                 .message = fmt::format("the daemon at {} (version {}) answered what this program "
                                        "does not know: {}; use the `rota` that belongs to it",
                                        calls.where(), calls.daemon_version(),
                                        value.error().message)};
  }

  template <class T>
  Result<T> get(std::string target) {
    return decode<T>(calls.exchange({.method = Method::kGet, .target = std::move(target)}));
  }

  template <class T>
  Result<T> change(Method method, std::string target, std::string body = {}) {
    return decode<T>(calls.exchange({.method = method,
                                     .target = std::move(target),
                                     .body = std::move(body),
                                     .effect = Effect::kChanges}));
  }

  Result<std::string> text(std::string target) {
    Result<Answer> answer = calls.exchange({.method = Method::kGet, .target = std::move(target)});
    if (!answer) return answer.error();
    return std::move(answer->body);
  }

  ClientCalls calls;
};

Client::Client(Endpoint endpoint, ClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

const std::string& Client::daemon_version() const { return impl_->calls.daemon_version(); }
std::string Client::where() const { return impl_->calls.where(); }

Result<api::SubmitReply> Client::submit(api::SubmitRequest request) {
  if (request.idempotency_key.empty()) {
    Result<std::string> key = make_token();
    if (!key) return key.error();
    request.idempotency_key = std::move(*key);
  }
  const Ask ask{.method = Method::kPost,
                .target = "/api/v1/jobs",
                .body = api::to_text(request),
                .effect = Effect::kKeyed};
  Result<Answer> answer = impl_->calls.exchange(ask);
  if (answer || answer.error().code != ErrorCode::kUnknownResult) {
    return impl_->decode<api::SubmitReply>(answer);
  }
  // It was sent and the answer is lost: with the same key asking again is safe.
  const Patience patience(impl_->calls.options().retry_time);
  while (!answer && is_lost(answer.error()) && patience.wait()) {
    answer = impl_->calls.exchange(ask);
  }
  if (!answer && is_lost(answer.error())) {
    return Error{.code = ErrorCode::kUnknownResult,
                 .message = fmt::format("the daemon at {} went away during the submit; the job may "
                                        "be queued: look with `rota ls` before submitting again",
                                        where())};
  }
  return impl_->decode<api::SubmitReply>(answer);
}

Result<api::Preview> Client::preview(const api::SubmitRequest& request) {
  // Nothing is changed, so it may be repeated like a question.
  return impl_->decode<api::Preview>(impl_->calls.exchange({.method = Method::kPost,
                                                            .target = "/api/v1/jobs:preview",
                                                            .body = api::to_text(request)}));
}

Result<api::JobPage> Client::jobs(const server::JobQuery& query) {
  TargetBuilder target("/api/v1/jobs");
  target.add("user", query.user).add("queue", query.queue).add("array", query.array);
  for (const std::string& state : query.states) target.add("state", state);
  target.add("all", query.all ? "true" : "").add("ended_after", query.ended_after);
  target.add("order", query.newest_first ? "newest" : "");
  target.add("cursor", query.cursor).add("limit", std::to_string(query.limit));
  return impl_->get<api::JobPage>(target.text());
}

Result<std::vector<api::Job>> Client::all_jobs(server::JobQuery query) {
  query.limit = kPageJobs;
  std::vector<api::Job> out;
  while (true) {
    Result<api::JobPage> page = jobs(query);
    if (!page) return page.error();
    for (api::Job& job : page->jobs) out.push_back(std::move(job));
    if (page->next_cursor.empty() || page->next_cursor == query.cursor) return out;
    query.cursor = std::move(page->next_cursor);
  }
}

Result<api::Job> Client::job(std::string_view id) { return impl_->get<api::Job>(job_target(id)); }

Result<api::Verdict> Client::why(std::string_view id) {
  return impl_->get<api::Verdict>(job_target(id, "/why"));
}

Result<api::SubmitRequest> Client::request(std::string_view id) {
  return impl_->get<api::SubmitRequest>(job_target(id, "/request"));
}

Result<api::JobPage> Client::command(std::string_view id, std::string_view verb) {
  return impl_->change<api::JobPage>(Method::kPost, job_target(id, fmt::format(":{}", verb)));
}

Result<api::Job> Client::signal(std::string_view id, int signal_number) {
  return impl_->change<api::Job>(Method::kPost, job_target(id, ":signal"),
                                 api::to_text(api::SignalRequest{.signal = signal_number}));
}

Result<api::Job> Client::update(std::string_view id, const api::UpdateRequest& changes) {
  return impl_->change<api::Job>(Method::kPatch, job_target(id), api::to_text(changes));
}

Result<api::LogChunk> Client::log(std::string_view id, const server::LogQuery& query,
                                  std::chrono::milliseconds wait) {
  TargetBuilder target(job_target(id, "/log"));
  target.add("rank", std::to_string(query.rank));
  target.add("stream", query.error_stream ? "stderr" : "stdout");
  target.add("attempt", std::to_string(query.attempt));
  target.add("offset", std::to_string(query.offset)).add("limit", std::to_string(query.limit));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  if (seconds > 0) target.add("wait", std::to_string(std::min<std::int64_t>(seconds, 30)));
  Result<api::LogChunk> chunk = impl_->get<api::LogChunk>(target.text());
  if (!chunk) return chunk;
  Result<std::string> bytes = decode_base64(chunk->data);
  if (!bytes) return bytes.error();
  chunk->data = std::move(*bytes);
  return chunk;
}

Result<api::LogChunk> Client::follow_log(std::string_view id, FollowLog follow,
                                         const std::function<Follow(std::string_view)>& sink,
                                         const std::function<Follow()>& idle) {
  Patience patience(impl_->calls.options().retry_time);
  bool contact = !daemon_version().empty();
  bool lost = false;
  const std::chrono::seconds wait(!follow.until_final ? 0 : idle ? 1 : kWaitSeconds);
  while (true) {
    Result<api::LogChunk> chunk = log(id, follow.from, wait);
    if (!chunk) {
      // The call that broke may have waited for output for longer than the patience lasts.
      if (!std::exchange(lost, true)) patience.renew();
      if (!contact || !is_lost(chunk.error()) || !patience.wait()) return chunk;
      if (idle && idle() == Follow::kStop) return chunk;
      continue;
    }
    contact = true;
    lost = false;
    const std::string data = std::exchange(chunk->data, {});
    follow.from.offset = chunk->offset + static_cast<std::int64_t>(data.size());
    const bool stop = (!data.empty() && sink(data) == Follow::kStop) ||
                      (idle && idle() == Follow::kStop);
    const bool at_end = data.empty() && !follow.until_final;
    if (stop || chunk->final || at_end) return chunk;
  }
}

Result<std::vector<api::Node>> Client::nodes() {
  Result<api::NodeList> list = impl_->get<api::NodeList>("/api/v1/nodes");
  if (!list) return list.error();
  return std::move(list->nodes);
}

Result<std::vector<api::Device>> Client::devices() {
  Result<api::DeviceList> list = impl_->get<api::DeviceList>("/api/v1/devices");
  if (!list) return list.error();
  return std::move(list->devices);
}

Result<api::Node> Client::node_command(std::string_view node, std::string_view verb,
                                       std::string_view reason) {
  return impl_->change<api::Node>(
      Method::kPost, fmt::format("/api/v1/nodes/{}:{}", encode_percent(node), verb),
      api::to_text(api::NodeCommandRequest{.reason = std::string(reason)}));
}

Result<std::vector<api::Queue>> Client::queues() {
  Result<api::QueueList> list = impl_->get<api::QueueList>("/api/v1/queues");
  if (!list) return list.error();
  return std::move(list->queues);
}

Result<api::Queue> Client::queue_set(const api::QueueRequest& request) {
  return impl_->change<api::Queue>(
      Method::kPut, fmt::format("/api/v1/queues/{}", encode_percent(request.name)),
      api::to_text(request));
}

Result<api::EventPage> Client::events(const server::EventQuery& query) {
  TargetBuilder target("/api/v1/events");
  target.add("after", std::to_string(query.after_seq)).add("job", query.job);
  target.add("limit", std::to_string(query.limit));
  return impl_->get<api::EventPage>(target.text());
}

Result<api::Server> Client::server_info() { return impl_->get<api::Server>("/api/v1/server"); }
Result<std::string> Client::metrics() { return impl_->text("/metrics"); }
Result<std::string> Client::openapi() { return impl_->text("/openapi.json"); }

namespace {

/// One connection of an event stream, read until it breaks or the sink has enough.
class StreamReader {
 public:
  StreamReader(Wire& wire, std::string rest, std::string& position)
      : wire_(wire), piece_(std::move(rest)), position_(position) {}

  /// kStop: enough. kGoOn: the connection is lost.
  Result<Follow> run(std::chrono::milliseconds silence_max,
                     const std::function<Follow(const api::Event&)>& sink,
                     const std::function<Follow()>& idle) {
    Clock::time_point silence_end = Clock::now() + silence_max;
    while (true) {
      Result<Follow> passed = pass(sink);
      if (!passed || *passed == Follow::kStop) return passed;
      piece_.clear();
      const auto step = idle ? std::min(Clock::now() + kIdleStep, silence_end) : silence_end;
      const Result<std::size_t> count = wire_.receive(piece_, step);
      if (count && *count == 0) return Follow::kGoOn;
      if (count) {
        silence_end = Clock::now() + silence_max;
        continue;
      }
      if (count.error().code != ErrorCode::kTimeout) return Follow::kGoOn;
      if (Clock::now() >= silence_end) return Follow::kGoOn;
      if (idle && idle() == Follow::kStop) return Follow::kStop;
    }
  }

 private:
  Result<Follow> pass(const std::function<Follow(const api::Event&)>& sink) {
    for (const SseMessage& message : parser_.feed(piece_)) {
      if (message.id) position_ = *message.id;
      if (message.data.empty()) continue;
      const Result<api::Event> event = api::from_text<api::Event>(message.data);
      if (!event) return event.error();
      if (sink(*event) == Follow::kStop) return Follow::kStop;
    }
    return Follow::kGoOn;
  }

  Wire& wire_;
  std::string piece_;
  std::string& position_;
  SseParser parser_;
};

}  // namespace

Status Client::follow_events(FollowEvents follow,
                             const std::function<Follow(const api::Event&)>& sink,
                             const std::function<Follow()>& idle) {
  const Ask ask{.method = Method::kGet,
                .target = TargetBuilder("/api/v1/events").add("job", follow.job).text()};
  std::string position = follow.after_seq ? std::to_string(*follow.after_seq) : "";
  Patience patience(impl_->calls.options().retry_time);
  bool contact = false;
  while (true) {
    std::string rest;
    Result<Wire> wire = impl_->calls.open_stream(ask, position, rest);
    if (!wire) {
      if (!contact || !is_lost(wire.error()) || !patience.wait()) return wire.error();
      if (idle && idle() == Follow::kStop) return {};
      continue;
    }
    contact = true;
    StreamReader reader(*wire, std::move(rest), position);
    const Result<Follow> end = reader.run(impl_->calls.options().stream_time, sink, idle);
    if (!end) return end.error();
    if (*end == Follow::kStop) return {};
    std::this_thread::sleep_for(kRetryPause);
    patience.renew();
  }
}

}  // namespace rota::http
