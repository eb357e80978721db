// URLs, query parameters, base64, server-sent events, content negotiation and cookies.
#include <gtest/gtest.h>

#include "base/random.h"
#include "http/accept.h"
#include "http/base64.h"
#include "http/query.h"
#include "http/sessions.h"
#include "http/sse_parser.h"
#include "http/url.h"
#include "http/wire.h"

namespace rota::http {
namespace {

using namespace std::string_view_literals;

TEST(Url, ReadsPathAndQuery) {
  const auto target = parse_target("/api/v1/jobs/7.3:cancel?state=done%2Cfailed&q=a+b&flag&&x=");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->segments, (std::vector<std::string>{"api", "v1", "jobs", "7.3:cancel"}));
  const std::vector<std::pair<std::string, std::string>> query = {
      {"state", "done,failed"}, {"q", "a b"}, {"flag", ""}, {"x", ""}};
  EXPECT_EQ(target->query, query);
}

TEST(Url, RefusesWhatIsNotAPath) {
  for (const auto text : {"", "*", "api", "http://127.0.0.1/", "/a#b", "/?a=%", "/?a=%4", "/?a=%zz",
                          "/?a=%00", "/?a=%0a", "/?a=%ff", "/?a=%c0%af", "/?a=%ed%a0%80"}) {
    EXPECT_FALSE(parse_target(text).ok()) << text;
  }
}

TEST(Url, DecodesToUtf8Only) {
  EXPECT_EQ(*decode_percent("J%C3%BCrgen"), "Jürgen");
  EXPECT_EQ(*decode_percent("a+b"), "a+b");
  EXPECT_EQ(*decode_percent("%41"), "A");
  EXPECT_EQ(*decode_percent("%f0%9f%9a%80"), "\xf0\x9f\x9a\x80");
  EXPECT_FALSE(decode_percent("%f4%90%80%80").ok());
  EXPECT_FALSE(decode_percent("%e2%82").ok());
  EXPECT_FALSE(decode_percent("\x7f").ok());
}

TEST(Url, EncodingIsUndoneByDecoding) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::string text = "@~1.x ü/:?&=%+";
    for (int j = 0; j < 8; ++j) text.push_back(static_cast<char>(random.between(0x20, 0x7e)));
    EXPECT_EQ(*decode_percent(encode_percent(text)), text);
    EXPECT_EQ(encode_percent(text).find_first_of("/:?&=+ "), std::string::npos);
  }
  EXPECT_EQ(encode_percent("@~1.3"), "@~1.3");
}

TEST(Url, LoopbackEndpointsOnly) {
  EXPECT_EQ(parse_loopback_url("http://127.0.0.1:7682")->port, 7682);
  EXPECT_EQ(parse_loopback_url("http://[::1]:1/")->host, "[::1]");
  EXPECT_EQ(parse_loopback_url("http://localhost")->port, 80);
  for (const auto url : {"https://127.0.0.1:1", "http://127.0.0.100:1", "http://example.org:1",
                         "http://127.0.0.1:0", "http://127.0.0.1:65536", "http://127.0.0.1:x",
                         "http://localhost.example.org:1", "http://localhost/path", ""}) {
    EXPECT_FALSE(parse_loopback_url(url).ok()) << url;
  }
}

constexpr Parameter kKnown[] = {{"user", ParameterType::kText, ""},
                                {"state", ParameterType::kTextList, ""},
                                {"limit", ParameterType::kInteger, ""},
                                {"all", ParameterType::kFlag, ""}};

TEST(Query, ReadsTypes) {
  const auto query = Query::read(
      {{"state", "done,failed"}, {"state", "running"}, {"limit", "5"}, {"all", ""}}, kKnown);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->list("state"), (std::vector<std::string>{"done", "failed", "running"}));
  EXPECT_EQ(*query->integer("limit", 1, {1, 9}), 5);
  EXPECT_TRUE(*query->flag("all"));
  EXPECT_EQ(*query->integer("user", 3, {1, 9}), 3);
  EXPECT_FALSE(*Query::read({{"all", "0"}}, kKnown)->flag("all"));
}

TEST(Query, NamesTheNearestKnownParameter) {
  const auto typo = Query::read({{"stat", "x"}}, kKnown);
  ASSERT_FALSE(typo.ok());
  EXPECT_NE(typo.error().message.find("did you mean 'state'"), std::string::npos);
  EXPECT_EQ(typo.error().where, "stat");
  EXPECT_NE(Query::read({{"zzzzzz", ""}}, kKnown).error().message.find("known: user, state"),
            std::string::npos);
  EXPECT_NE(Query::read({{"a", ""}}, {}).error().message.find("takes none"), std::string::npos);
}

TEST(Query, RefusesBadValues) {
  EXPECT_FALSE(Query::read({{"limit", "1"}, {"limit", "2"}}, kKnown).ok());
  for (const auto bad : {"", "x", "0", "10", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(Query::read({{"limit", bad}}, kKnown)->integer("limit", 1, {1, 9}).ok()) << bad;
  }
  EXPECT_FALSE(Query::read({{"all", "yes"}}, kKnown)->flag("all").ok());
}

TEST(Base64, KnownAnswers) {
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(*decode_base64(text), bytes);
  }
}

