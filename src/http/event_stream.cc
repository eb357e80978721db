#include "http/event_stream.h"

#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "api/json.h"

namespace rota::http {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

/// Of the job itself, or of a member of the array `job`.
bool is_about(const api::Event& event, std::string_view job) {
  if (job.empty() || event.job == job) return true;
  return event.job.size() > job.size() && event.job.starts_with(job) &&
         event.job[job.size()] == '.';
}

}  // namespace

/// Shared with the service's callback, which may outlive the stream.
struct EventStream::Inbox {
  std::mutex mutex;
  std::deque<api::Event> events;
  std::size_t count_max = 0;
  bool overflown = false;
  bool posted = false;  // the loop knows that there is something

  /// True when the loop must be told.
  bool push(const api::Event& event) {
    const std::scoped_lock lock(mutex);
    if (events.size() >= count_max) {
      events.clear();
      overflown = true;
    }
    if (!overflown) events.push_back(event);
    return !std::exchange(posted, true);
  }
};

EventStream::EventStream(server::Service& service, std::shared_ptr<Loop> loop,
                         server::Caller caller, EventStreamOptions options)
    : service_(service),
      loop_(std::move(loop)),
      caller_(std::move(caller)),
      options_(std::move(options)),
      inbox_(std::make_shared<Inbox>()) {
  inbox_->count_max = options_.inbox_max;
}

EventStream::~EventStream() { stop(); }

std::shared_ptr<EventStream> EventStream::open(server::Service& service,
                                               std::shared_ptr<Loop> loop, server::Caller caller,
                                               EventStreamOptions options) {
  return std::shared_ptr<EventStream>(
      new EventStream(service, std::move(loop), std::move(caller), std::move(options)));
}

/// A reply that reaches the stream on the loop's thread, if it still exists; an error ends it.
template <class T, class Use>
server::Reply<T> EventStream::then(Use use) {
  return [weak = weak_from_this(), loop = loop_, use](Result<T> result) {
    auto held = std::make_shared<Result<T>>(std::move(result));
    loop->post([weak, held, use] {
      const auto self = weak.lock();
      if (!self || self->stopped_) return;
      if (!held->ok()) {
        self->out_ += fmt::format(": {}\n\n", held->error().message);
        self->ended_ = true;
        return self->wake();
      }
      use(*self, held->value());
    });
  };
}

void EventStream::start(std::function<void()> wake) {
  wake_ = std::move(wake);
  out_ = "retry: 1000\n\n";
  arm_heartbeat();
  if (options_.after_seq) {
    cursor_ = *options_.after_seq;
    subscribe();
    return this->wake();
  }
  service_.info(caller_, then<api::Server>([](EventStream& self, const api::Server& server) {
    // An id without data: a reader that loses the connection before the first event can resume.
    self.cursor_ = server.last_event_seq;
    self.out_ += fmt::format("id: {}\n\n", self.cursor_);
    self.subscribe();
    self.wake();
  }));
  this->wake();
}

void EventStream::subscribe() {
  subscription_ = service_.subscribe(
      caller_, [inbox = inbox_, loop = loop_, weak = weak_from_this(),
                job = options_.job](const api::Event& event) {
        if (!is_about(event, job) || !inbox->push(event)) return;
        loop->post([weak] {
          if (const auto self = weak.lock()) self->wake();
        });
      });
  ask_page();
}

void EventStream::ask_page() {
  live_ = false;
  asking_ = true;
  server::EventQuery query;
  query.after_seq = cursor_;
  query.limit = options_.page_size;
  query.job = options_.job;
  service_.events(caller_, std::move(query),
                  then<api::EventPage>([](EventStream& self, const api::EventPage& page) {
                    self.use_page(page);
                  }));
}

void EventStream::use_page(const api::EventPage& page) {
  asking_ = false;
  for (const api::Event& event : page.events) write_event(event);
  const bool full = static_cast<std::int64_t>(page.events.size()) >= options_.page_size;
  if (!full) live_ = true;
  // A position of an earlier life of the daemon, ahead of everything there is.
  if (page.events.empty() && page.last_seq < cursor_) cursor_ = page.last_seq;
  wake();
}

void EventStream::drain_inbox() {
  std::deque<api::Event> events;
  bool overflown = false;
  {
    const std::scoped_lock lock(inbox_->mutex);
    events.swap(inbox_->events);
    overflown = std::exchange(inbox_->overflown, false);
    inbox_->posted = false;
  }
  if (overflown) return ask_page();
  for (const api::Event& event : events) write_event(event);
}

void EventStream::write_event(const api::Event& event) {
  if (event.seq <= cursor_) return;
  cursor_ = event.seq;
  out_ += fmt::format("id: {}\ndata: {}\n\n", event.seq, api::to_text(event));
}

std::string EventStream::take() {
  if (stopped_) return {};
  if (out_.empty() && !ended_ && !asking_ && subscription_) {
    if (live_) {
      drain_inbox();
    } else {
      ask_page();
    }
  }
  if (out_.empty()) return {};
  arm_heartbeat();
  if (out_.size() <= kPieceBytes) return std::exchange(out_, {});
  std::string piece = out_.substr(0, kPieceBytes);
  out_.erase(0, kPieceBytes);
  return piece;
}

void EventStream::wake() {
  if (!stopped_ && wake_) wake_();
}

void EventStream::arm_heartbeat() {
  heartbeat_timer_ = loop_->later(options_.heartbeat, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->stopped_) return;
    if (self->out_.empty()) self->out_ = ": still here\n\n";
    self->arm_heartbeat();
    self->wake();
  });
}

void EventStream::stop() {
  if (stopped_) return;
  stopped_ = true;
  heartbeat_timer_.reset();
  wake_ = nullptr;
  if (subscription_) service_.unsubscribe(*subscription_);
  subscription_.reset();
}

}  // namespace rota::http
