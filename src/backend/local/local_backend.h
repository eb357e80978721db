// Real processes on this machine. Each task has a small parent of its own, rota-shim, which
// outlives the daemon, keeps the grace time, kills what is left and writes down how the task ended.
//
// Truth lives in files below `<state>/attempts/<job>.<attempt>/`: order.json (what was asked for)
// and per task k what has come of it (shim/files.h). A shim holds a lock on byte k of order.json as
// long as it lives, so a daemon that starts again finds every task: alive, ended with its true exit
// code, lost, or never begun (then it is begun now). No task is begun twice: a shim that finds the
// lock held or the task claimed goes away. A copy in the files' place is not what the shim has
// locked; the status then says which process it is. Where these files are gone while processes of
// an attempt still run (their environment and cgroup tell), they are killed, and the attempt counts
// as running until they are gone.
//
// Output: launch.stdout_path with its patterns (output_paths.h), as the job's user. A first attempt
// truncates unless launch.append_output; later attempts always append.
// Exit codes of commands that cannot be run: 127 not found, 126 not executable, or workdir or
// output not usable; these are ends of kind kExited with words in `detail`.
//
// Threads: all calls may come from any thread; none blocks longer than the disk and a fork.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "telemetry/driver.h"

namespace rota::backend {

struct LocalOptions {
  std::filesystem::path state_dir;       // made when absent; one daemon at a time
  std::filesystem::path shim = {};       // empty: rota-shim beside this program, or in ../libexec
  std::filesystem::path checkpoint_dir = {};  // empty: <state>/checkpoints; users must reach it
  std::filesystem::path script_dir = {};  // scripts of other accounts; empty: /run/rota/scripts
  std::string cluster_name = "rota";      // SLURM_CLUSTER_NAME
  std::chrono::milliseconds sample_period{1000};
  std::chrono::milliseconds suspect_after{30000};  // a stalled driver for so long: device error
  std::chrono::milliseconds leftover_grace{2000};  // for what outlives a task's main process
  Duration grace_default = Duration::seconds(30);  // early end of a gang whose launch states none
  bool use_cgroups = true;               // where this machine lets us; else process trees
};

/// A shim and the main process of one task, for people and tests.
struct LocalTask {
  std::int64_t task = 0;
  std::string node;
  std::int64_t shim_pid = 0;
  std::int64_t pid = 0;  // 0: not begun
};

class LocalBackend final : public ExecutionBackend {
 public:
  /// Reads the state folder and adopts what it finds; their facts wait for poll(). Errors:
  /// kInvalidArgument (folder or shim unusable), kConflict (another daemon uses the folder).
  static Result<std::unique_ptr<LocalBackend>> open(
      LocalOptions options, std::shared_ptr<telemetry::DeviceDriver> driver);
  /// Leaves all tasks running.
  ~LocalBackend() override;

  Result<std::vector<NodeSpec>> discover() override;
  Status start(const StartOrder& order) override;
  Status stop(const StopOrder& order) override;
  Status signal(JobId job, std::int64_t attempt, int signal_number) override;
  Status set_time_limit(JobId job, std::int64_t attempt, std::optional<Duration> limit) override;
  [[nodiscard]] Status check_account(const std::string& user, std::int64_t uid) const override;
  std::uint64_t highest_job() override;
  Result<std::vector<KnownAttempt>> list() override;
  void forget(JobId job, std::int64_t attempt) override;
  Facts poll() override;
  void on_facts(std::function<void()> wake) override;

  /// The latest readings by node, in device order; empty before the first sample.
  [[nodiscard]] std::map<std::string, std::vector<telemetry::DeviceReading>> readings() const;
  /// Empty: unknown attempt.
  [[nodiscard]] std::vector<LocalTask> tasks(JobId job, std::int64_t attempt) const;
  [[nodiscard]] const telemetry::DeviceDriver& driver() const;

 private:
  LocalBackend();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota::backend
