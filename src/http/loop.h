// The thread on which answers are made. The server's is its I/O thread; tests and fuzzers run one
// in place.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace rota::http {

class Loop {
 public:
  virtual ~Loop() = default;
  /// Runs `task` on the loop's thread, later. From any thread. Dropped when the loop has ended.
  virtual void post(std::function<void()> task) = 0;
  /// Runs `task` once after `delay`. On the loop's thread only. The loop owns the task until it has
  /// run, was cancelled, or the loop ends; letting go of the handle (on any thread) cancels it.
  [[nodiscard]] virtual std::shared_ptr<void> later(std::chrono::milliseconds delay,
                                                    std::function<void()> task) = 0;
};

}  // namespace rota::http
