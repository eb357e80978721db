#include "http/io_loop.h"

#include <utility>

#include <boost/asio/post.hpp>

namespace rota::http {

void IoLoop::post(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return;
  boost::asio::post(io_, [this, task = std::move(task)] {
    {
      const std::scoped_lock inner(mutex_);
      if (closed_) return;
    }
    task();
  });
}

std::shared_ptr<void> IoLoop::later(std::chrono::milliseconds delay, std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return nullptr;
  }
  const std::uint64_t id = ++next_timer_;
  auto clock = std::make_unique<boost::asio::steady_timer>(io_, delay);
  clock->async_wait([this, id](const boost::system::error_code& ec) {
    if (ec) return;
    const auto found = timers_.find(id);
    if (found == timers_.end()) return;
    const Timer timer = std::move(found->second);
    timers_.erase(found);
    timer.task();
  });
  timers_.emplace(id, Timer{.clock = std::move(clock), .task = std::move(task)});
  return {static_cast<void*>(this), [weak = weak_from_this(), id](void*) {
            const auto self = weak.lock();
            if (!self) return;
            if (self->io_.get_executor().running_in_this_thread()) return self->cancel(id);
            self->post([self = self.get(), id] { self->cancel(id); });
          }};
}

void IoLoop::cancel(std::uint64_t id) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  // What the task holds may let go of other timers: out of the table first.
  const Timer timer = std::move(found->second);
  timers_.erase(found);
}

void IoLoop::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  const std::map<std::uint64_t, Timer> timers = std::exchange(timers_, {});
}

}  // namespace rota::http
