#include "http/request_reader.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace rota::http {
namespace {

using Step = RequestReader::Step;

/// Feeds until something other than the head is known.
Step feed_all(RequestReader& reader, std::string& input) {
  Step step = reader.feed(input);
  while (step == Step::kHead) step = reader.feed(input);
  return step;
}

int status_of_bytes(std::string input) {
  RequestReader reader({.header_bytes = 1024, .body_bytes = 100});
  const Step step = feed_all(reader, input);
  if (step == Step::kFailed) return reader.problem().status;
  return step == Step::kDone ? 200 : 0;
}

TEST(RequestReader, ReadsPipelinedRequestsOneByOne) {
  RequestReader reader({});
  std::string input =
      "GET /a?x=1 HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\n\r\n"
      "POST /b HTTP/1.1\r\nHOST: h\r\nContent-Length: 3\r\n\r\nabc"
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\nGET /d";
  ASSERT_EQ(feed_all(reader, input), Step::kDone);
  Request request = reader.take();
  EXPECT_EQ(request.method, Method::kGet);
  EXPECT_EQ(request.target, "/a?x=1");
  EXPECT_EQ(*request.header("x-y"), "z");
  EXPECT_TRUE(request.keep_alive);
  ASSERT_EQ(feed_all(reader, input), Step::kDone);
  EXPECT_EQ(reader.take().body, "abc");
  ASSERT_EQ(feed_all(reader, input), Step::kDone);
  EXPECT_EQ(reader.take().body, "abcde");
  EXPECT_EQ(feed_all(reader, input), Step::kMore);
  EXPECT_EQ(input, "GET /d");
  EXPECT_TRUE(reader.in_request());
}

TEST(RequestReader, ReadsTheSameHoweverTheBytesAreCut) {
  const std::string whole =
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    RequestReader reader({});
    std::string input = whole.substr(0, cut);
    ASSERT_EQ(feed_all(reader, input), Step::kMore) << cut;
    input += whole.substr(cut);
    ASSERT_EQ(feed_all(reader, input), Step::kDone) << cut;
    EXPECT_EQ(reader.take().body, "abcde");
    EXPECT_TRUE(input.empty());
  }
  RequestReader reader({});
  std::string input;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    input.push_back(whole[i]);
    ASSERT_EQ(feed_all(reader, input), Step::kMore) << i;
  }
  input.push_back(whole.back());
  EXPECT_EQ(feed_all(reader, input), Step::kDone);
}

TEST(RequestReader, ReportsTheHeadBeforeTheBody) {
  RequestReader reader({});
  std::string input =
      "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(reader.feed(input), Step::kHead);
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_EQ(reader.head().target, "/b");
  EXPECT_EQ(reader.feed(input), Step::kMore);
  EXPECT_TRUE(reader.in_body());
  input = "abc";
  EXPECT_EQ(reader.feed(input), Step::kDone);
}

TEST(RequestReader, KnowsWhoWantsToClose) {
  RequestReader reader({});
  std::string input = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(feed_all(reader, input), Step::kDone);
  EXPECT_FALSE(reader.take().keep_alive);
  input = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_EQ(feed_all(reader, input), Step::kDone);
  EXPECT_FALSE(reader.take().keep_alive);
}

TEST(RequestReader, RefusesMalformedRequests) {
  for (const auto* bytes :
       {"\x16\x03\x01\x02", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b\x01: c\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    EXPECT_EQ(status_of_bytes(bytes), 400) << bytes;
  }
}

TEST(RequestReader, LimitsHeaderAndBody) {
  EXPECT_EQ(status_of_bytes("GET /" + std::string(2000, 'a')), 431);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'a')), 431);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: "
                            "99999999999999999999999\r\n\r\n"),
            400);
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "ff\r\n" +
                            std::string(255, 'a')),
            413);
  // A chunk's header that never ends takes no memory.
  EXPECT_EQ(status_of_bytes("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                            std::string(5000, 'e')),
            400);
}

TEST(RequestReader, SurvivesRandomBytes) {
  Random random(3);
  const std::string seed =
      "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (int round = 0; round < 3000; ++round) {
    std::string input = seed + seed;
    for (std::uint64_t i = 0; i < 1 + random.below(4); ++i) {
      input[random.below(input.size())] = static_cast<char>(random.below(256));
    }
    RequestReader reader({.header_bytes = 200, .body_bytes = 50});
    for (int i = 0; i < 4; ++i) {
      const Step step = feed_all(reader, input);
      if (step != Step::kDone) break;
      reader.take();
    }
  }
}

}  // namespace
}  // namespace rota::http
