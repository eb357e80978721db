#include "backend/local/janitor.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace rota::backend {

Janitor::Janitor() : thread_([this] { run(); }) {}

Janitor::~Janitor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Janitor::remove(std::string folder) {
  {
    const std::lock_guard lock(mutex_);
    folders_.push_back(std::move(folder));
  }
  changed_.notify_all();
}

void Janitor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !folders_.empty(); });
    if (folders_.empty()) return;
    const std::string folder = std::move(folders_.front());
    folders_.pop_front();
    lock.unlock();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    lock.lock();
  }
}

}  // namespace rota::backend
