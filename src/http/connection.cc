#include "http/connection.h"

#include <boost/asio/buffer.hpp>

namespace rota::http {
namespace {

constexpr std::size_t kDiscardMax = 8 * 1024 * 1024;
constexpr std::chrono::milliseconds kLingerTime{2'000};

}  // namespace

HttpConnection::HttpConnection(ConnectionContext& context, Socket socket, Door door,
                               std::function<void()> on_close)
    : context_(context),
      socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      door_(std::move(door)),
      on_close_(std::move(on_close)),
      reader_({.header_bytes = context.limits.header_bytes,
               .body_bytes = context.limits.body_bytes}) {}

void HttpConnection::start() { read(); }

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  deadline_.cancel();
  if (stream_) stream_->stop();
  Error ignored;
  socket_.close(ignored);
  const std::function<void()> on_close = std::move(on_close_);
  if (on_close) on_close();
}

void HttpConnection::set_deadline(std::chrono::milliseconds time) {
  deadline_.expires_after(time);
  deadline_.async_wait([weak = weak_from_this()](const Error& error) {
    const auto self = weak.lock();
    if (error || !self || self->closed_) return;
    // A later set_deadline() may have come while this handler was already on its way.
    if (self->deadline_.expiry() <= std::chrono::steady_clock::now()) self->close();
  });
}

void HttpConnection::clear_deadline() {
  wait_ = Wait::kNone;
  deadline_.expires_at(std::chrono::steady_clock::time_point::max());
}

void HttpConnection::read() {
  const Wait wait = reader_.in_body()      ? Wait::kBody
                    : reader_.in_request() ? Wait::kHeader
                                           : Wait::kIdle;
  if (wait != wait_) {
    const ServerLimits& limits = context_.limits;
    set_deadline(wait == Wait::kBody     ? limits.body_time
                 : wait == Wait::kHeader ? limits.header_time
                                         : limits.idle_time);
    wait_ = wait;
  }
  socket_.async_read_some(boost::asio::buffer(piece_),
                          [self = shared_from_this()](const Error& error, std::size_t count) {
                            self->on_read(error, count);
                          });
}

void HttpConnection::on_read(const Error& error, std::size_t count) {
  if (closed_) return;
  if (error) return close();
  input_.append(piece_.data(), count);
  process();
}

void HttpConnection::process() {
  while (true) {
    switch (reader_.feed(input_)) {
      case RequestReader::Step::kMore:
        return read();
      case RequestReader::Step::kFailed:
        head_only_ = false;
        return respond(reader_.problem());
      case RequestReader::Step::kDone:
        return dispatch();
      case RequestReader::Step::kHead:
        if (!judge()) return;
        break;
    }
  }
}

bool HttpConnection::judge() {
  const Request& head = reader_.head();
  head_only_ = head.method == Method::kHead;
  keep_alive_ = head.keep_alive;
  auto admitted = context_.guard.admit(door_, head, std::chrono::steady_clock::now());
  if (auto* refused = std::get_if<Response>(&admitted)) {
    respond(std::move(*refused));
    return false;
  }
  caller_ = std::get<server::Caller>(std::move(admitted));
  if (!reader_.expects_continue() || !input_.empty()) return true;
  clear_deadline();
  interim_ = true;
  output_ = "HTTP/1.1 100 Continue\r\n\r\n";
  write();
  return false;
}

void HttpConnection::dispatch() {
  clear_deadline();
  context_.dispatcher.handle(caller_, reader_.take(),
                             [weak = weak_from_this()](Response response) {
                               const auto self = weak.lock();
                               if (self && !self->closed_) self->respond(std::move(response));
                             });
}

void HttpConnection::respond(Response response) {
  clear_deadline();
  if (response.close) keep_alive_ = false;
  output_ = render_head(response, context_.version,
                        keep_alive_ ? Connection::kKeepAlive : Connection::kClose);
  if (response.stream) {
    keep_alive_ = false;
    if (!head_only_) stream_ = std::move(response.stream);
  } else if (!head_only_) {
    output_ += response.body;
  }
  write();
}

void HttpConnection::write() {
  writing_ = true;
  set_deadline(context_.limits.write_time);
  socket_.async_write_some(
      boost::asio::buffer(output_.data() + written_, output_.size() - written_),
      [self = shared_from_this()](const Error& error, std::size_t count) {
        self->on_written(error, count);
      });
}

void HttpConnection::on_written(const Error& error, std::size_t count) {
  writing_ = false;
  if (closed_) return;
  if (error) return close();
  written_ += count;
  if (written_ < output_.size()) return write();
  output_.clear();
  written_ = 0;
  clear_deadline();
  if (std::exchange(interim_, false)) return process();
  after_answer();
}

void HttpConnection::after_answer() {
  if (stream_) return streaming_ ? pump_stream() : begin_stream();
  if (!keep_alive_) return linger();
  if (output_.capacity() > 256 * 1024) output_ = std::string();
  process();
}

void HttpConnection::begin_stream() {
  streaming_ = true;
  watch_client();
  stream_->start([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closed_ && !self->writing_) self->pump_stream();
  });
}

void HttpConnection::pump_stream() {
  output_ = stream_->take();
  if (!output_.empty()) return write();
  if (stream_->ended()) linger();
}

void HttpConnection::watch_client() {
  socket_.async_read_some(boost::asio::buffer(piece_),
                          [self = shared_from_this()](const Error&, std::size_t) {
                            // A stream is the last answer of its connection: nothing may follow.
                            self->close();
                          });
}

void HttpConnection::linger() {
  Error error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error || streaming_) return close();
  set_deadline(kLingerTime);
  discard();
}

void HttpConnection::discard() {
  socket_.async_read_some(boost::asio::buffer(piece_),
                          [self = shared_from_this()](const Error& error, std::size_t count) {
                            self->discarded_ += count;
                            if (self->closed_) return;
                            if (error || self->discarded_ > kDiscardMax) return self->close();
                            self->discard();
                          });
}

}  // namespace rota::http
