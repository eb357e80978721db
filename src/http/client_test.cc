#include "http/client.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "http/fake_daemon.h"

namespace rota::http {
namespace {

using std::chrono::milliseconds;

/// A Unix socket that answers every connection with fixed bytes after a request has come, or just
/// closes it.
class Impostor {
 public:
  Impostor(const std::string& path, std::string reply, int connections)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::thread([this, reply = std::move(reply), connections] {
      for (int i = 0; i < connections; ++i) serve(reply);
      ::close(listener_);
    });
  }
  ~Impostor() { join(); }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::string request;  // the last one; read it after join()

 private:
  void serve(const std::string& reply) {
    const int peer = ::accept(listener_, nullptr, nullptr);
    if (peer < 0) return;
    char buffer[65536];
    const ssize_t count = ::recv(peer, buffer, sizeof buffer, 0);
    request.assign(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    ::send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
    ::close(peer);
  }

  int listener_;
  std::thread thread_;
};

class ClientTest : public WithDaemon {};

TEST_F(ClientTest, MakesEveryCallOverBothDoors) {
  start();
  for (const Endpoint& end : {unix_end(), tcp_end()}) {
    Client client(end);
    EXPECT_EQ(client.submit({.argv = {"true"}})->id, "7");
    EXPECT_TRUE(client.preview({})->starts_now);
    EXPECT_EQ(client.jobs({.limit = 3})->jobs.size(), 3U);
    EXPECT_EQ(client.job("7.3")->id, "7.3");
    EXPECT_EQ(client.why("@")->id, "@");
    EXPECT_EQ(client.request("7")->name, "again");
    EXPECT_EQ(client.command("7", "cancel")->jobs.front().id, "7");
    EXPECT_EQ(client.signal("7", 10)->id, "7");
    EXPECT_EQ(client.update("7", {.name = "x y"})->name, "x y");
    EXPECT_EQ(client.nodes()->front().name, "node1");
    EXPECT_EQ(client.devices()->size(), 2U);
    EXPECT_EQ(client.node_command("gpu/1", "drain", "fan")->name, "gpu/1");
    EXPECT_EQ(client.queues()->front().name, "research");
    EXPECT_EQ(client.queue_set({.name = "a/b", .weight = 3})->weight, 3);
    EXPECT_EQ(client.events({})->events.size(), 0U);
    EXPECT_TRUE(client.server_info()->healthy);
    EXPECT_EQ(*client.metrics(), "rota_up 1\n");
    EXPECT_NE(client.openapi()->find("/api/v1/jobs/{id}:cancel"), std::string::npos);
    EXPECT_EQ(client.daemon_version(), "0.1.0");
  }
}

TEST_F(ClientTest, FollowsPagesToTheEnd) {
  start();
  Client client(unix_end());
  const auto jobs = client.all_jobs({.limit = 500});
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(static_cast<std::int64_t>(jobs->size()), FakeService::kJobCount);
  EXPECT_EQ(jobs->back().id, std::to_string(FakeService::kJobCount));
}

TEST_F(ClientTest, ErrorsKeepTheirCodeAndMessage) {
  start();
  Client client(unix_end());
  const auto missing = client.job("404");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "there is no job 404");
  EXPECT_EQ(missing.error().where, "id");
  Endpoint wrong = tcp_end();
  wrong.token = "wrong";
  EXPECT_EQ(Client(wrong).nodes().error().code, ErrorCode::kDenied);
}

TEST_F(ClientTest, NobodyThereSaysHowToStartOne) {
  Client client(unix_end());
  const auto answer = client.submit({});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().message, "no Rota daemon answers at " + options_.socket_path +
                                        ": start one with `rota serve`");
  EXPECT_EQ(Client({.url = "http://127.0.0.1:1"}).nodes().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Client({.url = "https://x"}).nodes().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(client.follow_events({}, [](const api::Event&) { return Follow::kGoOn; })
                .error()
                .code,
            ErrorCode::kUnavailable);
}

TEST_F(ClientTest, AClosedFolderIsDenied) {
  if (::getuid() == 0) GTEST_SKIP() << "root may open everything";
  start();
  ASSERT_EQ(::chmod((folder_ / "").c_str(), 0), 0);
  const auto answer = Client(unix_end()).nodes();
  ASSERT_EQ(::chmod((folder_ / "").c_str(), 0700), 0);
  EXPECT_EQ(answer.error().code, ErrorCode::kDenied);
}

TEST_F(ClientTest, OtherProgramsAndOtherVersionsAreNamed) {
  const std::string path = folder_ / "other.sock";
  {
    const Impostor web(path, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 1);
    const auto answer = Client({.socket_path = path}).nodes();
    EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(answer.error().message.find("no Rota daemon"), std::string::npos);
  }
  ::unlink(path.c_str());
  {
    const Impostor newer(path,
                         "HTTP/1.1 200 OK\r\nServer: Rota/9.0\r\nRota-Api: v2\r\n"
                         "Content-Length: 2\r\n\r\n{}",
                         1);
    const auto answer = Client({.socket_path = path}).nodes();
    EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(answer.error().message.find("version 9.0"), std::string::npos);
  }
  ::unlink(path.c_str());
  {
    const Impostor mail(path, "220 mail ready\r\n\r\n", 1);
    EXPECT_EQ(Client({.socket_path = path}).nodes().error().code, ErrorCode::kUnsupported);
  }
  ::unlink(path.c_str());
  const Impostor strange(path,
                         "HTTP/1.1 200 OK\r\nServer: Rota/0.9\r\nRota-Api: v1\r\n"
                         "Content-Length: 8\r\n\r\n{\"x\": 1}",
                         1);
  EXPECT_NE(Client({.socket_path = path}).nodes().error().message.find("version 0.9"),
            std::string::npos);
}

TEST_F(ClientTest, ALostAnswerOfAChangeIsUnknown) {
  Impostor deaf(options_.socket_path, "", 1);
  const auto answer = Client(unix_end()).command("7", "cancel");
  EXPECT_EQ(answer.error().code, ErrorCode::kUnknownResult);
  deaf.join();
  ::unlink(options_.socket_path.c_str());
  Impostor cut(options_.socket_path, "HTTP/1.1 200 OK\r\nContent-Le", 1);
  EXPECT_EQ(Client(unix_end()).command("7", "cancel").error().code, ErrorCode::kUnknownResult);
}

TEST_F(ClientTest, ASubmitIsRepeatedWithItsKey) {
  auto deaf = std::make_unique<Impostor>(options_.socket_path, "", 1);
  std::thread later([&] {
    deaf->join();
    ::unlink(options_.socket_path.c_str());
    std::this_thread::sleep_for(milliseconds(300));
    start();
  });
  Client client(unix_end());
  const auto reply = client.submit({.argv = {"true"}});
  later.join();
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  service_.run_and_wait([&] {
    ASSERT_EQ(service_.submitted.size(), 1U);
    const std::string& key = service_.submitted[0].idempotency_key;
    EXPECT_EQ(key.size(), 64U);
    EXPECT_NE(deaf->request.find(key), std::string::npos) << "the same key both times";
  });
}

TEST_F(ClientTest, ASubmitWhoseDaemonStaysAwayIsUnknown) {
  Impostor deaf(options_.socket_path, "", 1);
  Client client(unix_end(), {.retry_time = milliseconds(500)});
  EXPECT_EQ(client.submit({}).error().code, ErrorCode::kUnknownResult);
}

TEST_F(ClientTest, AStaleConnectionIsReplaced) {
  options_.limits.idle_time = milliseconds(50);
  start();
  Client client(unix_end());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.nodes().ok());
    ASSERT_TRUE(client.command("7", "hold").ok());
    std::this_thread::sleep_for(milliseconds(150));
  }
}

