#include "telemetry/nvml/deadline_worker.h"

#include <thread>
#include <utility>

namespace rota::telemetry {

DeadlineWorker::DeadlineWorker() : state_(std::make_shared<State>()) {
  std::thread([state = state_] {
    std::unique_lock lock(state->mutex);
    for (;;) {
      state->changed.wait(lock, [&] { return state->stop || (state->call && !state->running); });
      if (!state->call) return;
      state->running = true;
      const std::function<void()> call = std::exchange(state->call, nullptr);
      lock.unlock();
      call();
      lock.lock();
      state->running = false;
      state->late = false;
      ++state->finished;
      state->changed.notify_all();
      if (state->stop) return;
    }
  }).detach();
}

DeadlineWorker::~DeadlineWorker() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
}

bool DeadlineWorker::run_any(std::function<void()> call, std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  std::unique_lock lock(state_->mutex);
  // One that is younger than its deadline may still return; one that is late is not waited for.
  const auto is_decided = [&] { return state_->late || (!state_->call && !state_->running); };
  if (!state_->changed.wait_until(lock, until, is_decided) || state_->late) return false;
  state_->call = std::move(call);
  const std::uint64_t ticket = ++state_->begun;
  state_->changed.notify_all();
  const bool done = state_->changed.wait_until(lock, until,
                                               [&] { return state_->finished >= ticket; });
  if (!done) state_->late = true;
  return done;
}

}  // namespace rota::telemetry
