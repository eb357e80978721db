#include "http/server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "api/json.h"
#include "http/fake_daemon.h"
#include "http/sse_parser.h"

namespace rota::http {
namespace {

using std::chrono::milliseconds;

std::string get(std::string_view target, std::string_view more = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, more);
}

class Server : public WithDaemon {
 protected:
  [[nodiscard]] std::string tcp_get(std::string_view target, std::string_view more = {}) const {
    return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n"
                       "{}\r\n",
                       target, server_->port(), kTestToken, more);
  }

  /// True when the other side closes within the time.
  static bool closes(Wire& wire, int milliseconds_max = 10'000) {
    std::string bytes;
    while (true) {
      const auto count = wire.receive(bytes, soon(milliseconds_max));
      if (!count) return count.error().code != ErrorCode::kTimeout;
      if (*count == 0) return true;
    }
  }

  /// Events of a stream until one with this seq.
  static std::vector<std::int64_t> read_until(Wire& wire, SseParser& parser, std::string rest,
                                              std::int64_t last) {
    std::vector<std::int64_t> seqs;
    while (true) {
      for (const SseMessage& message : parser.feed(rest)) {
        if (!message.data.empty()) seqs.push_back(std::stoll(message.id.value_or("0")));
      }
      if (!seqs.empty() && seqs.back() >= last) return seqs;
      rest.clear();
      const auto count = wire.receive(rest, soon());
      if (!count || *count == 0) return seqs;
    }
  }

