#include "server/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.h"
#include "server/driver.h"
#include "server/worker.h"

namespace rota::server {
namespace {

using std::chrono::nanoseconds;

// Also how late the driver notices that the system's clock was set.
constexpr nanoseconds kSleepMax = std::chrono::seconds(1);
constexpr nanoseconds kWatch = std::chrono::seconds(5);

class RunningDaemon final : public Daemon {
 public:
  RunningDaemon(std::unique_ptr<backend::ExecutionBackend> backend, std::shared_ptr<Clock> clock,
                Duration watchdog)
      : clock_(std::move(clock)), watchdog_(watchdog), backend_(std::move(backend)) {}
  ~RunningDaemon() override { stop(); }

  Status open(DaemonOptions options);
  Service& service() override { return *driver_; }
  Status start() override;
  void stop() override;
  [[nodiscard]] Health health() const override;
  void set_url(const std::string& url) override { driver_->set_url(url); }

 private:
  void wake();
  void drive();
  void watch();

  std::shared_ptr<Clock> clock_;
  Duration watchdog_;
  std::unique_ptr<backend::ExecutionBackend> backend_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Worker> worker_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread driver_thread_;
  std::thread watch_thread_;
};

/// The journal must know every job that the back-end knows, and gives no number of any it has seen.
Status compare_jobs(store::Store& store, backend::ExecutionBackend& backend, store::Loss loss) {
  // Further ahead than this no job of the journal's can be: something else made that trace.
  constexpr std::uint64_t kAheadMax = 1'000'000;
  std::uint64_t newest = 0;
  if (const auto known = backend.list(); known.ok()) {
    for (const backend::KnownAttempt& attempt : *known) {
      newest = std::max(newest, attempt.job.value());
    }
  }
  if (newest > store.last_id() && loss == store::Loss::kRefuse) {
    return Error{.code = ErrorCode::kCorruption,
                 .message = fmt::format(
                     "the journal knows jobs up to {}, but job {} was started here: it was "
                     "deleted, damaged or replaced by an older one; nothing was changed. Restore "
                     "the whole state folder from a copy; or go on without what is lost, and have "
                     "what still runs of it ended: rota serve --accept-loss",
                     store.last_id(), newest),
                 .where = store.directory()};
  }
  newest = std::max(newest, backend.highest_job());
  return newest > store.last_id() + kAheadMax ? Status() : store.never_below(newest);
}

Status RunningDaemon::open(DaemonOptions options) {
  Result<std::unique_ptr<store::Store>> store =
      store::Store::open(options.state_directory, options.loss);
  if (!store.ok()) return store.error();
  const Status compared = compare_jobs(**store, *backend_, options.loss);
  if (!compared.ok()) return compared;
  worker_ = std::make_unique<Worker>();
  Result<std::unique_ptr<Driver>> driver = Driver::open({
      .store = *std::move(store),
      .config = std::move(options.config),
      .backend = backend_.get(),
      .clock = clock_,
      .backend_name = std::move(options.backend_name),
      .devices_name = std::move(options.devices_name),
      .devices_simulated = options.devices_simulated,
      .readings = std::move(options.readings),
      .run_blocking = [this](std::function<void()> work) { worker_->run(std::move(work)); },
      .version = std::move(options.version),
  });
  if (!driver.ok()) return driver.error();
  driver_ = *std::move(driver);
  driver_->set_url(options.url);
  driver_->on_wake([this] { wake(); });
  backend_->on_facts([this] {
    driver_->due_now();
    wake();
  });
  return {};
}

void RunningDaemon::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (woken_) return;
    woken_ = true;
  }
  changed_.notify_all();
}

Status RunningDaemon::start() {
  if (driver_thread_.joinable()) return {};
  driver_thread_ = std::thread([this] { drive(); });
  watch_thread_ = std::thread([this] { watch(); });
  return {};
}

void RunningDaemon::drive() {
  while (true) {
    const Instant now = clock_->now();
    driver_->step(now);
    const Duration ahead = driver_->next_step(clock_->now()) - clock_->now();
    const nanoseconds sleep =
        std::clamp(nanoseconds(ahead.ns()), nanoseconds::zero(), kSleepMax);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, sleep, [this] { return woken_ || stopping_; });
    woken_ = false;
    if (stopping_) return;
  }
}

void RunningDaemon::watch() {
  bool was_healthy = true;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kWatch, [this] { return stopping_; })) {
    lock.unlock();
    const Health now = health();
    if (now.healthy != was_healthy) {
      if (now.healthy) {
        spdlog::info("healthy again");
      } else {
        spdlog::error("not healthy: {}", join(now.problems, "; "));
      }
      was_healthy = now.healthy;
    }
    lock.lock();
  }
}

Health RunningDaemon::health() const {
  const Pulse pulse = driver_->pulse();
  Health out{.healthy = true, .problems = pulse.problems};
  const Duration late = clock_->now() - pulse.due;
  if (late > watchdog_ && driver_thread_.joinable()) {
    out.problems.push_back(fmt::format(
        "no scheduling cycle for {} though one is due; {} jobs wait",
        format_duration(Duration::seconds(late.whole_seconds())), pulse.jobs_pending));
  }
  out.healthy = out.problems.empty();
  return out;
}

void RunningDaemon::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_all();
  if (driver_thread_.joinable()) driver_thread_.join();
  if (watch_thread_.joinable()) watch_thread_.join();
  worker_.reset();
  if (driver_ != nullptr) {
    driver_->close();
    backend_->on_facts([] {});
  }
}

}  // namespace

Result<std::unique_ptr<Daemon>> make_daemon(DaemonOptions options) {
  ROTA_CHECK(options.backend != nullptr);
  std::shared_ptr<Clock> clock =
      options.clock != nullptr ? options.clock : std::make_shared<SystemClock>();
  auto daemon = std::make_unique<RunningDaemon>(std::move(options.backend), std::move(clock),
                                                options.config.watchdog);
  const Status status = daemon->open(std::move(options));
  if (!status.ok()) return status.error();
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace rota::server
