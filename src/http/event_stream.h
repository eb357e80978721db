// One subscriber's stream of server-sent events, without a socket.
//
// Order and completeness: every event after the start position that the caller may see, each once,
// ascending. What comes live waits in a bounded inbox; when a slow reader lets it overflow, the
// inbox is thrown away and the journal is read from the reader's position on. Memory is bounded by
// the inbox and one page.
// Threads: everything on the loop's thread, but the service's callback, which fills the inbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/loop.h"
#include "server/service.h"

namespace rota::http {

struct EventStreamOptions {
  std::optional<std::int64_t> after_seq;  // absent: from now on
  std::string job;                        // a number, also of an array; empty: all
  std::chrono::milliseconds heartbeat{15'000};
  std::size_t inbox_max = 1024;           // events
  std::int64_t page_size = 500;           // events read from the journal at once
};

class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  static std::shared_ptr<EventStream> open(server::Service& service, std::shared_ptr<Loop> loop,
                                           server::Caller caller, EventStreamOptions options);
  ~EventStream();

  /// Begins. `wake` is called on the loop's thread when take() has something after it had nothing.
  void start(std::function<void()> wake);
  /// The next bytes to send; empty: nothing for now.
  std::string take();
  /// The service failed; the client may connect again. After the rest of take() it is over.
  [[nodiscard]] bool ended() const { return ended_; }
  /// No more callbacks afterwards. Idempotent.
  void stop();

 private:
  struct Inbox;

  EventStream(server::Service& service, std::shared_ptr<Loop> loop, server::Caller caller,
              EventStreamOptions options);
  template <class T, class Use>
  server::Reply<T> then(Use use);
  void subscribe();
  void ask_page();
  void use_page(const api::EventPage& page);
  void drain_inbox();
  void write_event(const api::Event& event);
  void wake();
  void arm_heartbeat();

  server::Service& service_;
  std::shared_ptr<Loop> loop_;
  server::Caller caller_;
  EventStreamOptions options_;
  std::shared_ptr<Inbox> inbox_;
  std::function<void()> wake_;
  std::shared_ptr<void> heartbeat_timer_;
  std::optional<std::int64_t> subscription_;
  std::int64_t cursor_ = 0;  // every event up to here is written or not for this caller
  std::string out_;
  bool live_ = false;        // the journal is read up to the inbox
  bool asking_ = false;
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace rota::http
