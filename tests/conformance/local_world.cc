#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "backend/local/local_backend.h"
#include "telemetry/open_driver.h"
#include "tests/conformance/world.h"

namespace rota::conformance {
namespace {

namespace fs = std::filesystem;
using backend::LocalBackend;
using backend::LocalOptions;
using backend::StartOrder;

std::string seconds_text(Duration duration) {
  const std::int64_t ms = duration.ns() / 1'000'000;
  std::string rest = std::to_string(ms % 1000);
  return std::to_string(ms / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

class LocalWorld final : public World {
 public:
  LocalWorld() {
    static int count = 0;
    root_ = fs::temp_directory_path() /
            ("rota-conformance-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    fs::create_directories(root_ / "out");
    auto driver = telemetry::open_driver({.simulate = "8xh100"});
    ROTA_CHECK(driver.ok());
    driver_ = std::move(*driver);
    open();
  }

  ~LocalWorld() override {
    const auto known = backend_->list();
    for (const auto& attempt : *known) {
      if (attempt.alive) {
        (void)backend_->stop({.job = attempt.job, .attempt = attempt.attempt, .grace = Duration()});
      }
    }
    const auto all_ended = [&] {
      const auto now = backend_->list();
      return std::none_of(now->begin(), now->end(), [](const auto& a) { return a.alive; });
    };
    wait(all_ended, Duration::seconds(20));
    backend_.reset();
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  backend::ExecutionBackend& backend() override { return *backend_; }

  StartOrder order(std::uint64_t job, std::int64_t attempt, int tasks,
                   const Behaviour& behaviour) override {
    StartOrder order;
    order.job = JobId(job);
    order.attempt = attempt;
    for (int i = 0; i < tasks; ++i) {
      TaskPlace place;
      place.task = i;
      place.node = "sim1";
      place.devices.push_back({.device = i, .gpus = kWholeGpu});
      order.allocation.tasks.push_back(place);
    }
    order.launch.workdir = root_ / "out";
    order.launch.grace = Duration::milliseconds(200);
    order.launch.argv = {"/bin/sh", "-c", script_of(behaviour)};
    if (behaviour.cannot_launch) {
      order.launch.script = "exit 0\n";
      order.launch.argv.clear();
      // A folder stands where the script has to go.
      fs::create_directories(root_ / "state" / "attempts" /
                             (std::to_string(job) + "." + std::to_string(attempt)) / "script");
    }
    return order;
  }

  void wait(const std::function<bool()>& enough, Duration patience) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.ns());
    for (;;) {
      collect();
      if (enough()) return;
      std::unique_lock lock(mutex_);
      // The condition may depend on more than facts: look again now and then.
      changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return news_; });
      news_ = false;
      if (std::chrono::steady_clock::now() >= end) return;
    }
  }

  void restart() override {
    backend_.reset();
    open();
  }

  std::int64_t begun(std::uint64_t job, std::int64_t attempt) override {
    std::ifstream in(root_ / "out" / "begun");
    const std::string wanted = std::to_string(job) + "." + std::to_string(attempt) + ".0";
    std::int64_t count = 0;
    for (std::string line; std::getline(in, line);) count += line == wanted ? 1 : 0;
    return count;
  }

 private:
  void open() {
    LocalOptions options;
    options.state_dir = root_ / "state";
    options.shim = fs::path(ROTA_BIN_DIR) / "rota-shim";
    options.sample_period = std::chrono::milliseconds(100);
    options.leftover_grace = std::chrono::milliseconds(100);
    auto opened = LocalBackend::open(options, driver_);
    if (!opened.ok()) throw std::runtime_error(opened.error().message);
    backend_ = std::move(*opened);
    backend_->on_facts([this] {
      const std::lock_guard lock(mutex_);
      news_ = true;
      changed_.notify_all();
    });
  }

  static std::string script_of(const Behaviour& behaviour) {
    std::string script = "echo $ROTA_JOB_ID.$ROTA_ATTEMPT.$ROTA_NODE_RANK >> begun; ";
    if (behaviour.ignores_term) script += "trap '' TERM; ";
    if (behaviour.code_on_user_signal >= 0) {
      script += "trap 'exit " + std::to_string(behaviour.code_on_user_signal) + "' USR1; ";
    }
    if (behaviour.runtime) {
      script += "sleep " + seconds_text(*behaviour.runtime) + "; ";
    } else {
      // Short sleeps, so that a trap is acted on soon.
      script += "while :; do sleep 0.05; done; ";
    }
    if (behaviour.killed_by != 0) {
      script += "kill -" + std::to_string(behaviour.killed_by) + " $$; sleep 5; ";
    }
    return script + "exit " + std::to_string(behaviour.exit_code);
  }

  fs::path root_;
  std::shared_ptr<telemetry::DeviceDriver> driver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  std::unique_ptr<LocalBackend> backend_;
};

}  // namespace

std::unique_ptr<World> make_local_world() { return std::make_unique<LocalWorld>(); }

}  // namespace rota::conformance
