#include "http/guard.h"

#include <gtest/gtest.h>

namespace rota::http {
namespace {

constexpr const char* kSecret = "5ec4e7";

class GuardTest : public ::testing::Test {
 protected:
  /// 0: admitted, else the status.
  int admit(const Door& door, const Request& head) {
    auto result = guard_.admit(door, head, {});
    if (const auto* refused = std::get_if<Response>(&result)) return refused->status;
    caller_ = std::get<server::Caller>(result);
    return 0;
  }

  static Request get(std::string target, std::vector<std::pair<std::string, std::string>> headers) {
    Request out;
    out.target = std::move(target);
    out.headers = std::move(headers);
    return out;
  }
  static Request authorized(std::vector<std::pair<std::string, std::string>> headers) {
    headers.emplace_back("authorization", std::string("Bearer ") + kSecret);
    return get("/api/v1/jobs", std::move(headers));
  }

  Sessions sessions_;
  Guard guard_{{.token = kSecret,
                .token_owner = {.user = "owner", .uid = 1000, .admin = true},
                .allowed_hosts = {"gpu.example.org", "proxy:8443"}},
               sessions_};
  Door tcp_{.kind = DoorKind::kLoopback, .port = 7682};
  Door unix_{.kind = DoorKind::kUnix, .peer = {.user = "alice", .uid = 1001}};
  server::Caller caller_;
};

TEST_F(GuardTest, TokenHolderActsAsItsOwner) {
  EXPECT_EQ(admit(tcp_, authorized({{"host", "127.0.0.1:7682"}})), 0);
  EXPECT_EQ(caller_.user, "owner");
  EXPECT_TRUE(caller_.admin);
}

TEST_F(GuardTest, WithoutTheTokenNothingButHealthAndLogin) {
  const std::pair<std::string, std::string> host{"host", "localhost:7682"};
  EXPECT_EQ(admit(tcp_, get("/api/v1/jobs", {host})), 401);
  EXPECT_EQ(admit(tcp_, get("/metrics", {host})), 401);
  EXPECT_EQ(admit(tcp_, get("/openapi.json", {host})), 401);
  EXPECT_EQ(admit(tcp_, get("/nothing", {host})), 401);
  EXPECT_EQ(admit(tcp_, get("/healthz/../api/v1/jobs", {host})), 401);
  EXPECT_EQ(admit(tcp_, get("/healthz", {host})), 0);
  EXPECT_FALSE(caller_.admin);
  EXPECT_EQ(admit(tcp_, get("/api/v1/session", {host})), 0);
  EXPECT_FALSE(caller_.admin);
}

TEST_F(GuardTest, BadCredentialsAreRefused) {
  for (const auto* value : {"Bearer wrong1", "Bearer", "Bearer ", "Basic 5ec4e7", "5ec4e7",
                            "Bearer 5ec4e7x", "Bearer 5ec4e"}) {
    EXPECT_EQ(admit(tcp_, get("/api/v1/jobs", {{"host", "localhost:7682"},
                                               {"authorization", value}})),
              401)
        << value;
  }
  EXPECT_EQ(admit(tcp_, get("/api/v1/jobs?access_token=5ec4e7", {{"host", "localhost:7682"}})),
            401);
}

TEST_F(GuardTest, HostMustNameThisDoor) {
  for (const auto* host : {"127.0.0.1:7682", "localhost:7682", "LOCALHOST:7682", "[::1]:7682",
                           "gpu.example.org", "gpu.example.org:99", "proxy:8443"}) {
    EXPECT_EQ(admit(tcp_, authorized({{"host", host}})), 0) << host;
  }
  for (const auto* host : {"", "127.0.0.1", "127.0.0.1:80", "evil.example:7682", "proxy:1",
                           "localhost.evil.example:7682", "127.0.0.1:7682.evil.example",
                           "[::1]:7682:7682", "user@127.0.0.1:7682"}) {
    EXPECT_EQ(admit(tcp_, authorized({{"host", host}})), 403) << host;
  }
  EXPECT_EQ(admit(tcp_, authorized({})), 403);
}

TEST_F(GuardTest, OriginMustNameThisDoor) {
  const std::pair<std::string, std::string> host{"host", "127.0.0.1:7682"};
  EXPECT_EQ(admit(tcp_, authorized({host, {"origin", "http://127.0.0.1:7682"}})), 0);
  EXPECT_EQ(admit(tcp_, authorized({host, {"origin", "http://localhost:7682"}})), 0);
  for (const auto* origin : {"null", "", "http://evil.example", "https://127.0.0.1:7682",
                             "http://127.0.0.1:9999", "http://127.0.0.1"}) {
    EXPECT_EQ(admit(tcp_, authorized({host, {"origin", origin}})), 403) << origin;
  }
}

TEST_F(GuardTest, CookieReadsButDoesNotChange) {
  const std::string cookie = "rota_session=" + *sessions_.open({});
  Request request = get("/api/v1/events", {{"host", "localhost:7682"}, {"cookie", cookie}});
  EXPECT_EQ(admit(tcp_, request), 0);
  EXPECT_TRUE(caller_.admin);
  for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    request.method = method;
    EXPECT_EQ(admit(tcp_, request), 401);
  }
  EXPECT_EQ(admit(tcp_, get("/api/v1/jobs", {{"host", "localhost:7682"},
                                             {"cookie", "rota_session=5ec4e7"}})),
            401);
}

TEST_F(GuardTest, UnixCallerIsThePeer) {
  EXPECT_EQ(admit(unix_, get("/api/v1/jobs", {{"host", "localhost"}})), 0);
  EXPECT_EQ(caller_.user, "alice");
  EXPECT_EQ(admit(unix_, get("/api/v1/jobs", {{"host", "rota"}})), 0);
  EXPECT_EQ(admit(unix_, get("/api/v1/jobs", {{"host", "localhost:8080"}})), 0);
}

TEST_F(GuardTest, UnixDoorTakesNoBrowsers) {
  EXPECT_EQ(admit(unix_, get("/", {{"host", "localhost"}, {"origin", "http://localhost"}})), 403);
  EXPECT_EQ(admit(unix_, get("/", {{"host", "localhost"}, {"sec-fetch-site", "none"}})), 403);
  EXPECT_EQ(admit(unix_, get("/", {{"host", "evil.example"}})), 403);
}

TEST(GuardWithoutToken, AdmitsNobody) {
  Sessions sessions;
  const Guard guard({}, sessions);
  EXPECT_FALSE(guard.is_token(""));
  Request request;
  request.target = "/api/v1/jobs";
  request.headers = {{"host", "localhost:1"}, {"authorization", "Bearer "}};
  const Door door{.kind = DoorKind::kLoopback, .port = 1};
  EXPECT_TRUE(std::holds_alternative<Response>(guard.admit(door, request, {})));
}

}  // namespace
}  // namespace rota::http
