#include "http/routes_cluster.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/accept.h"
#include "http/event_stream.h"

namespace rota::http {
namespace {

constexpr std::int64_t kSeqMax = std::int64_t{1} << 53U;

Result<std::optional<std::int64_t>> read_position(const Call& call) {
  const std::string* header = call.request().header("last-event-id");
  if (call.query().has("after")) {
    const auto after = call.query().integer("after", 0, {0, kSeqMax});
    if (!after) return after.error();
    // A browser that connects again sends the header, which is newer than the address.
    if (header == nullptr) return std::optional<std::int64_t>(*after);
  }
  if (header == nullptr || header->empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> seq = parse_int(*header);
  if (!seq || *seq < 0 || *seq > kSeqMax) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("Last-Event-ID '{}' must be the seq of an event", *header),
                 .where = "Last-Event-ID"};
  }
  return std::optional<std::int64_t>(*seq);
}

void open_stream(const std::shared_ptr<Call>& call, EventStreamOptions options) {
  Context& context = call->context();
  Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("X-Accel-Buffering", "no");
  response.stream = EventStream::open(context.service, context.loop, call->caller(),
                                      std::move(options));
  call->answer(std::move(response));
}

/// "@" means the caller's last job or array: the stream needs its number.
void open_job_stream(const std::shared_ptr<Call>& call, EventStreamOptions options) {
  if (!options.job.starts_with("@")) return open_stream(call, std::move(options));
  std::string asked = options.job;
  call->service().job(call->caller(), std::move(asked),
                      call->then<api::Job>([call, options](Call&, const api::Job& job) {
                        EventStreamOptions named = options;
                        named.job = job.array_id.empty() ? job.id : job.array_id;
                        open_stream(call, std::move(named));
                      }));
}

Response session_answer(int status, std::string_view value, std::int64_t seconds) {
  Response response;
  response.status = status;
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict",
                                Sessions::kCookie, value, seconds));
  return response;
}

}  // namespace

void list_nodes(const std::shared_ptr<Call>& call) {
  using Nodes = std::vector<api::Node>;
  call->service().nodes(call->caller(), call->then<Nodes>([](Call& done, Nodes nodes) {
    done.answer(json_response(200, api::NodeList{.nodes = std::move(nodes)}));
  }));
}

void list_devices(const std::shared_ptr<Call>& call) {
  using Devices = std::vector<api::Device>;
  call->service().devices(call->caller(), call->then<Devices>([](Call& done, Devices devices) {
    done.answer(json_response(200, api::DeviceList{.devices = std::move(devices)}));
  }));
}

void list_queues(const std::shared_ptr<Call>& call) {
  using Queues = std::vector<api::Queue>;
  call->service().queues(call->caller(), call->then<Queues>([](Call& done, Queues queues) {
    done.answer(json_response(200, api::QueueList{.queues = std::move(queues)}));
  }));
}

void command_node(const std::shared_ptr<Call>& call) {
  Result<api::NodeCommandRequest> request = call->body<api::NodeCommandRequest>();
  if (!request) return call->fail(request.error());
  call->service().node_command(call->caller(), call->argument(),
                               std::string(call->route().verb), std::move(request->reason),
                               call->then_json<api::Node>());
}

void set_queue(const std::shared_ptr<Call>& call) {
  Result<api::QueueRequest> request = call->body<api::QueueRequest>();
  if (!request) return call->fail(request.error());
  if (request->name.empty()) request->name = call->argument();
  if (request->name != call->argument()) {
    return call->fail({.code = ErrorCode::kInvalidArgument,
                       .message = fmt::format("the path names queue '{}', the body '{}'",
                                              call->argument(), request->name),
                       .where = "name"});
  }
  call->service().queue_set(call->caller(), std::move(*request), call->then_json<api::Queue>());
}

void read_events(const std::shared_ptr<Call>& call) {
  const auto position = read_position(*call);
  if (!position) return call->fail(position.error());
  if (prefers_stream(call->request())) {
    if (call->query().has("limit")) {
      return call->fail({.code = ErrorCode::kInvalidArgument,
                         .message = "limit is for pages; a stream has no end",
                         .where = "limit"});
    }
    return open_job_stream(call, {.after_seq = *position,
                                  .job = call->query().text("job"),
                                  .heartbeat = call->context().heartbeat});
  }
  server::EventQuery query;
  query.after_seq = position->value_or(0);
  query.job = call->query().text("job");
  const auto limit = call->query().integer("limit", query.limit, {1, 5000});
  if (!limit) return call->fail(limit.error());
  query.limit = *limit;
  call->service().events(call->caller(), std::move(query), call->then_json<api::EventPage>());
}

void show_server(const std::shared_ptr<Call>& call) {
  call->service().info(call->caller(), call->then_json<api::Server>());
}

void open_session(const std::shared_ptr<Call>& call) {
  const Result<api::SessionRequest> request = call->body<api::SessionRequest>();
  if (!request) return call->fail(request.error());
  if (!call->context().guard.is_token(request->token)) {
    return call->fail({.code = ErrorCode::kDenied,
                       .message = "this is not the daemon's token",
                       .where = "token"});
  }
  const auto now = std::chrono::steady_clock::now();
  const Result<std::string> value = call->context().sessions.open(now);
  if (!value) return call->fail(value.error());
  const std::chrono::seconds life = Sessions::kLifetime;
  call->answer(session_answer(call->route().status, *value, life.count()));
}

void close_session(const std::shared_ptr<Call>& call) {
  if (const std::string* cookie = call->request().header("cookie")) {
    call->context().sessions.close(cookie_value(*cookie, Sessions::kCookie));
  }
  call->answer(session_answer(call->route().status, "", 0));
}

void show_metrics(const std::shared_ptr<Call>& call) {
  call->service().metrics(call->then<std::string>([](Call& done, std::string text) {
    Response response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = std::move(text);
    done.answer(std::move(response));
  }));
}

void show_health(const std::shared_ptr<Call>& call) {
  call->service().info({}, call->then<api::Server>([](Call& done, const api::Server& server) {
    Response response;
    response.status = server.healthy ? 200 : 503;
    response.content_type = "text/plain; charset=utf-8";
    response.body = server.healthy ? "ok\n" : "unhealthy\n";
    done.answer(std::move(response));
  }));
}

void show_openapi(const std::shared_ptr<Call>& call) {
  Response response;
  response.body = openapi_document(call->context().version);
  call->answer(std::move(response));
}

}  // namespace rota::http
