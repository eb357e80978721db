#include "http/dispatcher.h"

#include <gtest/gtest.h>

#include "api/json.h"
#include "http/event_stream.h"
#include "http/fake_loop.h"
#include "http/fake_service.h"

namespace rota::http {
namespace {

class DispatcherTest : public ::testing::Test {
 protected:
  /// The answer; status 0 when none has come.
  Response ask(Request request) {
    Response out;
    out.status = 0;
    dispatcher_.handle({.user = "alice", .uid = 1001}, std::move(request),
                       [&, this](Response response) {
                         ++answers_;
                         out = std::move(response);
                       });
    loop_->run();
    return out;
  }
  Response ask(Method method, std::string target, std::string body = {}) {
    Request request;
    request.method = method;
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.emplace_back("content-type", "application/json");
    return ask(std::move(request));
  }
  Response get(std::string target) { return ask(Method::kGet, std::move(target)); }
  Response post(std::string target, std::string body = {}) {
    return ask(Method::kPost, std::move(target), std::move(body));
  }
  static api::Problem problem_of(const Response& response) {
    EXPECT_EQ(response.content_type, "application/problem+json");
    const auto read = api::from_text<api::Problem>(response.body);
    EXPECT_TRUE(read.ok()) << response.body;
    if (!read) return {};
    EXPECT_EQ(read->status, response.status);
    return *read;
  }
  static std::string header(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return {};
  }

