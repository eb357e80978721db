// A loop for tests and fuzzing: runs what was posted when told to, with a clock moved by hand.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "http/loop.h"

namespace rota::http {

/// One thread.
class FakeLoop final : public Loop, public std::enable_shared_from_this<FakeLoop> {
 public:
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }

  [[nodiscard]] std::shared_ptr<void> later(std::chrono::milliseconds delay,
                                            std::function<void()> task) override {
    const auto key = std::pair(now_ + delay, ++serial_);
    timers_[key] = std::move(task);
    return {static_cast<void*>(this), [weak = weak_from_this(), key](void*) {
              if (const auto self = weak.lock()) self->drop(key);
            }};
  }

  void run() {
    while (!tasks_.empty()) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

  void advance(std::chrono::milliseconds time) {
    const std::chrono::milliseconds end = now_ + time;
    run();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      now_ = timers_.begin()->first.first;
      const std::function<void()> task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
      run();
    }
    now_ = end;
  }

  [[nodiscard]] std::size_t timers() const { return timers_.size(); }

 private:
  using Key = std::pair<std::chrono::milliseconds, std::uint64_t>;

  void drop(const Key& key) {
    const auto found = timers_.find(key);
    if (found == timers_.end()) return;
    const std::function<void()> task = std::move(found->second);
    timers_.erase(found);
  }

  std::deque<std::function<void()>> tasks_;
  std::map<Key, std::function<void()>> timers_;
  std::chrono::milliseconds now_{0};
  std::uint64_t serial_ = 0;
};

}  // namespace rota::http
