// Runs calls that may hang on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace rota::telemetry {

/// One thread, one call at a time. A call that misses its deadline goes on in the background;
/// until it returns, further calls are refused at once. Destruction never waits for a call that
/// hangs: its thread is left behind with what it needs. Calls must therefore own what they touch.
class DeadlineWorker {
 public:
  DeadlineWorker();
  ~DeadlineWorker();
  DeadlineWorker(const DeadlineWorker&) = delete;
  DeadlineWorker& operator=(const DeadlineWorker&) = delete;

  /// The result, or nothing when the deadline passed or an earlier call still hangs. May be called
  /// from several threads; they take turns, and waiting counts towards the deadline.
  template <class T>
  std::optional<T> run(std::function<T()> call, std::chrono::milliseconds deadline) {
    const auto slot = std::make_shared<std::optional<T>>();
    const bool done = run_any([slot, call = std::move(call)] { *slot = call(); }, deadline);
    // Once done is true nobody writes to the slot any more.
    return done ? std::move(*slot) : std::nullopt;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> call;  // waiting or running
    bool running = false;
    bool late = false;           // it missed its deadline and has not returned yet
    bool stop = false;
    std::uint64_t finished = 0;
    std::uint64_t begun = 0;
  };

  bool run_any(std::function<void()> call, std::chrono::milliseconds deadline);

  std::shared_ptr<State> state_;
};

}  // namespace rota::telemetry