  FakeService service_{FakeService::Mode::kInline};
  std::shared_ptr<FakeLoop> loop_ = std::make_shared<FakeLoop>();
  Sessions sessions_;
  Guard guard_{{.token = "5ec4e7", .token_owner = {}, .allowed_hosts = {}}, sessions_};
  Context context_{.service = service_,
                   .loop = loop_,
                   .guard = guard_,
                   .sessions = sessions_,
                   .version = "0.1.0"};
  Dispatcher dispatcher_{context_, {}};
  int answers_ = 0;
};

struct Case {
  Method method;
  const char* target;
  const char* body;
  int status;
  const char* seen;
};

TEST_F(DispatcherTest, EveryCallReachesTheService) {
  const Case cases[] = {
      {Method::kPost, "/api/v1/jobs", "{\"argv\":[\"true\"]}", 201, "submit"},
      {Method::kPost, "/api/v1/jobs:preview", "{}", 200, "preview"},
      {Method::kGet, "/api/v1/jobs?user=bob&state=done,failed&all", "", 200,
       "jobs user=bob states=2 all"},
      {Method::kGet, "/api/v1/jobs/7.3", "", 200, "job 7.3"},
      {Method::kGet, "/api/v1/jobs/@~1", "", 200, "job @~1"},
      {Method::kGet, "/api/v1/jobs/%40%7E1", "", 200, "job @~1"},
      {Method::kPatch, "/api/v1/jobs/7", "{\"name\":\"x\"}", 200, "update 7"},
      {Method::kGet, "/api/v1/jobs/7/why", "", 200, "why 7"},
      {Method::kGet, "/api/v1/jobs/7/request", "", 200, "request 7"},
      {Method::kGet, "/api/v1/jobs/7/log?rank=1&stream=stderr", "", 200, "log 7"},
      {Method::kPost, "/api/v1/jobs/7:cancel", "", 200, "cancel 7"},
      {Method::kPost, "/api/v1/jobs/@:hold", "", 200, "hold @"},
      {Method::kPost, "/api/v1/jobs/7:release", "", 200, "release 7"},
      {Method::kPost, "/api/v1/jobs/7:requeue", "", 200, "requeue 7"},
      {Method::kPost, "/api/v1/jobs/7:signal", "{\"signal\":10}", 200, "signal 7 10"},
      {Method::kGet, "/api/v1/nodes", "", 200, "nodes"},
      {Method::kPost, "/api/v1/nodes/gpu-01.x:drain", "{\"reason\":\"fan\"}", 200,
       "drain gpu-01.x: fan"},
      {Method::kPost, "/api/v1/nodes/n:undrain", "", 200, "undrain n: "},
      {Method::kPost, "/api/v1/nodes/n:quarantine", "", 200, "quarantine n: "},
      {Method::kPost, "/api/v1/nodes/n:recover", "", 200, "recover n: "},
      {Method::kGet, "/api/v1/devices", "", 200, "devices"},
      {Method::kGet, "/api/v1/queues", "", 200, "queues"},
      {Method::kPut, "/api/v1/queues/a%2Fb", "{\"weight\":2}", 200, "queue_set a/b"},
      {Method::kGet, "/api/v1/events?after=3", "", 200, "events after 3"},
      {Method::kGet, "/api/v1/server", "", 200, "info"},
      {Method::kGet, "/metrics", "", 200, "metrics"},
      {Method::kGet, "/healthz", "", 200, "info"},
  };
  for (const Case& call : cases) {
    service_.seen.clear();
    const Response response = ask(call.method, call.target, call.body);
    EXPECT_EQ(response.status, call.status) << call.target << response.body;
    EXPECT_EQ(service_.seen, (std::vector<std::string>{call.seen})) << call.target;
    EXPECT_EQ(loop_->timers(), 0U) << "the time limit must end with the answer";
  }
  EXPECT_EQ(service_.callers.front().user, "alice");
}

TEST_F(DispatcherTest, ListsAreObjects) {
  EXPECT_EQ(api::from_text<api::NodeList>(get("/api/v1/nodes").body)->nodes.size(), 1U);
  EXPECT_EQ(api::from_text<api::DeviceList>(get("/api/v1/devices").body)->devices.size(), 2U);
  EXPECT_EQ(api::from_text<api::QueueList>(get("/api/v1/queues").body)->queues.size(), 1U);
  const auto page = api::from_text<api::JobPage>(get("/api/v1/jobs?limit=5").body);
  EXPECT_EQ(page->jobs.size(), 5U);
  EXPECT_EQ(page->next_cursor, "6");
}

TEST_F(DispatcherTest, SubmitSaysWhereTheJobIsAndWhetherItIsNew) {
  Request request;
  request.method = Method::kPost;
  request.target = "/api/v1/jobs";
  request.headers = {{"content-type", "application/json"}, {"idempotency-key", "k1"}};
  request.body = "{\"argv\":[\"true\"]}";
  const Response first = ask(request);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(header(first, "Location"), "/api/v1/jobs/7");
  EXPECT_EQ(service_.submitted.front().idempotency_key, "k1");
  const Response second = ask(request);
  EXPECT_EQ(second.status, 200);
  EXPECT_TRUE(api::from_text<api::SubmitReply>(second.body)->repeated);
  request.body = "{\"idempotency_key\":\"k2\"}";
  EXPECT_EQ(problem_of(ask(request)).field, "idempotency_key");
  request.body = "{}";
  request.headers[1].second = std::string(300, 'k');
  EXPECT_EQ(ask(request).status, 400);
}

TEST_F(DispatcherTest, UnknownPathsAreNotFound) {
  for (const auto* target :
       {"/", "/api", "/api/v1", "/api/v1/", "/api/v1/jobs/", "/api/v1/jobs//why", "//api/v1/jobs",
        "/api/v1/jobs/7/", "/api/v1/jobs/7/../8", "/api/v1/jobs/7:cancel:hold", "/API/v1/jobs",
        "/api/v1/jobs/:cancel", "/api/v1/jobs:cancel", "/healthz/", "/api/v1/nodes/n"}) {
    const Response response = get(target);
    EXPECT_EQ(response.status, 404) << target;
    EXPECT_EQ(problem_of(response).code, "not_found");
  }
  EXPECT_TRUE(service_.seen.empty());
}

TEST_F(DispatcherTest, MalformedTargetsAreBadRequests) {
  for (const auto* target : {"", "*", "http://x/", "/api/v1/jobs/%", "/api/v1/jobs/%00",
                             "/api/v1/jobs/%FF", "/api/v1/jobs?user=%0d%0a"}) {
    EXPECT_EQ(problem_of(get(target)).code, "invalid_argument") << target;
  }
}

TEST_F(DispatcherTest, WrongMethodsSayWhatIsAllowed) {
  const Response jobs = ask(Method::kDelete, "/api/v1/jobs");
  EXPECT_EQ(jobs.status, 405);
  EXPECT_EQ(header(jobs, "Allow"), "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(header(ask(Method::kGet, "/api/v1/jobs/7:cancel"), "Allow"), "POST, OPTIONS");
  EXPECT_EQ(header(ask(Method::kOther, "/api/v1/jobs/7"), "Allow"), "GET, PATCH, HEAD, OPTIONS");
  const Response options = ask(Method::kOptions, "/api/v1/queues/a");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(header(options, "Allow"), "PUT, OPTIONS");
  EXPECT_EQ(ask(Method::kOptions, "*").status, 204);
  EXPECT_TRUE(service_.seen.empty());
}

TEST_F(DispatcherTest, HeadIsAnsweredLikeGet) {
  EXPECT_EQ(ask(Method::kHead, "/api/v1/jobs/7").status, 200);
  EXPECT_EQ(service_.seen.back(), "job 7");
}

TEST_F(DispatcherTest, MediaTypesAreChecked) {
  Request request;
  request.method = Method::kPost;
  request.target = "/api/v1/jobs";
  request.body = "{}";
  EXPECT_EQ(ask(request).status, 415);
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(ask(request).status, 415);
  request.headers = {{"content-type", "application/json"}, {"content-encoding", "gzip"}};
  EXPECT_EQ(ask(request).status, 415);
  request.headers = {{"content-type", "application/json"}, {"accept", "text/html"}};
  EXPECT_EQ(ask(request).status, 406);
  EXPECT_EQ(post("/api/v1/jobs/7:cancel", "{}").status, 400);
  EXPECT_TRUE(service_.seen.empty());
}

TEST_F(DispatcherTest, BodiesAndParametersAreStrict) {
  EXPECT_EQ(problem_of(post("/api/v1/jobs", "{")).status, 400);
  const api::Problem typo = problem_of(post("/api/v1/jobs", "{\"gpu\": 1}"));
  EXPECT_NE(typo.detail.find("gpus"), std::string::npos) << typo.detail;
  const api::Problem twice = problem_of(post("/api/v1/jobs", "{\"gpus\": 1, \"gpus\": 2}"));
  EXPECT_EQ(twice.status, 400);
  EXPECT_EQ(twice.field, "gpus");
  const api::Problem parameter = problem_of(get("/api/v1/jobs?qeue=a"));
  EXPECT_NE(parameter.detail.find("'queue'"), std::string::npos) << parameter.detail;
  EXPECT_EQ(parameter.field, "qeue");
  for (const auto* target :
       {"/api/v1/jobs?limit=0", "/api/v1/jobs?limit=5001", "/api/v1/jobs/7?x=1",
        "/api/v1/jobs/7/log?stream=out", "/api/v1/jobs/7/log?rank=-1",
        "/api/v1/jobs/7/log?limit=1048577", "/api/v1/jobs/7/log?wait=31",
        "/api/v1/events?after=-1", "/metrics?x", "/api/v1/jobs?all=yes"}) {
    EXPECT_EQ(get(target).status, 400) << target;
  }
  EXPECT_EQ(post("/api/v1/jobs/7:signal", "{\"signal\":65}").status, 400);
  EXPECT_EQ(post("/api/v1/jobs/7:signal").status, 400);
  EXPECT_EQ(ask(Method::kPut, "/api/v1/queues/a", "{\"name\":\"b\"}").status, 400);
  EXPECT_EQ(ask(Method::kPatch, "/api/v1/jobs/7", "[]").status, 400);
  EXPECT_TRUE(service_.seen.empty());
}

TEST_F(DispatcherTest, EveryErrorHasItsStatus) {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::kInvalidArgument, 400}, {ErrorCode::kNotFound, 404},
      {ErrorCode::kConflict, 409},        {ErrorCode::kUnsupported, 501},
      {ErrorCode::kRefused, 422},         {ErrorCode::kDenied, 403},
      {ErrorCode::kUnavailable, 503},     {ErrorCode::kTimeout, 504},
      {ErrorCode::kUnknownResult, 504},   {ErrorCode::kCorruption, 500}};
  for (const auto& [code, status] : expected) {
    service_.failure = Error{.code = code, .message = "why", .where = "field"};
    const Response response = get("/api/v1/jobs");
    EXPECT_EQ(response.status, status);
    const Error back = error_from(response.status, response.body);
    EXPECT_EQ(back.code, code);
    EXPECT_EQ(back.message, "why");
    EXPECT_EQ(back.where, "field");
  }
  EXPECT_EQ(error_from(401, "").code, ErrorCode::kDenied);
  EXPECT_EQ(error_from(418, "<html>").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_from(502, "").code, ErrorCode::kUnavailable);
}

TEST_F(DispatcherTest, ASilentServiceEndsInATimeLimit) {
  service_.mute = true;
  Response out;
  out.status = 0;
  const auto done = [&](Response response) { out = std::move(response); };
  const auto silent = [&](Method method, std::string target, std::chrono::milliseconds time) {
    Request request;
    request.method = method;
    request.target = std::move(target);
    out.status = 0;
    dispatcher_.handle({}, std::move(request), done);
    loop_->advance(time - std::chrono::milliseconds(1));
    EXPECT_EQ(out.status, 0);
    loop_->advance(std::chrono::milliseconds(1));
    return out.status;
  };
  EXPECT_EQ(silent(Method::kGet, "/api/v1/nodes", std::chrono::seconds(60)), 504);
  EXPECT_EQ(error_from(out.status, out.body).code, ErrorCode::kTimeout);
  EXPECT_EQ(silent(Method::kPost, "/api/v1/jobs/7:cancel", std::chrono::seconds(60)), 504);
  EXPECT_EQ(error_from(out.status, out.body).code, ErrorCode::kUnknownResult);
  EXPECT_EQ(silent(Method::kGet, "/healthz", std::chrono::seconds(2)), 503);
}

TEST_F(DispatcherTest, HealthFollowsTheDaemon) {
  EXPECT_EQ(get("/healthz").body, "ok\n");
  service_.healthy = false;
  EXPECT_EQ(get("/healthz").status, 503);
  service_.failure = Error{.code = ErrorCode::kUnavailable, .message = "stopping"};
  EXPECT_EQ(get("/healthz").status, 503);
}

TEST_F(DispatcherTest, LogWaitsForMore) {
  Response out;
  out.status = 0;
  Request request;
  request.target = "/api/v1/jobs/7/log?wait=5&offset=-10";
  dispatcher_.handle({}, request, [&](Response response) { out = std::move(response); });
  loop_->advance(std::chrono::milliseconds(500));
  EXPECT_EQ(out.status, 0);
  service_.log_text = "step 1\n";
  loop_->advance(std::chrono::milliseconds(250));
  ASSERT_EQ(out.status, 200);
  EXPECT_EQ(api::from_text<api::LogChunk>(out.body)->data, encode_base64("step 1\n"));
  EXPECT_EQ(loop_->timers(), 0U);
}

TEST_F(DispatcherTest, LogOfAFinalJobDoesNotWait) {
  service_.log_final = true;
  const Response response = get("/api/v1/jobs/7/log?wait=30");
  ASSERT_EQ(response.status, 200);
  EXPECT_TRUE(api::from_text<api::LogChunk>(response.body)->final);
}

TEST_F(DispatcherTest, SessionTradesTheTokenForACookie) {
  EXPECT_EQ(post("/api/v1/session", "{\"token\":\"wrong\"}").status, 403);
  EXPECT_EQ(post("/api/v1/session").status, 403);
  const Response response = post("/api/v1/session", "{\"token\":\"5ec4e7\"}");
  EXPECT_EQ(response.status, 204);
  const std::string cookie = header(response, "Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly; SameSite=Strict"), std::string::npos) << cookie;
  EXPECT_EQ(cookie.find("5ec4e7"), std::string::npos) << "the token itself must not leave";
  const std::string value(cookie_value(cookie, Sessions::kCookie));
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(sessions_.valid(value, now));
  Request leave;
  leave.method = Method::kDelete;
  leave.target = "/api/v1/session";
  leave.headers = {{"cookie", "rota_session=" + value}};
  EXPECT_EQ(ask(leave).status, 204);
  EXPECT_FALSE(sessions_.valid(value, now));
}

