// The inside of LocalBackend: attempts, the thread that watches their shims, and the device watch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/local/attempt.h"
#include "backend/local/device_watch.h"
#include "backend/local/janitor.h"
#include "backend/local/local_backend.h"
#include "backend/local/order_builder.h"
#include "backend/local/port_pool.h"
#include "backend/local/strays.h"

namespace rota::backend {

struct LocalBackend::Impl {
  /// A shim that lives; its task may be forgotten already.
  struct Watch {
    AttemptKey attempt;
    std::int64_t rank = 0;
    int pidfd = -1;  // owned
  };
  using Clock = std::chrono::steady_clock;
  /// When to look again whether what was told to stop has stopped.
  struct Check {
    AttemptKey attempt;
    std::int64_t rank = 0;
    bool is_last = false;  // then the shim is killed, whatever it does
    bool is_launch = false;  // it must have begun by now; else the same
  };

  Impl(LocalOptions options, std::shared_ptr<telemetry::DeviceDriver> driver);
  ~Impl();

  Status prepare();  // folders, lock, FIFO, limits, cgroups
  void adopt_all();
  void begin_threads();

  Status start(const StartOrder& order);
  Status stop(const StopOrder& order);
  Status send_signal(AttemptKey key, int signal_number);
  Status set_time_limit(AttemptKey key, std::optional<std::int64_t> limit_ns);
  std::uint64_t highest_job();
  std::vector<KnownAttempt> list();
  void forget(AttemptKey key);
  Facts poll();

  // ---- for the device watch, on its thread ----
  std::vector<DeviceClaim> claims();
  void take_facts(Facts more);
  void verified(AttemptKey key, Facts held);

  // ---- local_adopt.cc ----
  void adopt(const std::string& dir, AttemptKey key);
  void adopt_task(Attempt& attempt, AttemptTask& task);
  bool adopt_without_lock(Attempt& attempt, AttemptTask& task);
  void end_unreachable(Attempt& attempt, AttemptTask& task);
  void adopt_orphan(Attempt attempt, const std::string& why);
  void adopt_strays();
  void declare_lost(Attempt& attempt, AttemptTask& task, const std::string& why);
  void sweep_folders();

  // ---- with the mutex held ----
  Status learn_uuids();
  OrderContext context_for(const StartOrder& order);
  Status write_order(const Attempt& attempt);
  void spawn(Attempt& attempt, AttemptTask& task);
  void watch(Attempt& attempt, AttemptTask& task, int pidfd);
  void refresh(Attempt& attempt, AttemptTask& task);
  void shim_ended(Attempt& attempt, AttemptTask& task);
  void request_stop(Attempt& attempt, AttemptTask& task, const shim::StopRequest& stop);
  void evaluate(Attempt& attempt);
  void stop_rest_of_gang(Attempt& attempt);
  void begin_ending(Attempt& attempt);
  void finish(Attempt& attempt, Facts held);
  void add_fact(Event fact);

  // ---- local_force.cc, with the mutex held ----
  void check_later(const Attempt& attempt, const AttemptTask& task, std::int64_t grace_ns);
  void check_launch_later(const Attempt& attempt, const AttemptTask& task);
  [[nodiscard]] int wait_milliseconds() const;  // until the next check; -1: none
  void run_checks();
  void check_task(Attempt& attempt, AttemptTask& task, const Check& check, Clock::time_point now);
  void force(Attempt& attempt, AttemptTask& task);
  void check_orphan(Attempt& attempt);

  // ---- the watcher's thread ----
  void watch_loop();
  void read_notices();
  void handle_notice(const std::string& line);
  void handle_pidfd(std::uint64_t watch_id);
  void wake_caller();

  LocalOptions options;
  std::shared_ptr<telemetry::DeviceDriver> driver;
  std::string state_dir;
  std::string attempts_dir;
  std::string script_dir;
  std::string checkpoint_root;
  std::string cgroup_base;
  [[nodiscard]] StrayPlaces stray_places() const {
    return {attempts_dir, checkpoint_root, cgroup_base};
  }
  std::string boot;
  std::int64_t nofile_soft = -1;
  std::map<std::string, std::vector<std::string>> uuids;

  int lock_fd = -1;
  int notify_fd = -1;
  int epoll_fd = -1;
  int stop_fd = -1;
  int script_lock_fd = -1;  // says that script_dir is in use
  std::string notice_rest;  // of a line that is not complete yet; the watcher's alone

  std::mutex mutex;
  std::map<AttemptKey, Attempt> attempts;
  PortPool ports;
  Facts facts;
  std::uint64_t last_watch = 0;
  std::map<std::uint64_t, Watch> watches;
  std::multimap<Clock::time_point, Check> checks;

  std::mutex wake_mutex;
  std::function<void()> wake;

  Janitor janitor;
  std::unique_ptr<DeviceWatch> device_watch;
  std::thread watcher;
};

}  // namespace rota::backend
