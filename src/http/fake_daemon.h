// A running HttpServer over a FakeService with sockets of its own, for tests of both ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/fake_service.h"
#include "http/server.h"
#include "http/wire.h"

namespace rota::http {

constexpr const char* kTestToken =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

inline Deadline soon(int milliseconds = 20'000) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rota_http_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A fixture: start() opens both doors with the options of the test.
class WithDaemon : public ::testing::Test {
 protected:
  WithDaemon() {
    options_.socket_path = folder_ / "rota.sock";
    options_.port = 0;
    options_.token = kTestToken;
  }
  void TearDown() override { stop(); }

  void start() {
    server_ = std::make_unique<HttpServer>(service_, options_);
    const Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void stop() { server_.reset(); }

  [[nodiscard]] Endpoint unix_end() const { return {.socket_path = options_.socket_path}; }
  [[nodiscard]] Endpoint tcp_end() const {
    return {.url = server_->url(), .token = kTestToken};
  }

  static Wire connect(const Endpoint& endpoint) {
    Result<Wire> wire = Wire::connect(endpoint, soon());
    EXPECT_TRUE(wire.ok()) << wire.error().message;
    return std::move(wire).value();
  }

  /// Sends bytes on a fresh connection and reads one answer.
  static Result<Answer> exchange(const Endpoint& endpoint, const std::string& bytes) {
    Wire wire = connect(endpoint);
    const Status ignored = wire.send(bytes, soon());
    (void)ignored;
    std::string rest;
    return read_answer(wire, rest, BodyMode::kWhole, soon());
  }
  static int status_of(const Endpoint& endpoint, const std::string& bytes) {
    const Result<Answer> answer = exchange(endpoint, bytes);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer ? answer->status : 0;
  }

  TemporaryFolder folder_;
  FakeService service_{FakeService::Mode::kThread};
  ServerOptions options_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace rota::http