TEST_F(ClientTest, TheRestartOfTheDaemonIsSurvived) {
  start();
  Client client(unix_end());
  ASSERT_TRUE(client.nodes().ok());
  stop();
  EXPECT_EQ(client.nodes().error().code, ErrorCode::kUnavailable);
  start();
  EXPECT_TRUE(client.nodes().ok());
}

TEST_F(ClientTest, ASilentDaemonEndsInATimeout) {
  start();
  service_.mute = true;
  Client client(unix_end(), {.answer_time = milliseconds(200)});
  EXPECT_EQ(client.nodes().error().code, ErrorCode::kTimeout);
  EXPECT_EQ(client.command("7", "hold").error().code, ErrorCode::kUnknownResult);
}

TEST_F(ClientTest, ReadsLogsAsBytes) {
  service_.log_text = std::string("a\0b\xff\n", 5);
  start();
  Client client(unix_end());
  EXPECT_EQ(client.log("7", {.offset = 1})->data, std::string("\0b\xff\n", 4));
  EXPECT_EQ(client.log("7", {.error_stream = true})->path, "err");
  EXPECT_EQ(client.log("7", {.offset = -2})->data, "\xff\n");
}

TEST_F(ClientTest, FollowsALogToItsEndAcrossARestart) {
  start();
  std::string whole;
  std::thread writer([&] {
    for (int i = 0; i < 30; ++i) {
      service_.run_and_wait([&] { service_.log_text += "step " + std::to_string(i) + "\n"; });
      std::this_thread::sleep_for(milliseconds(10));
      if (i == 15) {
        stop();
        start();
      }
    }
    service_.run_and_wait([&] { service_.log_final = true; });
  });
  Client client(unix_end());
  server::LogQuery from;
  from.limit = 16;
  const auto last = client.follow_log("7", {.from = from}, [&](std::string_view piece) {
    EXPECT_FALSE(piece.empty());
    whole += piece;
    return Follow::kGoOn;
  });
  writer.join();
  ASSERT_TRUE(last.ok()) << last.error().message;
  EXPECT_TRUE(last->final);
  EXPECT_EQ(whole, service_.log_text);
}

