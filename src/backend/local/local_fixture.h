// For tests: a local back-end in a folder of its own, with made-up devices.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/local/local_backend.h"
#include "backend/local/shim/system.h"
#include "telemetry/open_driver.h"

namespace rota::backend {

class LocalFixture : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kPatience{20000};

  void SetUp() override {
    static int count = 0;
    root_ = std::filesystem::temp_directory_path() /
            ("rota-local-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(root_ / "out");
    std::filesystem::permissions(root_ / "out", std::filesystem::perms::all);
    options_.state_dir = root_ / "state";
    options_.shim = std::filesystem::path(ROTA_BIN_DIR) / "rota-shim";
    options_.script_dir = root_ / "scripts";
    options_.sample_period = std::chrono::milliseconds(50);
    options_.leftover_grace = std::chrono::milliseconds(100);
  }

  void TearDown() override {
    if (backend_) {
      const auto known = backend_->list();
      for (const KnownAttempt& attempt : *known) {
        if (!attempt.alive) continue;
        (void)backend_->stop({.job = attempt.job, .attempt = attempt.attempt, .grace = {}});
      }
      wait([&] {
        const auto now = backend_->list();
        return std::none_of(now->begin(), now->end(), [](const auto& a) { return a.alive; });
      });
      backend_.reset();
    }
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void open(const std::string& simulate = "4xh100") {
    auto driver = telemetry::open_driver({.simulate = simulate});
    ASSERT_TRUE(driver.ok()) << driver.error().message;
    auto opened = LocalBackend::open(options_, *std::move(driver));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    backend_ = *std::move(opened);
    backend_->on_facts([this] {
      const std::lock_guard lock(mutex_);
      news_ = true;
      changed_.notify_all();
    });
  }

  /// One task per list of devices, on sim1.
  StartOrder order(std::uint64_t job, const std::string& script,
                   const std::vector<std::vector<int>>& devices = {{0}}) {
    StartOrder order;
    order.job = JobId(job);
    order.attempt = 1;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      TaskPlace place;
      place.task = static_cast<std::int64_t>(i);
      place.node = "sim1";
      for (const int device : devices[i]) {
        place.devices.push_back({.device = device, .gpus = kWholeGpu});
      }
      order.allocation.tasks.push_back(std::move(place));
    }
    order.launch.name = "test";
    order.launch.argv = {"/bin/bash", "-c", script};
    order.launch.workdir = root_ / "out";
    order.launch.stdout_path = "%j.%t.out";
    order.launch.grace = Duration::milliseconds(200);
    return order;
  }

  void start(const StartOrder& order) {
    const Status status = backend_->start(order);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  void stop(std::uint64_t job, Duration grace, std::int64_t attempt = 1) {
    ASSERT_TRUE(backend_->stop({.job = JobId(job), .attempt = attempt, .grace = grace}).ok());
  }

  /// False: `enough` was not reached in time.
  bool wait(const std::function<bool()>& enough, std::chrono::milliseconds patience = kPatience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
      if (backend_) {
        for (Event& fact : backend_->poll()) facts_.push_back(std::move(fact));
      }
      if (enough()) return true;
      if (std::chrono::steady_clock::now() >= end) return false;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(10), [&] { return news_; });
      news_ = false;
    }
  }

  template <class T>
  std::vector<T> facts_of() const {
    std::vector<T> found;
    for (const Event& fact : facts_) {
      if (const T* value = std::get_if<T>(&fact)) found.push_back(*value);
    }
    return found;
  }

  bool wait_started(std::uint64_t job) {
    return wait([&] {
      const auto started = facts_of<AttemptStarted>();
      return std::any_of(started.begin(), started.end(),
                         [&](const auto& fact) { return fact.job == JobId(job); });
    });
  }

  AttemptEnded wait_ended(std::uint64_t job, std::int64_t attempt = 1) {
    AttemptEnded end;
    EXPECT_TRUE(wait([&] {
      for (const AttemptEnded& fact : facts_of<AttemptEnded>()) {
        if (fact.job != JobId(job) || fact.attempt != attempt) continue;
        end = fact;
        return true;
      }
      return false;
    })) << "job " << job << " did not end";
    return end;
  }

  std::string output(const std::string& name) const {
    std::ifstream in(root_ / "out" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// Waits until the file has a whole line, and gives it as a number.
  std::int64_t number_in(const std::string& name) {
    EXPECT_TRUE(wait([&] { return output(name).find('\n') != std::string::npos; })) << name;
    return std::atoll(output(name).c_str());
  }

  static bool exists(std::int64_t pid) {
    const shim::ProcessFacts facts = shim::process_facts(pid);
    return facts.pid != 0 && facts.state != 'Z';
  }

  std::filesystem::path root_;
  LocalOptions options_;
  std::unique_ptr<LocalBackend> backend_;
  Facts facts_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
};

}  // namespace rota::backend