  void expect_connections(std::size_t count) const {
    for (int i = 0; i < 3000 && server_->connections() != count; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(server_->connections(), count);
  }
};

TEST_F(Server, UnixCallerIsKnownByTheKernel) {
  start();
  EXPECT_EQ(status_of(unix_end(), get("/api/v1/nodes")), 200);
  service_.run_and_wait([&] {
    EXPECT_EQ(service_.callers.back().uid, static_cast<std::int64_t>(::getuid()));
    EXPECT_EQ(service_.callers.back().gid, static_cast<std::int64_t>(::getgid()));
    EXPECT_FALSE(service_.callers.back().user.empty());
    EXPECT_TRUE(service_.callers.back().admin);
  });
  struct stat info {};
  ASSERT_EQ(::stat(options_.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0666U) << "others may connect: their credentials decide";
}

TEST_F(Server, LoopbackNeedsTheToken) {
  start();
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", server_->port());
  EXPECT_EQ(status_of(tcp_end(), "GET /healthz HTTP/1.1\r\n" + host + "\r\n"), 200);
  const auto refused = exchange(tcp_end(), "GET /api/v1/nodes HTTP/1.1\r\n" + host + "\r\n");
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 401);
  EXPECT_NE(refused->header("www-authenticate"), nullptr);
  EXPECT_EQ(*refused->header("content-type"), "application/problem+json");
  EXPECT_EQ(status_of(tcp_end(), tcp_get("/api/v1/nodes")), 200);
  EXPECT_EQ(status_of(tcp_end(), tcp_get("/api/v1/nodes", "Origin: http://evil.example\r\n")),
            403);
  EXPECT_EQ(status_of(tcp_end(), "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
}

TEST_F(Server, LoopbackIsNowhereElse) {
  options_.ipv6 = false;
  start();
  EXPECT_EQ(server_->url(), fmt::format("http://127.0.0.1:{}", server_->port()));
  EXPECT_FALSE(
      Wire::connect({.url = fmt::format("http://[::1]:{}", server_->port())}, soon()).ok());
}

TEST_F(Server, PipelinedRequestsAreAnsweredInOrder) {
  start();
  Wire wire = connect(unix_end());
  std::string bytes;
  for (int i = 1; i <= 50; ++i) bytes += get(fmt::format("/api/v1/jobs/{}", i));
  ASSERT_TRUE(wire.send(bytes, soon()).ok());
  std::string rest;
  for (int i = 1; i <= 50; ++i) {
    const auto answer = read_answer(wire, rest, BodyMode::kWhole, soon());
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(api::from_text<api::Job>(answer->body)->id, std::to_string(i));
    EXPECT_TRUE(answer->keep_alive);
  }
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(Server, HeadHasNoBodyAndTheConnectionGoesOn) {
  start();
  Wire wire = connect(unix_end());
  ASSERT_TRUE(wire.send("HEAD /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n" +
                            get("/healthz", "Connection: close\r\n"),
                        soon())
                  .ok());
  std::string bytes;
  while (true) {
    const auto count = wire.receive(bytes, soon());
    ASSERT_TRUE(count.ok());
    if (*count == 0) break;
  }
  EXPECT_EQ(bytes.find("node1"), std::string::npos);
  EXPECT_NE(bytes.find("Content-Length: "), std::string::npos);
  EXPECT_TRUE(bytes.ends_with("\r\n\r\nok\n")) << bytes;
}

TEST_F(Server, HeadOfAStreamEnds) {
  start();
  Wire wire = connect(unix_end());
  ASSERT_TRUE(wire.send("HEAD /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                        "Accept: text/event-stream\r\n\r\n",
                        soon())
                  .ok());
  EXPECT_TRUE(closes(wire));
}

TEST_F(Server, TooLargeABodyGetsItsAnswer) {
  start();
  const std::string body(3 * 1024 * 1024, 'x');
  const std::string head =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(status_of(unix_end(),
                      head + fmt::format("Content-Length: {}\r\n\r\n", body.size()) + body),
            413);
  EXPECT_EQ(status_of(unix_end(), head + fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n",
                                                     body.size()) +
                                      body),
            413);
  const std::string fits = "{\"script\":\"" + std::string(1000 * 1024, 'x') + "\"}";
  EXPECT_EQ(status_of(unix_end(),
                      head + fmt::format("Content-Length: {}\r\n\r\n", fits.size()) + fits),
            201);
}

TEST_F(Server, ExpectContinueIsJudgedBeforeTheBody) {
  start();
  const std::string head = "POST /api/v1/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: "
                           "application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  Wire wire = connect(unix_end());
  ASSERT_TRUE(wire.send(fmt::format(fmt::runtime(head), "localhost"), soon()).ok());
  std::string bytes;
  ASSERT_TRUE(wire.receive(bytes, soon()).ok());
  EXPECT_EQ(bytes, "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(wire.send("{}", soon()).ok());
  std::string rest;
  EXPECT_EQ(read_answer(wire, rest, BodyMode::kWhole, soon())->status, 201);
  EXPECT_EQ(status_of(unix_end(), fmt::format(fmt::runtime(head), "evil.example")), 403);
}

TEST_F(Server, MalformedRequestsAreAnsweredAndClosed) {
  start();
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, int>>{
           {"\x16\x03\x01\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
           {"BREW /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
           {"GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431}}) {
    EXPECT_EQ(status_of(unix_end(), bytes), status) << bytes.substr(0, 40);
  }
  expect_connections(0);
}

TEST_F(Server, SlowHeadersAndIdleConnectionsAreCut) {
  options_.limits.header_time = milliseconds(200);
  options_.limits.idle_time = milliseconds(400);
  options_.limits.body_time = milliseconds(200);
  start();
  Wire idle = connect(unix_end());
  Wire slow = connect(unix_end());
  Wire body = connect(unix_end());
  ASSERT_TRUE(body.send("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Type: application/json\r\nContent-Length: 5\r\n\r\n{",
                        soon())
                  .ok());
  bool cut = false;
  for (int i = 0; i < 200 && !cut; ++i) {
    cut = !slow.send("G", soon()).ok();
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(cut) << "one byte at a time must not hold a connection";
  EXPECT_TRUE(closes(idle));
  EXPECT_TRUE(closes(body));
  expect_connections(0);
}

TEST_F(Server, ASlowAnswerIsNotCutByTheReadDeadlines) {
  options_.limits.header_time = milliseconds(50);
  options_.limits.idle_time = milliseconds(50);
  options_.limits.answer_time = milliseconds(400);
  service_.mute = true;
  start();
  EXPECT_EQ(status_of(unix_end(), get("/api/v1/nodes")), 504);
}

TEST_F(Server, TooManyConnectionsAreToldSo) {
  options_.limits.unix_connections = 2;
  options_.limits.tcp_connections = 1;
  start();
  Wire first = connect(unix_end());
  Wire second = connect(unix_end());
  Wire third = connect(tcp_end());
  expect_connections(3);
  for (const Endpoint& end : {unix_end(), tcp_end()}) {
    const auto answer = exchange(end, "");
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->status, 503);
  }
  { const Wire gone = std::move(first); }
  expect_connections(2);
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
}

/// The account of this test is root or the daemon's own, or else somebody.
TEST_F(Server, OnePersonCannotTakeAllSeats) {
  options_.admin_uid = -5;
  options_.limits.unix_connections = options_.limits.tcp_connections = 8;
  options_.limits.connections_per_user = 6;
  start();
  std::vector<Wire> held;
  for (int i = 0; i < 6; ++i) {
    held.push_back(connect(unix_end()));
    held.push_back(connect(tcp_end()));
  }
  expect_connections(12);
  // Not even a request was sent.
  for (const Endpoint& end : {unix_end(), tcp_end()}) EXPECT_EQ(status_of(end, ""), 503);
  held.erase(held.begin(), held.begin() + 4);
  expect_connections(8);
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
  EXPECT_EQ(status_of(tcp_end(), tcp_get("/healthz")), 200);
}

TEST_F(Server, EveryAccountHasSeatsOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  options_.limits.unix_connections = options_.limits.tcp_connections = 8;
  options_.limits.connections_per_user = 2;
  start();
  std::vector<Wire> held;
  held.reserve(6);
  for (int i = 0; i < 6; ++i) held.push_back(connect(tcp_end()));
  expect_connections(6);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(9);
    const Wire mine = connect(tcp_end());
    const Wire second = connect(tcp_end());
    ::_exit(status_of(tcp_end(), "") == 503 ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(WEXITSTATUS(state), 0) << "two seats for another account, and no third";
  expect_connections(6);
}

TEST_F(Server, ManyParallelConnections) {
  start();
  std::vector<std::thread> threads;
  threads.reserve(16);
  std::atomic<int> good = 0;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      Wire wire = connect(t % 2 == 0 ? unix_end() : tcp_end());
      std::string rest;
      for (int i = 0; i < 40; ++i) {
        const std::string target = fmt::format("/api/v1/jobs/{}", t * 1000 + i);
        ASSERT_TRUE(wire.send(t % 2 == 0 ? get(target) : tcp_get(target), soon()).ok());
        const auto answer = read_answer(wire, rest, BodyMode::kWhole, soon());
        ASSERT_TRUE(answer.ok());
        const auto job = api::from_text<api::Job>(answer->body);
        if (job && job->id == std::to_string(t * 1000 + i)) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 16 * 40);
  expect_connections(0);
}

TEST_F(Server, NoSocketReachesAProgramThatTheDaemonStarts) {
  start();
  Wire local = connect(unix_end());
  Wire tcp = connect(tcp_end());
  expect_connections(2);
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISSOCK(info.st_mode) || descriptor <= 2) continue;
    ++sockets;
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_GE(sockets, 6);
}

TEST_F(Server, ClientsThatLeaveAreForgotten) {
  start();
  for (int i = 0; i < 50; ++i) {
    Wire wire = connect(unix_end());
    ASSERT_TRUE(wire.send(get("/api/v1/jobs?limit=100"), soon()).ok());
  }
  expect_connections(0);
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
}

TEST_F(Server, StreamResumesAfterTheLastEventSeen) {
  options_.limits.heartbeat = milliseconds(100);
  start();
  service_.emit(5);
  Wire wire = connect(tcp_end());
  ASSERT_TRUE(wire.send(tcp_get("/api/v1/events",
                                "Accept: text/event-stream\r\nLast-Event-ID: 2\r\n"),
                        soon())
                  .ok());
  std::string rest;
  const auto answer = read_answer(wire, rest, BodyMode::kStream, soon());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(*answer->header("content-type"), "text/event-stream");
  SseParser parser;
  EXPECT_EQ(read_until(wire, parser, rest, 5), (std::vector<std::int64_t>{3, 4, 5}));
  service_.emit(2);
  EXPECT_EQ(read_until(wire, parser, "", 7), (std::vector<std::int64_t>{6, 7}));
  std::string beat;
  while (beat.find(": still here") == std::string::npos) {
    const auto count = wire.receive(beat, soon());
    ASSERT_TRUE(count.ok() && *count > 0);
  }
}

TEST_F(Server, ASlowReaderOfAStreamLosesNothingAndCostsNothing) {
  options_.limits.write_time = milliseconds(10'000);
  start();
  Wire wire = connect(unix_end());
  ASSERT_TRUE(wire.send(get("/api/v1/events?after=0", "Accept: text/event-stream\r\n"), soon())
                  .ok());
  std::string rest;
  ASSERT_TRUE(read_answer(wire, rest, BodyMode::kStream, soon()).ok());
  for (int i = 0; i < 10; ++i) service_.emit(500, "1", 1000);  // 5 MB, unread
  SseParser parser;
  const auto seqs = read_until(wire, parser, rest, 5000);
  ASSERT_EQ(seqs.size(), 5000U);
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    ASSERT_EQ(seqs[i], static_cast<std::int64_t>(i) + 1);
  }
}

TEST_F(Server, AReaderThatReadsNothingIsCut) {
  options_.limits.write_time = milliseconds(200);
  start();
  Wire wire = connect(unix_end());
  ASSERT_TRUE(wire.send(get("/api/v1/events?after=0", "Accept: text/event-stream\r\n"), soon())
                  .ok());
  for (int i = 0; i < 10; ++i) service_.emit(500, "1", 1000);
  expect_connections(0);
  service_.run_and_wait([] {});
  service_.run_and_wait([&] { EXPECT_TRUE(service_.subscribers.empty()); });
}

TEST_F(Server, AStreamWhoseReaderLeavesIsUnsubscribed) {
  start();
  {
    Wire wire = connect(unix_end());
    ASSERT_TRUE(wire.send(get("/api/v1/events?after=0", "Accept: text/event-stream\r\n"), soon())
                    .ok());
    std::string rest;
    ASSERT_TRUE(read_answer(wire, rest, BodyMode::kStream, soon()).ok());
  }
  expect_connections(0);
  service_.run_and_wait([] {});
  service_.run_and_wait([&] { EXPECT_TRUE(service_.subscribers.empty()); });
}

TEST_F(Server, StopsAtOnceWithCallsAndStreamsOpen) {
  start();
  Wire stream = connect(unix_end());
  ASSERT_TRUE(stream.send(get("/api/v1/events", "Accept: text/event-stream\r\n"), soon()).ok());
  std::string rest;
  ASSERT_TRUE(read_answer(stream, rest, BodyMode::kStream, soon()).ok());
  Wire waiting = connect(unix_end());
  ASSERT_TRUE(waiting.send(get("/api/v1/jobs/7/log?wait=30"), soon()).ok());
  service_.run_and_wait([] {});
  service_.mute = true;
  Wire silent = connect(unix_end());
  ASSERT_TRUE(silent.send(get("/api/v1/nodes"), soon()).ok());
  Wire half = connect(tcp_end());
  ASSERT_TRUE(half.send("GET / HT", soon()).ok());
  const auto begin = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(closes(stream));
  EXPECT_TRUE(closes(silent));
  EXPECT_FALSE(std::filesystem::exists(options_.socket_path));
  server_->stop();
}

TEST_F(Server, AnswersAfterTheStopAreDropped) {
  start();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Result<Wire> wire = Wire::connect(unix_end(), soon());
        if (!wire) return;
        const Status ignored = wire->send(get("/api/v1/jobs/1"), soon());
        (void)ignored;
        std::string bytes;
        if (i % 3 == 0 && !wire->receive(bytes, soon())) return;
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(20));
  stop();
  service_.emit(3);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Server, TheSocketOfADeadDaemonIsReplacedOfALivingOneNot) {
  start();
  HttpServer other(service_, options_);
  const Status taken = other.start();
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
  EXPECT_NE(taken.error().message.find(options_.socket_path), std::string::npos);
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
  // A daemon that was killed leaves its file: a link to the socket survives stop().
  std::filesystem::create_hard_link(options_.socket_path, folder_ / "dead.sock");
  stop();
  options_.socket_path = folder_ / "dead.sock";
  start();
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
}

TEST_F(Server, StartNamesWhatIsWrong) {
  const auto start_code = [&] {
    HttpServer server(service_, options_);
    const Status status = server.start();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(server.port(), 0);
    return status.ok() ? ErrorCode::kCorruption : status.error().code;
  };
  const std::string good = options_.socket_path;
  options_.socket_path = folder_ / std::string(120, 'x');
  EXPECT_EQ(start_code(), ErrorCode::kInvalidArgument);
  options_.socket_path = folder_ / "file";
  std::ofstream(options_.socket_path) << "precious";
  EXPECT_EQ(start_code(), ErrorCode::kConflict);
  EXPECT_TRUE(std::filesystem::exists(options_.socket_path));
  options_.socket_path = good;
  options_.token.clear();
  EXPECT_EQ(start_code(), ErrorCode::kInvalidArgument);
  options_.token = kTestToken;
  start();
  options_.socket_path = folder_ / "second.sock";
  options_.port = server_->port();
  EXPECT_EQ(start_code(), ErrorCode::kConflict);
  EXPECT_FALSE(std::filesystem::exists(options_.socket_path));
}

TEST_F(Server, MakesTheSocketsFolder) {
  options_.socket_path = folder_ / "run/rota/rota.sock";
  options_.port.reset();
  start();
  EXPECT_EQ(server_->port(), 0);
  EXPECT_EQ(server_->url(), "");
  EXPECT_EQ(status_of(unix_end(), get("/healthz")), 200);
}

TEST_F(Server, CookieOpensTheStreamForABrowser) {
  start();
  const std::string host = fmt::format("Host: localhost:{}\r\n", server_->port());
  const std::string body = fmt::format("{{\"token\":\"{}\"}}", kTestToken);
  const auto login = exchange(
      tcp_end(), fmt::format("POST /api/v1/session HTTP/1.1\r\n{}Origin: http://localhost:{}\r\n"
                             "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                             host, server_->port(), body.size(), body));
  ASSERT_TRUE(login.ok());
  ASSERT_EQ(login->status, 204) << login->body;
  const std::string cookie = *login->header("set-cookie");
  const std::string line = fmt::format("Cookie: {}\r\n", cookie.substr(0, cookie.find(';')));
  EXPECT_EQ(status_of(tcp_end(), "GET /api/v1/jobs HTTP/1.1\r\n" + host + line + "\r\n"), 200);
  EXPECT_EQ(status_of(tcp_end(),
                      "POST /api/v1/jobs/7:cancel HTTP/1.1\r\n" + host + line + "\r\n"),
            401);
}

}  // namespace
}  // namespace rota::http