TEST_F(ClientTest, AQuietLogIsFollowedAcrossARestart) {
  service_.log_text = "begin\n";
  start();
  Client client(unix_end(), {.retry_time = milliseconds(1000)});
  std::thread world([&] {
    // Nothing comes for longer than a lost daemon is waited for.
    std::this_thread::sleep_for(milliseconds(1500));
    stop();
    std::this_thread::sleep_for(milliseconds(300));
    start();
    service_.run_and_wait([&] {
      service_.log_text += "end\n";
      service_.log_final = true;
    });
  });
  std::string whole;
  const auto last = client.follow_log("7", {}, [&](std::string_view piece) {
    whole += piece;
    return Follow::kGoOn;
  });
  world.join();
  ASSERT_TRUE(last.ok()) << last.error().message;
  EXPECT_EQ(whole, "begin\nend\n");
}

TEST_F(ClientTest, AFollowerCanStop) {
  service_.log_text = "abc";
  start();
  Client client(unix_end());
  int pieces = 0;
  const auto stop_now = [&](std::string_view) {
    ++pieces;
    return Follow::kStop;
  };
  EXPECT_TRUE(client.follow_log("7", {}, stop_now).ok());
  EXPECT_EQ(pieces, 1);
  const auto go_on = [](std::string_view) { return Follow::kGoOn; };
  EXPECT_TRUE(client.follow_log("7", {}, go_on, [] { return Follow::kStop; }).ok());
  EXPECT_TRUE(client.follow_log("7", {.from = {}, .until_final = false}, go_on).ok());
}

TEST_F(ClientTest, FollowsEventsAcrossARestart) {
  start();
  service_.emit(3);
  std::atomic<bool> reading = false;
  std::thread writer([&] {
    while (!reading) std::this_thread::sleep_for(milliseconds(5));
    for (int i = 0; i < 20; ++i) {
      service_.emit(10);
      if (i == 10) {
        stop();
        start();
      }
    }
  });
  Client client(unix_end());
  std::vector<std::int64_t> seqs;
  const Status status = client.follow_events({.after_seq = 1}, [&](const api::Event& event) {
    seqs.push_back(event.seq);
    reading = true;
    return event.seq == 203 ? Follow::kStop : Follow::kGoOn;
  });
  writer.join();
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_EQ(seqs.size(), 202U);
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    EXPECT_EQ(seqs[i], static_cast<std::int64_t>(i) + 2);
  }
}

TEST_F(ClientTest, EventFollowersHearOfIdlenessAndOfRefusal) {
  start();
  int idles = 0;
  Client client(unix_end());
  const auto go_on = [](const api::Event&) { return Follow::kGoOn; };
  EXPECT_TRUE(client
                  .follow_events({}, go_on,
                                 [&] { return ++idles == 1 ? Follow::kStop : Follow::kGoOn; })
                  .ok());
  EXPECT_EQ(idles, 1);
  Endpoint wrong = tcp_end();
  wrong.token = "wrong";
  EXPECT_EQ(Client(wrong).follow_events({}, go_on).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace rota::http