TEST(Base64, RoundTripsAllBytesAndRefusesTheRest) {
  Random random(2);
  for (int length = 0; length < 70; ++length) {
    std::string bytes;
    for (int i = 0; i < length; ++i) bytes.push_back(static_cast<char>(random.below(256)));
    EXPECT_EQ(*decode_base64(encode_base64(bytes)), bytes);
  }
  for (const auto bad : {"Zg=", "Zg", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9-"}) {
    EXPECT_FALSE(decode_base64(bad).ok()) << bad;
  }
}

TEST(Sse, ReadsBlocksHoweverTheyAreCut) {
  const std::string text =
      "retry: 1000\n\nid: 4\n\n: still here\n\nid: 5\ndata: {\"a\":1}\n\r\ndata:x\rdata: y\r\n\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    SseParser parser;
    auto messages = parser.feed(text.substr(0, cut));
    for (auto& more : parser.feed(text.substr(cut))) messages.push_back(std::move(more));
    ASSERT_EQ(messages.size(), 3U) << cut;
    EXPECT_EQ(messages[0].id, "4");
    EXPECT_EQ(messages[0].data, "");
    EXPECT_EQ(messages[1].data, "{\"a\":1}");
    EXPECT_FALSE(messages[2].id.has_value());
    EXPECT_EQ(messages[2].data, "x\ny");
  }
}

TEST(Sse, DropsAnEndlessLineAndGoesOn) {
  SseParser parser;
  parser.feed("data: ");
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(parser.feed(std::string(64 * 1024, 'x')).empty());
  EXPECT_TRUE(parser.feed("\n\n").empty());
  const auto messages = parser.feed("id: 9\ndata: ok\n\n");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].data, "ok");
}

Request with(std::string_view name, std::string_view value) {
  Request request;
  request.headers.emplace_back(name, value);
  return request;
}

TEST(Accept, NegotiatesWhatTheApiOffers) {
  EXPECT_TRUE(acceptable(Request(), Media::kJson));
  EXPECT_TRUE(acceptable(with("accept", "*/*"), Media::kJson));
  EXPECT_TRUE(acceptable(with("accept", "text/html, application/*;q=0.2"), Media::kJson));
  EXPECT_FALSE(acceptable(with("accept", "text/html"), Media::kJson));
  EXPECT_FALSE(acceptable(with("accept", "*/*, application/json;q=0"), Media::kJson));
  EXPECT_TRUE(acceptable(with("accept", "application/openmetrics-text;version=1.0.0;q=0.75,"
                                        "text/plain;version=0.0.4;q=0.5"),
                         Media::kText));
  EXPECT_TRUE(acceptable(with("accept", "text/event-stream"), Media::kEvents));
  EXPECT_FALSE(acceptable(with("accept", "text/event-stream"), Media::kJson));
}

TEST(Accept, StreamsOnlyWhenAsked) {
  EXPECT_TRUE(prefers_stream(with("accept", "text/event-stream")));
  EXPECT_FALSE(prefers_stream(with("accept", "*/*")));
  EXPECT_FALSE(prefers_stream(with("accept", "application/json, text/event-stream;q=0.5")));
  EXPECT_FALSE(prefers_stream(Request()));
}

TEST(Accept, KnowsJsonBodies) {
  EXPECT_TRUE(is_json_body(with("content-type", "Application/JSON; charset=utf-8")));
  EXPECT_TRUE(is_json_body(with("content-type", "application/merge-patch+json")));
  EXPECT_FALSE(is_json_body(with("content-type", "text/plain")));
  EXPECT_FALSE(is_json_body(Request()));
}

TEST(Cookies, AreFoundByName) {
  EXPECT_EQ(cookie_value("a=1; rota_session=xyz ; b=2", "rota_session"), "xyz");
  EXPECT_EQ(cookie_value("xrota_session=xyz", "rota_session"), "");
  EXPECT_EQ(cookie_value("", "rota_session"), "");
}

TEST(Sessions, EndByTimeByCloseAndByNumber) {
  Sessions sessions;
  Sessions::Time now{};
  const std::string first = *sessions.open(now);
  EXPECT_TRUE(sessions.valid(first, now));
  EXPECT_FALSE(sessions.valid("", now));
  EXPECT_FALSE(sessions.valid(first, now + Sessions::kLifetime));
  sessions.close(first);
  EXPECT_FALSE(sessions.valid(first, now));
  const std::string second = *sessions.open(now);
  for (std::size_t i = 0; i < Sessions::kCountMax; ++i) {
    now += std::chrono::seconds(1);
    ASSERT_TRUE(sessions.open(now).ok());
  }
  EXPECT_FALSE(sessions.valid(second, now));
}

}  // namespace
}  // namespace rota::http
