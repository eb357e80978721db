// One connection of one client: reads requests, has them answered one by one, writes the answers.
//
// On the I/O thread. Requests that arrive while one is answered wait in the socket, so a client
// cannot make the daemon queue work. Every wait on the client has a deadline. Owned by the server's
// table until it is closed; operations under way hold it as well.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/dispatcher.h"
#include "http/event_stream.h"
#include "http/guard.h"
#include "http/request_reader.h"
#include "http/server.h"

namespace rota::http {

/// What all connections share; outlives the I/O thread.
struct ConnectionContext {
  Guard& guard;
  Dispatcher& dispatcher;
  const ServerLimits& limits;
  std::string version;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  HttpConnection(ConnectionContext& context, Socket socket, Door door,
                 std::function<void()> on_close);
  void start();
  /// Idempotent. Calls `on_close` once.
  void close();

 private:
  using Error = boost::system::error_code;

  void read();
  void on_read(const Error& error, std::size_t count);
  void process();
  /// False when the request ends here.
  bool judge();
  void dispatch();
  void respond(Response response);
  void write();
  void on_written(const Error& error, std::size_t count);
  void after_answer();
  void begin_stream();
  void pump_stream();
  void watch_client();
  /// Ends our half and reads what still comes, so that the client gets the answer, not a reset.
  void linger();
  void discard();
  void set_deadline(std::chrono::milliseconds time);
  void clear_deadline();

  ConnectionContext& context_;
  Socket socket_;
  boost::asio::steady_timer deadline_;
  Door door_;
  std::function<void()> on_close_;
  RequestReader reader_;
  server::Caller caller_;
  std::array<char, 16 * 1024> piece_{};
  std::string input_;
  std::string output_;
  std::size_t written_ = 0;
  std::size_t discarded_ = 0;
  std::shared_ptr<EventStream> stream_;
  enum class Wait { kNone, kIdle, kHeader, kBody } wait_ = Wait::kNone;
  bool head_only_ = false;
  bool keep_alive_ = true;
  bool interim_ = false;  // what is written is "100 Continue"
  bool writing_ = false;
  bool streaming_ = false;
  bool closed_ = false;
};

}  // namespace rota::http
