// Prometheus text: counters kept here since the daemon's start, gauges read from the engine when
// asked. Names and units follow the Prometheus rules (base units, _total, _seconds).
//
// Threads: the engine's owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "server/job_book.h"
#include "server/views.h"

namespace rota::server {

class Metrics {
 public:
  void cycle(double seconds);
  void first_start(const std::string& job_class, Duration wait);
  void attempt_ended(const std::string& result);  // an EndKind name
  void stopped(const std::string& cause);         // a StopCause name
  void commit_failed() { ++commits_failed_; }

  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  [[nodiscard]] double last_cycle_seconds() const { return last_cycle_seconds_; }

  struct Sample {
    bool healthy = true;
    std::int64_t last_event_seq = 0;
    std::size_t orders = 0;
    std::string version;
  };
  [[nodiscard]] std::string text(const engine::Engine& engine, const JobBook& book,
                                 const std::vector<api::Device>& devices,
                                 const Sample& sample) const;

 private:
  struct Histogram {
    std::vector<std::uint64_t> buckets;
    double sum = 0;
    std::uint64_t count = 0;
  };
  static void observe(Histogram& histogram, const std::vector<double>& bounds, double value);

  std::uint64_t cycles_ = 0;
  double last_cycle_seconds_ = 0;
  std::uint64_t commits_failed_ = 0;
  Histogram cycle_seconds_;
  std::map<std::string, Histogram> wait_seconds_;  // by class
  std::map<std::string, std::uint64_t> attempts_;
  std::map<std::string, std::uint64_t> stops_;
};

}  // namespace rota::server
