// Past jobs as a what-if replays them: flat, with names as small dense numbers.
//
// Times are nanoseconds on one axis. What a history does not tell is kUntold, never zero.
// Memory: 80 bytes a job.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/time.h"

namespace rota::sim {

constexpr std::int64_t kUntold = std::numeric_limits<std::int64_t>::min();

struct PastJob {
  std::int64_t submitted = 0;        // since when it could have started
  std::int64_t runtime = 0;          // more than 0: work it did, without what a stop destroyed
  std::int64_t time_limit = kUntold;
  std::int64_t started = kUntold;    // observed: its first start
  std::int64_t ended = kUntold;      // observed: its last end
  std::int64_t priority = 0;         // in the units of the system it ran under
  std::int32_t milli = 0;            // GPUs of the whole job, in thousandths; more than 0
  std::int32_t tasks = 1;            // nodes it ran on
  std::uint32_t team = 0;            // in PastJobs::teams
  std::uint32_t job_class = 0;       // in PastJobs::classes
  std::uint32_t model = 0;           // asked for: in PastJobs::models
  std::uint32_t home = 0;            // its site: in PastJobs::sites
  bool unlimited = false;            // known to have no time limit

  [[nodiscard]] bool tells_wait() const { return started != kUntold; }
  [[nodiscard]] std::int64_t wait() const { return started - submitted; }
  [[nodiscard]] double gpu_time() const {
    return static_cast<double>(milli) * static_cast<double>(runtime);
  }
};
static_assert(sizeof(PastJob) <= 80);

/// By submit time. Index 0 of each list of names is empty: not told.
struct PastJobs {
  std::vector<PastJob> jobs;
  std::vector<std::string> teams{""};
  std::vector<std::string> classes{""};
  std::vector<std::string> models{""};
  std::vector<std::string> sites{""};

  /// Whether waits are known of at least half of the jobs.
  [[nodiscard]] bool tells_waits() const {
    std::size_t told = 0;
    for (const PastJob& job : jobs) told += job.tells_wait() ? 1 : 0;
    return !jobs.empty() && told * 2 >= jobs.size();
  }
};

}  // namespace rota::sim
