// The loop on an Asio io_context: the server's I/O thread.
//
// post() from any thread; later() and close() on the thread that runs `io` only. After close()
// nothing that was not yet begun runs, and no task, timer or what they hold is left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/loop.h"

namespace rota::http {

class IoLoop final : public Loop, public std::enable_shared_from_this<IoLoop> {
 public:
  void post(std::function<void()> task) override;
  [[nodiscard]] std::shared_ptr<void> later(std::chrono::milliseconds delay,
                                            std::function<void()> task) override;
  void close();

  [[nodiscard]] boost::asio::io_context& io() { return io_; }

 private:
  struct Timer {
    std::unique_ptr<boost::asio::steady_timer> clock;
    std::function<void()> task;
  };

  void cancel(std::uint64_t id);

  boost::asio::io_context io_{1};
  std::mutex mutex_;
  bool closed_ = false;
  std::map<std::uint64_t, Timer> timers_;
  std::uint64_t next_timer_ = 0;
};

}  // namespace rota::http