TEST_F(DispatcherTest, EventsAreAStreamWhenAsked) {
  service_.emit(3);
  Request request;
  request.target = "/api/v1/events";
  request.headers = {{"accept", "text/event-stream"}, {"last-event-id", "2"}};
  Response response = ask(request);
  ASSERT_NE(response.stream, nullptr);
  EXPECT_EQ(response.content_type, "text/event-stream");
  response.stream->start([] {});
  loop_->run();
  const std::string text = response.stream->take();
  EXPECT_NE(text.find("id: 3\n"), std::string::npos);
  EXPECT_EQ(text.find("id: 2\n"), std::string::npos);
  request.headers[1].second = "x";
  EXPECT_EQ(ask(request).status, 400);
  request.headers[1].second = "1";
  request.target = "/api/v1/events?limit=3";
  EXPECT_EQ(ask(request).status, 400);
  request.target = "/api/v1/events?job=@";
  EXPECT_NE(ask(request).stream, nullptr);
  EXPECT_EQ(service_.seen.back(), "job @");
}

TEST_F(DispatcherTest, ALateAnswerIsDropped) {
  // The client is gone, the loop as well; the service answers all the same.
  FakeService service(FakeService::Mode::kThread);
  {
    const auto loop = std::make_shared<FakeLoop>();
    Context context{.service = service,
                    .loop = loop,
                    .guard = guard_,
                    .sessions = sessions_,
                    .version = "0"};
    Dispatcher dispatcher(context, {});
    Request request;
    request.target = "/api/v1/server";
    service.mute = true;
    dispatcher.handle({}, request, [](const Response&) { FAIL() << "nobody is there"; });
    service.run_and_wait([] {});
  }
}

}  // namespace
}  // namespace rota::http
